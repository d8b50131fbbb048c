//! Ordered keys beside the log, for indexes that can be rebuilt from it.
//!
//! Nothing in it is the truth. Without [`Kv::sync`] a crash of any kind keeps some prefix of the
//! writes, perhaps none; a batch is kept whole or not at all.

use std::future::Future;

use bytes::Bytes;

use crate::DiskError;

/// An open key store. Clones share it.
pub trait Kv: Clone + Send + Sync + 'static {
    /// Applies all operations, in order, at once.
    ///
    /// # Errors
    /// [`KvError::Disk`]: the store takes no writes any more; go on without it.
    fn write(&self, batch: &[KvOp]) -> Result<(), KvError>;

    /// The value at `key`.
    ///
    /// # Errors
    /// [`KvError`]: treat the index as missing and scan the log.
    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, KvError>;

    /// The entry with the largest key `<= key` and `>= low`.
    ///
    /// # Errors
    /// [`KvError`]: treat the index as missing and scan the log.
    fn floor(&self, low: &[u8], key: &[u8]) -> Result<Option<(Bytes, Bytes)>, KvError>;

    /// At most `limit` entries with keys in `[from, to)`, in order.
    ///
    /// # Errors
    /// [`KvError`]: treat the index as missing and scan the log.
    fn scan(&self, from: &[u8], to: &[u8], limit: usize) -> Result<Vec<(Bytes, Bytes)>, KvError>;

    /// Makes every write so far survive any crash.
    ///
    /// # Errors
    /// [`KvError::Disk`]: what survives is some prefix.
    fn sync(&self) -> impl Future<Output = Result<(), KvError>> + 'static;
}

/// One change of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KvOp {
    /// Sets `key` to `value`.
    Put {
        /// The key.
        key: Bytes,
        /// Its new value.
        value: Bytes,
    },
    /// Removes `key`, if it is there.
    Delete {
        /// The key.
        key: Bytes,
    },
    /// Removes every key in `[from, to)`.
    DeleteRange {
        /// The first key to go.
        from: Bytes,
        /// The first key to stay.
        to: Bytes,
    },
}

/// A key store that did not do what was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KvError {
    /// Its files are damaged: destroy it and rebuild from the log.
    #[error("the key store in {folder:?} is damaged: {why}")]
    Corrupt {
        /// The store's folder, relative to the data folder.
        folder: String,
        /// What the store says of it.
        why: String,
    },
    /// The disk below it refuses.
    #[error(transparent)]
    Disk(DiskError),
}
