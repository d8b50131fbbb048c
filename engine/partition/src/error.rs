//! Why a partition refused, in its own words; the broker knows the wire codes.

use highwater_log::{AppendError, ReadError};
use highwater_types::{LeaderEpoch, Offset};

/// Why a batch was not appended.
#[derive(Debug, thiserror::Error)]
pub enum ProduceError {
    /// The log refuses.
    #[error(transparent)]
    Log(#[from] AppendError),
    /// The partition is offline after a disk failure: retry, it recovers from disk.
    #[error("the partition is offline: {0}")]
    Offline(String),
    /// The disk is filled up to the watermark: retry once space was freed.
    #[error("the disk has less free space than its watermark: nothing is appended")]
    DiskFull,
}

/// Why an appended batch will not be acknowledged. It may or may not survive.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AckError {
    /// Its sync failed: retry; an idempotent producer's retry is recognised if it survived.
    #[error("the disk failed before the batch was durable: {0}")]
    Storage(String),
    /// The partition was deleted meanwhile.
    #[error("the partition was deleted")]
    Deleted,
}

/// Why an offset cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum OffsetError {
    /// Outside `[start, end]`: the client's reset policy decides.
    #[error("offset {asked} is outside [{start}, {end}]")]
    OutOfRange {
        /// The offset asked for.
        asked: Offset,
        /// The log's start.
        start: Offset,
        /// The log's end.
        end: Offset,
    },
    /// The caller knows an older leader epoch: refresh metadata.
    #[error("epoch {asked} is older than {current}")]
    Fenced {
        /// The caller's epoch.
        asked: LeaderEpoch,
        /// Ours.
        current: LeaderEpoch,
    },
    /// The caller knows a newer leader epoch than this broker: retry.
    #[error("epoch {asked} is newer than {current}")]
    UnknownEpoch {
        /// The caller's epoch.
        asked: LeaderEpoch,
        /// Ours.
        current: LeaderEpoch,
    },
    /// The log refuses: corrupt bytes or a failed disk.
    #[error(transparent)]
    Log(#[from] ReadError),
    /// The partition is offline after a disk failure: retry.
    #[error("the partition is offline: {0}")]
    Offline(String),
    /// The partition was deleted: refresh metadata.
    #[error("the partition was deleted")]
    Deleted,
}
