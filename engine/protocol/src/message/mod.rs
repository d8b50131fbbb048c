//! Frames, headers and bodies of Kafka messages: bounded decoding, and encoding without copies.
//!
//! A request arrives as one frame: a 4-byte length that [`frame_len`] judges, then that many
//! bytes, which [`decode_request`] turns into a header and a [`Request`]. An answer leaves as one
//! frame from [`encode_response`], or as parts from [`fetch::encode`].
//!
//! Bodies are decoded by the `kafka-protocol` crate, which allocates by the array lengths it
//! reads. So the [`guard`] walks every body first and refuses what it does not hold.

pub mod api;
mod error;
pub mod fetch;
mod frame;
pub mod guard;
mod header;
mod offsets;
mod produce;
mod reader;
mod request;
mod response;
#[cfg(test)]
mod testing;

pub use api::{Api, ApiKey};
pub use error::{Malformed, MalformedReason, MessageError};
pub use frame::{FRAME_LEN_BYTES, frame_len};
pub use header::RequestHeader;
pub use kafka_protocol::messages;
pub use kafka_protocol::protocol::StrBytes;
pub use request::{Request, decode_request};
pub use response::{Response, encode_api_versions_too_new, encode_response};
