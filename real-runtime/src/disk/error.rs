//! What the file system says, in the engine's words and in the operator's.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use highwater_runtime::{DiskError, DiskErrorKind};

/// A data folder that could not be opened; the message says what to do.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process uses the folder.
    #[error("data folder {} is locked by pid {pid}. Another broker uses it. Stop that broker, or choose another folder with --data-dir.", folder.display())]
    Locked {
        /// The data folder.
        folder: PathBuf,
        /// The process that holds the lock, `?` when it did not write its number.
        pid: String,
    },
    /// The folder or its files may not be written by this user.
    #[error("data folder {} cannot be written: {why}. Give this user the right to write it, or choose another folder with --data-dir.", folder.display())]
    NoRight {
        /// The data folder.
        folder: PathBuf,
        /// What the system said.
        why: String,
    },
    /// Another reason.
    #[error("data folder {} cannot be opened: {why}. Check the path and the disk, or choose another folder with --data-dir.", folder.display())]
    Failed {
        /// The data folder.
        folder: PathBuf,
        /// What the system said.
        why: String,
    },
}

impl OpenError {
    pub(super) fn new(folder: &Path, error: &io::Error) -> Self {
        let (folder, why) = (folder.to_owned(), reason(error));
        match error.raw_os_error() {
            Some(libc::EACCES | libc::EPERM | libc::EROFS) => Self::NoRight { folder, why },
            _ => Self::Failed { folder, why },
        }
    }
}

/// The system's text without its number: `Permission denied`, not `... (os error 13)`.
fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}

/// The engine's error for `error`, which `op` on `path` met.
pub(crate) fn disk_error(op: &'static str, path: &str, error: &io::Error) -> DiskError {
    let kind = match error.raw_os_error() {
        Some(libc::ENOSPC | libc::EDQUOT) => DiskErrorKind::Full,
        // EBADF: the file was opened for reading only, because it may not be written.
        Some(libc::EACCES | libc::EPERM | libc::EROFS | libc::EBADF) => DiskErrorKind::ReadOnly,
        _ => match error.kind() {
            // A folder where a file is wanted, or the other way round: the asked one is not there.
            ErrorKind::NotFound | ErrorKind::IsADirectory | ErrorKind::NotADirectory => {
                DiskErrorKind::NotFound
            }
            ErrorKind::AlreadyExists => DiskErrorKind::Exists,
            _ => DiskErrorKind::Failed(error.to_string()),
        },
    };
    DiskError {
        op,
        path: path.to_owned(),
        kind,
    }
}
