//! Kafka's wire protocol: frames and messages, and record batches.
//!
//! Nothing here waits, and nothing that a peer sends makes it allocate more than a small multiple
//! of what was sent.

pub mod batch;
pub mod message;
