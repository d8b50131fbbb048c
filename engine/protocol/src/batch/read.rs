//! The client's side: v2 batches of a Fetch answer into records.

use bytes::Bytes;
use highwater_record::crc;

use super::header::{at, attribute};
use super::record::{RawRecord, take_bytes};
use super::varint;
use super::{BatchError, BatchHeader, Codec, HEADER_BYTES, RecordError, RecordReason, Scratch};

/// One v2 batch with its records unpacked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WireBatch {
    /// The batch's fixed fields. [`super::write()`] sets length, CRC, codec bits and count itself.
    pub header: BatchHeader,
    /// Its records.
    pub records: Vec<WireRecord>,
}

/// One record as a client sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WireRecord {
    /// Its offset.
    pub offset: i64,
    /// Its timestamp: its own, or the batch's under append time.
    pub timestamp: i64,
    /// The key; `None` is null.
    pub key: Option<Bytes>,
    /// The value; `None` is null.
    pub value: Option<Bytes>,
    /// The headers, in order, duplicates included.
    pub headers: Vec<WireHeader>,
}

/// One header of a record. Its key may be anything, also not UTF-8.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WireHeader {
    /// The key.
    pub key: Bytes,
    /// The value; `None` is null.
    pub value: Option<Bytes>,
}

impl WireBatch {
    /// A batch of plain records from a producer without identity; offsets count from 0.
    #[must_use]
    pub fn of(mut records: Vec<WireRecord>) -> Self {
        for (delta, record) in records.iter_mut().enumerate() {
            record.offset = delta as i64;
        }
        let count = i32::try_from(records.len()).expect("a batch has fewer than 2^31 records");
        let header = BatchHeader {
            base_offset: 0,
            batch_len: 0,
            leader_epoch: -1,
            crc: 0,
            attributes: 0,
            last_offset_delta: count - 1,
            base_timestamp: records.first().map_or(-1, |record| record.timestamp),
            max_timestamp: records
                .iter()
                .map(|record| record.timestamp)
                .max()
                .unwrap_or(-1),
            producer_id: -1,
            producer_epoch: -1,
            base_sequence: -1,
            record_count: count,
        };
        Self { header, records }
    }

    /// The same from an idempotent producer.
    #[must_use]
    pub fn with_producer(mut self, id: i64, epoch: i16, base_sequence: i32) -> Self {
        self.header.producer_id = id;
        self.header.producer_epoch = epoch;
        self.header.base_sequence = base_sequence;
        self
    }

    /// Whether it is a transaction marker and no application data.
    #[must_use]
    pub fn is_control(&self) -> bool {
        self.header.attributes & attribute::CONTROL != 0
    }

    /// The offset after the batch, which counts offsets that compaction took.
    #[must_use]
    pub fn end_offset(&self) -> i64 {
        self.header.base_offset + i64::from(self.header.last_offset_delta) + 1
    }
}

impl WireRecord {
    /// A record without headers.
    #[must_use]
    pub fn new(timestamp: i64, key: Option<Bytes>, value: Option<Bytes>) -> Self {
        Self {
            offset: 0,
            timestamp,
            key,
            value,
            headers: Vec::new(),
        }
    }
}

/// Most bytes that one batch may unpack to on the client's side: 256 MiB.
const INFLATED_BYTES_MAX: usize = 256 << 20;

/// The batches in `wire`, the records field of a Fetch answer for one partition. A batch that is
/// cut off at the end is left out: the broker may cut by bytes.
///
/// # Errors
/// [`BatchError`]: the bytes are not what a broker sends.
pub fn read(wire: &[u8]) -> Result<Vec<WireBatch>, BatchError> {
    let mut scratch = Scratch::new();
    let mut batches = Vec::new();
    let mut rest = wire;
    while !rest.is_empty() {
        let header = match BatchHeader::parse(rest) {
            Ok(header) => header,
            Err(BatchError::Truncated { .. }) => break,
            Err(error) => return Err(error),
        };
        let (batch, after) = rest.split_at(header.wire_len());
        batches.push(read_one(batch, header, &mut scratch)?);
        rest = after;
    }
    Ok(batches)
}

fn read_one(
    batch: &[u8],
    header: BatchHeader,
    scratch: &mut Scratch,
) -> Result<WireBatch, BatchError> {
    let computed = crc::crc32c(&batch[at::ATTRIBUTES..]);
    if computed != header.crc {
        return Err(BatchError::Crc {
            claimed: header.crc,
            computed,
        });
    }
    let codec = header.codec()?;
    let payload = &batch[HEADER_BYTES..];
    let records = match codec {
        Codec::None => Bytes::copy_from_slice(payload),
        _ => {
            let mut inflate = scratch.inflate(codec, payload, INFLATED_BYTES_MAX);
            while inflate.fill()? {}
            Bytes::copy_from_slice(inflate.window())
        }
    };
    let mut batch = WireBatch {
        header,
        records: Vec::new(),
    };
    let mut rest = &records[..];
    for index in 0..header.record_count.max(0) as u32 {
        let refuse = |reason| BatchError::Record(RecordError { index, reason });
        let body = take_bytes(&mut rest).map_err(refuse)?;
        let body = body.ok_or(refuse(RecordReason::Length(-1)))?;
        batch
            .records
            .push(to_record(body, &header, &records).map_err(refuse)?);
    }
    match rest.len() {
        0 => Ok(batch),
        rest => Err(BatchError::AfterRecords(rest)),
    }
}

fn to_record(body: &[u8], header: &BatchHeader, all: &Bytes) -> Result<WireRecord, RecordReason> {
    let raw = RawRecord::parse(body)?;
    let is_append_time = header.attributes & attribute::APPEND_TIME != 0;
    let own = header.base_timestamp.wrapping_add(raw.timestamp_delta);
    let mut headers = Vec::new();
    if !raw.headers.is_empty() {
        let mut rest = raw.headers;
        for header_no in 0..varint::take_i32(&mut rest)? {
            let key = take_bytes(&mut rest)?;
            let key = key.ok_or(RecordReason::HeaderKey(header_no as u32))?;
            let value = take_bytes(&mut rest)?;
            let value = value.map(|value| all.slice_ref(value));
            headers.push(WireHeader {
                key: all.slice_ref(key),
                value,
            });
        }
    }
    Ok(WireRecord {
        offset: header.base_offset.wrapping_add(i64::from(raw.offset_delta)),
        timestamp: if is_append_time {
            header.max_timestamp
        } else {
            own
        },
        key: raw.key.map(|key| all.slice_ref(key)),
        value: raw.value.map(|value| all.slice_ref(value)),
        headers,
    })
}
