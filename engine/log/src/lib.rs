//! One partition's log on disk: segments, indexes, leader epochs, producer state, recovery.
//!
//! [`Log`] owns the folder of one partition (`docs/format/log.md`). Each of its steps is
//! synchronous on the page cache and short; what must reach the platter comes back as a
//! [`SyncJob`], which the caller awaits outside its lock and reports by [`Log::finish_sync`].
//! [`DataDir`] owns what all partitions share: identity, checkpoint file, clean-shutdown marker.
//!
//! The log files are the truth. Position index, checkpoint, producer snapshots and the epoch
//! list can be lost or damaged: they are rebuilt from the log.

mod checkpoint;
mod coding;
mod config;
mod data_dir;
mod epochs;
mod error;
mod index;
mod inspect;
mod log;
mod meta;
mod producers;
mod report;
mod scan;
mod segment;

pub use checkpoint::LogCheckpoint;
pub use config::{LogConfig, OpenOptions};
pub use data_dir::{DataDir, DataDirError, DataDirOptions};
pub use epochs::EpochEnd;
pub use error::{AppendError, LogError, ReadError};
pub use index::forget_partition;
pub use inspect::{Finding, dump, verify};
pub use log::{Appended, Log, ReadSlice, Retained, SegmentInfo, SyncDone, SyncJob};
pub use producers::{BatchEntry, ProducerEntry, ProducerRefusal};
pub use report::RecoveryReport;
