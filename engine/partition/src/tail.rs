//! The producers' own batches at the tail, so that readers there get them without re-encoding.
//!
//! The log is the only truth: a run with this cache off returns the same records. A batch is
//! kept with its base offset and leader epoch patched, which its CRC does not cover.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use highwater_types::{LeaderEpoch, Offset};

/// One producer's batch as it was sent.
#[derive(Clone, Debug)]
pub struct TailBatch {
    /// The offset of its first record.
    pub base_offset: Offset,
    /// The offset after its last record.
    pub end_offset: Offset,
    /// The epoch to patch in.
    pub epoch: LeaderEpoch,
    /// The batch; base offset and leader epoch are still the producer's.
    pub wire: Bytes,
}

/// The memory that all tails of a broker share.
#[derive(Debug)]
pub struct TailBudget {
    bytes_max: usize,
    bytes_used: AtomicUsize,
}

impl TailBudget {
    /// A budget of `bytes_max` bytes; 0 keeps no batch anywhere.
    #[must_use]
    pub fn new(bytes_max: usize) -> Arc<Self> {
        Arc::new(Self {
            bytes_max,
            bytes_used: AtomicUsize::new(0),
        })
    }

    /// Whether any batch is kept.
    #[must_use]
    pub fn keeps_any(&self) -> bool {
        self.bytes_max > 0
    }

    /// Bytes of all kept batches.
    #[must_use]
    pub fn bytes_used(&self) -> usize {
        self.bytes_used.load(Ordering::Relaxed)
    }

    /// Takes `bytes` if they are there.
    fn take(&self, bytes: usize) -> bool {
        let used = self.bytes_used.fetch_add(bytes, Ordering::Relaxed);
        let fits = used.saturating_add(bytes) <= self.bytes_max;
        if !fits {
            self.give(bytes);
        }
        fits
    }

    fn give(&self, bytes: usize) {
        self.bytes_used.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// The newest batches of a partition, contiguous up to the log's end, within the shared budget.
#[derive(Debug)]
pub(crate) struct TailCache {
    batches: VecDeque<TailBatch>,
    budget: Arc<TailBudget>,
    /// A batch came or was read since the last look.
    used: bool,
}

impl TailCache {
    pub(crate) fn new(budget: &Arc<TailBudget>) -> Self {
        Self {
            batches: VecDeque::new(),
            budget: Arc::clone(budget),
            used: false,
        }
    }

    /// Keeps the batch just appended; the oldest of this partition go for it. A gap before it (a
    /// batch that was not kept) drops what is older: the cache is contiguous.
    pub(crate) fn push(&mut self, base: Offset, end: Offset, epoch: LeaderEpoch, wire: Bytes) {
        self.used = true;
        if self
            .batches
            .back()
            .is_some_and(|newest| newest.end_offset != base)
        {
            self.clear();
        }
        while !self.budget.take(wire.len()) {
            if self.batches.is_empty() {
                return;
            }
            self.drop_oldest();
        }
        self.batches.push_back(TailBatch {
            base_offset: base,
            end_offset: end,
            epoch,
            wire,
        });
    }

    /// Gives everything back if neither a producer nor a reader came since the last call.
    pub(crate) fn release_idle(&mut self) {
        if !std::mem::take(&mut self.used) && !self.batches.is_empty() {
            self.clear();
        }
    }

    /// Batches from the one that holds `from`, below `limit`, at most `bytes_max` unless
    /// `at_least_one`. Empty when `from` is not cached.
    pub(crate) fn read(
        &mut self,
        from: Offset,
        limit: Offset,
        bytes_max: usize,
        at_least_one: bool,
    ) -> Vec<TailBatch> {
        self.used = true;
        let mut found = Vec::new();
        let at = self
            .batches
            .partition_point(|batch| batch.end_offset <= from);
        let Some(first) = self.batches.get(at) else {
            return found;
        };
        if first.base_offset > from {
            return found;
        }
        let mut bytes = 0;
        for batch in self.batches.range(at..) {
            let over = bytes + batch.wire.len() > bytes_max;
            if batch.end_offset > limit || (over && !(at_least_one && found.is_empty())) {
                break;
            }
            bytes += batch.wire.len();
            found.push(batch.clone());
        }
        found
    }

    /// Drops batches that end before the log's new start.
    pub(crate) fn trim(&mut self, start: Offset) {
        while self
            .batches
            .front()
            .is_some_and(|oldest| oldest.end_offset <= start)
        {
            self.drop_oldest();
        }
    }

    pub(crate) fn clear(&mut self) {
        let batches = std::mem::take(&mut self.batches);
        self.budget
            .give(batches.iter().map(|batch| batch.wire.len()).sum());
    }

    fn drop_oldest(&mut self) {
        let oldest = self.batches.pop_front().expect("the caller saw one");
        self.budget.give(oldest.wire.len());
    }
}

impl Drop for TailCache {
    fn drop(&mut self) {
        self.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EPOCH: LeaderEpoch = LeaderEpoch(0);

    fn cache_of(batches: &[(u64, u64)], bytes_max: usize) -> TailCache {
        let mut cache = TailCache::new(&TailBudget::new(bytes_max));
        for (base, end) in batches {
            let wire = Bytes::from(vec![0; 10]);
            cache.push(Offset(*base), Offset(*end), EPOCH, wire);
        }
        cache
    }

    fn bases(cache: &mut TailCache, from: u64, limit: u64, bytes_max: usize) -> Vec<u64> {
        let found = cache.read(Offset(from), Offset(limit), bytes_max, true);
        found.iter().map(|batch| batch.base_offset.0).collect()
    }

    #[test]
    fn a_read_starts_at_the_batch_that_holds_the_offset_and_stays_below_the_limit() {
        let mut cache = cache_of(&[(0, 3), (3, 5), (5, 9)], 100);
        assert_eq!(bases(&mut cache, 4, 9, 100), [3, 5]);
        assert_eq!(
            bases(&mut cache, 4, 8, 100),
            [3],
            "a batch that reaches past the limit is hidden"
        );
        assert_eq!(bases(&mut cache, 9, 9, 100), [0u64; 0]);
    }

    #[test]
    fn a_read_brings_one_batch_even_when_it_is_too_large() {
        let mut cache = cache_of(&[(0, 3), (3, 5)], 100);
        assert_eq!(bases(&mut cache, 0, 5, 1), [0]);
        assert!(cache.read(Offset(0), Offset(5), 1, false).is_empty());
    }

    #[test]
    fn the_oldest_batches_go_when_the_cache_is_full() {
        let mut cache = cache_of(&[(0, 3), (3, 5), (5, 9)], 20);
        assert!(
            bases(&mut cache, 0, 9, 100).is_empty(),
            "what is not cached comes from the log"
        );
        assert_eq!(bases(&mut cache, 3, 9, 100), [3, 5]);
    }

    #[test]
    fn an_idle_cache_gives_its_memory_back() {
        let budget = TailBudget::new(100);
        let mut cache = TailCache::new(&budget);
        cache.push(Offset(0), Offset(1), EPOCH, Bytes::from(vec![0; 10]));
        cache.release_idle();
        assert_eq!(budget.bytes_used(), 10);
        cache.release_idle();
        assert_eq!(budget.bytes_used(), 0);
        assert!(bases(&mut cache, 0, 1, 100).is_empty());
    }

    #[test]
    fn a_gap_empties_the_cache_before_it() {
        let mut cache = cache_of(&[(0, 3), (4, 5)], 100);
        assert!(bases(&mut cache, 0, 5, 100).is_empty());
        assert_eq!(bases(&mut cache, 4, 5, 100), [4]);
    }
}
