//! What can go wrong with a log, by operation; each says who acts next.

use highwater_record::Corrupt;
use highwater_runtime::{DiskError, DiskErrorKind};
use highwater_types::{LeaderEpoch, Offset, TopicId};

use crate::ProducerRefusal;

/// A log could not be created, opened or changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LogError {
    /// The disk refuses. On `Full` nothing changed; else the partition is offline until reopened.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The folder holds another topic of the same name: delete it, then create the partition.
    #[error("folder {folder:?} holds topic {found}, expected {expected}")]
    OtherTopic {
        /// The partition's folder.
        folder: String,
        /// The topic id found in it.
        found: TopicId,
        /// The topic id that was asked for.
        expected: TopicId,
    },
    /// A file of a newer format: start the newer release that wrote it.
    #[error("file {file:?} has format version {version}, which this release does not know")]
    NewerFormat {
        /// The file.
        file: String,
        /// Its version.
        version: u8,
    },
    /// An earlier write or sync failed: reopen the log.
    #[error("the log went offline: {0}")]
    Failed(DiskError),
    /// What opening moved is not durable yet: run [`crate::Log::begin_sync`]'s job, then ask again.
    #[error("the log is not synced since it was opened")]
    Unsynced,
}

/// A batch was not appended. Nothing changed, except after [`AppendError::Failed`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AppendError {
    /// No space; the producer may try again when some was freed.
    #[error("no space for the batch: {0}")]
    Full(DiskError),
    /// This or an earlier write or sync failed: reopen the log. Synced data stays readable.
    #[error("the log is offline: {0}")]
    Failed(DiskError),
    /// The producer's epoch or sequence does not fit what it wrote before.
    #[error(transparent)]
    Producer(#[from] ProducerRefusal),
    /// The log has records of a newer leader: this leadership is over.
    #[error("leader epoch {asked} is over: the log is at epoch {current}")]
    StaleEpoch {
        /// The newest epoch in the log.
        current: LeaderEpoch,
        /// The epoch of the append.
        asked: LeaderEpoch,
    },
}

impl AppendError {
    /// Sorts a disk's answer to an append: `Full` changed nothing, all else takes the log offline.
    pub(crate) fn of_disk(error: DiskError) -> Self {
        if error.kind == DiskErrorKind::Full {
            Self::Full(error)
        } else {
            Self::Failed(error)
        }
    }
}

/// A read found no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The offset is not in the log: the reader resets its position.
    #[error("offset {asked} is outside of the log [{start}, {end}]")]
    OutOfRange {
        /// The offset asked for.
        asked: Offset,
        /// The log start.
        start: Offset,
        /// The log end.
        end: Offset,
    },
    /// Stored bytes are damaged. The partition serves what lies in other places.
    #[error("{file:?} is damaged: {corrupt}")]
    Corrupt {
        /// The segment file.
        file: String,
        /// Where, and what contradicts.
        corrupt: Corrupt,
    },
    /// Records that the log counts are not in the file any more.
    #[error("{file:?} ends at byte {at}, before offset {offset}")]
    Missing {
        /// The segment file.
        file: String,
        /// Where the stored batches end.
        at: u64,
        /// The first offset that is not there.
        offset: Offset,
    },
    /// The disk refuses; a later read may succeed.
    #[error(transparent)]
    Disk(#[from] DiskError),
}
