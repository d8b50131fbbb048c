//! Rolling: the next segment opens, the old one is sealed.
//!
//! Checked before an append under the partition's lock (design 4): (a) 10,000 offsets were
//! written since the last check and the segment is past 90 % of its limit; (b) the batch would
//! pass the limit; (c) the segment's time has come, by the timestamps of records or, for an idle
//! partition, by the clock.

use highwater_record::StagedBatch;
use highwater_runtime::{DiskError, DiskErrorKind, File, Runtime};

use super::Log;
use crate::error::AppendError;
use crate::segment::{Naming, SEGMENT_BYTES_MAX};

/// How many offsets lie between two looks at the segment's size (gate a).
const CHECK_OFFSETS: u64 = 10_000;
/// Offsets of one segment are kept as 32 bits beside its start.
const SEGMENT_OFFSETS_MAX: u64 = i32::MAX as u64;

impl<R: Runtime> Log<R> {
    /// Whether the active segment must be rolled before `batch` is appended.
    pub(super) fn roll_is_due(&mut self, batch: &StagedBatch, now_ms: i64) -> bool {
        let segment = self.last();
        if segment.is_empty() || segment.naming == Naming::Rescue {
            // A rescue copy is not sealed before it has its name: see `rescue`.
            return false;
        }
        let (len, end) = (segment.len, segment.end);
        let offsets = end.since(segment.start) + u64::from(batch.facts().last_delta);
        let grown = len + batch.len() as u64;
        if grown > self.config.segment_bytes
            || grown > SEGMENT_BYTES_MAX
            || offsets > SEGMENT_OFFSETS_MAX
        {
            return true;
        }
        if end.since(self.active.roll_checked) >= CHECK_OFFSETS {
            self.active.roll_checked = end;
            if len > self.config.segment_bytes / 10 * 9 {
                return true;
            }
        }
        self.is_old(batch.facts().max_timestamp, now_ms)
    }

    /// Whether `segment.ms` passed: between the first batch's timestamp and `timestamp`, or by
    /// the clock where timestamps are missing.
    fn is_old(&self, timestamp: i64, now_ms: i64) -> bool {
        let first = self.active.first_timestamp;
        let elapsed_ms = if timestamp >= 0 && first >= 0 {
            timestamp.saturating_sub(first)
        } else {
            now_ms.saturating_sub(self.active.first_append_ms.unwrap_or(now_ms))
        };
        u64::try_from(elapsed_ms).is_ok_and(|elapsed_ms| elapsed_ms > self.config.segment_ms)
    }

    /// When the active segment must be rolled although nobody writes; `None` while it is empty.
    pub(super) fn idle_roll_due_ms(&self) -> Option<i64> {
        let first_ms = self.active.first_append_ms?;
        Some(first_ms.saturating_add(i64::try_from(self.config.segment_ms).unwrap_or(i64::MAX)))
    }

    /// Rolls if the active segment's time has come by the clock; the next segment holds only its
    /// header. Answers whether it rolled.
    ///
    /// # Errors
    /// [`AppendError::Full`]: nothing changed, try again later. Others: the log is offline.
    pub fn roll_if_idle(&mut self, now_ms: i64) -> Result<bool, AppendError> {
        if self.idle_roll_due_ms().is_none_or(|due_ms| now_ms < due_ms) {
            return Ok(false);
        }
        self.roll(now_ms)
    }

    /// Seals the active segment and opens the next. An empty segment stays. Answers whether it
    /// rolled.
    ///
    /// # Errors
    /// [`AppendError::Full`]: nothing changed. Others: the log is offline.
    pub fn roll(&mut self, now_ms: i64) -> Result<bool, AppendError> {
        if let Some(error) = &self.failed {
            return Err(AppendError::Failed(error.clone()));
        }
        if self.last().is_empty() || self.last().naming == Naming::Rescue {
            return Ok(false);
        }
        match self.roll_segment(now_ms) {
            Ok(()) => Ok(true),
            Err(error) => {
                let refused = AppendError::of_disk(error);
                if let AppendError::Failed(error) = &refused {
                    self.fail(error.clone());
                }
                Err(refused)
            }
        }
    }

    /// Opens the next segment at the log end and seals the old one.
    ///
    /// # Errors
    /// `Full` left everything as it was.
    pub(super) fn roll_segment(&mut self, now_ms: i64) -> Result<(), DiskError> {
        let old = self.segments.len() - 1;
        let max_timestamp = self.active.max_timestamp;
        self.add_segment(self.next_segment, self.end(), now_ms)?;
        let segment = &mut self.segments[old];
        let (no, len) = (segment.no, segment.len);
        let cache = segment.cache_mut();
        cache.max_timestamp = Some(max_timestamp);
        if let Some(index) = &mut cache.index {
            index.shrink();
        }
        let file = cache
            .file
            .clone()
            .expect("the active segment keeps its file open");
        match file.seal() {
            // What stays reserved is wasted space, no more.
            Ok(())
            | Err(DiskError {
                kind: DiskErrorKind::Full,
                ..
            }) => {}
            Err(error) => return Err(error),
        }
        if self.kv.is_some() {
            self.kv_pending
                .push(self.kv_index.put_summary(no, len, max_timestamp));
        }
        self.take_snapshot();
        self.check();
        Ok(())
    }
}
