//! What the checkpoint file says of one partition: up to where its log is certainly on the platter.
//!
//! ```text
//! topic_id [16] | partition u32 | clean u8 | segment u64 | position u64 | synced u64
//!   | log_start u64 | next_segment u64 | max_timestamp i64 | first_timestamp i64
//!   | producers_empty u8 | epoch_newest i64 (-1: none)
//! ```
//!
//! Recovery scans from `position` of `segment` on; every byte before it was synced.

use bytes::{BufMut, BytesMut};
use highwater_types::{LeaderEpoch, Offset, SegmentNo};

use crate::coding::Take;

/// A place in a log up to which everything is on the platter, with what a scan from the
/// segment's start would have found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogCheckpoint {
    /// The log was closed at this place: nothing lies behind it.
    pub clean: bool,
    /// The segment in which the synced part ends.
    pub segment: SegmentNo,
    /// The byte in it at which the synced part ends; a batch boundary.
    pub position: u64,
    /// The offset at which the synced part ends.
    pub synced: Offset,
    /// The log start.
    pub log_start: Offset,
    /// The lowest segment number that was never used.
    pub next_segment: SegmentNo,
    /// The largest timestamp in the segment before `position`; -1 for none.
    pub max_timestamp: i64,
    /// The largest timestamp of the segment's first batch; -1 for none.
    pub first_timestamp: i64,
    /// No producer was remembered at `synced`: replay may start there without a snapshot.
    pub producers_empty: bool,
    /// The newest leader epoch at `synced`.
    pub epoch_newest: Option<LeaderEpoch>,
}

impl LogCheckpoint {
    pub(crate) fn encode(&self, out: &mut BytesMut) {
        out.put_u8(u8::from(self.clean));
        out.put_u64(self.segment.0);
        out.put_u64(self.position);
        out.put_u64(self.synced.0);
        out.put_u64(self.log_start.0);
        out.put_u64(self.next_segment.0);
        out.put_i64(self.max_timestamp);
        out.put_i64(self.first_timestamp);
        out.put_u8(u8::from(self.producers_empty));
        out.put_i64(self.epoch_newest.map_or(-1, |epoch| i64::from(epoch.0)));
    }

    pub(crate) fn decode(take: &mut Take<'_>) -> Option<Self> {
        Some(Self {
            clean: take.u8()? == 1,
            segment: SegmentNo(take.u64()?),
            position: take.u64()?,
            synced: Offset(take.u64()?),
            log_start: Offset(take.u64()?),
            next_segment: SegmentNo(take.u64()?),
            max_timestamp: take.i64()?,
            first_timestamp: take.i64()?,
            producers_empty: take.u8()? == 1,
            epoch_newest: u32::try_from(take.i64()?).ok().map(LeaderEpoch),
        })
    }
}
