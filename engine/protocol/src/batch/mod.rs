//! Kafka's v2 record batches: from the wire into the log and back.
//!
//! A Produce request carries one batch a partition. [`decode`] checks it and turns it into a
//! staged batch of neutral frames in one pass, without an allocation a record. A Fetch answer
//! carries v2 batches again: [`encode`] makes them from stored batches. Where the producer's own
//! bytes are still at hand and say the same, [`original`] patches and serves those instead.
//!
//! ```text
//! base_offset i64 | batch_len i32 | leader_epoch i32 | magic i8 (2) | crc u32
//!   | attributes i16 | last_offset_delta i32 | base_timestamp i64 | max_timestamp i64
//!   | producer_id i64 | producer_epoch i16 | base_sequence i32 | record_count i32 | records
//! ```
//!
//! `batch_len` counts what follows it; the CRC covers everything from the attributes on.
//! [`read`] and [`write()`] are the clients' side: our command line, simulations and tests.
//! Source: Kafka's message format page; `docs/format/record.md` has our own side.

mod codec;
mod decode;
mod encode;
mod error;
mod header;
mod inflate;
pub mod original;
mod read;
mod record;
mod varint;
mod write;

pub use codec::Codec;
pub use decode::{Decoded, Limits, Timestamps, decode};
pub use encode::{Encoded, PIECE_BYTES_MAX, encode};
pub use error::{BatchError, InflateError, RecordError, RecordReason};
pub use header::{BatchHeader, HEADER_BYTES};
pub use inflate::Scratch;
pub use read::{WireBatch, WireHeader, WireRecord, read};
pub use write::write;

#[cfg(test)]
mod tests;
