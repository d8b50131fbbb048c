//! The first frame of every segment file: whose segment it is and where it starts.
//!
//! It is a batch of kind `SegmentHeader` whose one frame takes no offset of the log; its own
//! offset is the segment's start offset. After the facts its protocol data holds
//! `header_version u8 (1) | topic_id 16 bytes | partition u32 | segment_no u64 | created_ms i64`.
//! Specified in `docs/format/record.md`.

use bytes::{BufMut, BytesMut};
use highwater_types::{LeaderEpoch, Offset, Position, SegmentNo, TopicId};

use crate::facts::FACTS_FIXED_BYTES;
use crate::frame::METADATA_FIXED_BYTES;
use crate::{BatchFacts, BatchHead, BatchKind, Corrupt, CorruptReason, FIXED_BYTES, StagedBatch};

/// The version of the header that this build writes and reads.
const HEADER_VERSION: u8 = 1;

/// Bytes that the header adds to the facts.
const EXTRA_BYTES: usize = 37;

/// What the first frame of a segment file says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentHeader {
    /// The topic that the segment belongs to.
    pub topic_id: TopicId,
    /// The partition that the segment belongs to.
    pub partition: u32,
    /// The segment's number.
    pub segment_no: SegmentNo,
    /// The offset that the first record of the segment gets.
    pub start_offset: Offset,
    /// When the segment was created, in wall-clock ms.
    pub created_ms: i64,
}

impl SegmentHeader {
    /// Bytes of the header in the file; the first batch follows.
    pub const LEN: usize = FIXED_BYTES + METADATA_FIXED_BYTES + FACTS_FIXED_BYTES + EXTRA_BYTES;

    /// The header as it goes to disk.
    #[must_use]
    pub fn encode(&self) -> BytesMut {
        let mut extra = BytesMut::with_capacity(EXTRA_BYTES);
        extra.put_u8(HEADER_VERSION);
        extra.put_slice(&self.topic_id.0);
        extra.put_u32(self.partition);
        extra.put_u64(self.segment_no.0);
        extra.put_i64(self.created_ms);
        let facts = BatchFacts {
            kind: BatchKind::SegmentHeader,
            base_delta: 0,
            last_delta: 0,
            record_count: 1,
            frames_len: Self::LEN as u32,
            leader_epoch: LeaderEpoch(0),
            attributes: 0,
            max_timestamp: self.created_ms,
            producer: None,
            delete_horizon: None,
        };
        let mut staged = StagedBatch::of_one_frame(facts, &extra);
        staged.assign(self.start_offset, LeaderEpoch(0));
        assert_eq!(staged.len(), Self::LEN);
        staged.into_bytes()
    }

    /// Reads the header at the front of a segment file and checks its CRC.
    ///
    /// `Ok(None)`: `input` ends inside the header, or zeros follow: the file was created and its
    /// header never reached the disk, so it holds nothing.
    ///
    /// # Errors
    /// [`Corrupt`]: the file is no segment, or a version that this build does not know.
    pub fn decode(input: &[u8]) -> Result<Option<Self>, Corrupt> {
        let at = Position(0);
        let corrupt = |reason| Err(Corrupt { at, reason });
        let Some((head, extra)) = BatchHead::parse_with_extra(input, at)? else {
            return Ok(None);
        };
        if head.facts.kind != BatchKind::SegmentHeader {
            return corrupt(CorruptReason::BatchStart);
        }
        match extra.first() {
            Some(&HEADER_VERSION) => {}
            Some(version) => return corrupt(CorruptReason::Version(*version)),
            None => return corrupt(CorruptReason::Facts),
        }
        let Some((topic_id, rest)) = extra[1..].split_first_chunk() else {
            return corrupt(CorruptReason::Facts);
        };
        let Some((partition, rest)) = rest.split_first_chunk() else {
            return corrupt(CorruptReason::Facts);
        };
        let Some((segment_no, rest)) = rest.split_first_chunk() else {
            return corrupt(CorruptReason::Facts);
        };
        let Ok(created_ms) = rest.try_into() else {
            return corrupt(CorruptReason::Facts);
        };
        Ok(Some(Self {
            topic_id: TopicId(*topic_id),
            partition: u32::from_be_bytes(*partition),
            segment_no: SegmentNo(u64::from_be_bytes(*segment_no)),
            start_offset: head.first_offset,
            created_ms: i64::from_be_bytes(created_ms),
        }))
    }
}
