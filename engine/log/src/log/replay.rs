//! Bringing epochs and producer state up to the log end: a snapshot, then the batches behind it.

use highwater_runtime::{Disk, File, Runtime};
use highwater_types::Offset;

use super::Log;
use super::open::Files;
use super::recover::Recovery;
use crate::error::LogError;
use crate::producers::{self, Producers};
use crate::scan::{Hops, fingerprint};

impl<R: Runtime> Log<R> {
    /// The newest snapshot that fits the log; the replay goes on from there (rule 25).
    pub(super) fn load_producers(
        &mut self,
        files: &Files,
        recovery: &mut Recovery,
    ) -> Result<(), LogError> {
        let mut from = self.segments[0].start;
        if let Some(checkpoint) = recovery.checkpoint
            && checkpoint.producers_empty
            && checkpoint.synced <= self.end()
        {
            from = from.max(checkpoint.synced);
        }
        self.producers = Producers::default();
        let mut loaded = false;
        for offset in files.snapshots.iter().rev() {
            let path = self.snapshot_path(*offset);
            if *offset > self.end() {
                let _ = self.disk.remove(&path);
                self.folder_dirty = true;
                recovery.report.snapshots_dropped += 1;
                continue;
            }
            let is_synced = *offset < recovery.snapshots_synced;
            if loaded || *offset < from {
                self.adopt_snapshot(*offset, is_synced);
                continue;
            }
            let snapshot = self
                .disk
                .read(&path)
                .ok()
                .and_then(|c| producers::decode(&c));
            match snapshot {
                Some(snapshot) if snapshot.offset == *offset && self.fits(&snapshot) => {
                    self.producers = snapshot.producers;
                    from = *offset;
                    loaded = true;
                    self.adopt_snapshot(*offset, is_synced);
                }
                _ => {
                    let _ = self.disk.remove(&path);
                    self.folder_dirty = true;
                    recovery.report.snapshots_dropped += 1;
                }
            }
        }
        self.snapshots.durable.sort_unstable();
        recovery.producers_from = Some(from);
        Ok(())
    }

    /// Whether the batch that ends at the snapshot's offset is the one it was taken after.
    fn fits(&self, snapshot: &producers::Snapshot) -> bool {
        let Some(last) = snapshot.offset.0.checked_sub(1).map(Offset) else {
            return true;
        };
        // Nothing below the log start is ever cut; its segments may be gone, in any mix.
        if snapshot.offset <= self.start.max(self.segments[0].start) {
            return true;
        }
        let after = self
            .segments
            .partition_point(|segment| segment.start <= last);
        let Some(segment) = after.checked_sub(1).map(|at| &self.segments[at]) else {
            return true;
        };
        let Ok(found) = self.seek(segment, last) else {
            return false;
        };
        let len = found.head.len().min(64);
        let print = found
            .file
            .view(found.at, len)
            .map(|bytes| fingerprint(&bytes));
        found.head.end_offset() == snapshot.offset && print == Ok(snapshot.print)
    }

    /// Shows epochs and producers what they have not seen yet. Damage in a sealed segment hides
    /// what lies behind it there; the next segment is replayed again.
    pub(super) fn replay(&mut self, recovery: &mut Recovery) -> Result<(), LogError> {
        let end = self.end();
        let epochs_from = recovery.epochs_from.unwrap_or(end);
        let producers_from = recovery.producers_from.unwrap_or(end);
        let from = epochs_from.min(producers_from);
        let before = self.epochs.clone();
        for at in self.segment_at(from)..self.segments.len() {
            let segment = &self.segments[at];
            if segment.end <= from || segment.broken.is_some() || segment.is_empty() {
                continue;
            }
            let (segment_end, file) = (segment.end, segment.file(&self.disk, &self.folder)?);
            let start = match self.seek(segment, from.max(segment.start)) {
                Ok(found) => found.at,
                Err(crate::ReadError::Disk(error)) => return Err(error.into()),
                Err(_) => continue,
            };
            let mut hops = Hops::new(&file, start, segment.len).until(segment_end);
            let mut reached = from.max(segment.start);
            while let Ok(Some((batch_at, head))) = hops.next() {
                if head.base_offset() >= segment_end {
                    break;
                }
                reached = head.end_offset();
                let epoch = Some(head.facts.leader_epoch);
                if head.base_offset() >= epochs_from
                    && self.epochs.epoch_at(head.base_offset()) != epoch
                {
                    self.epochs
                        .assign(head.facts.leader_epoch, head.base_offset());
                }
                if head.base_offset() >= producers_from {
                    self.producers.appended(&head, recovery.now_ms);
                    recovery.report.batches_replayed += u64::from(head.facts.producer.is_some());
                }
                if head.end_offset() == end {
                    let len = head.len().min(64);
                    self.active.last_print = fingerprint(&file.view(batch_at, len)?);
                }
            }
            if reached < segment_end && segment_end <= self.start {
                // A deleted segment that a power loss brought back without its successor: what
                // producers wrote since is not known, and an older state would refuse them.
                self.producers = Producers::default();
            }
        }
        if self.active.last_print == 0 {
            self.active.last_print = self.print_at_end();
        }
        self.meta_dirty |= self.epochs != before && !self.meta_is_default();
        Ok(())
    }

    /// The mark of the last batch; 0 when it is not in the log any more.
    fn print_at_end(&self) -> u32 {
        let Some(last) = self.end().0.checked_sub(1).map(Offset) else {
            return 0;
        };
        let Some(segment) = self
            .segments
            .iter()
            .rev()
            .find(|segment| segment.start <= last)
        else {
            return 0;
        };
        let Ok(found) = self.seek(segment, last) else {
            return 0;
        };
        let view = found.file.view(found.at, found.head.len().min(64));
        view.map_or(0, |bytes| fingerprint(&bytes))
    }
}
