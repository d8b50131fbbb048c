//! Retention: whole segments go, oldest first; producers that are idle are forgotten.
//!
//! Rule 93. A segment leaves the log at once; its file goes later, when the delay is over and
//! `partition.meta` with the new log start is durable: a power loss may bring back names of
//! removed files in any mix, and records below the log start are ignored then.

use highwater_runtime::{Disk, DiskErrorKind, Runtime};
use highwater_types::Offset;

use super::{Doomed, Log};
use crate::error::{AppendError, ReadError};
use crate::segment::Naming;

/// What retention did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retained {
    /// Segments that left the log.
    pub segments: usize,
    /// Their bytes.
    pub bytes: u64,
    /// Whether the active segment was rolled so that its records could go.
    pub rolled: bool,
    /// Producers that were forgotten.
    pub producers: usize,
    /// Files removed from the disk.
    pub files: usize,
}

impl<R: Runtime> Log<R> {
    /// Deletes what the settings say; nothing at or above `limit`, the high watermark. The new
    /// log start is durable with the next sync job. Call it when [`Log::due`] says so.
    pub fn retain(&mut self, limit: Offset, now_ms: i64) -> Retained {
        let mut retained = Retained::default();
        self.meta_stalled = false;
        if self.failed.is_none() {
            retained.producers = self
                .producers
                .expire(now_ms, self.config.producer_expiry_ms);
            while self.first_may_go(limit, now_ms) {
                if self.segments.len() == 1 {
                    match self.roll(now_ms) {
                        Ok(true) => retained.rolled = true,
                        Ok(false) | Err(_) => break,
                    }
                }
                // What producers wrote in it must be known without it before its file goes.
                if !self.producers_are_known_from(self.segments[1].start) {
                    break;
                }
                retained.bytes += self.segments[0].len;
                retained.segments += 1;
                self.doom_first(now_ms);
            }
        }
        retained.files = self.remove_doomed(now_ms);
        self.check();
        retained
    }

    fn first_may_go(&self, limit: Offset, now_ms: i64) -> bool {
        let first = &self.segments[0];
        if first.end > limit || first.is_empty() && self.segments.len() == 1 {
            return false;
        }
        if first.end <= self.start {
            return true;
        }
        let is_large = |most: u64| self.size() - first.len >= most;
        self.config.retention_bytes.is_some_and(is_large)
            || self
                .expiry_ms_of_first()
                .is_some_and(|expiry_ms| now_ms > expiry_ms)
    }

    /// When the newest record of the first segment becomes older than `retention.ms`. A segment
    /// without timestamps counts from when it was sealed; one with a future timestamp stays.
    fn expiry_ms_of_first(&self) -> Option<i64> {
        let keep_ms = i64::try_from(self.config.retention_ms?).unwrap_or(i64::MAX);
        let first = &self.segments[0];
        if first.is_empty() && self.segments.len() == 1 {
            return None;
        }
        let newest = match self.max_timestamp_of(first) {
            Ok(max) if max >= 0 => max,
            _ if self.segments.len() == 1 => self.active.first_append_ms?,
            _ => self.sealed_ms(first),
        };
        Some(newest.saturating_add(keep_ms))
    }

    /// Takes the first segment out of the log.
    fn doom_first(&mut self, now_ms: i64) {
        let first = self.segments.remove(0);
        let delay_ms = i64::try_from(self.config.file_delete_delay_ms).unwrap_or(i64::MAX);
        self.doomed.push(Doomed {
            path: first.path(&self.folder),
            end: first.end,
            syncs: 0,
            due_ms: now_ms.saturating_add(delay_ms),
        });
        if self.kv.is_some() {
            self.kv_pending.push(self.kv_index.forget(first.no, 0));
        }
        let first = self.segments[0].start;
        self.move_start(first);
        if !self.snapshots.pending.is_empty() {
            let under_way = u64::from(self.sync_in_flight);
            let doomed = self.doomed.last_mut().expect("pushed above");
            doomed.syncs = self.syncs_done + under_way + 1;
        }
        self.drop_old_snapshots();
    }

    fn move_start(&mut self, start: Offset) {
        if start > self.start {
            self.start = start;
            self.epochs.truncate_start(start);
            self.meta_dirty = true;
        }
    }

    /// Moves the log start to `offset` (DeleteRecords); durable with the next sync job. Segments
    /// that end below it go with the next [`Log::retain`].
    ///
    /// # Errors
    /// [`ReadError::OutOfRange`] when `offset` is past the log end. Going back changes nothing.
    pub fn delete_before(&mut self, offset: Offset) -> Result<Offset, ReadError> {
        let (start, end) = (self.start, self.end());
        if offset > end {
            return Err(ReadError::OutOfRange {
                asked: offset,
                start,
                end,
            });
        }
        self.move_start(offset);
        self.check();
        Ok(self.start)
    }

    /// Removes the files whose time has come; answers how many.
    fn remove_doomed(&mut self, now_ms: i64) -> usize {
        let (published, syncs) = (self.start_published, self.syncs_done);
        let before = self.doomed.len();
        let disk = self.disk.clone();
        self.doomed.retain(|doomed| {
            let is_due =
                doomed.end <= published && doomed.syncs <= syncs && doomed.due_ms <= now_ms;
            !is_due || !is_removed(&disk, &doomed.path)
        });
        let removed = before - self.doomed.len();
        self.folder_dirty |= removed > 0;
        removed
    }

    /// Removes the oldest deleted file although the new log start is not durable: the disk has no
    /// space to make it so. One file at a time leaves no hole, whatever a power loss keeps.
    pub(super) fn remove_oldest_doomed(&mut self) {
        if let Some(oldest) = self.doomed.first()
            && is_removed(&self.disk, &oldest.path)
        {
            self.doomed.remove(0);
            self.folder_dirty = true;
        }
    }

    /// When this log wants [`Log::roll_if_idle`] or [`Log::retain`] next, in wall-clock ms.
    /// `None`: not before something is appended or deleted.
    #[must_use]
    pub fn due(&self, now_ms: i64) -> Option<i64> {
        if self.failed.is_some() {
            return None;
        }
        let over_size = self.config.retention_bytes.is_some_and(|most| {
            self.segments.len() > 1 && self.size() - self.segments[0].len >= most
        });
        let below_start = self.segments.len() > 1 && self.segments[0].end <= self.start;
        let now = (over_size || below_start).then_some(now_ms);
        let doomed = self
            .doomed
            .iter()
            .filter(|doomed| doomed.end <= self.start_published && doomed.syncs <= self.syncs_done);
        let times = [
            now,
            self.idle_roll_due_ms()
                .filter(|_| self.last().naming == Naming::Segment),
            self.expiry_ms_of_first(),
            doomed.map(|doomed| doomed.due_ms).min(),
        ];
        times.into_iter().flatten().min()
    }

    /// Takes other settings; they act from the next append, roll or retention on.
    pub fn reconfigure(&mut self, config: crate::LogConfig) {
        self.config = config;
    }

    /// Refuses with the failure that took the log offline.
    pub(super) fn online(&self) -> Result<(), AppendError> {
        self.failed
            .clone()
            .map_or(Ok(()), |error| Err(AppendError::Failed(error)))
    }
}

/// Whether the file is gone now.
pub(super) fn is_removed<D: Disk>(disk: &D, path: &str) -> bool {
    match disk.remove(path) {
        Ok(()) => true,
        Err(error) => error.kind == DiskErrorKind::NotFound,
    }
}
