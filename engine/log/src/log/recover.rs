//! Recovery after a crash: from the last place that is certainly on the platter, batch by batch
//! with checksums, up to the first damage.

use highwater_record::{BatchHead, Corrupt, CorruptReason};
use highwater_runtime::Runtime;
use highwater_types::{Offset, Position};

use super::open::Files;
use super::{Active, Log, SyncPoint};
use crate::checkpoint::LogCheckpoint;
use crate::error::LogError;
use crate::report::RecoveryReport;
use crate::scan::{Hops, ScanError, verify_batch};
use crate::segment::FIRST_AT;

/// What one opening carries from step to step.
pub(super) struct Recovery {
    pub(super) checkpoint: Option<LogCheckpoint>,
    pub(super) now_ms: i64,
    pub(super) report: RecoveryReport,
    /// The replay assigns epochs of batches from here on.
    pub(super) epochs_from: Option<Offset>,
    /// The replay shows producers batches from here on.
    pub(super) producers_from: Option<Offset>,
    /// Snapshots below this offset are on the platter: a job that synced records past them
    /// included them.
    pub(super) snapshots_synced: Offset,
}

/// Where recovery begins to scan.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecoveryPoint {
    /// Which segment.
    pub(super) at: usize,
    pub(super) position: u64,
    pub(super) offset: Offset,
    pub(super) max_timestamp: i64,
    pub(super) first_timestamp: i64,
    /// A checkpoint says that what lies before it is on the platter, the header at least.
    pub(super) proven: bool,
}

impl Recovery {
    pub(super) fn new(
        checkpoint: Option<LogCheckpoint>,
        now_ms: i64,
        report: RecoveryReport,
    ) -> Self {
        let snapshots_synced = checkpoint.map_or(Offset::ZERO, |checkpoint| checkpoint.synced);
        let (epochs_from, producers_from) = (None, None);
        Self {
            checkpoint,
            now_ms,
            report,
            epochs_from,
            producers_from,
            snapshots_synced,
        }
    }
}

impl<R: Runtime> Log<R> {
    /// Scans from the recovery point on, cuts at the first damage, and moves the unsynced tail to
    /// a fresh segment.
    pub(super) fn recover(
        &mut self,
        files: &Files,
        recovery: &mut Recovery,
    ) -> Result<(), LogError> {
        let never_synced = recovery.checkpoint.is_none_or(|point| point.position == 0);
        let first = self.segments.first().map(|first| first.start);
        if never_synced && !files.meta && first.is_some_and(|first| first > self.start) {
            // Segments are deleted only after `partition.meta` says so: these lost the ones
            // before them with a power loss, before anything was synced.
            while let Some(old) = self.segments.pop() {
                recovery.report.cut_segments += 1;
                recovery.report.cut_bytes += old.len;
                self.remove_segment_file(old.no, old.naming)?;
            }
        }
        if self.segments.is_empty() {
            let synced = recovery
                .checkpoint
                .map_or(Offset::ZERO, |point| point.synced);
            if synced > self.start {
                recovery.report.missing = Some((self.start, synced));
            }
            let start = self.start.max(synced);
            self.start = start;
            for (no, _) in &files.rescues {
                self.remove_segment_file(*no, crate::segment::Naming::Rescue)?;
            }
            let no = self.next_segment;
            self.add_segment(no, start, recovery.now_ms)?;
            self.synced = self.start_of_segment(0);
            self.root_dirty = true;
            return Ok(());
        }
        let point = self.recovery_point(recovery);
        let point = self.scan(point, recovery)?;
        self.synced = SyncPoint {
            segment: self.segments[point.at].no,
            position: if point.proven { point.position } else { 0 },
            offset: point.offset,
            max_timestamp: point.max_timestamp,
            first_timestamp: point.first_timestamp,
            producers_empty: false,
            epoch_newest: recovery
                .checkpoint
                .and_then(|checkpoint| checkpoint.epoch_newest),
        };
        // Names are durable up to the segment in which something was synced, and no further.
        let synced_in = recovery.checkpoint.filter(|point| point.position > 0);
        self.root_dirty = synced_in.is_none();
        self.folder_dirty |= synced_in.is_none_or(|synced| synced.segment < self.last().no);
        recovery.epochs_from = Some(point.offset);
        self.adopt_rescues(files, point, recovery)?;
        self.rescue_tail(point, recovery)?;
        if let Some(checkpoint) = recovery.checkpoint
            && self.end() < checkpoint.synced
            && self.start < checkpoint.synced
        {
            // Offsets of records that were acknowledged are never given out again.
            recovery.report.missing = Some((self.end(), checkpoint.synced));
            let no = self.next_segment;
            self.add_segment(no, checkpoint.synced, recovery.now_ms)?;
            self.join_segments();
        }
        Ok(())
    }

    /// The point right behind the header of segment `at`.
    fn start_point(&self, at: usize) -> RecoveryPoint {
        RecoveryPoint {
            at,
            position: FIRST_AT,
            offset: self.segments[at].start,
            max_timestamp: -1,
            first_timestamp: -1,
            proven: false,
        }
    }

    fn recovery_point(&self, recovery: &Recovery) -> RecoveryPoint {
        let start_of = |at| self.start_point(at);
        let Some(checkpoint) = recovery.checkpoint else {
            return start_of(0);
        };
        let at = self
            .segments
            .partition_point(|segment| segment.no < checkpoint.segment);
        let Some(segment) = self.segments.get(at) else {
            // The segment is gone, with synced records: what is left is checked where it ends.
            return start_of(self.segments.len() - 1);
        };
        let is_there = segment.no == checkpoint.segment
            && segment.len >= checkpoint.position
            && checkpoint.position >= FIRST_AT;
        if !is_there {
            return start_of(at);
        }
        RecoveryPoint {
            at,
            position: checkpoint.position,
            offset: checkpoint.synced,
            max_timestamp: checkpoint.max_timestamp,
            first_timestamp: checkpoint.first_timestamp,
            proven: true,
        }
    }

    /// Checks every batch from `point` on; the log ends before the first one that is not whole.
    /// Answers the point, which moves on when what it pointed to is below the log start.
    fn scan(
        &mut self,
        mut point: RecoveryPoint,
        recovery: &mut Recovery,
    ) -> Result<RecoveryPoint, LogError> {
        let mut offset = point.offset;
        let mut at = point.at;
        let mut active = Active::empty(offset);
        active.max_timestamp = point.max_timestamp;
        active.first_timestamp = point.first_timestamp;
        let mut position = point.position;
        loop {
            let next = self.segments.get(at + 1).map(|next| next.start);
            let (good, end, damage) =
                self.scan_segment(at, position, offset, next, &mut active, recovery)?;
            let file_len = self.segments[at].len;
            let segment = &mut self.segments[at];
            offset = end;
            segment.len = good;
            segment.end = end;
            let created_ms = segment.created_ms;
            let has_data = !segment.is_empty();
            segment.cache_mut().verified = (position, u64::MAX);
            active.first_append_ms = has_data.then_some(created_ms.min(recovery.now_ms));
            active.kv_due = good;
            let joins =
                |next: &crate::segment::Segment<_>| next.broken.is_none() && next.start == offset;
            let goes_on = self.segments.get(at + 1).is_some_and(joins);
            // A power loss may bring back some files of deleted segments and not others.
            let is_deleted = |next: &crate::segment::Segment<_>| next.start <= self.start;
            if !goes_on && self.segments.get(at + 1).is_some_and(is_deleted) {
                for old in self.segments.drain(..=at).collect::<Vec<_>>() {
                    self.remove_segment_file(old.no, old.naming)?;
                }
                point = self.start_point(0);
                (at, position, offset) = (0, point.position, point.offset);
                active = Active::empty(offset);
                continue;
            }
            if !goes_on {
                recovery.report.cut_bytes += file_len - good;
                if file_len > good {
                    let path = self.segments[at].path(&self.folder);
                    recovery.report.cut_at = damage.map(|corrupt| (path, corrupt));
                }
                self.active = active;
                self.drop_segments_after(at, recovery)?;
                return Ok(point);
            }
            self.segments[at].cache_mut().max_timestamp = Some(active.max_timestamp);
            at += 1;
            position = FIRST_AT;
            active = Active::empty(offset);
        }
    }

    /// The end of the good batches of one segment, in bytes and offsets, and what stands there.
    fn scan_segment(
        &self,
        at: usize,
        position: u64,
        mut offset: Offset,
        next: Option<Offset>,
        active: &mut Active,
        recovery: &mut Recovery,
    ) -> Result<(u64, Offset, Option<Corrupt>), LogError> {
        let segment = &self.segments[at];
        let file = segment.file(&self.disk, &self.folder)?;
        let mut hops = Hops::new(&file, position, segment.len);
        loop {
            let good = hops.at();
            let (batch_at, head) = match hops.next() {
                Ok(Some(found)) => found,
                Ok(None) => return Ok((good, offset, None)),
                Err(ScanError::Corrupt(corrupt)) => return Ok((good, offset, Some(corrupt))),
                Err(ScanError::Disk(error)) => return Err(error.into()),
            };
            if next.is_some_and(|next| head.base_offset() >= next) {
                // The original of what a later segment holds.
                return Ok((good, offset, None));
            }
            if head.base_offset() < offset {
                let reason = CorruptReason::Offsets;
                return Ok((
                    good,
                    offset,
                    Some(Corrupt {
                        at: Position(batch_at),
                        reason,
                    }),
                ));
            }
            match verify_batch(&file, batch_at, &head) {
                Ok(()) => {}
                Err(ScanError::Corrupt(corrupt)) => return Ok((good, offset, Some(corrupt))),
                Err(ScanError::Disk(error)) => return Err(error.into()),
            }
            recovery.report.scanned_bytes += head.len() as u64;
            note_scanned(active, &head, batch_at);
            offset = head.end_offset();
        }
    }

    fn drop_segments_after(&mut self, at: usize, recovery: &mut Recovery) -> Result<(), LogError> {
        while self.segments.len() > at + 1 {
            let dropped = self.segments.pop().expect("the loop saw one");
            if dropped.len > FIRST_AT {
                recovery.report.cut_segments += 1;
                recovery.report.cut_bytes += dropped.len;
            }
            self.remove_segment_file(dropped.no, dropped.naming)?;
        }
        Ok(())
    }

    /// Drops every segment and goes on empty at `start`.
    pub(super) fn restart_at(&mut self, start: Offset, now_ms: i64) -> Result<(), LogError> {
        let no = self.next_segment;
        self.add_segment(no, start, now_ms)?;
        while self.segments.len() > 1 {
            let old = self.segments.remove(0);
            self.remove_segment_file(old.no, old.naming)?;
        }
        for original in std::mem::take(&mut self.rescued) {
            if let super::rescue::Original::Remove { path } = original {
                super::retain::is_removed(&self.disk, &path);
            }
        }
        self.start = start;
        self.synced = self.start_of_segment(0);
        self.epochs.truncate_end(start);
        self.meta_dirty = true;
        Ok(())
    }
}

/// Takes a scanned batch into what is known of the active segment.
pub(super) fn note_scanned(active: &mut Active, head: &BatchHead, batch_at: u64) {
    if batch_at == FIRST_AT {
        active.first_timestamp = head.facts.max_timestamp;
    }
    active.max_timestamp = active.max_timestamp.max(head.facts.max_timestamp);
    active.roll_checked = head.end_offset();
}
