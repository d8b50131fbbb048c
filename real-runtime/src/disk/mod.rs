//! The data folder on a real file system.
//!
//! Reading and appending are system calls on the page cache and run where they are called; what
//! waits for the device (syncs, publishes) runs on the threads of [`Blocking`].

pub(crate) mod error;
mod file;
mod files;
mod lock;
mod map;
mod publish;

use std::fs;
use std::future::Future;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use highwater_runtime::{DirEntry, Disk, DiskError, DiskErrorKind};

use crate::blocking::{Blocking, JobLost};

pub use error::OpenError;
pub use file::RealFile;

use error::disk_error;
use file::FileInner;
use files::OpenFiles;
use lock::FolderLock;
use publish::Publishing;

/// One data folder. Clones share it; it is locked until the last clone and file are gone.
#[derive(Clone)]
pub struct RealDisk {
    inner: Arc<Inner>,
}

struct Inner {
    root: PathBuf,
    files: Arc<OpenFiles>,
    pool: Blocking,
    publishing: Arc<Publishing>,
    /// `None` for a folder that is only read.
    lock: Option<FolderLock>,
}

impl RealDisk {
    /// Opens the data folder `root` for this process alone, making it when missing.
    ///
    /// # Errors
    /// [`OpenError::Locked`] names the process that uses it. Others: the operator must act.
    pub fn open(root: &Path) -> Result<Self, OpenError> {
        fs::create_dir_all(root).map_err(|error| OpenError::new(root, &error))?;
        let lock = FolderLock::take(root)?;
        Ok(Self::over(root, Some(lock)))
    }

    /// Opens the data folder `root` for reading, beside a broker that may be running on it:
    /// every change is refused with `ReadOnly`.
    ///
    /// # Errors
    /// When there is no such folder or it may not be read.
    pub fn open_read_only(root: &Path) -> Result<Self, OpenError> {
        fs::read_dir(root).map_err(|error| OpenError::new(root, &error))?;
        Ok(Self::over(root, None))
    }

    fn over(root: &Path, lock: Option<FolderLock>) -> Self {
        let inner = Inner {
            root: root.to_owned(),
            files: Arc::new(OpenFiles::default()),
            pool: Blocking::new(),
            publishing: Arc::new(Publishing::default()),
            lock,
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// Where `path` of the data folder is on this machine.
    #[must_use]
    pub fn absolute(&self, path: &str) -> PathBuf {
        if path.is_empty() {
            self.inner.root.clone()
        } else {
            self.inner.root.join(path)
        }
    }

    /// The threads that wait for this disk.
    #[must_use]
    pub fn pool(&self) -> &Blocking {
        &self.inner.pool
    }

    fn is_read_only(&self) -> bool {
        self.inner.lock.is_none()
    }

    /// Refuses a change of a folder that is only read.
    fn may_change(&self, op: &'static str, path: &str) -> Result<(), DiskError> {
        if self.is_read_only() {
            return Err(DiskError {
                op,
                path: path.to_owned(),
                kind: DiskErrorKind::ReadOnly,
            });
        }
        Ok(())
    }

    fn opened(
        &self,
        op: &'static str,
        path: &str,
        file: io::Result<fs::File>,
    ) -> Result<RealFile, DiskError> {
        let file = file.map_err(|error| disk_error(op, path, &error))?;
        let facts = file
            .metadata()
            .map_err(|error| disk_error(op, path, &error))?;
        if !facts.is_file() {
            return Err(DiskError {
                op,
                path: path.to_owned(),
                kind: DiskErrorKind::NotFound,
            });
        }
        let inode = (facts.dev(), facts.ino());
        let inner = self.inner.files.get_or_insert(inode, || {
            FileInner::new(
                file,
                path,
                inode,
                facts.len(),
                self.is_read_only(),
                &self.inner.files,
            )
        });
        // The folder stays locked while a file of it is open.
        Ok(RealFile::new(inner, self.clone()))
    }
}

impl Disk for RealDisk {
    type File = RealFile;

    fn open(&self, path: &str) -> Result<RealFile, DiskError> {
        let absolute = self.absolute(path);
        let mut opened = fs::OpenOptions::new()
            .read(true)
            .write(!self.is_read_only())
            .open(&absolute);
        // A file that may not be written can still be read; appends to it answer `ReadOnly`.
        if let Err(error) = &opened
            && matches!(error.raw_os_error(), Some(libc::EACCES | libc::EROFS))
        {
            opened = fs::File::open(&absolute);
        }
        self.opened("open", path, opened)
    }

    fn create(&self, path: &str) -> Result<RealFile, DiskError> {
        self.may_change("create", path)?;
        let created = fs::OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .open(self.absolute(path));
        self.opened("create", path, created)
    }

    fn create_dir(&self, path: &str) -> Result<(), DiskError> {
        self.may_change("create_dir", path)?;
        let absolute = self.absolute(path);
        match fs::create_dir(&absolute) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && absolute.is_dir() => {
                Ok(())
            }
            result => result.map_err(|error| disk_error("create_dir", path, &error)),
        }
    }

    fn list(&self, path: &str) -> Result<Vec<DirEntry>, DiskError> {
        let failed = |error: io::Error| disk_error("list", path, &error);
        let mut entries = Vec::new();
        for entry in fs::read_dir(self.absolute(path)).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let Ok(name) = entry.file_name().into_string() else {
                // No file of ours has such a name, and the engine could not name it either.
                continue;
            };
            if path.is_empty() && name == lock::NAME {
                continue;
            }
            match entry.metadata() {
                Ok(facts) => {
                    let is_dir = facts.is_dir();
                    let len = if is_dir { 0 } else { facts.len() };
                    entries.push(DirEntry { name, is_dir, len });
                }
                // Removed since the folder was read.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(failed(error)),
            }
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    fn read(&self, path: &str) -> Result<Bytes, DiskError> {
        let content = fs::read(self.absolute(path));
        content
            .map(Bytes::from)
            .map_err(|error| disk_error("read", path, &error))
    }

    fn remove(&self, path: &str) -> Result<(), DiskError> {
        self.may_change("remove", path)?;
        let removed = fs::remove_file(self.absolute(path));
        removed.map_err(|error| disk_error("remove", path, &error))
    }

    fn remove_dir(&self, path: &str) -> Result<(), DiskError> {
        self.may_change("remove_dir", path)?;
        if path.is_empty() {
            let kind = DiskErrorKind::Failed("the data folder itself must stay".to_owned());
            return Err(DiskError {
                op: "remove_dir",
                path: path.to_owned(),
                kind,
            });
        }
        let removed = fs::remove_dir_all(self.absolute(path));
        removed.map_err(|error| disk_error("remove_dir", path, &error))
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), DiskError> {
        self.may_change("rename", from)?;
        let (absolute, target) = (self.absolute(from), self.absolute(to));
        // The system would let a folder replace an empty one; no caller means that.
        if from != to && target.exists() && (target.is_dir() || absolute.is_dir()) {
            let kind = DiskErrorKind::Exists;
            return Err(DiskError {
                op: "rename",
                path: to.to_owned(),
                kind,
            });
        }
        let renamed = fs::rename(absolute, target);
        renamed.map_err(|error| disk_error("rename", from, &error))
    }

    fn sync_dir(&self, path: &str) -> impl Future<Output = Result<(), DiskError>> + 'static {
        let (absolute, path) = (self.absolute(path), path.to_owned());
        let done = self.inner.pool.run(move || {
            let synced = fs::File::open(&absolute).and_then(|folder| folder.sync_all());
            synced.map_err(|error| disk_error("sync_dir", &path, &error))
        });
        async move {
            done.await
                .unwrap_or_else(|lost| Err(lost_job("sync_dir", lost)))
        }
    }

    fn publish(
        &self,
        path: &str,
        content: Bytes,
    ) -> impl Future<Output = Result<(), DiskError>> + 'static {
        let refused = self.may_change("publish", path);
        let (absolute, path) = (self.absolute(path), path.to_owned());
        let publishing = Arc::clone(&self.inner.publishing);
        let pool = self.inner.pool.clone();
        async move {
            refused?;
            let done = pool.run(move || {
                let published = publishing.publish(&absolute, &content);
                published.map_err(|error| disk_error("publish", &path, &error))
            });
            done.await
                .unwrap_or_else(|lost| Err(lost_job("publish", lost)))
        }
    }

    fn free_bytes(&self) -> Result<u64, DiskError> {
        files::free_bytes(&self.inner.root).map_err(|error| disk_error("free_bytes", "", &error))
    }
}

fn lost_job(op: &'static str, lost: JobLost) -> DiskError {
    DiskError {
        op,
        path: String::new(),
        kind: DiskErrorKind::Failed(lost.to_string()),
    }
}
