//! Producer snapshots: files that spare recovery the replay of the whole log.
//!
//! Taken when a segment is rolled, at a clean stop, and when enough was appended since the last
//! one, as part of a sync. A snapshot that cannot be written is no failure: the replay is longer.

use highwater_runtime::{Disk, DiskErrorKind, File, Runtime};
use highwater_types::Offset;

use super::{FileOf, Log};
use crate::producers;

pub(crate) const SUFFIX: &str = ".producers";
/// A sync takes a snapshot after this many appended bytes: the bound of a later replay.
const EVERY_BYTES: u64 = 4 << 20;
/// About what one producer takes in a snapshot; a table is not written more often than it is
/// worth.
const PRODUCER_BYTES: u64 = 200;
/// Snapshots off the segment borders that are kept.
const KEPT: usize = 2;

/// The snapshot files of a log.
pub(crate) struct Snapshots<F> {
    /// Offsets of files that survive a crash, rising.
    pub(crate) durable: Vec<Offset>,
    /// Files that recovery found and whose sync may have failed: good to read, nothing to rely
    /// on. A second sync of them would prove nothing.
    pub(crate) unproven: Vec<Offset>,
    /// Files that a sync job must make durable.
    pub(crate) pending: Vec<(Offset, F)>,
    /// Bytes appended since the last snapshot.
    pub(crate) since_bytes: u64,
}

impl<F> Default for Snapshots<F> {
    fn default() -> Self {
        Self {
            durable: Vec::new(),
            unproven: Vec::new(),
            pending: Vec::new(),
            since_bytes: 0,
        }
    }
}

impl<R: Runtime> Log<R> {
    pub(super) fn snapshot_is_due(&self) -> bool {
        let table_bytes = self.producers.len() as u64 * PRODUCER_BYTES;
        self.snapshots.since_bytes >= EVERY_BYTES.max(table_bytes * 8)
    }

    /// Writes the producer table as of the log end.
    pub(super) fn take_snapshot(&mut self) {
        self.snapshots.since_bytes = 0;
        let offset = self.end();
        let known = |file: &(Offset, FileOf<R>)| file.0 == offset;
        if self.producers.is_empty()
            || self.snapshots.durable.contains(&offset)
            || self.snapshots.unproven.contains(&offset)
            || self.snapshots.pending.iter().any(known)
        {
            return;
        }
        let content = producers::encode(&self.producers, offset, self.active.last_print);
        let path = self.snapshot_path(offset);
        let made = match self.disk.create(&path) {
            Err(error) if error.kind == DiskErrorKind::Exists => {
                // Left by a process that died, or of a tail that was cut.
                self.disk
                    .remove(&path)
                    .and_then(|()| self.disk.create(&path))
            }
            made => made,
        };
        self.folder_dirty = true;
        match made.and_then(|file| file.append(&[&content]).map(|_| file)) {
            Ok(file) => self.snapshots.pending.push((offset, file)),
            Err(_) => {
                let _ = self.disk.remove(&path);
            }
        }
    }

    /// Takes over a snapshot file that recovery found.
    pub(super) fn adopt_snapshot(&mut self, offset: Offset, is_synced: bool) {
        if is_synced {
            self.snapshots.durable.push(offset);
        } else {
            self.snapshots.unproven.push(offset);
        }
    }

    /// Whether what producers wrote before `start` is known without the segments there, after any
    /// crash. Takes a snapshot if need be; a sync job makes it durable.
    pub(super) fn producers_are_known_from(&mut self, start: Offset) -> bool {
        let is_covered = |log: &Self| {
            let pending = log.snapshots.pending.iter().map(|(offset, _)| offset);
            log.producers.is_empty()
                || log
                    .snapshots
                    .durable
                    .iter()
                    .chain(pending)
                    .any(|offset| *offset >= start)
        };
        if !is_covered(self) {
            self.take_snapshot();
        }
        is_covered(self)
    }

    /// Snapshots at `offsets` are on the platter; older ones that nobody needs go.
    pub(super) fn snapshots_synced(&mut self, offsets: &[Offset]) {
        let snapshots = &mut self.snapshots;
        snapshots
            .pending
            .retain(|(offset, _)| !offsets.contains(offset));
        for offset in offsets {
            if *offset <= self.segments.last().expect("a log has a segment").end {
                snapshots.durable.push(*offset);
            }
        }
        snapshots.durable.sort_unstable();
        snapshots.durable.dedup();
        self.drop_old_snapshots();
    }

    /// Keeps snapshots at segment starts and the newest others; all below the first segment but
    /// the newest go.
    pub(super) fn drop_old_snapshots(&mut self) {
        let durable = std::mem::take(&mut self.snapshots.durable);
        let newest_from = durable.len().saturating_sub(KEPT);
        let mut kept = Vec::with_capacity(durable.len());
        for (at, offset) in durable.iter().enumerate() {
            let is_border = self.segments.iter().any(|segment| segment.start == *offset);
            if at >= newest_from || is_border {
                kept.push(*offset);
            } else {
                let _ = self.disk.remove(&self.snapshot_path(*offset));
                self.folder_dirty = true;
            }
        }
        if let Some(newest) = kept.last() {
            let (old, kept) = std::mem::take(&mut self.snapshots.unproven)
                .into_iter()
                .partition(|offset| offset < newest);
            self.snapshots.unproven = kept;
            for offset in old {
                let _ = self.disk.remove(&self.snapshot_path(offset));
                self.folder_dirty = true;
            }
        }
        self.snapshots.durable = kept;
    }

    /// Removes snapshots of a log longer than `end`. Their removal is durable with the next sync.
    pub(super) fn drop_snapshots_past(&mut self, end: Offset) {
        let durable = std::mem::take(&mut self.snapshots.durable);
        let pending = std::mem::take(&mut self.snapshots.pending);
        let unproven = std::mem::take(&mut self.snapshots.unproven);
        let is_past = |offset: &Offset| *offset > end;
        let pending_offsets = pending.iter().map(|(offset, _)| offset);
        let all = durable.iter().chain(&unproven).chain(pending_offsets);
        for offset in all.filter(|offset| is_past(offset)) {
            let _ = self.disk.remove(&self.snapshot_path(*offset));
            self.folder_dirty = true;
        }
        self.snapshots.durable = durable.into_iter().filter(|o| !is_past(o)).collect();
        self.snapshots.unproven = unproven.into_iter().filter(|o| !is_past(o)).collect();
        self.snapshots.pending = pending.into_iter().filter(|(o, _)| !is_past(o)).collect();
    }

    pub(super) fn snapshot_path(&self, offset: Offset) -> String {
        format!("{}/{offset}{SUFFIX}", self.folder)
    }
}
