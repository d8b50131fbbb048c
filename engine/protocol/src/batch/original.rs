//! The producer's own batches, for consumers that read the end of the log.
//!
//! The CRC of a v2 batch covers neither base offset nor leader epoch, so the batch that a producer
//! sent stays valid, compressed as it is, when those two are patched, and only those. Serving it
//! costs one copy instead of decoding and framing, and gives consumers the producer's compression.
//!
//! A batch qualifies when [`super::Decoded::is_original`] holds: the log keeps the producer's
//! timestamps, the batch's own maximum timestamp was right, and no attribute was changed. A
//! consumer that cannot read the batch's codec (zstd before Fetch version 10) must get the
//! re-framed batch, and so must one whose range ends or starts inside a larger stored batch:
//! what is cached is the batch as a whole.

use bytes::{Bytes, BytesMut};
use highwater_types::{LeaderEpoch, Offset};

use super::header::at;
use super::{Codec, Decoded};

/// A producer's batch that says the same as what the log holds.
#[derive(Clone, Debug)]
pub struct Original {
    /// Offset of its first record.
    pub base: Offset,
    /// Offset after its last record.
    pub end: Offset,
    /// Consumers must know this codec.
    pub codec: Codec,
    /// The v2 batch.
    pub bytes: Bytes,
}

/// Copies the batch at the front of `wire` and gives it its place in the log; `None` when it does
/// not say the same as the frames, and the re-framed batch must be served.
///
/// `wire` and `decoded` belong together; `base` and `epoch` are what the log assigned.
#[must_use]
pub fn keep(wire: &[u8], decoded: &Decoded, base: Offset, epoch: LeaderEpoch) -> Option<Original> {
    if !decoded.is_original {
        return None;
    }
    let mut batch = BytesMut::from(&wire[..decoded.wire_len]);
    patch(&mut batch, base, epoch);
    let end = base.plus(u64::from(decoded.batch.facts().last_delta) + 1);
    Some(Original {
        base,
        end,
        codec: decoded.codec,
        bytes: batch.freeze(),
    })
}

/// Sets base offset and leader epoch of the v2 batch `batch`, whose CRC stays right. The header
/// alone is enough.
///
/// # Panics
/// When `batch` is shorter than a batch's header.
pub fn patch(batch: &mut [u8], base: Offset, epoch: LeaderEpoch) {
    batch[..size_of::<i64>()].copy_from_slice(&base.wire().to_be_bytes());
    let epoch_end = at::LEADER_EPOCH + size_of::<i32>();
    batch[at::LEADER_EPOCH..epoch_end].copy_from_slice(&epoch.wire().to_be_bytes());
}
