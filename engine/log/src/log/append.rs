//! Appending a batch: check the producer, roll if need be, stamp, write, remember.

use highwater_record::{BatchHead, StagedBatch};
use highwater_runtime::{File, Runtime};
use highwater_types::{LeaderEpoch, Offset};

use super::Log;
use crate::error::AppendError;
use crate::index::{IndexEntry, KV_BYTES, delta};
use crate::producers::{self, Verdict};
use crate::scan::fingerprint;

/// Where a batch stands in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appended {
    /// The offset of its first record.
    pub base: Offset,
    /// The offset after its last record.
    pub end: Offset,
    /// Its largest timestamp; the append time if that bit is set.
    pub timestamp: i64,
    /// It was there already: nothing was written, and these are its original numbers.
    pub duplicate: bool,
    /// The active segment was rolled before it.
    pub rolled: bool,
}

impl<R: Runtime> Log<R> {
    /// Appends `batch` as the leader of `epoch`: its records get the offsets from the log end on.
    ///
    /// A batch of an idempotent producer that was appended before is answered with its original
    /// offsets and not written again.
    ///
    /// # Errors
    /// See [`AppendError`]; the log is unchanged, except after `Failed`.
    pub fn append(
        &mut self,
        batch: &mut StagedBatch,
        epoch: LeaderEpoch,
        now_ms: i64,
    ) -> Result<Appended, AppendError> {
        if let Some(error) = &self.failed {
            return Err(AppendError::Failed(error.clone()));
        }
        if let Some(current) = self.epochs.newest()
            && epoch < current
        {
            return Err(AppendError::StaleEpoch {
                current,
                asked: epoch,
            });
        }
        if let Some(batch) = producers::incoming(batch.facts()) {
            let expiry_ms = self.config.producer_expiry_ms;
            match self
                .producers
                .check(&batch, self.end(), now_ms, expiry_ms)?
            {
                Verdict::New => {}
                Verdict::Duplicate(old) => {
                    return Ok(Appended {
                        base: old.base_offset,
                        end: old.last_offset.plus(1),
                        timestamp: old.timestamp,
                        duplicate: true,
                        rolled: false,
                    });
                }
            }
        }
        let rolled = self.roll_is_due(batch, now_ms);
        if rolled {
            self.roll_segment(now_ms)
                .map_err(|error| self.append_refused(error))?;
        }
        let base = self.end();
        batch.assign(base, epoch);
        let file = self.last_mut().cache_mut().file.clone();
        let file = file.expect("the active segment keeps its file open");
        let position = file
            .append(&[batch.bytes()])
            .map_err(|error| self.append_refused(error))?;
        let segment = self.last();
        assert_eq!(
            position,
            segment.len,
            "somebody else wrote to {}",
            segment.name()
        );
        let head = BatchHead {
            first_offset: base.plus(u64::from(batch.facts().base_delta)),
            facts: batch.facts().clone(),
        };
        self.active.last_print = fingerprint(batch.bytes());
        self.took(&head, position, now_ms);
        self.check();
        Ok(Appended {
            base,
            end: self.end(),
            timestamp: head.facts.max_timestamp,
            duplicate: false,
            rolled,
        })
    }

    /// Says that `epoch` leads from the log end on (rule 28). Durable with the next sync job.
    ///
    /// # Errors
    /// [`AppendError::StaleEpoch`]: a newer leader has written; nothing changed.
    pub fn become_leader(&mut self, epoch: LeaderEpoch) -> Result<(), AppendError> {
        if let Some(current) = self.epochs.newest()
            && epoch < current
        {
            return Err(AppendError::StaleEpoch {
                current,
                asked: epoch,
            });
        }
        self.assign_epoch(epoch, self.end());
        Ok(())
    }

    fn assign_epoch(&mut self, epoch: LeaderEpoch, start: Offset) {
        if self.epochs.assign(epoch, start) {
            self.meta_dirty |= !self.meta_is_default();
        }
    }

    /// A disk refused: `Full` changed nothing, everything else takes the log offline.
    fn append_refused(&mut self, error: highwater_runtime::DiskError) -> AppendError {
        let refused = AppendError::of_disk(error);
        if let AppendError::Failed(error) = &refused {
            self.fail(error.clone());
        }
        refused
    }

    /// Remembers that the batch `head` stands at `position`, the end of the active segment so far.
    /// Appends and recovery come here alike.
    pub(super) fn took(&mut self, head: &BatchHead, position: u64, now_ms: i64) {
        let (every, start) = (self.config.index_bytes, self.last().start);
        let entry = IndexEntry {
            offset_delta: delta(head.base_offset(), start),
            position: u32::try_from(position).expect("the roll gates keep segments below 4 GiB"),
            max_before: if self.last().is_empty() {
                i64::MIN
            } else {
                self.active.max_timestamp
            },
        };
        let no = self.last().no;
        if position >= self.active.kv_due {
            self.active.kv_due = position + KV_BYTES;
            if self.kv.is_some() {
                self.kv_pending.push(self.kv_index.put(no, entry));
            }
        }
        let active = &mut self.active;
        if active.first_append_ms.is_none() {
            active.first_append_ms = Some(now_ms);
            active.first_timestamp = head.facts.max_timestamp;
        }
        active.max_timestamp = active.max_timestamp.max(head.facts.max_timestamp);
        self.producers.appended(head, now_ms);
        self.snapshots.since_bytes += head.len() as u64;
        let segment = self.last_mut();
        if let Some(index) = &mut segment.cache_mut().index {
            index.note(entry, every);
        }
        segment.len = position + head.len() as u64;
        segment.end = head.end_offset();
        self.assign_epoch(head.facts.leader_epoch, head.base_offset());
    }
}
