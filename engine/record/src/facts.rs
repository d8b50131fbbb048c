//! What holds for a batch as a whole; stored in the protocol data of its first frame.
//!
//! ```text
//! kind u8 | version u8 (1) | present u8 | first_offset u64 | base_delta u32 | last_delta u32
//!   | record_count u32 | frames_len u32 | leader_epoch u32 | attributes u16 | max_timestamp i64
//!   | producer_id i64, producer_epoch i16, base_sequence i32   (if bit 0 of present)
//!   | delete_horizon i64                                       (if bit 1 of present)
//!   | what the kind adds
//! ```
//!
//! `first_offset` repeats the frame's own offset, which no CRC of a frame covers.
//! Specified in `docs/format/record.md`; a change here changes that page and the version.

use bytes::{BufMut, BytesMut};
use highwater_types::{LeaderEpoch, Offset, ProducerEpoch, ProducerId};

use crate::CorruptReason;

/// The version of the facts that this build writes and reads.
pub(crate) const FACTS_VERSION: u8 = 1;

/// Bytes of the facts that are always there.
pub(crate) const FACTS_FIXED_BYTES: usize = 41;

/// Bytes of the facts with a producer and a delete horizon.
const FACTS_BYTES_MAX: usize = FACTS_FIXED_BYTES + 14 + 8;

/// Bit of `present`: a producer follows.
const HAS_PRODUCER: u8 = 1 << 0;
/// Bit of `present`: a delete horizon follows.
const HAS_DELETE_HORIZON: u8 = 1 << 1;

/// The facts of one stored batch. They survive compaction: the first survivor carries them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchFacts {
    /// What the frames are.
    pub kind: BatchKind,
    /// Offset of the first stored frame minus the batch's base offset; 0 unless compacted.
    pub base_delta: u32,
    /// The batch's last offset minus its base offset; may be past the last stored frame.
    pub last_delta: u32,
    /// How many frames are stored, at least 1.
    pub record_count: u32,
    /// Bytes of all frames of this batch, the first included: the next batch starts there.
    pub frames_len: u32,
    /// The epoch of the leader that appended it.
    pub leader_epoch: LeaderEpoch,
    /// Kafka's attribute bits as the producer sent them (codec, timestamp type, transactional,
    /// control, delete horizon). Stored uncompressed whatever the codec bits say.
    pub attributes: u16,
    /// Largest timestamp of the batch in ms, -1 when none; the append time if that bit is set.
    pub max_timestamp: i64,
    /// The idempotent producer, if it was one.
    pub producer: Option<Producer>,
    /// When tombstones and markers of this batch may go, in ms (set by compaction).
    pub delete_horizon: Option<i64>,
}

/// What the frames of a batch are. Only `Records` is application data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchKind {
    /// Records of an application.
    Records,
    /// A control batch (transaction marker): protocols see it, applications do not.
    Control,
    /// One frame that keeps the facts of a batch all of whose records were compacted away.
    Placeholder,
    /// The first frame of a segment file: its start offset; takes no offset of the log.
    SegmentHeader,
}

/// An idempotent producer's place in its sequence, at the first record of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Producer {
    /// Who.
    pub id: ProducerId,
    /// Which of its lives.
    pub epoch: ProducerEpoch,
    /// Sequence number of the batch's base offset; -1 for markers. Wraps at 2^31 - 1 to 0.
    pub base_sequence: i32,
}

impl BatchKind {
    /// As stored. Codes from 16 on mark data of later frames.
    fn code(self) -> u8 {
        match self {
            Self::Records => 1,
            Self::Control => 2,
            Self::Placeholder => 3,
            Self::SegmentHeader => 4,
        }
    }

    fn from_code(code: u8) -> Option<Self> {
        [
            Self::Records,
            Self::Control,
            Self::Placeholder,
            Self::SegmentHeader,
        ]
        .into_iter()
        .find(|kind| kind.code() == code)
    }
}

impl BatchFacts {
    /// The sequence number of the batch's last offset, wrapping as Kafka does (rule 75).
    #[must_use]
    pub fn last_sequence(&self) -> Option<i32> {
        let producer = self.producer?;
        if producer.base_sequence < 0 {
            return Some(producer.base_sequence);
        }
        let sum = i64::from(producer.base_sequence) + i64::from(self.last_delta);
        Some((sum % (i64::from(i32::MAX) + 1)) as i32)
    }

    /// The facts as stored, of a batch whose first stored frame has `first_offset`.
    pub(crate) fn encoded(&self, first_offset: Offset) -> BytesMut {
        let mut out = BytesMut::with_capacity(FACTS_BYTES_MAX);
        let mut present = 0;
        if self.producer.is_some() {
            present |= HAS_PRODUCER;
        }
        if self.delete_horizon.is_some() {
            present |= HAS_DELETE_HORIZON;
        }
        out.put_slice(&[self.kind.code(), FACTS_VERSION, present]);
        out.put_u64(first_offset.0);
        out.put_u32(self.base_delta);
        out.put_u32(self.last_delta);
        out.put_u32(self.record_count);
        out.put_u32(self.frames_len);
        out.put_u32(self.leader_epoch.0);
        out.put_u16(self.attributes);
        out.put_i64(self.max_timestamp);
        if let Some(producer) = self.producer {
            out.put_i64(producer.id.0);
            out.put_i16(producer.epoch.0);
            out.put_i32(producer.base_sequence);
        }
        if let Some(horizon) = self.delete_horizon {
            out.put_i64(horizon);
        }
        assert!(out.len() <= FACTS_BYTES_MAX);
        out
    }

    /// Reads the facts at the front of `protocol_data`; returns what the kind adds, too.
    pub(crate) fn decode(
        protocol_data: &[u8],
        first_offset: Offset,
    ) -> Result<(Self, &[u8]), CorruptReason> {
        let mut rest = protocol_data;
        let [kind, version, present] = take(&mut rest)?;
        if version != FACTS_VERSION {
            return Err(CorruptReason::Version(version));
        }
        let kind = BatchKind::from_code(kind).ok_or(CorruptReason::Facts)?;
        if present & !(HAS_PRODUCER | HAS_DELETE_HORIZON) != 0
            || u64::from_be_bytes(take(&mut rest)?) != first_offset.0
        {
            return Err(CorruptReason::Facts);
        }
        let mut facts = Self {
            kind,
            base_delta: u32::from_be_bytes(take(&mut rest)?),
            last_delta: u32::from_be_bytes(take(&mut rest)?),
            record_count: u32::from_be_bytes(take(&mut rest)?),
            frames_len: u32::from_be_bytes(take(&mut rest)?),
            leader_epoch: LeaderEpoch(u32::from_be_bytes(take(&mut rest)?)),
            attributes: u16::from_be_bytes(take(&mut rest)?),
            max_timestamp: i64::from_be_bytes(take(&mut rest)?),
            producer: None,
            delete_horizon: None,
        };
        if present & HAS_PRODUCER != 0 {
            facts.producer = Some(Producer {
                id: ProducerId(i64::from_be_bytes(take(&mut rest)?)),
                epoch: ProducerEpoch(i16::from_be_bytes(take(&mut rest)?)),
                base_sequence: i32::from_be_bytes(take(&mut rest)?),
            });
        }
        if present & HAS_DELETE_HORIZON != 0 {
            facts.delete_horizon = Some(i64::from_be_bytes(take(&mut rest)?));
        }
        facts.check(first_offset)?;
        Ok((facts, rest))
    }

    /// Whether the numbers can stand beside each other at `first_offset`.
    fn check(&self, first_offset: Offset) -> Result<(), CorruptReason> {
        let last_offset = first_offset
            .0
            .checked_sub(u64::from(self.base_delta))
            .and_then(|base| base.checked_add(u64::from(self.last_delta)));
        let holds = last_offset.is_some_and(|last| last < Offset::MAX.0)
            && self.base_delta <= self.last_delta
            && self.last_delta <= i32::MAX as u32
            && self.record_count > 0
            && self.record_count - 1 <= self.last_delta - self.base_delta
            && self.leader_epoch.0 <= i32::MAX as u32;
        if holds {
            Ok(())
        } else {
            Err(CorruptReason::Facts)
        }
    }

    /// Whether compaction took offsets out of the batch: each later frame then says its own.
    #[must_use]
    pub fn has_gaps(&self) -> bool {
        u64::from(self.record_count) != u64::from(self.last_delta) + 1
    }
}

/// First byte of the protocol data of a later frame in a batch with gaps; `offset_delta u32`,
/// the frame's offset minus the batch's base offset, follows.
pub(crate) const OFFSET_DELTA: u8 = 16;

/// What the protocol data of a later frame says about its offset, if it does.
pub(crate) fn offset_delta(protocol_data: &[u8]) -> Option<u32> {
    match protocol_data.split_first()? {
        (&OFFSET_DELTA, rest) => rest.first_chunk().map(|delta| u32::from_be_bytes(*delta)),
        _ => None,
    }
}

/// The first `N` bytes of `rest`, which moves on.
fn take<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N], CorruptReason> {
    let (field, after) = rest.split_first_chunk().ok_or(CorruptReason::Facts)?;
    *rest = after;
    Ok(*field)
}
