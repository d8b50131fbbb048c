//! Ordered keys in RocksDB, through its C interface: every call to it is in this file.
//!
//! The write-ahead log is off: what is in it can be rebuilt from the log. A flush writes all of
//! it to synced files; a crash keeps the writes up to some flush, which is a prefix, since one
//! column family flushes its tables in order.

use std::ffi::{CStr, CString, c_char};
use std::future::Future;
use std::os::unix::ffi::OsStrExt;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use bytes::Bytes;
use highwater_runtime::{Disk, DiskError, DiskErrorKind, Kv, KvError, KvOp};
use librocksdb_sys as ffi;

use crate::blocking::Blocking;
use crate::disk::RealDisk;

const WRITE_BUFFER_BYTES: usize = 8 * 1024 * 1024;
const BLOCK_CACHE_BYTES: usize = 16 * 1024 * 1024;
const OPEN_FILES_MAX: i32 = 64;
const LOG_FILE_BYTES_MAX: usize = 1024 * 1024;

/// Space that must be free before RocksDB may write: two full write buffers, a compaction of them,
/// and room for others meanwhile. Debian's RocksDB is built with its assertions on, and one of them
/// ends the process when a file is used again after a write that failed; the index is not worth
/// that, so nothing is asked of RocksDB that a nearly full disk could refuse.
const FREE_BYTES_MIN: u64 = 64 * 1024 * 1024;

/// An open RocksDB. Clones share it; the last one closes it.
#[derive(Clone)]
pub struct RealKv {
    db: Arc<Db>,
    pool: Blocking,
}

/// Opens the store in `folder` of `disk`, making it when missing.
///
/// # Errors
/// [`KvError::Corrupt`] when its files are not what this RocksDB wrote; [`KvError::Disk`] when
/// the disk refuses or another process has it open.
pub fn open(disk: &RealDisk, folder: &str) -> Result<RealKv, KvError> {
    let keep = Keep {
        folder: folder.to_owned(),
        disk: disk.clone(),
    };
    keep.may_write("open_kv")?;
    let absolute = disk.absolute(folder);
    let path = CString::new(absolute.as_os_str().as_bytes()).expect("a path has no zero byte");
    let settings = Settings::new();
    let mut error = ptr::null_mut();
    // SAFETY: the settings and the path live through the call; RocksDB copies both.
    let raw = unsafe { ffi::rocksdb_open(settings.raw.as_ptr(), path.as_ptr(), &mut error) };
    taken(error).map_err(|why| keep.open_error(why))?;
    let raw = NonNull::new(raw).expect("an open without an error gives a store");
    let db = Db {
        raw,
        options: Options::new(),
        settings,
        keep,
    };
    Ok(RealKv {
        db: Arc::new(db),
        pool: disk.pool().clone(),
    })
}

/// Removes the store in `folder` of `disk`, if there is one.
///
/// # Errors
/// [`KvError::Disk`] when the folder cannot be removed.
pub fn destroy(disk: &RealDisk, folder: &str) -> Result<(), KvError> {
    match disk.remove_dir(folder) {
        Ok(()) => Ok(()),
        Err(error) if error.kind == DiskErrorKind::NotFound => Ok(()),
        Err(error) => Err(KvError::Disk(error)),
    }
}

/// The open store; RocksDB is safe to call from many threads at once.
struct Db {
    raw: NonNull<ffi::rocksdb_t>,
    options: Options,
    /// The block cache and table settings, which the store refers to.
    #[expect(dead_code, reason = "kept for its drop, after the store's")]
    settings: Settings,
    keep: Keep,
}

// SAFETY: `rocksdb_t` may be used from any thread, several at once; the options are never changed
// after they were made, and RocksDB only reads them. Source: RocksDB wiki, "Basic Operations",
// section Concurrency.
unsafe impl Send for Db {}
// SAFETY: as above.
unsafe impl Sync for Db {}

impl Drop for Db {
    fn drop(&mut self) {
        if self.keep.may_write("close_kv").is_err() {
            // Closing would write what is in memory. The process is about to end, or goes on
            // without an index; a leaked store does neither harm.
            return;
        }
        // SAFETY: the last reference: no call runs, no iterator lives.
        unsafe { ffi::rocksdb_close(self.raw.as_ptr()) };
    }
}

/// Where the store is, and what keeps its folder locked.
struct Keep {
    folder: String,
    disk: RealDisk,
}

impl Keep {
    /// Refuses what RocksDB might not survive: writing to a disk that may run full.
    fn may_write(&self, op: &'static str) -> Result<(), KvError> {
        if self.disk.free_bytes().map_err(KvError::Disk)? < FREE_BYTES_MIN {
            let (path, kind) = (self.folder.clone(), DiskErrorKind::Full);
            return Err(KvError::Disk(DiskError { op, path, kind }));
        }
        Ok(())
    }

    /// Anything but a refusal of the disk means that the files are not a store of this version;
    /// it holds nothing that cannot be rebuilt.
    fn open_error(&self, why: String) -> KvError {
        let missing_file = why.contains("No such file or directory");
        if why.starts_with("IO error") && !missing_file {
            self.disk_error("open_kv", why)
        } else {
            self.corrupt(why)
        }
    }

    fn error(&self, op: &'static str, why: String) -> KvError {
        if why.starts_with("Corruption") {
            self.corrupt(why)
        } else {
            self.disk_error(op, why)
        }
    }

    fn corrupt(&self, why: String) -> KvError {
        KvError::Corrupt {
            folder: self.folder.clone(),
            why,
        }
    }

    fn disk_error(&self, op: &'static str, why: String) -> KvError {
        let kind = if why.contains("No space left") || why.contains("quota exceeded") {
            DiskErrorKind::Full
        } else if why.contains("Permission denied") || why.contains("Read-only file system") {
            DiskErrorKind::ReadOnly
        } else {
            DiskErrorKind::Failed(why)
        };
        KvError::Disk(DiskError {
            op,
            path: self.folder.clone(),
            kind,
        })
    }
}

impl Kv for RealKv {
    fn write(&self, batch: &[KvOp]) -> Result<(), KvError> {
        self.db.keep.may_write("write")?;
        let changes = Batch::new(batch);
        let mut error = ptr::null_mut();
        // SAFETY: all three are live objects of RocksDB.
        unsafe {
            let (db, options) = (self.db.raw.as_ptr(), self.db.options.write.as_ptr());
            ffi::rocksdb_write(db, options, changes.raw.as_ptr(), &mut error);
        }
        taken(error).map_err(|why| self.db.keep.error("write", why))
    }

    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, KvError> {
        let (mut error, mut len) = (ptr::null_mut(), 0);
        // SAFETY: the key lives through the call; the answer is ours to free.
        let value = unsafe {
            let (db, options) = (self.db.raw.as_ptr(), self.db.options.read.as_ptr());
            ffi::rocksdb_get(
                db,
                options,
                key.as_ptr().cast(),
                key.len(),
                &mut len,
                &mut error,
            )
        };
        taken(error).map_err(|why| self.db.keep.error("get", why))?;
        let Some(value) = NonNull::new(value) else {
            return Ok(None);
        };
        // SAFETY: RocksDB gave `len` bytes at `value`; they are freed once, after the copy.
        let copy = unsafe {
            let copy = Bytes::copy_from_slice(slice(value.as_ptr(), len));
            ffi::rocksdb_free(value.as_ptr().cast());
            copy
        };
        Ok(Some(copy))
    }

    fn floor(&self, low: &[u8], key: &[u8]) -> Result<Option<(Bytes, Bytes)>, KvError> {
        let cursor = Cursor::new(&self.db, Some(low), None);
        // SAFETY: the iterator is live and the key lives through the call.
        unsafe {
            ffi::rocksdb_iter_seek_for_prev(cursor.raw.as_ptr(), key.as_ptr().cast(), key.len());
        }
        let found = cursor.entry();
        cursor.check()?;
        // The bound is a hint to RocksDB; the answer is checked here all the same.
        Ok(found.filter(|(found, _)| &found[..] >= low && &found[..] <= key))
    }

    fn scan(&self, from: &[u8], to: &[u8], limit: usize) -> Result<Vec<(Bytes, Bytes)>, KvError> {
        let mut entries = Vec::new();
        if from >= to {
            return Ok(entries);
        }
        let cursor = Cursor::new(&self.db, None, Some(to));
        // SAFETY: the iterator is live and the key lives through the call.
        unsafe {
            ffi::rocksdb_iter_seek(cursor.raw.as_ptr(), from.as_ptr().cast(), from.len());
        }
        while entries.len() < limit
            && let Some(entry) = cursor.entry()
        {
            entries.push(entry);
            // SAFETY: the iterator is live and stands on an entry.
            unsafe { ffi::rocksdb_iter_next(cursor.raw.as_ptr()) };
        }
        cursor.check()?;
        Ok(entries)
    }

    fn sync(&self) -> impl Future<Output = Result<(), KvError>> + 'static {
        let db = Arc::clone(&self.db);
        let folder = self.db.keep.folder.clone();
        let done = self.pool.run(move || {
            db.keep.may_write("sync")?;
            let mut error = ptr::null_mut();
            // SAFETY: both are live objects of RocksDB.
            unsafe { ffi::rocksdb_flush(db.raw.as_ptr(), db.options.flush.as_ptr(), &mut error) };
            taken(error).map_err(|why| db.keep.error("sync", why))
        });
        async move {
            done.await.unwrap_or_else(|lost| {
                let kind = DiskErrorKind::Failed(lost.to_string());
                Err(KvError::Disk(DiskError {
                    op: "sync",
                    path: folder,
                    kind,
                }))
            })
        }
    }
}

/// An error text that RocksDB may have left, freed.
fn taken(error: *mut c_char) -> Result<(), String> {
    let Some(error) = NonNull::new(error) else {
        return Ok(());
    };
    // SAFETY: RocksDB gave a text that ends in a zero byte; it is freed once, after the copy.
    let why = unsafe {
        let why = CStr::from_ptr(error.as_ptr())
            .to_string_lossy()
            .into_owned();
        ffi::rocksdb_free(error.as_ptr().cast());
        why
    };
    Err(why)
}

/// # Safety
/// `data` points to `len` bytes that live as long as the answer is used, or `len` is 0.
unsafe fn slice<'a>(data: *const c_char, len: usize) -> &'a [u8] {
    if len == 0 {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(data.cast(), len) }
}

fn made<T>(raw: *mut T) -> NonNull<T> {
    NonNull::new(raw).expect("RocksDB makes its objects or ends the process")
}

/// How a store is opened.
struct Settings {
    raw: NonNull<ffi::rocksdb_options_t>,
    table: NonNull<ffi::rocksdb_block_based_table_options_t>,
    cache: NonNull<ffi::rocksdb_cache_t>,
}

impl Settings {
    fn new() -> Self {
        // SAFETY: plain constructors and setters on objects made here.
        unsafe {
            let raw = made(ffi::rocksdb_options_create());
            let table = made(ffi::rocksdb_block_based_options_create());
            let cache = made(ffi::rocksdb_cache_create_lru(BLOCK_CACHE_BYTES));
            ffi::rocksdb_block_based_options_set_block_cache(table.as_ptr(), cache.as_ptr());
            let options = raw.as_ptr();
            ffi::rocksdb_options_set_block_based_table_factory(options, table.as_ptr());
            ffi::rocksdb_options_set_create_if_missing(options, 1);
            ffi::rocksdb_options_set_write_buffer_size(options, WRITE_BUFFER_BYTES);
            ffi::rocksdb_options_set_max_write_buffer_number(options, 2);
            ffi::rocksdb_options_set_max_background_jobs(options, 1);
            ffi::rocksdb_options_set_max_open_files(options, OPEN_FILES_MAX);
            // The system's library may lack any given codec; the entries are small numbers.
            ffi::rocksdb_options_set_compression(options, 0);
            ffi::rocksdb_options_set_skip_stats_update_on_db_open(options, 1);
            // The default starts 16 threads at every open, for a handful of files.
            ffi::rocksdb_options_set_max_file_opening_threads(options, 1);
            ffi::rocksdb_options_set_stats_dump_period_sec(options, 0);
            ffi::rocksdb_options_set_stats_persist_period_sec(options, 0);
            ffi::rocksdb_options_set_keep_log_file_num(options, 2);
            ffi::rocksdb_options_set_max_log_file_size(options, LOG_FILE_BYTES_MAX);
            Self { raw, table, cache }
        }
    }
}

impl Drop for Settings {
    fn drop(&mut self) {
        // SAFETY: each was made here and is freed once; a store has its own copies and counts.
        unsafe {
            ffi::rocksdb_options_destroy(self.raw.as_ptr());
            ffi::rocksdb_block_based_options_destroy(self.table.as_ptr());
            ffi::rocksdb_cache_destroy(self.cache.as_ptr());
        }
    }
}

/// How single calls run; made once a store.
struct Options {
    read: NonNull<ffi::rocksdb_readoptions_t>,
    write: NonNull<ffi::rocksdb_writeoptions_t>,
    flush: NonNull<ffi::rocksdb_flushoptions_t>,
}

impl Options {
    fn new() -> Self {
        // SAFETY: plain constructors and setters on objects made here.
        unsafe {
            let read = made(ffi::rocksdb_readoptions_create());
            let write = made(ffi::rocksdb_writeoptions_create());
            ffi::rocksdb_writeoptions_disable_WAL(write.as_ptr(), 1);
            let flush = made(ffi::rocksdb_flushoptions_create());
            ffi::rocksdb_flushoptions_set_wait(flush.as_ptr(), 1);
            Self { read, write, flush }
        }
    }
}

impl Drop for Options {
    fn drop(&mut self) {
        // SAFETY: each was made here and is freed once.
        unsafe {
            ffi::rocksdb_readoptions_destroy(self.read.as_ptr());
            ffi::rocksdb_writeoptions_destroy(self.write.as_ptr());
            ffi::rocksdb_flushoptions_destroy(self.flush.as_ptr());
        }
    }
}

/// Changes that are applied at once.
struct Batch {
    raw: NonNull<ffi::rocksdb_writebatch_t>,
}

impl Batch {
    fn new(operations: &[KvOp]) -> Self {
        // SAFETY: RocksDB copies keys and values; the batch is live.
        let raw = unsafe { made(ffi::rocksdb_writebatch_create()) };
        let batch = raw.as_ptr();
        for operation in operations {
            // SAFETY: as above.
            unsafe {
                match operation {
                    KvOp::Put { key, value } => ffi::rocksdb_writebatch_put(
                        batch,
                        key.as_ptr().cast(),
                        key.len(),
                        value.as_ptr().cast(),
                        value.len(),
                    ),
                    KvOp::Delete { key } => {
                        ffi::rocksdb_writebatch_delete(batch, key.as_ptr().cast(), key.len());
                    }
                    // RocksDB calls an inverted range an error; here it is an empty one.
                    KvOp::DeleteRange { from, to } if from >= to => {}
                    KvOp::DeleteRange { from, to } => ffi::rocksdb_writebatch_delete_range(
                        batch,
                        from.as_ptr().cast(),
                        from.len(),
                        to.as_ptr().cast(),
                        to.len(),
                    ),
                }
            }
        }
        Self { raw }
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        // SAFETY: made in `new`, freed once.
        unsafe { ffi::rocksdb_writebatch_destroy(self.raw.as_ptr()) };
    }
}

/// An iterator with bounds; it borrows both and the store.
struct Cursor<'a> {
    raw: NonNull<ffi::rocksdb_iterator_t>,
    options: NonNull<ffi::rocksdb_readoptions_t>,
    db: &'a Db,
}

impl<'a> Cursor<'a> {
    fn new(db: &'a Db, low: Option<&'a [u8]>, end: Option<&'a [u8]>) -> Self {
        // SAFETY: RocksDB keeps pointers to the bounds, which live as long as the cursor.
        unsafe {
            let options = made(ffi::rocksdb_readoptions_create());
            if let Some(low) = low {
                let (data, len) = (low.as_ptr().cast(), low.len());
                ffi::rocksdb_readoptions_set_iterate_lower_bound(options.as_ptr(), data, len);
            }
            if let Some(end) = end {
                let (data, len) = (end.as_ptr().cast(), end.len());
                ffi::rocksdb_readoptions_set_iterate_upper_bound(options.as_ptr(), data, len);
            }
            let raw = made(ffi::rocksdb_create_iterator(
                db.raw.as_ptr(),
                options.as_ptr(),
            ));
            Self { raw, options, db }
        }
    }

    /// A copy of the entry under the cursor, if it stands on one.
    fn entry(&self) -> Option<(Bytes, Bytes)> {
        // SAFETY: the iterator is live; key and value are copied before it moves.
        unsafe {
            let raw = self.raw.as_ptr();
            if ffi::rocksdb_iter_valid(raw) == 0 {
                return None;
            }
            let mut len = 0;
            let key = ffi::rocksdb_iter_key(raw, &mut len);
            let key = Bytes::copy_from_slice(slice(key, len));
            let value = ffi::rocksdb_iter_value(raw, &mut len);
            Some((key, Bytes::copy_from_slice(slice(value, len))))
        }
    }

    /// An iterator that met damage stands nowhere, as at the end: ask which it was.
    fn check(&self) -> Result<(), KvError> {
        let mut error = ptr::null_mut();
        // SAFETY: the iterator is live.
        unsafe { ffi::rocksdb_iter_get_error(self.raw.as_ptr(), &mut error) };
        taken(error).map_err(|why| self.db.keep.error("read", why))
    }
}

impl Drop for Cursor<'_> {
    fn drop(&mut self) {
        // SAFETY: made in `new`, each freed once, the iterator before its options.
        unsafe {
            ffi::rocksdb_iter_destroy(self.raw.as_ptr());
            ffi::rocksdb_readoptions_destroy(self.options.as_ptr());
        }
    }
}
