//! The lock of a data folder: one broker at a time.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::Path;
use std::process;

use super::error::OpenError;

/// The lock file, in the data folder. Not an entry of the folder for the engine.
pub(super) const NAME: &str = "LOCK";

/// Held as long as it lives. The kernel gives it back when the process dies, however it dies; the
/// file stays, so that nobody can lock a name that somebody else is removing.
pub(super) struct FolderLock {
    _file: File,
}

impl FolderLock {
    /// Locks `folder` and writes this process's number into the lock file.
    ///
    /// # Errors
    /// [`OpenError::Locked`] with the number of the process that has it.
    pub(super) fn take(folder: &Path) -> Result<Self, OpenError> {
        let failed = |error: std::io::Error| OpenError::new(folder, &error);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let mut file = options.open(folder.join(NAME)).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut pid = String::new();
                // Only for the message: a lock file that cannot be read says no number.
                let _ = file.take(32).read_to_string(&mut pid);
                let pid = pid.trim();
                let pid = if pid.is_empty() { "?" } else { pid }.to_owned();
                return Err(OpenError::Locked {
                    folder: folder.to_owned(),
                    pid,
                });
            }
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        // The number is a courtesy: a start on a full disk must work without it.
        let _ = file
            .set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| writeln!(file, "{}", process::id()));
        Ok(Self { _file: file })
    }
}
