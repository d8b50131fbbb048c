//! An open file that grows at its end.
//!
//! Its length is published after the bytes are in the page cache, so a reader that sees the
//! length sees the bytes. Space is reserved ahead of a file that grows fast; the reservation
//! never shows in its length.

use std::fs;
use std::future::Future;
use std::io::{self, IoSlice};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use highwater_runtime::{DiskError, DiskErrorKind, File};

use super::error::disk_error;
use super::files::{Inode, OpenFiles};
use super::map::Map;
use super::{RealDisk, lost_job};

/// A file earns reserved space when this much was appended to it since it was opened.
const RESERVE_AFTER_BYTES: u64 = 1024 * 1024;
/// First and largest step of reserved space.
const RESERVE_STEP_BYTES_MIN: u64 = 1024 * 1024;
const RESERVE_STEP_BYTES_MAX: u64 = 32 * 1024 * 1024;
/// Nothing is reserved on a disk with less than this free: others need it more.
const RESERVE_FREE_BYTES_MIN: u64 = 2 * 1024 * 1024 * 1024;
/// Nothing is reserved when more files than this are open: it would cost more than it gains.
const RESERVE_FILES_MAX: usize = 2_000;
/// Parts of one vectored write. Source: `IOV_MAX`.
const PARTS_MAX: usize = 1024;

/// An open file. Clones share it, and so do two opens of one file.
#[derive(Clone)]
pub struct RealFile {
    inner: Arc<FileInner>,
    disk: RealDisk,
}

pub(super) struct FileInner {
    file: fs::File,
    path: String,
    inode: Inode,
    /// The visible length; stored with release after the bytes are in the page cache.
    len: AtomicU64,
    sealed: AtomicBool,
    read_only: bool,
    writer: Mutex<WriterState>,
    map: Mutex<Option<Map>>,
    files: Arc<OpenFiles>,
}

#[derive(Default)]
struct WriterState {
    appended: u64,
    reserved_to: u64,
    step: u64,
    /// A write failed half-way: what is behind `len` is unknown and must stay for recovery.
    failed: bool,
}

impl FileInner {
    pub(super) fn new(
        file: fs::File,
        path: &str,
        inode: Inode,
        len: u64,
        read_only: bool,
        files: &Arc<OpenFiles>,
    ) -> Self {
        Self {
            file,
            path: path.to_owned(),
            inode,
            len: AtomicU64::new(len),
            sealed: AtomicBool::new(false),
            read_only,
            writer: Mutex::new(WriterState {
                step: RESERVE_STEP_BYTES_MIN,
                ..Default::default()
            }),
            map: Mutex::new(None),
            files: Arc::clone(files),
        }
    }

    fn error(&self, op: &'static str, error: &io::Error) -> DiskError {
        disk_error(op, &self.path, error)
    }

    /// Writers hold this for a system call or two, never longer.
    fn writer(&self) -> MutexGuard<'_, WriterState> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Refuses a change of a file that is only read.
    fn may_change(&self, op: &'static str) -> Result<(), DiskError> {
        if self.read_only {
            let path = self.path.clone();
            return Err(DiskError {
                op,
                path,
                kind: DiskErrorKind::ReadOnly,
            });
        }
        Ok(())
    }

    /// Reserves space behind `end` for a file that grows fast. Only a hint: nothing fails.
    fn reserve(&self, writer: &mut WriterState, end: u64, root: &std::path::Path) {
        if writer.appended < RESERVE_AFTER_BYTES || end < writer.reserved_to {
            return;
        }
        let free = super::files::free_bytes(root).unwrap_or(0);
        let step = writer.step;
        writer.step = if step < 16 * 1024 * 1024 {
            16 * 1024 * 1024
        } else {
            RESERVE_STEP_BYTES_MAX
        };
        // Also after a refusal the next try waits for a step's worth of appends.
        writer.reserved_to = end + step;
        if free < RESERVE_FREE_BYTES_MIN || self.files.count() > RESERVE_FILES_MAX {
            return;
        }
        let (Ok(start), Ok(len)) = (i64::try_from(end), i64::try_from(step)) else {
            return;
        };
        // SAFETY: a plain system call on a descriptor that `self.file` keeps open.
        let _ = unsafe {
            libc::fallocate(self.file.as_raw_fd(), libc::FALLOC_FL_KEEP_SIZE, start, len)
        };
    }
}

impl Drop for FileInner {
    fn drop(&mut self) {
        let (len, path) = (self.len.load(Ordering::Acquire), &self.path);
        let writer = self
            .writer
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        if writer.reserved_to > len && !writer.failed {
            // Gives reserved space back. A removed file gives it back by itself.
            if let Err(error) = self.file.set_len(len) {
                debug_assert!(
                    false,
                    "cannot give the reserved space of {path:?} back: {error}"
                );
            }
        }
        self.files.forget(self.inode, self);
    }
}

impl RealFile {
    pub(super) fn new(inner: Arc<FileInner>, disk: RealDisk) -> Self {
        Self { inner, disk }
    }
}

impl File for RealFile {
    fn len(&self) -> u64 {
        self.inner.len.load(Ordering::Acquire)
    }

    fn append(&self, parts: &[&[u8]]) -> Result<u64, DiskError> {
        let inner = &*self.inner;
        inner.may_change("append")?;
        let mut writer = inner.writer();
        let start = inner.len.load(Ordering::Acquire);
        let added = match write_all_at(&inner.file, parts, start) {
            Ok(added) => added,
            Err(error) => {
                let error = inner.error("append", &error);
                // A full disk took part of it: cut that off, and the file is as it was.
                let cut = || inner.file.set_len(start).is_ok();
                if error.kind == DiskErrorKind::Full && !cut() {
                    writer.failed = true;
                    let kind = DiskErrorKind::Failed("full, and cannot be cut back".to_owned());
                    return Err(DiskError { kind, ..error });
                }
                writer.failed = !matches!(error.kind, DiskErrorKind::Full);
                writer.reserved_to = start;
                return Err(error);
            }
        };
        let end = start + added;
        writer.appended += added;
        inner.len.store(end, Ordering::Release);
        inner.reserve(&mut writer, end, &self.disk.inner.root);
        Ok(start)
    }

    fn read_at(&self, position: u64, into: &mut [u8]) -> Result<usize, DiskError> {
        let available = self.len().saturating_sub(position);
        let wanted = into
            .len()
            .min(usize::try_from(available).unwrap_or(usize::MAX));
        let mut filled = 0;
        while filled < wanted {
            let at = position + filled as u64;
            match self.inner.file.read_at(&mut into[filled..wanted], at) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.inner.error("read_at", &error)),
            }
        }
        Ok(filled)
    }

    fn view(&self, position: u64, len: usize) -> Result<Bytes, DiskError> {
        if len == 0 {
            return Ok(Bytes::new());
        }
        let committed = self.len();
        let end = position
            .checked_add(len as u64)
            .expect("a range below the file's end");
        assert!(
            end <= committed,
            "view end {end} is past the file's {committed} bytes"
        );
        let mut map = self
            .inner
            .map
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if map.as_ref().is_none_or(|map| map.capacity() < end) {
            let sealed = self.inner.sealed.load(Ordering::Relaxed) || self.inner.read_only;
            let new = Map::new(&self.inner.file, committed, sealed);
            *map = Some(new.map_err(|error| self.inner.error("view", &error))?);
        }
        Ok(map.as_ref().expect("mapped above").view(position, len))
    }

    fn truncate(&self, len: u64) -> Result<(), DiskError> {
        let inner = &*self.inner;
        inner.may_change("truncate")?;
        let mut writer = inner.writer();
        let before = inner.len.load(Ordering::Acquire);
        assert!(
            len <= before,
            "truncate to {len} would lengthen a file of {before} bytes"
        );
        // Unpublish first: from here on no new view reaches into what goes.
        inner.len.store(len, Ordering::Release);
        inner
            .file
            .set_len(len)
            .map_err(|error| inner.error("truncate", &error))?;
        writer.reserved_to = len;
        Ok(())
    }

    fn sync(&self) -> impl Future<Output = Result<(), DiskError>> + 'static {
        let inner = Arc::clone(&self.inner);
        let done = self.disk.inner.pool.run(move || {
            inner
                .file
                .sync_data()
                .map_err(|error| inner.error("sync", &error))
        });
        async move {
            done.await
                .unwrap_or_else(|lost| Err(lost_job("sync", lost)))
        }
    }

    fn seal(&self) -> Result<(), DiskError> {
        let inner = &*self.inner;
        inner.may_change("seal")?;
        let mut writer = inner.writer();
        inner.sealed.store(true, Ordering::Relaxed);
        let len = inner.len.load(Ordering::Acquire);
        if writer.reserved_to > len {
            inner
                .file
                .set_len(len)
                .map_err(|error| inner.error("seal", &error))?;
            writer.reserved_to = len;
        }
        Ok(())
    }
}

/// Writes all of `parts` from `start` on; answers how many bytes that were.
fn write_all_at(file: &fs::File, parts: &[&[u8]], start: u64) -> io::Result<u64> {
    if let [one] = parts {
        file.write_all_at(one, start)?;
        return Ok(one.len() as u64);
    }
    let mut at = start;
    for group in parts.chunks(PARTS_MAX) {
        let mut slices: Vec<IoSlice<'_>> = group.iter().map(|part| IoSlice::new(part)).collect();
        let mut slices = &mut slices[..];
        IoSlice::advance_slices(&mut slices, 0);
        while !slices.is_empty() {
            match write_vectored_at(file, slices, at) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => {
                    at += count as u64;
                    IoSlice::advance_slices(&mut slices, count);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(at - start)
}

fn write_vectored_at(file: &fs::File, slices: &[IoSlice<'_>], at: u64) -> io::Result<usize> {
    let at = i64::try_from(at).map_err(|_| io::ErrorKind::FileTooLarge)?;
    let count = i32::try_from(slices.len()).expect("a group has at most PARTS_MAX parts");
    // SAFETY: `IoSlice` has the layout of `iovec`, and each slice lives through the call.
    let written = unsafe { libc::pwritev(file.as_raw_fd(), slices.as_ptr().cast(), count, at) };
    usize::try_from(written).map_err(|_| io::Error::last_os_error())
}
