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
        self.verified_frames()
            .try_for_each(|frame| frame.map(|_| ()))
    }

    /// The frames in order, lengths checked, CRCs not.
    #[must_use]
    pub fn frames(&self) -> Frames<'a> {
        Frames {
            rest: self.bytes,
            at: self.at,
        }
    }

    /// The frames in order, each checked as [`StoredBatch::verify`] does: what may be served.
    #[must_use]
    pub fn verified_frames(&self) -> VerifiedFrames<'a> {
        let facts = &self.head.facts;
        VerifiedFrames {
            rest: self.bytes,
            at: self.at,
            base: self.head.base_offset(),
            last: self.head.last_offset(),
            from: self.head.first_offset,
            has_gaps: facts.has_gaps(),
            flags: 0,
            max_timestamp: facts.max_timestamp,
            left: facts.record_count,
            is_first: true,
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

/// Iterates over the frames of a stored batch, checking each; ends after the first error.
#[derive(Clone, Debug)]
pub struct VerifiedFrames<'a> {
    rest: &'a [u8],
    at: Position,
    base: Offset,
    last: Offset,
    /// The smallest offset that the next frame may have.
    from: Offset,
    has_gaps: bool,
    /// The bits that all frames share, as the first one has them.
    flags: u16,
    max_timestamp: i64,
    /// How many frames must follow.
    left: u32,
    is_first: bool,
}

impl<'a> VerifiedFrames<'a> {
    /// The next frame without its CRCs checked, for a reader that passes over it.
    pub fn hop(&mut self) -> Option<Result<FrameView<'a>, Corrupt>> {
        self.step(false)
    }

    #[inline(always)]
    fn step(&mut self, verify: bool) -> Option<Result<FrameView<'a>, Corrupt>> {
        if self.rest.is_empty() {
            return None;
        }
        match self.check(verify) {
            Ok(frame) => {
                self.rest = &self.rest[frame.frame_len..];
                self.at = Position(self.at.0 + frame.frame_len as u64);
                self.from = Offset(frame.offset.0 + 1);
                self.left -= 1;
                self.is_first = false;
                Some(Ok(frame))
            }
            Err(reason) => {
                self.rest = &[];
                Some(Err(Corrupt {
                    at: self.at,
                    reason,
                }))
            }
        }
    }

    #[inline(always)]
    fn check(&mut self, verify: bool) -> Result<FrameView<'a>, CorruptReason> {
        // The batch is whole, so a frame that ends past it has a wrong length.
        let frame = FrameView::decode(self.rest, self.at, verify)
            .map_err(|corrupt| corrupt.reason)?
            .ok_or(CorruptReason::Lengths)?;
        if frame.flags.has(Flags::FIRST_OF_BATCH) != self.is_first {
            return Err(CorruptReason::BatchStart);
        }
        let is_in_place = if self.has_gaps {
            (self.from..=self.last).contains(&frame.offset)
                && (self.is_first || self.states_its_offset(&frame))
        } else {
            frame.offset == self.from
        };
        if !is_in_place {
            return Err(CorruptReason::Offsets);
        }
        let flags = frame.flags.0 & Flags::OF_BATCH;
        if self.is_first {
            self.flags = flags;
        }
        // The last frame ends the batch, and no other does.
        let is_last = self.rest.len() == frame.frame_len;
        if flags != self.flags
            || frame.timestamp > self.max_timestamp
            || is_last != (self.left == 1)
        {
            return Err(CorruptReason::Facts);
        }
        Ok(frame)
    }

    fn states_its_offset(&self, frame: &FrameView<'_>) -> bool {
        let stated = offset_delta(frame.protocol_data);
        stated.is_some_and(|delta| self.base.0 + u64::from(delta) == frame.offset.0)
    }
}

impl<'a> Iterator for VerifiedFrames<'a> {
    type Item = Result<FrameView<'a>, Corrupt>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.step(true)
    }
}
