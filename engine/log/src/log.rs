//! One partition's log: its segments, and what is remembered about them.
//!
//! ```text
//!             append, roll          begin_sync ... finish_sync
//!  Serving --------------> Serving -----------------------------> Serving, `synced` moved
//!     |  a write or sync failed
//!     v
//!  Failed: appends are refused, synced records are read; reopening recovers from disk
//! ```
//!
//! The steps are split by event: one file below `log/` for each.

mod append;
mod close;
mod create;
mod describe;
mod offsets;
mod open;
mod read;
mod recover;
mod replay;
mod rescue;
mod retain;
mod roll;
mod seek;
mod snapshots;
mod state;
mod sync;
#[cfg(test)]
mod tests;
mod truncate;

use highwater_runtime::{Disk, DiskError, KvOp, Runtime};
use highwater_types::{Offset, SegmentNo, TopicId, TopicPartition};

use crate::config::LogConfig;
use crate::epochs::Epochs;
use crate::index::KvIndex;
use crate::producers::Producers;
use crate::segment::Segment;

pub(crate) use open::Files;
pub(crate) use snapshots::SUFFIX as SNAPSHOT_SUFFIX;

pub use append::Appended;
pub use describe::SegmentInfo;
pub use read::ReadSlice;
pub use retain::Retained;
pub use sync::{SyncDone, SyncJob};

use snapshots::Snapshots;
use state::{Active, Doomed, SyncPoint};

/// The open files of a world.
pub(crate) type FileOf<R> = <<R as Runtime>::Disk as Disk>::File;

/// The log of one partition.
///
/// Log start <= log end; `synced` is at most the log end. Shared between cores behind a lock;
/// no step waits for the device.
pub struct Log<R: Runtime> {
    disk: R::Disk,
    kv: Option<R::Kv>,
    kv_index: KvIndex,
    name: TopicPartition,
    folder: String,
    topic_id: TopicId,
    config: LogConfig,
    /// By rising number and start; never empty; the last one is active.
    segments: Vec<Segment<FileOf<R>>>,
    active: Active,
    next_segment: SegmentNo,
    start: Offset,
    epochs: Epochs,
    producers: Producers,
    snapshots: Snapshots<FileOf<R>>,
    /// Up to where everything is on the platter.
    synced: SyncPoint,
    /// The log start that survives a crash.
    start_published: Offset,
    /// Counts truncations: a sync that began before one proves nothing about what came after.
    truncations: u64,
    sync_in_flight: bool,
    /// Counts sync jobs that succeeded.
    syncs_done: u64,
    /// Files that were cut since their last sync.
    files_cut: Vec<SegmentNo>,
    /// Names in the folder changed since its last sync.
    folder_dirty: bool,
    /// The folder itself is new in the data folder.
    root_dirty: bool,
    /// `partition.meta` is there, or may be.
    meta_exists: bool,
    /// Log start or epochs differ from `partition.meta`.
    meta_dirty: bool,
    /// There was no space for it: it waits for the next sync or retention.
    meta_stalled: bool,
    /// Files that go when their time has come and no crash can bring their records back.
    doomed: Vec<Doomed>,
    /// Originals of a rescued tail, cut or removed once the copy is on the platter.
    rescued: Vec<rescue::Original>,
    /// Index entries on their way to the key store.
    kv_pending: Vec<KvOp>,
    failed: Option<DiskError>,
}

impl<R: Runtime> Log<R> {
    fn last(&self) -> &Segment<FileOf<R>> {
        self.segments.last().expect("a log has a segment")
    }

    fn last_mut(&mut self) -> &mut Segment<FileOf<R>> {
        self.segments.last_mut().expect("a log has a segment")
    }

    /// Where the segment is that holds `offset`, or the last one when `offset` is the log end.
    fn segment_at(&self, offset: Offset) -> usize {
        let after = self
            .segments
            .partition_point(|segment| segment.start <= offset);
        after.saturating_sub(1)
    }

    /// Takes the log offline after a failed write or sync: nothing is tried again on its files.
    pub fn fail(&mut self, error: DiskError) {
        self.failed.get_or_insert(error);
    }

    /// Asserted after each change; a violation stops the broker rather than serve wrong data.
    #[track_caller]
    fn check(&self) {
        let (start, end) = (self.start, self.end());
        assert!(start <= end, "log start {start} is past log end {end}");
        let synced = self.synced.offset;
        assert!(synced <= end, "synced {synced} is past log end {end}");
        let first = self.segments[0].start;
        assert!(
            first <= start,
            "the first segment starts at {first}, past log start {start}"
        );
        let (last, next) = (self.last().no, self.next_segment);
        assert!(
            last < next,
            "segment number {last} would be used again: next is {next}"
        );
    }
}

/// The folder of a partition, relative to the data folder.
pub(crate) fn folder_of(name: &TopicPartition) -> String {
    name.to_string()
}
