//! Making a stored batch: records go in once, offsets and epoch are stamped under the log's lock.

use bytes::{BufMut, BytesMut};
use highwater_types::{LeaderEpoch, Offset};

use crate::frame::{self, NewFrame, at};
use crate::{BatchFacts, BatchKind, FIXED_BYTES, Flags, Producer, crc};

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
    facts: BatchFacts,
}

impl BatchBuilder {
    /// Starts a batch of application records (or a control batch when `flags` says so), with
    /// room for `reserve` bytes of frames. `attributes` are Kafka's bits, stored as given.
    #[must_use]
    pub fn new(flags: Flags, attributes: u16, producer: Option<Producer>, reserve: usize) -> Self {
        let kind = if flags.has(Flags::CONTROL) {
            BatchKind::Control
        } else {
            BatchKind::Records
        };
        let facts = BatchFacts {
            attributes,
            producer,
            ..empty_facts(kind)
        };
        Self {
            frames: BytesMut::with_capacity(reserve),
            flags: Flags(flags.0 & Flags::OF_BATCH),
            facts,
        }
    }

    /// Appends one record with offset delta `record_count` (deltas are contiguous from 0).
    /// Returns the CRC-32C of its value, which the caller may need, too.
    ///
    /// # Panics
    /// When the record is larger than [`crate::SECTIONS_BYTES_MAX`]: admission bounds it.
    #[inline]
    pub fn push(&mut self, record: &NewRecord<'_>) -> u32 {
        let value = record.value.unwrap_or_default();
        let data_crc = crc::crc32c(value);
        self.push_with_crc(record, data_crc);
        data_crc
    }

    /// As [`BatchBuilder::push`] when the CRC-32C of the value is known: another frame had it.
    ///
    /// # Panics
    /// As [`BatchBuilder::push`].
    #[inline]
    pub fn push_with_crc(&mut self, record: &NewRecord<'_>, data_crc: u32) {
        let is_first = self.facts.record_count == 0;
        let facts;
        let protocol_data: &[u8] = if is_first {
            // Written again by `assign`, which knows what they say.
            facts = self.facts.encoded(Offset::ZERO);
            &facts
        } else {
            &[]
        };
        let first = if is_first { Flags::FIRST_OF_BATCH } else { 0 };
        let frame = NewFrame {
            offset: Offset::ZERO,
            batch_flags: self.flags.0 | first,
            timestamp: record.timestamp,
            data_crc,
            key: record.key,
            headers: record.headers,
            protocol_data,
            value: record.value,
        };
        frame.put(&mut self.frames);
        self.facts.record_count += 1;
        self.facts.max_timestamp = self.facts.max_timestamp.max(record.timestamp);
    }

    /// Bytes of the frames so far.
    #[must_use]
    pub fn len(&self) -> usize {
        self.frames.len()
    }

    /// Whether no record was pushed yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.facts.record_count == 0
    }

    /// Ends the batch.
    ///
    /// # Panics
    /// When no record was pushed: a batch has at least one.
    #[must_use]
    pub fn finish(mut self) -> StagedBatch {
        assert!(!self.is_empty(), "a batch has at least one record");
        self.facts.frames_len =
            u32::try_from(self.frames.len()).expect("admission bounds a batch below 4 GiB");
        self.facts.last_delta = self.facts.record_count - 1;
        let mut staged = StagedBatch {
            frames: self.frames,
            facts: self.facts,
        };
        staged.seal(Offset::ZERO);
        staged
    }
}

/// The facts of a batch of `kind` that holds nothing yet.
fn empty_facts(kind: BatchKind) -> BatchFacts {
    BatchFacts {
        kind,
        base_delta: 0,
        last_delta: 0,
        record_count: 0,
        frames_len: 0,
        leader_epoch: LeaderEpoch(0),
        attributes: 0,
        max_timestamp: -1,
        producer: None,
        delete_horizon: None,
    }
}

/// A whole batch that has no offsets yet; [`StagedBatch::assign`] gives it its place in the log.
pub struct StagedBatch {
    frames: BytesMut,
    facts: BatchFacts,
}

impl std::fmt::Debug for StagedBatch {
    /// The facts: they tell the length, and the frames would fill the page.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StagedBatch")
            .field("facts", &self.facts)
            .finish_non_exhaustive()
    }
}

impl StagedBatch {
    /// A batch of one frame that carries no application record and takes one offset: a
    /// placeholder.
    ///
    /// # Panics
    /// When `kind` is anything else. Records go through [`BatchBuilder`], a segment's header
    /// through [`crate::SegmentHeader`].
    #[must_use]
    pub fn marker(kind: BatchKind, timestamp: i64) -> Self {
        assert_eq!(
            kind,
            BatchKind::Placeholder,
            "only a placeholder has nothing more to say"
        );
        Self::of_one_frame(
            BatchFacts {
                max_timestamp: timestamp,
                ..empty_facts(kind)
            },
            &[],
        )
    }

    /// The frame that keeps `facts` when no record of their batch is left.
    #[must_use]
    pub fn placeholder(facts: &BatchFacts) -> Self {
        let kind = BatchKind::Placeholder;
        // The one frame stands at the batch's last offset: the log end survives with it.
        let base_delta = facts.last_delta;
        Self::of_one_frame(
            BatchFacts {
                kind,
                base_delta,
                ..facts.clone()
            },
            &[],
        )
    }

    /// One frame without key and value; `extra` is what the kind adds to the facts.
    pub(crate) fn of_one_frame(facts: BatchFacts, extra: &[u8]) -> Self {
        let mut protocol_data = facts.encoded(Offset::ZERO);
        protocol_data.put_slice(extra);
        let frame = NewFrame {
            offset: Offset::ZERO,
            batch_flags: Flags::FIRST_OF_BATCH | Flags::CONTROL,
            timestamp: facts.max_timestamp,
            data_crc: crc::crc32c(&[]),
            key: None,
            headers: &[],
            protocol_data: &protocol_data,
            value: None,
        };
        let mut frames = BytesMut::new();
        frame.put(&mut frames);
        let frames_len = frames.len() as u32;
        let facts = BatchFacts {
            record_count: 1,
            frames_len,
            ..facts
        };
        let mut staged = Self { frames, facts };
        staged.seal(Offset::ZERO);
        staged
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
        self.facts.max_timestamp = now_ms;
        self.facts.attributes |= ATTRIBUTE_APPEND_TIME;
        let first_offset = self.first_offset();
        let mut start = 0;
        while start < self.frames.len() {
            let frame = &mut self.frames[start..];
            let flags = u16::from_be_bytes([frame[at::FLAGS], frame[at::FLAGS + 1]]);
            let flags = flags | Flags::APPEND_TIME;
            frame[at::FLAGS..at::TIMESTAMP].copy_from_slice(&flags.to_be_bytes());
            frame[at::TIMESTAMP..at::DATA_CRC].copy_from_slice(&now_ms.to_be_bytes());
            let (frame_len, data_at) = frame_lens(frame);
            let frame_crc = frame::frame_crc(&frame[..data_at]);
            frame[at::FRAME_CRC..at::KEY_LEN].copy_from_slice(&frame_crc.to_be_bytes());
            start += frame_len;
        }
        self.seal(first_offset);
    }

    /// Gives the records offsets from `base` on and the batch its leader epoch. May be called
    /// again (a failed append): the last call holds.
    pub fn assign(&mut self, base: Offset, epoch: LeaderEpoch) {
        self.facts.leader_epoch = epoch;
        let first = base.plus(u64::from(self.facts.base_delta));
        let mut offset = first.0;
        let mut start = 0;
        while start < self.frames.len() {
            let frame = &mut self.frames[start..];
            frame[..at::TOTAL_LEN].copy_from_slice(&offset.to_be_bytes());
            start += FIXED_BYTES + read_u32(frame, at::TOTAL_LEN) as usize;
            offset += 1;
        }
        assert_eq!(
            offset,
            first.0 + u64::from(self.facts.record_count),
            "one offset a record"
        );
        self.seal(first);
    }

    /// The frames as they go to disk.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.frames
    }

    /// The frames as they go to disk, for a caller that keeps them.
    #[must_use]
    pub fn into_bytes(self) -> BytesMut {
        self.frames
    }

    fn first_offset(&self) -> Offset {
        let field = self.frames.first_chunk().expect("a batch has a frame");
        Offset(u64::from_be_bytes(*field))
    }

    /// Writes the facts into the first frame and recomputes that frame's CRC.
    fn seal(&mut self, first_offset: Offset) {
        let facts = self.facts.encoded(first_offset);
        let facts_at = at::METADATA + read_u32(&self.frames, at::METADATA_LEN) as usize + 4;
        self.frames[facts_at..facts_at + facts.len()].copy_from_slice(&facts);
        let (_, data_at) = frame_lens(&self.frames);
        let frame_crc = frame::frame_crc(&self.frames[..data_at]);
        self.frames[at::FRAME_CRC..at::KEY_LEN].copy_from_slice(&frame_crc.to_be_bytes());
    }
}

/// Kafka's attribute bit of a batch whose timestamp is the time of the append.
const ATTRIBUTE_APPEND_TIME: u16 = 1 << 3;

/// Bytes of the frame at the front of `frames`, which this module wrote, and of it without data.
fn frame_lens(frames: &[u8]) -> (usize, usize) {
    let frame_len = FIXED_BYTES + read_u32(frames, at::TOTAL_LEN) as usize;
    let protocol_data_at = at::METADATA + read_u32(frames, at::METADATA_LEN) as usize;
    let protocol_data_len = read_u32(frames, protocol_data_at) as usize;
    (frame_len, protocol_data_at + 4 + protocol_data_len + 4)
}

fn read_u32(bytes: &[u8], at: usize) -> u32 {
    let field = bytes[at..]
        .first_chunk()
        .expect("this module wrote whole frames");
    u32::from_be_bytes(*field)
}
