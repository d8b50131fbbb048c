//! What idempotent producers wrote last: duplicates are recognised, gaps refused.
//!
//! Rules 71-80 of Kafka's semantics; items 1-3, 16 and 18 of its section 4. The table is a cache of
//! the log: snapshots hold all five batches of each producer, replay of the log adds the rest.
//! A producer is idle by the broker's clock, not by its own timestamps: records stamped 1970
//! must not make the broker forget who sent them.

mod snapshot;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use highwater_record::BatchHead;
use highwater_types::{Offset, ProducerEpoch, ProducerId};

pub(crate) use snapshot::{Snapshot, decode, encode};

/// How many batches of a producer are remembered; clients keep no more in flight (rule 73).
pub(crate) const WINDOW: usize = 5;
const NO_EPOCH: ProducerEpoch = ProducerEpoch(-1);

/// One remembered batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct BatchEntry {
    /// Sequence number of its first record.
    pub first_sequence: i32,
    /// Sequence number of its last record.
    pub last_sequence: i32,
    /// The offset its first record got.
    pub base_offset: Offset,
    /// The offset its last record got.
    pub last_offset: Offset,
    /// Its largest timestamp.
    pub timestamp: i64,
}

/// One producer in one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProducerEntry {
    /// Its newest epoch.
    pub epoch: ProducerEpoch,
    /// When it last wrote, by the broker's wall clock in ms.
    pub last_seen_ms: i64,
    batches: [BatchEntry; WINDOW],
    batch_count: u8,
}

impl ProducerEntry {
    fn new(epoch: ProducerEpoch, last_seen_ms: i64) -> Self {
        Self {
            epoch,
            last_seen_ms,
            batches: [BatchEntry::default(); WINDOW],
            batch_count: 0,
        }
    }

    /// The remembered batches of the current epoch, oldest first; at most five.
    #[must_use]
    pub fn batches(&self) -> &[BatchEntry] {
        &self.batches[..usize::from(self.batch_count)]
    }

    fn remember(&mut self, batch: BatchEntry) {
        if usize::from(self.batch_count) == WINDOW {
            self.batches.rotate_left(1);
            self.batch_count -= 1;
        }
        self.batches[usize::from(self.batch_count)] = batch;
        self.batch_count += 1;
    }
}

/// A producer's batch does not fit what it wrote before; nothing was appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProducerRefusal {
    /// A gap, or a duplicate older than the window: the client must stop or reset.
    #[error("producer {} sent sequence {got}, expected {expected}", .producer.0)]
    OutOfOrder {
        /// Who.
        producer: ProducerId,
        /// The sequence number that would fit.
        expected: i32,
        /// The batch's first sequence number.
        got: i32,
    },
    /// A newer life of the producer has written.
    #[error("producer {} sent epoch {}, current is {}", .producer.0, .got.0, .current.0)]
    OldEpoch {
        /// Who.
        producer: ProducerId,
        /// The newest epoch.
        current: ProducerEpoch,
        /// The batch's epoch.
        got: ProducerEpoch,
    },
}

/// What a check says about a batch that may be appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Append it.
    New,
    /// It was appended before, as this.
    Duplicate(BatchEntry),
}

/// A batch of a producer, as the table sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Incoming {
    pub(crate) id: ProducerId,
    pub(crate) epoch: ProducerEpoch,
    /// -1 for markers: they carry no sequence.
    pub(crate) first_sequence: i32,
    pub(crate) last_sequence: i32,
}

/// The producers of one partition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Producers {
    entries: BTreeMap<ProducerId, ProducerEntry>,
}

impl Producers {
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (ProducerId, &ProducerEntry)> {
        self.entries.iter().map(|(id, entry)| (*id, entry))
    }

    /// Whether `batch` may be appended to a log that ends at `log_end`.
    pub(crate) fn check(
        &self,
        batch: &Incoming,
        log_end: Offset,
        now_ms: i64,
        expiry_ms: u64,
    ) -> Result<Verdict, ProducerRefusal> {
        let refuse = |expected| {
            let (producer, got) = (batch.id, batch.first_sequence);
            Err(ProducerRefusal::OutOfOrder {
                producer,
                expected,
                got,
            })
        };
        let known = self
            .entries
            .get(&batch.id)
            .filter(|e| !is_idle(e, now_ms, expiry_ms));
        let Some(entry) = known else {
            // Rule 77: whoever lost its state goes on; a new partition starts at 0, so that two
            // batches that pass each other cannot both be taken.
            let fits = log_end > Offset::ZERO || batch.first_sequence <= 0;
            return if fits { Ok(Verdict::New) } else { refuse(0) };
        };
        if batch.epoch < entry.epoch {
            let (producer, current, got) = (batch.id, entry.epoch, batch.epoch);
            return Err(ProducerRefusal::OldEpoch {
                producer,
                current,
                got,
            });
        }
        if batch.first_sequence < 0 {
            return Ok(Verdict::New);
        }
        if batch.epoch > entry.epoch {
            let fits = batch.first_sequence == 0 || entry.epoch == NO_EPOCH;
            return if fits { Ok(Verdict::New) } else { refuse(0) };
        }
        let same = |old: &&BatchEntry| {
            (old.first_sequence, old.last_sequence) == (batch.first_sequence, batch.last_sequence)
        };
        if let Some(old) = entry.batches().iter().find(same) {
            return Ok(Verdict::Duplicate(*old));
        }
        let expected = entry
            .batches()
            .last()
            .map_or(0, |last| next(last.last_sequence));
        if batch.first_sequence == expected || entry.epoch == NO_EPOCH {
            Ok(Verdict::New)
        } else {
            refuse(expected)
        }
    }

    /// Says that the batch `head` is in the log. Appending and replay come here alike.
    pub(crate) fn appended(&mut self, head: &BatchHead, now_ms: i64) {
        let Some(batch) = incoming(&head.facts) else {
            return;
        };
        let entry = self
            .entries
            .entry(batch.id)
            .or_insert_with(|| ProducerEntry::new(batch.epoch, now_ms));
        entry.last_seen_ms = entry.last_seen_ms.max(now_ms);
        if entry.epoch != batch.epoch {
            *entry = ProducerEntry::new(batch.epoch, entry.last_seen_ms);
        }
        if batch.first_sequence >= 0 {
            entry.remember(BatchEntry {
                first_sequence: batch.first_sequence,
                last_sequence: batch.last_sequence,
                base_offset: head.base_offset(),
                last_offset: head.last_offset(),
                timestamp: head.facts.max_timestamp,
            });
        }
    }

    /// Takes over from `before` what this table, rebuilt from a log that ends at `end`, lacks:
    /// batches whose records are not in the log any more.
    pub(crate) fn recall(&mut self, before: Self, end: Offset) {
        for (id, old) in before.entries {
            let mut kept: Vec<BatchEntry> = old.batches().to_vec();
            kept.retain(|batch| batch.last_offset < end);
            let entry = match self.entries.get_mut(&id) {
                Some(entry) if entry.epoch == old.epoch => entry,
                Some(_) => continue,
                None if kept.is_empty() => continue,
                None => self
                    .entries
                    .entry(id)
                    .or_insert(ProducerEntry::new(old.epoch, old.last_seen_ms)),
            };
            let first = entry
                .batches()
                .first()
                .map_or(end, |batch| batch.base_offset);
            kept.retain(|batch| batch.base_offset < first);
            kept.extend(entry.batches());
            entry.batch_count = 0;
            for batch in kept {
                entry.remember(batch);
            }
        }
    }

    /// Forgets who was idle for longer than `expiry_ms` (rule 78); answers how many.
    pub(crate) fn expire(&mut self, now_ms: i64, expiry_ms: u64) -> usize {
        let before = self.entries.len();
        self.entries
            .retain(|_, entry| !is_idle(entry, now_ms, expiry_ms));
        before - self.entries.len()
    }
}

/// The producer side of a batch's facts; `None` for batches without a producer.
pub(crate) fn incoming(facts: &highwater_record::BatchFacts) -> Option<Incoming> {
    let producer = facts.producer?;
    Some(Incoming {
        id: producer.id,
        epoch: producer.epoch,
        first_sequence: producer.base_sequence,
        last_sequence: facts
            .last_sequence()
            .expect("a batch with a producer has a sequence"),
    })
}

/// The sequence number after `last`, wrapping as Kafka does (rule 75).
fn next(last: i32) -> i32 {
    last.checked_add(1).unwrap_or(0)
}

fn is_idle(entry: &ProducerEntry, now_ms: i64, expiry_ms: u64) -> bool {
    let idle_ms = now_ms.saturating_sub(entry.last_seen_ms);
    u64::try_from(idle_ms).is_ok_and(|idle_ms| idle_ms > expiry_ms)
}
