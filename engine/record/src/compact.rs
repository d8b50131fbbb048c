//! A stored batch with some of its records left out: what compaction writes.
//!
//! Offsets do not change, so the batch gets gaps. The first survivor takes over the facts; each
//! later one states its offset delta, because neighbours no longer prove it. A batch without
//! survivors becomes a placeholder: its producer's sequence and the end of the log live on.

use bytes::{BufMut, BytesMut};

use crate::facts::OFFSET_DELTA;
use crate::frame::NewFrame;
use crate::{BatchFacts, BatchKind, Corrupt, Flags, FrameView, StagedBatch, StoredBatch};

impl StoredBatch<'_> {
    /// The batch with only the frames that `keep` wants, as it goes to disk.
    ///
    /// The batch must be verified: CRCs of values are taken over, not computed.
    ///
    /// # Errors
    /// [`Corrupt`] when the batch is not what [`StoredBatch::verify`] accepts.
    pub fn retain(
        &self,
        delete_horizon: Option<i64>,
        mut keep: impl FnMut(&FrameView<'_>) -> bool,
    ) -> Result<BytesMut, Corrupt> {
        let mut survivors = Vec::new();
        for frame in self.frames() {
            let frame = frame?;
            let is_application = self.head.facts.kind != BatchKind::Placeholder;
            if is_application && keep(&frame) {
                survivors.push(frame);
            }
        }
        let mut facts = BatchFacts {
            delete_horizon,
            ..self.head.facts.clone()
        };
        let base = self.head.base_offset();
        let Some(first) = survivors.first() else {
            let mut placeholder = StagedBatch::placeholder(&facts);
            placeholder.assign(base, facts.leader_epoch);
            return Ok(placeholder.into_bytes());
        };

        facts.record_count = survivors.len() as u32;
        facts.base_delta = (first.offset.0 - base.0) as u32;
        let has_gaps = facts.has_gaps();
        // The length of the frames stands inside the first frame, so their sum comes first.
        let mut later = BytesMut::with_capacity(self.bytes.len());
        for frame in &survivors[1..] {
            let delta = has_gaps.then_some((frame.offset.0 - base.0) as u32);
            put(frame, &prefix(delta), self.own_data(frame), &mut later);
        }
        let mut out = BytesMut::with_capacity(later.len() + first.frame_len);
        let first_own = self.own_data(first);
        put(first, &facts.encoded(first.offset), first_own, &mut out);
        facts.frames_len = (out.len() + later.len()) as u32;
        out.clear();
        put(first, &facts.encoded(first.offset), first_own, &mut out);
        out.put_slice(&later);
        Ok(out)
    }

    /// The protocol data of `frame` without what the batch needs: facts or offset delta.
    fn own_data<'f>(&self, frame: &FrameView<'f>) -> &'f [u8] {
        let batch_len = if frame.flags.has(Flags::FIRST_OF_BATCH) {
            self.head.facts.encoded(self.head.first_offset).len()
        } else if self.head.facts.has_gaps() {
            prefix(Some(0)).len()
        } else {
            0
        };
        &frame.protocol_data[batch_len.min(frame.protocol_data.len())..]
    }
}

/// How the protocol data of a later frame starts.
fn prefix(offset_delta: Option<u32>) -> BytesMut {
    let mut out = BytesMut::new();
    if let Some(delta) = offset_delta {
        out.put_u8(OFFSET_DELTA);
        out.put_u32(delta);
    }
    out
}

fn put(frame: &FrameView<'_>, batch_data: &[u8], own_data: &[u8], out: &mut BytesMut) {
    let is_first = !batch_data.is_empty() && batch_data[0] != OFFSET_DELTA;
    let first = if is_first { Flags::FIRST_OF_BATCH } else { 0 };
    let frame = NewFrame {
        offset: frame.offset,
        batch_flags: frame.flags.0 & Flags::OF_BATCH | first,
        timestamp: frame.timestamp,
        data_crc: frame.data_crc,
        key: frame.key,
        headers: frame.headers,
        protocol_data: &[batch_data, own_data].concat(),
        value: frame.value,
    };
    frame.put(out);
}
