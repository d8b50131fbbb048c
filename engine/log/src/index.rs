//! The position index: from an offset or a timestamp to a place in a segment file.
//!
//! One entry stands for a batch: its base offset, its byte position, and the largest timestamp of
//! the segment before it. Entries lie `index_bytes` apart in memory and [`KV_BYTES`] apart in the
//! key store, where they outlive the process. An index is a cache: entries from the key store
//! are checked where they are used, and a segment without good ones is scanned.

use bytes::{BufMut, Bytes, BytesMut};
use highwater_runtime::{Kv, KvError, KvOp};
use highwater_types::{Offset, SegmentNo, TopicId};

use crate::coding::Take;

/// Bytes between two entries in the key store.
pub(crate) const KV_BYTES: u64 = 128 << 10;
/// Most entries read from the key store for one segment: enough for 4 GiB.
const KV_ENTRIES_MAX: usize = 40_000;
/// The position under which a sealed segment's summary is kept.
const SUMMARY: u64 = u64::MAX;
const KEY_BYTES: usize = 16 + 4 + 8 + 8;

/// One batch that a search can start from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IndexEntry {
    /// The batch's base offset minus the segment's start.
    pub(crate) offset_delta: u32,
    /// Where the batch starts.
    pub(crate) position: u32,
    /// The largest timestamp in the segment before this batch; `i64::MIN` when there is none.
    pub(crate) max_before: i64,
}

/// The entries of one segment, complete up to where the segment was when it was made or extended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PositionIndex {
    entries: Vec<IndexEntry>,
}

impl PositionIndex {
    /// Takes an entry when it is far enough from the last one.
    pub(crate) fn note(&mut self, entry: IndexEntry, every_bytes: u64) {
        let due = self
            .entries
            .last()
            .is_none_or(|last| u64::from(entry.position) >= u64::from(last.position) + every_bytes);
        if due {
            self.entries.push(entry);
        }
    }

    /// The last entry with an offset `<= offset_delta`.
    pub(crate) fn floor_offset(&self, offset_delta: u32) -> Option<IndexEntry> {
        let after = self
            .entries
            .partition_point(|entry| entry.offset_delta <= offset_delta);
        after.checked_sub(1).map(|at| self.entries[at])
    }

    /// The last entry with a position `<= position` and an offset `<= offset_delta`.
    pub(crate) fn floor_place(&self, position: u64, offset_delta: u32) -> Option<IndexEntry> {
        let after = self.entries.partition_point(|entry| {
            u64::from(entry.position) <= position && entry.offset_delta <= offset_delta
        });
        after.checked_sub(1).map(|at| self.entries[at])
    }

    /// The last entry before which every timestamp is `< timestamp`.
    pub(crate) fn floor_time(&self, timestamp: i64) -> Option<IndexEntry> {
        let after = self
            .entries
            .partition_point(|entry| entry.max_before < timestamp);
        after.checked_sub(1).map(|at| self.entries[at])
    }

    pub(crate) fn last(&self) -> Option<IndexEntry> {
        self.entries.last().copied()
    }

    /// Forgets every entry at or past `position`.
    pub(crate) fn truncate(&mut self, position: u64) {
        self.entries
            .retain(|entry| u64::from(entry.position) < position);
    }

    /// Bytes of memory that the entries take.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.entries.capacity() * size_of::<IndexEntry>()
    }

    pub(crate) fn shrink(&mut self) {
        self.entries.shrink_to_fit();
    }
}

/// The index of one partition in the key store.
///
/// Key: `topic_id [16] | partition u32 | segment u64 | position u64`, value:
/// `offset_delta u32 | max_before i64`. Under position 2^64-1: `len u64 | max_timestamp i64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KvIndex {
    pub(crate) topic_id: TopicId,
    pub(crate) partition: u32,
}

impl KvIndex {
    fn key(self, segment: SegmentNo, position: u64) -> Bytes {
        let mut key = BytesMut::with_capacity(KEY_BYTES);
        key.put_slice(&self.topic_id.0);
        key.put_u32(self.partition);
        key.put_u64(segment.0);
        key.put_u64(position);
        key.freeze()
    }

    pub(crate) fn put(self, segment: SegmentNo, entry: IndexEntry) -> KvOp {
        let mut value = BytesMut::with_capacity(12);
        value.put_u32(entry.offset_delta);
        value.put_i64(entry.max_before);
        KvOp::Put {
            key: self.key(segment, u64::from(entry.position)),
            value: value.freeze(),
        }
    }

    /// What is known of a sealed segment of `len` bytes as a whole.
    pub(crate) fn put_summary(self, segment: SegmentNo, len: u64, max_timestamp: i64) -> KvOp {
        let mut value = BytesMut::with_capacity(16);
        value.put_u64(len);
        value.put_i64(max_timestamp);
        KvOp::Put {
            key: self.key(segment, SUMMARY),
            value: value.freeze(),
        }
    }

    /// Forgets what is known of `segment` from `position` on.
    pub(crate) fn forget(self, segment: SegmentNo, position: u64) -> KvOp {
        KvOp::DeleteRange {
            from: self.key(segment, position),
            to: self.key(SegmentNo(segment.0 + 1), 0),
        }
    }

    /// The stored largest timestamp of a sealed segment, if it was stored for this length.
    pub(crate) fn summary<K: Kv>(self, kv: &K, segment: SegmentNo, len: u64) -> Option<i64> {
        let value = kv.get(&self.key(segment, SUMMARY)).ok()??;
        let mut take = Take(&value);
        (take.u64()? == len).then_some(())?;
        take.i64()
    }

    /// The stored entries of `segment` that can be true for a file of `len` bytes. A store that
    /// fails has none.
    pub(crate) fn load<K: Kv>(self, kv: &K, segment: SegmentNo, len: u64) -> PositionIndex {
        let mut index = PositionIndex::default();
        let (from, to) = (self.key(segment, 0), self.key(segment, len));
        for (key, value) in kv.scan(&from, &to, KV_ENTRIES_MAX).unwrap_or_default() {
            let Some(entry) = decode(&key, &value) else {
                break;
            };
            let rises = index.last().is_none_or(|last| {
                entry.offset_delta > last.offset_delta && entry.max_before >= last.max_before
            });
            if !rises {
                break;
            }
            index.entries.push(entry);
        }
        index
    }
}

fn decode(key: &[u8], value: &[u8]) -> Option<IndexEntry> {
    let position = Take(key.get(KEY_BYTES - 8..)?).u64()?;
    let mut take = Take(value);
    Some(IndexEntry {
        offset_delta: take.u32()?,
        position: u32::try_from(position).ok()?,
        max_before: take.i64()?,
    })
}

/// How far `offset` lies into a segment that starts at `start`; the roll rules bound it.
pub(crate) fn delta(offset: Offset, start: Offset) -> u32 {
    u32::try_from(offset.since(start)).unwrap_or(u32::MAX)
}

/// Removes everything that the key store knows of a deleted partition.
///
/// # Errors
/// [`KvError`]: stale keys stay; they hold a topic id that is never used again.
pub fn forget_partition<K: Kv>(kv: &K, topic_id: TopicId, partition: u32) -> Result<(), KvError> {
    let index = KvIndex {
        topic_id,
        partition,
    };
    let from = index.key(SegmentNo(0), 0);
    let to = index.key(SegmentNo(u64::MAX), SUMMARY);
    kv.write(&[KvOp::DeleteRange { from, to }])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(offset_delta: u32, position: u32, max_before: i64) -> IndexEntry {
        IndexEntry {
            offset_delta,
            position,
            max_before,
        }
    }

    #[test]
    fn entries_lie_apart_and_every_floor_is_the_last_that_fits() {
        let mut index = PositionIndex::default();
        for at in 0..10 {
            index.note(entry(at * 2, at * 50, i64::from(at) * 10), 100);
        }
        assert_eq!(index.entries.len(), 5);
        assert_eq!(index.floor_offset(7), Some(entry(4, 100, 20)));
        assert_eq!(index.floor_place(399, 100), Some(entry(12, 300, 60)));
        assert_eq!(index.floor_place(399, 9), Some(entry(8, 200, 40)));
        assert_eq!(
            index.floor_time(40),
            Some(entry(4, 100, 20)),
            "40 may stand in what follows"
        );
        index.truncate(200);
        assert_eq!(index.last(), Some(entry(4, 100, 20)));
    }
}
