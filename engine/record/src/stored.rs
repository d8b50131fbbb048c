//! Reading stored batches back: the head to hop from batch to batch, the frames to see records.

use highwater_types::{Offset, Position};

use crate::{BatchFacts, Corrupt, FrameView};

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
    pub fn parse(input: &[u8], at: Position) -> Result<Option<Self>, Corrupt> {
        let _ = (input, at);
        unimplemented!()
    }

    /// The offset that the producer's first record got.
    #[must_use]
    pub fn base_offset(&self) -> Offset {
        let base = self.first_offset.0.checked_sub(u64::from(self.facts.base_delta));
        Offset(base.expect("parse checked that the base offset is not negative"))
    }

    /// The last offset that the batch takes, whether or not a frame for it is stored.
    #[must_use]
    pub fn last_offset(&self) -> Offset {
        self.base_offset().plus(u64::from(self.facts.last_delta))
    }

    /// The offset after the batch.
    #[must_use]
    pub fn end_offset(&self) -> Offset {
        self.last_offset().plus(1)
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
        let _ = (input, at);
        unimplemented!()
    }

    /// Checks every frame: lengths, both CRCs, rising offsets, agreement with the facts.
    ///
    /// # Errors
    /// [`Corrupt`] with the first bad frame's place.
    pub fn verify(&self) -> Result<(), Corrupt> {
        unimplemented!()
    }

    /// The frames in order, lengths checked, CRCs not.
    #[must_use]
    pub fn frames(&self) -> Frames<'a> {
        Frames { rest: self.bytes, at: self.at }
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

    fn next(&mut self) -> Option<Self::Item> {
        let _ = (self.rest, self.at);
        unimplemented!()
    }
}
