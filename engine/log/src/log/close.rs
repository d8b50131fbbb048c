//! Stopping: the last snapshot, and what the checkpoint file says of this log.

use highwater_runtime::Runtime;

use super::Log;
use crate::checkpoint::LogCheckpoint;

impl<R: Runtime> Log<R> {
    /// Prepares a clean stop. The caller then runs sync jobs until [`Log::begin_sync`] has none;
    /// [`Log::checkpoint`] is clean from then on, until something is appended.
    pub fn close(&mut self) {
        if self.failed.is_none() {
            self.take_snapshot();
        }
    }

    /// What the data folder's checkpoint file must say of this log now: up to where everything is
    /// on the platter, which is where recovery begins.
    #[must_use]
    pub fn checkpoint(&self) -> LogCheckpoint {
        let point = self.synced;
        let last = self.last();
        let is_whole = point.segment == last.no
            && point.position == last.len
            && point.offset == last.end
            && !self.needs_sync();
        // A snapshot that turns out to be bad costs the next start a replay, no more.
        let is_replayed = self.producers.is_empty()
            || self.snapshots.durable.contains(&last.end)
            || self.snapshots.unproven.contains(&last.end);
        LogCheckpoint {
            clean: is_whole && is_replayed && self.failed.is_none(),
            segment: point.segment,
            position: point.position,
            synced: point.offset,
            // Not one that a crash may take back: segments below it go at the next start.
            log_start: self.start_published,
            next_segment: self.next_segment,
            max_timestamp: point.max_timestamp,
            first_timestamp: point.first_timestamp,
            producers_empty: point.producers_empty,
            epoch_newest: point.epoch_newest,
        }
    }
}
