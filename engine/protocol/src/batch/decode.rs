//! From the wire into the log: one v2 batch becomes a staged batch of neutral frames.

use highwater_record::{BatchBuilder, Flags, NewRecord, Producer, StagedBatch, crc};
use highwater_types::{ProducerEpoch, ProducerId};

use super::header::{at, attribute};
use super::inflate::Inflate;
use super::record::{RECORD_BYTES_MIN, RawRecord};
use super::varint;
use super::{BatchError, BatchHeader, Codec, HEADER_BYTES, RecordError, RecordReason, Scratch};

/// What a topic accepts.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of the batch as sent (`max.message.bytes`).
    pub batch_bytes_max: usize,
    /// Bytes of a compressed batch after unpacking, and of its frames.
    pub inflated_bytes_max: usize,
    /// Which timestamps.
    pub timestamps: Timestamps,
    /// Whether zstd may be used: from Produce version 7 on.
    pub zstd: bool,
}

impl Limits {
    /// A default for `inflated_bytes_max`: 64 MiB.
    pub const INFLATED_BYTES_MAX: usize = 64 << 20;
}

/// Which timestamps a topic accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timestamps {
    /// The producer's, -1 or in `[min, max]`. `message.timestamp.before.max.ms` and
    /// `message.timestamp.after.max.ms` around the present give the two.
    Create {
        /// The smallest accepted.
        min: i64,
        /// The largest accepted.
        max: i64,
    },
    /// Any: the log stamps its own (`message.timestamp.type=LogAppendTime`).
    Append,
}

impl Timestamps {
    /// The bounds around `now_ms`; `i64::MAX` as a distance means none.
    #[must_use]
    pub fn create(now_ms: i64, before_max_ms: i64, after_max_ms: i64) -> Self {
        Self::Create {
            min: now_ms
                .checked_sub(before_max_ms)
                .filter(|_| before_max_ms != i64::MAX)
                .unwrap_or(i64::MIN),
            max: now_ms.saturating_add(after_max_ms),
        }
    }

    #[inline]
    fn accepts(self, timestamp: i64) -> bool {
        match self {
            Self::Create { min, max } => (min..=max).contains(&timestamp) || timestamp == NONE,
            Self::Append => true,
        }
    }
}

/// "No timestamp", as producers of old send it.
const NONE: i64 = -1;

/// A batch that was accepted.
#[derive(Debug)]
pub struct Decoded {
    /// Its frames, ready for the log.
    pub batch: StagedBatch,
    /// How the producer compressed it.
    pub codec: Codec,
    /// Bytes of the batch on the wire; more may follow, which is ignored as Kafka does.
    pub wire_len: usize,
    /// Whether the producer's own bytes say the same as the frames, so that they may be served
    /// once [`super::original::patch`] gave them their offset. `false` when the maximum
    /// timestamp had to be corrected or the log stamps its own time.
    pub is_original: bool,
}

/// Checks the one batch that `wire` holds and turns it into frames.
///
/// `wire` is the records field of a Produce request for one partition. Memory stays within a small
/// multiple of `wire` or, for compressed batches, of `limits.inflated_bytes_max`.
///
/// # Errors
/// [`BatchError`]: the batch is refused as a whole.
pub fn decode(wire: &[u8], limits: &Limits, scratch: &mut Scratch) -> Result<Decoded, BatchError> {
    let header = BatchHeader::parse(wire)?;
    let wire_len = header.wire_len();
    if is_whole_batch(&wire[wire_len..]) {
        return Err(BatchError::SecondBatch);
    }
    if header.base_offset != 0 {
        return Err(BatchError::BaseOffset(header.base_offset));
    }
    if wire_len > limits.batch_bytes_max {
        return Err(BatchError::TooLarge {
            bytes: wire_len,
            max: limits.batch_bytes_max,
        });
    }
    let wire = &wire[..wire_len];
    let payload = &wire[HEADER_BYTES..];
    if header.codec() == Ok(Codec::None) && has_large_records(&header, payload.len()) {
        // One pass: the CRCs of the values, which the frames need, give the batch's CRC.
        return decode_large(wire, &header, limits).map_err(|error| {
            match check_crc(wire, &header) {
                Ok(()) => error,
                Err(crc_error) => crc_error,
            }
        });
    }
    check_crc(wire, &header)?;
    let codec = check(&header, payload.len(), limits)?;
    let mut records = Records::new(&header, limits, reserve(&header, payload.len(), codec));
    match codec {
        Codec::None => records.push_all(payload)?,
        _ => records.inflate_all(scratch.inflate(codec, payload, limits.inflated_bytes_max))?,
    }
    records.finish(&header, codec, wire_len)
}

/// Whether `rest` starts with a second batch, all of it. Less is ignored (item 11).
fn is_whole_batch(rest: &[u8]) -> bool {
    matches!(
        BatchHeader::parse(rest),
        Ok(_) | Err(BatchError::OldMagic(_))
    )
}

fn check_crc(wire: &[u8], header: &BatchHeader) -> Result<(), BatchError> {
    let computed = crc::crc32c(&wire[at::ATTRIBUTES..]);
    let claimed = header.crc;
    if computed == claimed {
        Ok(())
    } else {
        Err(BatchError::Crc { claimed, computed })
    }
}

/// Checks what the header says besides lengths and CRC.
fn check(header: &BatchHeader, payload_len: usize, limits: &Limits) -> Result<Codec, BatchError> {
    if header.attributes & attribute::CONTROL != 0 {
        return Err(BatchError::Control);
    }
    if header.attributes & attribute::DELETE_HORIZON != 0 {
        return Err(BatchError::DeleteHorizon);
    }
    if header.attributes & attribute::APPEND_TIME != 0 {
        return Err(BatchError::ClaimsAppendTime);
    }
    let codec = header.codec()?;
    if codec == Codec::Zstd && !limits.zstd {
        return Err(BatchError::ZstdTooEarly);
    }
    let count = header.record_count;
    let bytes_max = if codec == Codec::None {
        payload_len
    } else {
        limits.inflated_bytes_max
    };
    let count_max = bytes_max / RECORD_BYTES_MIN;
    if !usize::try_from(count).is_ok_and(|count| (1..=count_max).contains(&count)) {
        return Err(BatchError::RecordCount {
            count,
            bytes: payload_len,
        });
    }
    if header.last_offset_delta != count - 1 {
        return Err(BatchError::LastOffsetDelta {
            last: header.last_offset_delta,
            count,
        });
    }
    if header.producer_id >= 0 && header.base_sequence < 0 {
        return Err(BatchError::Sequence {
            producer_id: header.producer_id,
            sequence: header.base_sequence,
        });
    }
    Ok(codec)
}

/// Bytes of a record from which on combining CRCs is cheaper than computing one twice.
const LARGE_RECORD_BYTES: usize = 512;

fn has_large_records(header: &BatchHeader, payload_len: usize) -> bool {
    usize::try_from(header.record_count)
        .is_ok_and(|count| count.saturating_mul(LARGE_RECORD_BYTES) <= payload_len)
}

/// Bytes that a frame has and a record on the wire has not, rounded up.
const FRAME_EXTRA_BYTES: usize = 48;

/// Room to ask for at once. A compressed batch's count is not believed: its frames grow.
fn reserve(header: &BatchHeader, payload_len: usize, codec: Codec) -> usize {
    let extra = (header.record_count as usize).saturating_mul(FRAME_EXTRA_BYTES);
    match codec {
        Codec::None => payload_len + extra + 2 * FRAME_EXTRA_BYTES,
        _ => (4 * payload_len)
            .saturating_add(extra)
            .min(16 * payload_len),
    }
}

/// An uncompressed batch of large records: its CRC is put together from those of the values.
fn decode_large(wire: &[u8], header: &BatchHeader, limits: &Limits) -> Result<Decoded, BatchError> {
    let payload = &wire[HEADER_BYTES..];
    let codec = check(header, payload.len(), limits)?;
    let mut records = Records::new(header, limits, reserve(header, payload.len(), codec));
    let mut computed = crc::crc32c(&wire[at::ATTRIBUTES..HEADER_BYTES]);
    let mut seen = 0;
    let mut rest = payload;
    while records.want_more() {
        let body = records.next_body(&mut rest)?;
        let record = records.parse(body)?;
        let value_len = record.value.map_or(0, <[u8]>::len);
        let value_at = payload.len() - rest.len() - body.len() + record.value_at;
        let value_crc = records.push(&record);
        computed = crc::append(computed, &payload[seen..value_at]);
        computed = crc::combine(computed, value_crc, value_len);
        seen = value_at + value_len;
    }
    if !rest.is_empty() {
        return Err(BatchError::AfterRecords(rest.len()));
    }
    computed = crc::append(computed, &payload[seen..]);
    if computed != header.crc {
        return Err(BatchError::Crc {
            claimed: header.crc,
            computed,
        });
    }
    records.finish(header, codec, wire.len())
}

/// The records of one batch on their way into frames.
struct Records {
    builder: BatchBuilder,
    base_timestamp: i64,
    timestamps: Timestamps,
    count: u32,
    index: u32,
    bad_timestamps: Vec<RecordError>,
}

impl Records {
    fn new(header: &BatchHeader, limits: &Limits, reserve: usize) -> Self {
        let is_transactional = header.attributes & attribute::TRANSACTIONAL != 0;
        let flags = Flags(if is_transactional {
            Flags::TRANSACTIONAL
        } else {
            0
        });
        // Negative ids mean none (item 11).
        let producer = (header.producer_id >= 0).then_some(Producer {
            id: ProducerId(header.producer_id),
            epoch: ProducerEpoch(header.producer_epoch),
            base_sequence: header.base_sequence,
        });
        Self {
            builder: BatchBuilder::new(flags, header.attributes, producer, reserve),
            base_timestamp: header.base_timestamp,
            timestamps: limits.timestamps,
            count: header.record_count as u32,
            index: 0,
            bad_timestamps: Vec::new(),
        }
    }

    #[inline]
    fn want_more(&self) -> bool {
        self.index < self.count
    }

    #[cold]
    fn refuse(&self, reason: RecordReason) -> BatchError {
        BatchError::Record(RecordError {
            index: self.index,
            reason,
        })
    }

    /// Takes the length and body of the next record off the front of `bytes`.
    #[inline(always)]
    fn next_body<'a>(&self, bytes: &mut &'a [u8]) -> Result<&'a [u8], BatchError> {
        let mut rest = *bytes;
        let len = varint::take_i32(&mut rest).map_err(|why| self.refuse(why))?;
        if len < 0 {
            return Err(self.refuse(RecordReason::Length(len)));
        }
        let Some((body, after)) = rest.split_at_checked(len as usize) else {
            return Err(self.refuse(RecordReason::Truncated));
        };
        *bytes = after;
        Ok(body)
    }

    #[inline(always)]
    fn parse<'a>(&self, body: &'a [u8]) -> Result<RawRecord<'a>, BatchError> {
        let record = RawRecord::parse(body).map_err(|why| self.refuse(why))?;
        if record.offset_delta != self.index as i32 {
            return Err(self.refuse(RecordReason::OffsetDelta(record.offset_delta)));
        }
        Ok(record)
    }

    /// Writes the record's frame; returns its value's CRC.
    #[inline(always)]
    fn push(&mut self, record: &RawRecord<'_>) -> u32 {
        // As in Kafka's clients, the sum wraps.
        let timestamp = self.base_timestamp.wrapping_add(record.timestamp_delta);
        if !self.timestamps.accepts(timestamp) {
            self.bad_timestamp(timestamp);
        }
        self.index += 1;
        self.builder.push(&NewRecord {
            timestamp,
            key: record.key,
            value: record.value,
            headers: record.headers,
        })
    }

    #[cold]
    fn bad_timestamp(&mut self, timestamp: i64) {
        let Timestamps::Create { min, max } = self.timestamps else {
            return;
        };
        if self.bad_timestamps.len() < BatchError::TIMESTAMPS_MAX {
            let reason = RecordReason::Timestamp {
                timestamp,
                min,
                max,
            };
            self.bad_timestamps.push(RecordError {
                index: self.index,
                reason,
            });
        }
    }

    fn push_all(&mut self, payload: &[u8]) -> Result<(), BatchError> {
        let mut rest = payload;
        while self.want_more() {
            let body = self.next_body(&mut rest)?;
            let record = self.parse(body)?;
            self.push(&record);
        }
        if !rest.is_empty() {
            return Err(BatchError::AfterRecords(rest.len()));
        }
        Ok(())
    }

    fn inflate_all(&mut self, mut inflate: Inflate<'_>) -> Result<(), BatchError> {
        while self.want_more() {
            let window = inflate.window();
            let mut rest = window;
            let ends_inside = match self.next_body(&mut rest) {
                Ok(body) => {
                    let record = self.parse(body)?;
                    self.push(&record);
                    false
                }
                Err(BatchError::Record(error)) if error.reason == RecordReason::Truncated => true,
                Err(error) => return Err(error),
            };
            if ends_inside {
                if !inflate.fill()? {
                    return Err(self.refuse(RecordReason::Truncated));
                }
                continue;
            }
            let consumed = window.len() - rest.len();
            inflate.consume(consumed);
            if self.builder.len() > inflate.max() {
                return Err(BatchError::InflatedTooLarge { max: inflate.max() });
            }
        }
        // Reading on checks the stream's own checksum, too.
        while inflate.window().is_empty() {
            if !inflate.fill()? {
                return Ok(());
            }
        }
        Err(BatchError::AfterRecords(inflate.window().len()))
    }

    fn finish(
        self,
        header: &BatchHeader,
        codec: Codec,
        wire_len: usize,
    ) -> Result<Decoded, BatchError> {
        if !self.bad_timestamps.is_empty() {
            return Err(BatchError::Timestamps(self.bad_timestamps));
        }
        let batch = self.builder.finish();
        let has_true_max = batch.facts().max_timestamp == header.max_timestamp;
        let is_original = has_true_max && self.timestamps != Timestamps::Append;
        Ok(Decoded {
            batch,
            codec,
            wire_len,
            is_original,
        })
    }
}
