//! Making a stored batch: records go in once, offsets and epoch are stamped under the log's lock.

use bytes::BytesMut;
use highwater_types::{LeaderEpoch, Offset};

use crate::{BatchFacts, BatchKind, Flags, Producer};

/// One record on its way in, borrowing the producer's bytes.
#[derive(Clone, Copy, Debug)]
pub struct NewRecord<'a> {
    /// Milliseconds since 1970, -1 for none.
    pub timestamp: i64,
    /// The key; `None` is null.
    pub key: Option<&'a [u8]>,
    /// The value; `None` is null.
    pub value: Option<&'a [u8]>,
    /// Headers in Kafka v2 encoding (count, then entries), already validated; empty for none.
    pub headers: &'a [u8],
}

/// Writes the frames of one batch in one pass, without an allocation a record.
#[derive(Debug)]
pub struct BatchBuilder {
    frames: BytesMut,
    flags: Flags,
    attributes: u16,
    producer: Option<Producer>,
    record_count: u32,
    max_timestamp: i64,
}

impl BatchBuilder {
    /// Starts a batch of application records (or a control batch when `flags` says so), with
    /// room for `reserve` bytes of frames. `attributes` are Kafka's bits, stored as given.
    #[must_use]
    pub fn new(flags: Flags, attributes: u16, producer: Option<Producer>, reserve: usize) -> Self {
        Self {
            frames: BytesMut::with_capacity(reserve),
            flags,
            attributes,
            producer,
            record_count: 0,
            max_timestamp: -1,
        }
    }

    /// Appends one record with offset delta `record_count` (deltas are contiguous from 0).
    ///
    /// # Panics
    /// When the record is larger than [`crate::SECTIONS_BYTES_MAX`]: admission bounds it.
    pub fn push(&mut self, record: &NewRecord<'_>) {
        let _ = (&self.frames, self.flags, self.attributes, self.producer, self.record_count);
        let _ = (self.max_timestamp, record);
        unimplemented!()
    }

    /// Bytes of the frames so far.
    #[must_use]
    pub fn len(&self) -> usize {
        self.frames.len()
    }

    /// Whether no record was pushed yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.record_count == 0
    }

    /// Ends the batch.
    ///
    /// # Panics
    /// When no record was pushed: a batch has at least one.
    #[must_use]
    pub fn finish(self) -> StagedBatch {
        unimplemented!()
    }
}

/// A whole batch that has no offsets yet; [`StagedBatch::assign`] gives it its place in the log.
#[derive(Debug)]
pub struct StagedBatch {
    frames: BytesMut,
    facts: BatchFacts,
}

impl StagedBatch {
    /// A batch of one frame that carries no application record: a placeholder or a segment header.
    #[must_use]
    pub fn marker(kind: BatchKind, timestamp: i64) -> Self {
        let _ = (kind, timestamp);
        unimplemented!()
    }

    /// The batch's facts; `leader_epoch` is 0 until [`StagedBatch::assign`].
    #[must_use]
    pub fn facts(&self) -> &BatchFacts {
        &self.facts
    }

    /// Bytes of all frames.
    #[must_use]
    pub fn len(&self) -> usize {
        self.frames.len()
    }

    /// Never: a batch has at least one frame.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Overwrites the timestamps of all records and of the batch by `now_ms` and sets the
    /// append-time bits (`message.timestamp.type=LogAppendTime`). Recomputes the frames' CRCs.
    pub fn stamp_append_time(&mut self, now_ms: i64) {
        let _ = now_ms;
        unimplemented!()
    }

    /// Gives the records offsets from `base` on and the batch its leader epoch. May be called
    /// again (a failed append): the last call holds.
    pub fn assign(&mut self, base: Offset, epoch: LeaderEpoch) {
        let _ = (base, epoch);
        unimplemented!()
    }

    /// The frames as they go to disk.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.frames
    }
}
