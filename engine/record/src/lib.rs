//! The neutral record: its bytes on disk, and batches of records that stay together.
//!
//! A log segment is a run of *frames*, one a record (`docs/format/record.md`). Frames that a
//! client sent as one batch are stored one after the other and form a *stored batch*: the first
//! frame is flagged and carries the batch's facts ([`BatchFacts`]) in its protocol data.
//! Recovery, truncation, replication and reads work on whole stored batches.

mod builder;
mod compact;
mod corrupt;
pub mod crc;
mod facts;
mod frame;
mod segment_header;
mod stored;

pub use builder::{BatchBuilder, NewRecord, StagedBatch};
pub use corrupt::{Corrupt, CorruptReason};
pub use facts::{BatchFacts, BatchKind, Producer};
pub use frame::{FIXED_BYTES, Flags, FrameView, SECTIONS_BYTES_MAX};
pub use segment_header::SegmentHeader;
pub use stored::{BatchHead, Frames, StoredBatch, VerifiedFrames};

#[cfg(test)]
mod tests;
