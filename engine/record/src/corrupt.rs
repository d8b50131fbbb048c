//! Bytes that no version of this codec wrote.

use highwater_types::Position;

/// Bytes that no version of this codec wrote. The segment must not be served past `at`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("corrupt record at byte {at}: {reason}")]
pub struct Corrupt {
    /// Where the bad frame starts in its segment.
    pub at: Position,
    /// What contradicts.
    pub reason: CorruptReason,
}

/// What contradicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CorruptReason {
    /// The section lengths do not add up, or a length is past its bound.
    #[error("its lengths contradict each other")]
    Lengths,
    /// A version of the metadata or of the facts that this build does not know.
    #[error("format version {0} is not known")]
    Version(u8),
    /// The CRC over the frame differs.
    #[error("the frame's CRC differs")]
    FrameCrc,
    /// The CRC over the data differs.
    #[error("the data's CRC differs")]
    DataCrc,
    /// A batch was expected to start here and the frame is not a first one, or the reverse.
    #[error("a batch does not start where it should")]
    BatchStart,
    /// The facts of the batch do not agree with its frames.
    #[error("the batch's facts do not agree with its frames")]
    Facts,
    /// Offsets inside the batch do not rise, or leave the batch's range.
    #[error("offsets do not rise")]
    Offsets,
    /// Key or header lengths inside the metadata do not fit.
    #[error("the metadata is malformed")]
    Metadata,
}
