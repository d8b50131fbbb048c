//! The open files of a data folder, so that two opens of one file share its length.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::file::FileInner;

/// Device and number of a file: its identity under any name, as long as it is open.
pub(super) type Inode = (u64, u64);

/// Every open file of a data folder.
#[derive(Default)]
pub(super) struct OpenFiles {
    files: Mutex<BTreeMap<Inode, Weak<FileInner>>>,
}

impl OpenFiles {
    /// The open file `inode`; `open` makes it when it is not open yet.
    pub(super) fn get_or_insert(
        &self,
        inode: Inode,
        open: impl FnOnce() -> FileInner,
    ) -> Arc<FileInner> {
        let mut files = self.lock();
        if let Some(file) = files.get(&inode).and_then(Weak::upgrade) {
            return file;
        }
        let file = Arc::new(open());
        files.insert(inode, Arc::downgrade(&file));
        file
    }

    /// Forgets `file`, unless its number already belongs to a later one.
    pub(super) fn forget(&self, inode: Inode, file: *const FileInner) {
        let mut files = self.lock();
        if files
            .get(&inode)
            .is_some_and(|known| std::ptr::eq(known.as_ptr(), file))
        {
            files.remove(&inode);
        }
    }

    /// How many files are open.
    pub(super) fn count(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Inode, Weak<FileInner>>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Bytes that this user may still write to the disk that holds `path`.
pub(super) fn free_bytes(path: &Path) -> io::Result<u64> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    let mut facts = MaybeUninit::<libc::statvfs>::uninit();
    // SAFETY: `path` ends in a zero byte, and `facts` has room for what the call fills in.
    if unsafe { libc::statvfs(path.as_ptr(), facts.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call succeeded, so it filled the whole struct.
    let facts = unsafe { facts.assume_init() };
    Ok(facts.f_bavail * facts.f_frsize)
}
