//! Truncation: the log ends earlier, at a batch border; everything that knew more forgets it.

use highwater_runtime::{DiskErrorKind, File, Runtime};
use highwater_types::Offset;

use super::open::Files;
use super::recover::Recovery;
use super::{Active, Log, SyncPoint};
use crate::error::{AppendError, LogError};
use crate::report::RecoveryReport;
use crate::scan::Hops;
use crate::segment::{FIRST_AT, Naming};

impl<R: Runtime> Log<R> {
    /// Ends the log at the last batch border at or before `end`; answers the new log end. Before
    /// the log start, the log goes on empty at `end`. Epochs that start there are forgotten even
    /// when no record is (rule 30). Durable with the next sync job.
    ///
    /// The caller has dropped every [`crate::ReadSlice`] that reaches past `end`.
    ///
    /// # Errors
    /// `Full`: nothing changed. [`LogError::Unsynced`]: run the sync job that opening left first.
    /// Others: the log is offline, reopen it.
    pub fn truncate_to(&mut self, end: Offset, now_ms: i64) -> Result<Offset, LogError> {
        self.online().map_err(|error| match error {
            AppendError::Failed(error) => LogError::Failed(error),
            _ => unreachable!("a log is online or failed"),
        })?;
        if self.last().naming == Naming::Rescue {
            return Err(LogError::Unsynced);
        }
        if end >= self.end() {
            self.meta_dirty |= self.epochs.truncate_end(end);
            return Ok(self.end());
        }
        let truncated = if end < self.start {
            self.truncations += 1;
            self.restart_at(end, now_ms)
        } else {
            self.cut_at(end, now_ms)
        };
        if let Err(LogError::Disk(error)) = &truncated
            && error.kind != DiskErrorKind::Full
        {
            self.fail(error.clone());
        }
        truncated?;
        self.meta_dirty |= self.epochs.truncate_end(self.end());
        self.forget_past(now_ms)?;
        self.check();
        Ok(self.end())
    }

    /// Cuts at the border of the batch that holds `end`. When the log start lies in that batch,
    /// nothing is left: the log goes on empty at `end`.
    fn cut_at(&mut self, end: Offset, now_ms: i64) -> Result<(), LogError> {
        let at = self.segment_at(end);
        let segment = &self.segments[at];
        let (cut, position) = match self.seek(segment, end) {
            Ok(found) => (found.head.base_offset(), found.at),
            // What is not there cannot be cut: the segment ends where its batches end.
            Err(_) => (end, segment.len),
        };
        if cut < self.start {
            self.truncations += 1;
            return self.restart_at(end, now_ms);
        }
        let is_active = at + 1 == self.segments.len();
        if !is_active {
            // A sealed file takes no records any more: the next ones go to a fresh segment, whose
            // higher number says that it replaces the others.
            let no = self.next_segment;
            self.add_segment(no, cut, now_ms)?;
            let last = self.segments.pop().expect("a segment was added");
            for old in self.segments.split_off(at + 1) {
                self.remove_segment_file(old.no, old.naming)?;
            }
            self.segments.push(last);
        }
        let kept = &mut self.segments[at];
        (kept.len, kept.end) = (position, cut);
        let cache = kept.cache_mut();
        cache.max_timestamp = None;
        if let Some(index) = &mut cache.index {
            index.truncate(position);
        }
        let no = kept.no;
        let file = self.segments[at].file(&self.disk, &self.folder)?;
        file.truncate(position)?;
        if self.kv.is_some() {
            self.kv_pending.push(self.kv_index.forget(no, position));
        }
        self.truncations += 1;
        self.files_cut.push(no);
        let measured = self.measure(at, now_ms)?;
        if is_active {
            self.active = measured;
        }
        let in_segment = self.synced.segment == no;
        if self.synced.offset > cut || (in_segment && self.synced.position > position) {
            self.synced = SyncPoint {
                segment: no,
                position,
                offset: cut,
                max_timestamp: measured.max_timestamp,
                first_timestamp: measured.first_timestamp,
                ..self.point_at_end()
            };
        }
        Ok(())
    }

    /// Looks again at a segment's timestamps.
    fn measure(&self, at: usize, now_ms: i64) -> Result<Active, LogError> {
        let segment = &self.segments[at];
        let mut active = Active::empty(segment.start);
        let file = segment.file(&self.disk, &self.folder)?;
        let mut hops = Hops::new(&file, FIRST_AT, segment.len);
        while let Ok(Some((at, head))) = hops.next() {
            super::recover::note_scanned(&mut active, &head, at);
            active.first_append_ms = Some(segment.created_ms.min(now_ms));
        }
        active.kv_due = segment.len;
        Ok(active)
    }

    /// Rebuilds producer state up to the new end (rule 79).
    fn forget_past(&mut self, now_ms: i64) -> Result<(), LogError> {
        self.drop_snapshots_past(self.end());
        let pending = std::mem::take(&mut self.snapshots.pending);
        let mut files = Files::default();
        files.snapshots.append(&mut self.snapshots.durable);
        let unproven = std::mem::take(&mut self.snapshots.unproven);
        files.snapshots.extend(&unproven);
        files
            .snapshots
            .extend(pending.iter().map(|(offset, _)| *offset));
        files.snapshots.sort_unstable();
        let mut recovery = Recovery::new(None, now_ms, RecoveryReport::default());
        recovery.snapshots_synced = Offset::MAX;
        self.active.last_print = 0;
        let before = std::mem::take(&mut self.producers);
        self.load_producers(&files, &mut recovery)?;
        let is_pending = |offset: &Offset| pending.iter().any(|(known, _)| known == offset);
        let kept = std::mem::take(&mut self.snapshots.durable);
        let (durable, again): (Vec<Offset>, Vec<Offset>) = kept
            .into_iter()
            .partition(|offset| !unproven.contains(offset));
        self.snapshots.durable = durable;
        self.snapshots.unproven = again;
        self.snapshots.durable.retain(|offset| !is_pending(offset));
        self.snapshots.pending = pending;
        self.replay(&mut recovery)?;
        // What they wrote below the log start may stand in no file any more.
        self.producers.recall(before, self.end());
        self.take_snapshot();
        Ok(())
    }
}
