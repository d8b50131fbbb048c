//! Reading stored batches back: the head to hop from batch to batch, the frames to see records.

use highwater_types::{Offset, Position};

use crate::facts::offset_delta;
use crate::frame::Head;
use crate::{BatchFacts, BatchKind, Corrupt, CorruptReason, Flags, FrameView};

/// The first frame's facts and place: enough to hop to the next batch without its records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchHead {
    /// Offset of the first stored frame.
    pub first_offset: Offset,
    /// The batch's facts.
    pub facts: BatchFacts,
}

impl BatchHead {
    /// Bytes that are always enough for [`BatchHead::parse`] unless the first key or the first
    /// headers are large; then it asks for more with `Ok(None)`.
    pub const PROBE_BYTES: usize = 512;

    /// Parses the head at the front of `input`, which need not hold the whole batch nor the
    /// data of its first frame, and checks that frame's `frame_crc`.
    ///
    /// `Ok(None)`: `input` ends inside the head, or zeros follow.
    ///
    /// # Errors
    /// [`Corrupt`]: no batch starts at `at`.
    #[inline]
    pub fn parse(input: &[u8], at: Position) -> Result<Option<Self>, Corrupt> {
        Ok(Self::parse_with_extra(input, at)?.map(|(head, _)| head))
    }

    /// As [`BatchHead::parse`]; returns what the batch's kind adds to its facts, too.
    pub(crate) fn parse_with_extra(
        input: &[u8],
        at: Position,
    ) -> Result<Option<(Self, &[u8])>, Corrupt> {
        let corrupt = |reason| Corrupt { at, reason };
        let Some(frame) = Head::decode(input, at, true)? else {
            return Ok(None);
        };
        if !frame.flags.has(Flags::FIRST_OF_BATCH) {
            return Err(corrupt(CorruptReason::BatchStart));
        }
        let (facts, extra) =
            BatchFacts::decode(frame.protocol_data, frame.offset).map_err(corrupt)?;
        let is_data = facts.kind == BatchKind::Records;
        let frame_len = frame.data_at + frame.data_len;
        let is_last = facts.record_count == 1;
        let fits = if is_last {
            facts.frames_len as usize == frame_len
        } else {
            facts.frames_len as usize > frame_len
        };
        let is_single = matches!(
            facts.kind,
            BatchKind::Placeholder | BatchKind::SegmentHeader
        );
        if is_data == frame.flags.has(Flags::CONTROL) || !fits || (is_single && !is_last) {
            return Err(corrupt(CorruptReason::Facts));
        }
        Ok(Some((
            Self {
                first_offset: frame.offset,
                facts,
            },
            extra,
        )))
    }

    /// The offset that the producer's first record got.
    #[must_use]
    pub fn base_offset(&self) -> Offset {
        let base = self
            .first_offset
            .0
            .checked_sub(u64::from(self.facts.base_delta));
        Offset(base.expect("parse checked that the base offset is not negative"))
    }

    /// The last offset that the batch takes, whether or not a frame for it is stored.
    #[must_use]
    pub fn last_offset(&self) -> Offset {
        self.base_offset().plus(u64::from(self.facts.last_delta))
    }

    /// The offset after the batch. A segment's header takes no offset: its end is its start.
    #[must_use]
    pub fn end_offset(&self) -> Offset {
        match self.facts.kind {
            BatchKind::SegmentHeader => self.first_offset,
            _ => self.last_offset().plus(1),
        }
    }

    /// Bytes of the whole stored batch.
    #[must_use]
    pub fn len(&self) -> usize {
        self.facts.frames_len as usize
    }

    /// Never: a batch has at least one frame.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        false
    }
}

/// One whole stored batch, borrowing its bytes.
#[derive(Clone, Debug)]
pub struct StoredBatch<'a> {
    /// The head.
    pub head: BatchHead,
    /// All frames, back to back.
    pub bytes: &'a [u8],
    /// Where the batch starts in its segment.
    pub at: Position,
}

impl<'a> StoredBatch<'a> {
    /// Takes the batch off the front of `input`; `at` is where `input` starts in its segment.
    /// Checks the first frame's CRC; [`StoredBatch::verify`] checks the others.
    ///
    /// `Ok(None)`: `input` ends inside the batch (a torn tail), or zeros follow.
    ///
    /// # Errors
    /// [`Corrupt`]: no batch starts at `at`.
    pub fn parse(input: &'a [u8], at: Position) -> Result<Option<Self>, Corrupt> {
        let Some(head) = BatchHead::parse(input, at)? else {
            return Ok(None);
        };
        let Some(bytes) = input.get(..head.len()) else {
            return Ok(None);
        };
        Ok(Some(Self { head, bytes, at }))
    }

    /// Checks every frame: lengths, both CRCs, rising offsets, agreement with the facts.
    ///
    /// # Errors
    /// [`Corrupt`] with the first bad frame's place.
    pub fn verify(&self) -> Result<(), Corrupt> {
        let facts = &self.head.facts;
        let base = self.head.base_offset();
        let last = self.head.last_offset();
        let has_gaps = facts.has_gaps();
        let mut batch_flags = None;
        let mut end: Option<Offset> = None;
        let mut count: u32 = 0;
        let mut rest = self.bytes;
        let mut at = self.at;
        while !rest.is_empty() {
            let corrupt = |reason| Err(Corrupt { at, reason });
            // The batch is whole, so a frame that ends past it has a wrong length.
            let Some(frame) = FrameView::decode(rest, at, true)? else {
                return corrupt(CorruptReason::Lengths);
            };
            let is_first = count == 0;
            if frame.flags.has(Flags::FIRST_OF_BATCH) != is_first {
                return corrupt(CorruptReason::BatchStart);
            }
            let rises = end.is_none_or(|end| frame.offset >= end);
            let is_in_place = has_gaps || end.is_none_or(|end| frame.offset == end);
            if !rises || !is_in_place || frame.offset > last {
                return corrupt(CorruptReason::Offsets);
            }
            if has_gaps && !is_first {
                match offset_delta(frame.protocol_data) {
                    Some(delta) if base.0 + u64::from(delta) == frame.offset.0 => {}
                    _ => return corrupt(CorruptReason::Offsets),
                }
            }
            let flags = frame.flags.0 & Flags::OF_BATCH;
            if *batch_flags.get_or_insert(flags) != flags || frame.timestamp > facts.max_timestamp {
                return corrupt(CorruptReason::Facts);
            }
            end = Some(frame.offset.plus(1));
            count += 1;
            rest = &rest[frame.frame_len..];
            at = Position(at.0 + frame.frame_len as u64);
        }
        if count != facts.record_count {
            return Err(Corrupt {
                at: self.at,
                reason: CorruptReason::Facts,
            });
        }
        Ok(())
    }

    /// The frames in order, lengths checked, CRCs not.
    #[must_use]
    pub fn frames(&self) -> Frames<'a> {
        Frames {
            rest: self.bytes,
            at: self.at,
        }
    }
}

/// Iterates over the frames of a stored batch; ends after the first error.
#[derive(Clone, Debug)]
pub struct Frames<'a> {
    /// Frames not yet seen.
    pub(crate) rest: &'a [u8],
    /// Where `rest` starts in its segment.
    pub(crate) at: Position,
}

impl<'a> Iterator for Frames<'a> {
    type Item = Result<FrameView<'a>, Corrupt>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let lengths = Corrupt {
            at: self.at,
            reason: CorruptReason::Lengths,
        };
        let frame = FrameView::decode(self.rest, self.at, false).and_then(|f| f.ok_or(lengths));
        match &frame {
            Ok(frame) => {
                self.rest = &self.rest[frame.frame_len..];
                self.at = Position(self.at.0 + frame.frame_len as u64);
            }
            Err(_) => self.rest = &[],
        }
        Some(frame)
    }
}
