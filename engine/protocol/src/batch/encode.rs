//! From the log onto the wire: a stored batch becomes one or more uncompressed v2 batches.

use bytes::{BufMut, BytesMut};
use highwater_record::{
    BatchFacts, BatchKind, Corrupt, FrameView, Producer, StoredBatch, VerifiedFrames, crc,
};
use highwater_types::Offset;

use super::header::{self, attribute};
use super::{BatchHeader, HEADER_BYTES, varint};

/// Where a stored batch is cut into several v2 batches: a client must be able to receive each,
/// and a compressed batch of 500 KB can hold 120 MB of records.
pub const PIECE_BYTES_MAX: usize = 1 << 20;

/// What [`encode`] wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encoded {
    /// The offset after the last batch written: where the next fetch goes on.
    pub end: Offset,
    /// Whether that is the end of the stored batch.
    pub is_whole: bool,
}

/// Appends the v2 batches of `batch` to `out`, from the piece that holds `from` on and until
/// `bytes_max` bytes were written; at least one piece.
///
/// A batch larger than [`PIECE_BYTES_MAX`] is cut at the same records whenever it is read. Each
/// piece has the sequence numbers of its own records. A placeholder becomes a batch without
/// records, which tells a consumer to go on behind it. A segment header writes nothing.
///
/// Every frame is verified: what changed on disk is reported, not served with a fresh CRC.
///
/// # Errors
/// [`Corrupt`]: the log may not be served from there on; `out` is as it was.
pub fn encode(
    batch: &StoredBatch<'_>,
    from: Offset,
    bytes_max: usize,
    out: &mut BytesMut,
) -> Result<Encoded, Corrupt> {
    let start = out.len();
    let result = encode_pieces(batch, from, bytes_max, out);
    if result.is_err() {
        out.truncate(start);
    }
    result
}

fn encode_pieces(
    batch: &StoredBatch<'_>,
    from: Offset,
    bytes_max: usize,
    out: &mut BytesMut,
) -> Result<Encoded, Corrupt> {
    let facts = &batch.head.facts;
    let end = batch.head.end_offset();
    let whole = Encoded {
        end,
        is_whole: true,
    };
    match facts.kind {
        BatchKind::SegmentHeader => return Ok(whole),
        BatchKind::Placeholder => {
            Piece::start(
                facts,
                batch.head.base_offset(),
                batch.head.base_offset(),
                None,
                out,
            )
            .seal(batch.head.last_offset(), Some(facts.max_timestamp), out);
            return Ok(whole);
        }
        BatchKind::Records | BatchKind::Control => {}
    }

    let start = out.len();
    let mut frames = batch.verified_frames();
    let mut base = batch.head.base_offset();
    loop {
        let piece_frames = frames.clone();
        let extent = if batch.bytes.len() <= PIECE_BYTES_MAX {
            Extent {
                frame_count: facts.record_count as usize,
                end,
                is_last: true,
            }
        } else {
            next_extent(&mut frames, end)?
        };
        if extent.is_last || extent.end > from {
            write_piece(batch, base, &extent, piece_frames, out)?;
        }
        if extent.is_last {
            return Ok(whole);
        }
        base = extent.end;
        if out.len() > start && out.len() - start >= bytes_max {
            return Ok(Encoded {
                end: base,
                is_whole: false,
            });
        }
    }
}

/// Which frames of a stored batch become one v2 batch.
struct Extent {
    frame_count: usize,
    /// The offset after the piece. Offsets that compaction took belong to the piece before them.
    end: Offset,
    is_last: bool,
}

/// Passes over the frames of the next piece; `batch_end` is the end of the stored batch.
fn next_extent(frames: &mut VerifiedFrames<'_>, batch_end: Offset) -> Result<Extent, Corrupt> {
    let mut frame_count = 0;
    let mut frames_len = 0;
    loop {
        let before = frames.clone();
        let Some(frame) = frames.hop().transpose()? else {
            return Ok(Extent {
                frame_count,
                end: batch_end,
                is_last: true,
            });
        };
        frames_len += frame.frame_len;
        if frame_count > 0 && frames_len > PIECE_BYTES_MAX {
            *frames = before;
            return Ok(Extent {
                frame_count,
                end: frame.offset,
                is_last: false,
            });
        }
        frame_count += 1;
    }
}

fn write_piece(
    batch: &StoredBatch<'_>,
    base: Offset,
    extent: &Extent,
    frames: VerifiedFrames<'_>,
    out: &mut BytesMut,
) -> Result<(), Corrupt> {
    let facts = &batch.head.facts;
    out.reserve(batch.bytes.len().min(PIECE_BYTES_MAX));
    let mut piece: Option<Piece> = None;
    for frame in frames.take(extent.frame_count) {
        let frame = frame?;
        let piece = piece.get_or_insert_with(|| {
            Piece::start(facts, batch.head.base_offset(), base, Some(&frame), out)
        });
        piece.push(&frame, out);
    }
    let piece = piece.expect("an extent has a frame");
    let is_whole = extent.is_last && base == batch.head.base_offset();
    let max_timestamp = is_whole.then_some(facts.max_timestamp);
    piece.seal(Offset(extent.end.0 - 1), max_timestamp, out);
    Ok(())
}

/// Bytes of a value from which on its stored CRC is combined instead of reading it again.
const COMBINE_BYTES_MIN: usize = 512;

/// Bytes after which the CRC is brought up to date, while they are still in the cache.
const CRC_LAG_BYTES: usize = 32 << 10;

/// One v2 batch while it is written.
struct Piece {
    header: BatchHeader,
    /// Where the batch starts in `out`.
    at: usize,
    /// CRC of the records up to `crc_at`.
    crc: u32,
    crc_at: usize,
    max_timestamp: i64,
}

impl Piece {
    /// Leaves room for the header. `batch_base` is the stored batch's base offset, `piece_base`
    /// that of this piece.
    fn start(
        facts: &BatchFacts,
        batch_base: Offset,
        piece_base: Offset,
        first: Option<&FrameView<'_>>,
        out: &mut BytesMut,
    ) -> Self {
        let mut attributes = facts.attributes & !(attribute::CODEC | attribute::DELETE_HORIZON);
        if facts.delete_horizon.is_some() {
            attributes |= attribute::DELETE_HORIZON;
        }
        let (producer_id, producer_epoch, base_sequence) = match facts.producer {
            Some(producer) => {
                let skipped = piece_base.since(batch_base);
                (
                    producer.id.0,
                    producer.epoch.0,
                    sequence_at(producer, skipped),
                )
            }
            None => (-1, -1, -1),
        };
        let first_timestamp = first.map_or(facts.max_timestamp, |frame| frame.timestamp);
        let at = out.len();
        out.put_bytes(0, HEADER_BYTES);
        Self {
            header: BatchHeader {
                base_offset: piece_base.wire(),
                batch_len: 0,
                leader_epoch: facts.leader_epoch.wire(),
                crc: 0,
                attributes,
                last_offset_delta: 0,
                base_timestamp: facts.delete_horizon.unwrap_or(first_timestamp),
                max_timestamp: -1,
                producer_id,
                producer_epoch,
                base_sequence,
                record_count: 0,
            },
            at,
            crc: 0,
            crc_at: out.len(),
            max_timestamp: -1,
        }
    }

    #[inline]
    fn push(&mut self, frame: &FrameView<'_>, out: &mut BytesMut) {
        let timestamp_delta = frame.timestamp.wrapping_sub(self.header.base_timestamp);
        let offset_delta = frame.offset.0 as i64 - self.header.base_offset;
        let headers: &[u8] = if frame.headers.is_empty() {
            &[0]
        } else {
            frame.headers
        };
        let key_len = frame.key.map_or(-1, |key| key.len() as i64);
        let value_len = frame.value.map_or(-1, |value| value.len() as i64);
        let body_len = 1
            + varint::len(timestamp_delta)
            + varint::len(offset_delta)
            + varint::len(key_len)
            + varint::len(value_len)
            + (key_len.max(0) + value_len.max(0)) as usize
            + headers.len();
        // The numbers before key and value go out together.
        let mut front = [0; 5 * varint::LEN_MAX + 1];
        let mut at = varint::write(body_len as i64, &mut front, 0) + 1;
        at = varint::write(timestamp_delta, &mut front, at);
        at = varint::write(offset_delta, &mut front, at);
        at = varint::write(key_len, &mut front, at);
        out.reserve(body_len + varint::LEN_MAX);
        match frame.key {
            None | Some([]) => {
                at = varint::write(value_len, &mut front, at);
                out.put_slice(&front[..at]);
            }
            Some(key) => {
                out.put_slice(&front[..at]);
                out.put_slice(key);
                varint::put(value_len, out);
            }
        }
        out.put_slice(frame.value.unwrap_or_default());
        let value_len = value_len.max(0) as usize;
        if value_len >= COMBINE_BYTES_MIN {
            let value_at = out.len() - value_len;
            self.crc = crc::append(self.crc, &out[self.crc_at..value_at]);
            self.crc = crc::combine(self.crc, frame.data_crc, value_len);
            self.crc_at = out.len();
        }
        out.put_slice(headers);
        if out.len() - self.crc_at >= CRC_LAG_BYTES {
            self.crc = crc::append(self.crc, &out[self.crc_at..]);
            self.crc_at = out.len();
        }
        self.header.record_count += 1;
        self.max_timestamp = self.max_timestamp.max(frame.timestamp);
    }

    /// Writes the header. `last` is the last offset that the batch takes; `max_timestamp` is the
    /// batch's own unless it is only a part of a stored batch.
    fn seal(mut self, last: Offset, max_timestamp: Option<i64>, out: &mut BytesMut) {
        self.crc = crc::append(self.crc, &out[self.crc_at..]);
        self.header.last_offset_delta = (last.wire() - self.header.base_offset) as i32;
        self.header.max_timestamp = max_timestamp.unwrap_or(self.max_timestamp);
        header::seal(&self.header, self.crc, &mut out[self.at..]);
    }
}

/// The sequence number `count` records after the producer's base; markers have none.
fn sequence_at(producer: Producer, count: u64) -> i32 {
    if producer.base_sequence < 0 {
        return producer.base_sequence;
    }
    ((producer.base_sequence as u64 + count) % (1 << 31)) as i32
}

#[inline]
pub(super) fn bytes_len(bytes: Option<&[u8]>) -> usize {
    bytes.map_or(1, |bytes| varint::len(bytes.len() as i64) + bytes.len())
}

#[inline]
pub(super) fn put_bytes(bytes: Option<&[u8]>, out: &mut BytesMut) {
    match bytes {
        None => varint::put(-1, out),
        Some(bytes) => {
            varint::put(bytes.len() as i64, out);
            out.put_slice(bytes);
        }
    }
}
