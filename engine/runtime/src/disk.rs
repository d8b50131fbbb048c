//! The data folder: a page cache that every call reads and writes, and a platter below it.
//!
//! Reading, appending, truncating, creating, renaming and removing are steps on the page cache:
//! they do not wait, and the next call sees them. A process that dies leaves the page cache as
//! it is. A machine that loses power leaves the platter: whatever was synced, and any part of
//! what was not. Two kinds of sync make bytes durable: [`File::sync`] for a file's content and
//! length, [`Disk::sync_dir`] for the names in a folder (a file created, renamed or removed).
//!
//! Paths are relative to the data folder, parts joined by `/`; `""` is the data folder itself.

use std::fmt;
use std::future::Future;

use bytes::Bytes;

/// One data folder. Clones share it.
pub trait Disk: Clone + Send + Sync + 'static {
    /// An open file.
    type File: File;

    /// Opens the file at `path` for reading and appending.
    ///
    /// # Errors
    /// `NotFound` when there is none. Others: see [`DiskErrorKind`].
    fn open(&self, path: &str) -> Result<Self::File, DiskError>;

    /// Makes an empty file at `path` and opens it. Durable after [`Disk::sync_dir`] of its folder.
    ///
    /// # Errors
    /// `Exists` when the name is taken. Others: see [`DiskErrorKind`].
    fn create(&self, path: &str) -> Result<Self::File, DiskError>;

    /// Makes the folder `path`, whose parent must exist; succeeds when it is there already.
    ///
    /// # Errors
    /// See [`DiskErrorKind`].
    fn create_dir(&self, path: &str) -> Result<(), DiskError>;

    /// The entries of the folder `path`, sorted by name.
    ///
    /// # Errors
    /// `NotFound` when there is no such folder. Others: see [`DiskErrorKind`].
    fn list(&self, path: &str) -> Result<Vec<DirEntry>, DiskError>;

    /// The whole content of the file at `path`. For files of at most a few MiB.
    ///
    /// # Errors
    /// `NotFound` when there is none. Others: see [`DiskErrorKind`].
    fn read(&self, path: &str) -> Result<Bytes, DiskError>;

    /// Removes the file at `path`. Handles and views of it stay usable.
    ///
    /// # Errors
    /// `NotFound` when there is none. Others: see [`DiskErrorKind`].
    fn remove(&self, path: &str) -> Result<(), DiskError>;

    /// Removes the folder `path` with everything in it. A crash may leave part of it.
    ///
    /// # Errors
    /// `NotFound` when there is none. Others: see [`DiskErrorKind`].
    fn remove_dir(&self, path: &str) -> Result<(), DiskError>;

    /// Renames a file or folder, replacing a file at `to`. After a power loss either name holds,
    /// until the folders of both are synced.
    ///
    /// # Errors
    /// `NotFound` when `from` does not exist. Others: see [`DiskErrorKind`].
    fn rename(&self, from: &str, to: &str) -> Result<(), DiskError>;

    /// Makes the names in folder `path` durable.
    ///
    /// # Errors
    /// See [`DiskErrorKind`]; after a failure which names survive is unknown.
    fn sync_dir(&self, path: &str) -> impl Future<Output = Result<(), DiskError>> + 'static;

    /// Replaces the file at `path` by `content`, durably: after a crash at any moment either the
    /// old or the new content is there, whole. Write beside it, sync, rename, sync the folder.
    ///
    /// # Errors
    /// See [`DiskErrorKind`]; the old or the new content is there.
    fn publish(
        &self,
        path: &str,
        content: Bytes,
    ) -> impl Future<Output = Result<(), DiskError>> + 'static;

    /// Bytes that may still be written to this disk.
    ///
    /// # Errors
    /// See [`DiskErrorKind`].
    fn free_bytes(&self) -> Result<u64, DiskError>;
}

/// An open file that grows at its end. Clones share it.
///
/// One writer at a time appends or truncates; readers may read beside it.
pub trait File: Clone + Send + Sync + 'static {
    /// The file's length in bytes.
    fn len(&self) -> u64;

    /// Whether the file holds no byte.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends the parts, one after the other; answers the position of the first byte.
    ///
    /// # Errors
    /// `Full` leaves the file as it was: the caller may go on. After any other error the file's
    /// tail is unknown: the caller must stop using the file and recover it from disk.
    fn append(&self, parts: &[&[u8]]) -> Result<u64, DiskError>;

    /// Fills `into` from `position`; answers how many bytes there were, fewer only at the end.
    ///
    /// # Errors
    /// See [`DiskErrorKind`].
    fn read_at(&self, position: u64, into: &mut [u8]) -> Result<usize, DiskError>;

    /// The bytes in `[position, position + len)`, without copying where the disk can.
    ///
    /// The range must be below [`File::len`] and must not be truncated while the view lives
    /// (production maps the file: the reader would die). Removing the file is safe.
    ///
    /// # Errors
    /// See [`DiskErrorKind`].
    fn view(&self, position: u64, len: usize) -> Result<Bytes, DiskError>;

    /// Cuts the file to `len` bytes. No view may overlap the cut range.
    ///
    /// # Errors
    /// See [`DiskErrorKind`]; the length is then unknown.
    fn truncate(&self, len: u64) -> Result<(), DiskError>;

    /// Makes durable every byte and the length that the file had when this was called. Appends
    /// may go on meanwhile.
    ///
    /// # Errors
    /// After a failure the page cache and the platter may differ for ever, and a later sync that
    /// succeeds proves nothing: the caller must stop using the file and recover it from disk.
    fn sync(&self) -> impl Future<Output = Result<(), DiskError>> + 'static;

    /// Says that nothing will be appended any more; reserved space is given back.
    ///
    /// # Errors
    /// See [`DiskErrorKind`].
    fn seal(&self) -> Result<(), DiskError>;
}

/// One name in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirEntry {
    /// The name, without its folder.
    pub name: String,
    /// Whether it is a folder.
    pub is_dir: bool,
    /// A file's length in bytes; 0 for a folder.
    pub len: u64,
}

/// A disk that did not do what was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskError {
    /// The call that failed, such as `append`.
    pub op: &'static str,
    /// The file or folder, relative to the data folder.
    pub path: String,
    /// Why.
    pub kind: DiskErrorKind,
}

/// Why a disk refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiskErrorKind {
    /// No such file or folder.
    NotFound,
    /// The name is taken.
    Exists,
    /// No space left. Nothing was changed; try again when space was freed.
    Full,
    /// The file system or the file may not be written. The operator must act.
    ReadOnly,
    /// The device failed, or refused for a reason that has no name here; the text says which.
    Failed(String),
}

impl fmt::Display for DiskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { op, path, kind } = self;
        write!(f, "cannot {op} {path:?}: {kind}")
    }
}

impl fmt::Display for DiskErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound => f.write_str("it does not exist"),
            Self::Exists => f.write_str("it exists already"),
            Self::Full => f.write_str("no space is left on the disk"),
            Self::ReadOnly => f.write_str("it may not be written"),
            Self::Failed(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for DiskError {}
