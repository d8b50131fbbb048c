//! Kafka's record batch, version 2, as much of it as a load needs.
//!
//! An encoder of its own: the broker's codec is what is measured, so it must not judge itself.
//!
//! ```text
//! base_offset i64 | batch_len i32 | leader_epoch i32 | magic i8 = 2 | crc u32
//! | attributes i16 | last_offset_delta i32 | base_timestamp i64 | max_timestamp i64
//! | producer_id i64 | producer_epoch i16 | base_sequence i32 | record_count i32 | records
//! ```
//! The CRC-32C covers everything from the attributes on.
//! Source: Kafka documentation, "Record Batch".

use std::io;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::LoadError;
use crate::codec::Codec;

/// Bytes before the records.
pub const HEADER_BYTES: usize = 61;

const CRC_AT: usize = 17;
const ATTRIBUTES_AT: usize = 21;
const LAST_DELTA_AT: usize = 23;
const COUNT_AT: usize = 57;

/// Encodes `values` as one batch without keys, stamped with the present time.
///
/// # Errors
/// [`LoadError::Io`] when the compressor fails.
pub fn encode(values: &[&[u8]], codec: Codec) -> Result<Vec<u8>, LoadError> {
    let mut records = Vec::new();
    for (delta, value) in values.iter().enumerate() {
        push_record(&mut records, delta as i64, value);
    }
    let body = match codec {
        Codec::None => records,
        _ => codec
            .compress(&records)
            .map_err(LoadError::io("compress a batch"))?,
    };
    let count = i32::try_from(values.len()).map_err(|_| too_many())?;
    let now = wall_ms();
    let mut out = Vec::with_capacity(HEADER_BYTES + body.len());
    out.extend(0i64.to_be_bytes());
    let len = i32::try_from(HEADER_BYTES - 12 + body.len()).map_err(|_| too_many())?;
    out.extend(len.to_be_bytes());
    out.extend((-1i32).to_be_bytes());
    out.push(2);
    out.extend(0u32.to_be_bytes());
    out.extend(codec.attribute().to_be_bytes());
    out.extend((count - 1).to_be_bytes());
    out.extend(now.to_be_bytes());
    out.extend(now.to_be_bytes());
    out.extend((-1i64).to_be_bytes());
    out.extend((-1i16).to_be_bytes());
    out.extend((-1i32).to_be_bytes());
    out.extend(count.to_be_bytes());
    assert_eq!(out.len(), HEADER_BYTES, "the header has a fixed length");
    out.extend(body);
    let crc = crc32c::crc32c(&out[ATTRIBUTES_AT..]);
    out[CRC_AT..ATTRIBUTES_AT].copy_from_slice(&crc.to_be_bytes());
    Ok(out)
}

fn too_many() -> LoadError {
    LoadError::Usage("a batch holds at most 2^31 bytes and records".to_owned())
}

/// As many records of `record_bytes` (at least one) as fit into a batch of `batch_bytes` before
/// compression. The values look like JSON, so that compressors find something.
#[must_use]
pub fn values_for(record_bytes: usize, batch_bytes: usize) -> Vec<Vec<u8>> {
    let mut one = Vec::new();
    push_record(&mut one, 1_000, &vec![b'x'; record_bytes]);
    let count = (batch_bytes.saturating_sub(HEADER_BYTES) / one.len()).max(1);
    (0..count)
        .map(|at| json_like(record_bytes, at as u64))
        .collect()
}

/// A value of exactly `len` bytes: repeated keys, numbers that differ.
fn json_like(len: usize, seed: u64) -> Vec<u8> {
    let mut value = Vec::with_capacity(len + 64);
    let mut state = seed.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    while value.len() < len {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let (sensor, reading) = (state % 997, state >> 40);
        value.extend(format!("{{\"sensor\":{sensor},\"reading\":{reading}}}").bytes());
    }
    value.truncate(len);
    value
}

fn push_record(out: &mut Vec<u8>, delta: i64, value: &[u8]) {
    let mut record = vec![0];
    push_varint(&mut record, 0);
    push_varint(&mut record, delta);
    push_varint(&mut record, -1);
    push_varint(&mut record, value.len() as i64);
    record.extend(value);
    push_varint(&mut record, 0);
    push_varint(out, record.len() as i64);
    out.extend(record);
}

/// Zigzag and base 128.
fn push_varint(out: &mut Vec<u8>, value: i64) {
    let mut left = ((value << 1) ^ (value >> 63)) as u64;
    while left >= 0x80 {
        out.push((left as u8) | 0x80);
        left >>= 7;
    }
    out.push(left as u8);
}

fn wall_ms() -> i64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// One batch of an answer; a torn one at the end is not seen.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    bytes: &'a [u8],
}

impl<'a> Batch<'a> {
    /// The offset after the batch's last.
    #[must_use]
    pub fn next_offset(self) -> i64 {
        let base = i64::from_be_bytes(self.array(0));
        base + i64::from(i32::from_be_bytes(self.array(LAST_DELTA_AT))) + 1
    }

    /// Records in it.
    #[must_use]
    pub fn count(self) -> u64 {
        u64::try_from(i32::from_be_bytes(self.array(COUNT_AT))).unwrap_or(0)
    }

    /// Calls `see` with the value of every record of an uncompressed batch; stops at a record
    /// that cannot be read.
    pub fn each_value(self, mut see: impl FnMut(&'a [u8])) {
        let mut rest = &self.bytes[HEADER_BYTES..];
        for _ in 0..self.count() {
            let Some(value) = take_value(&mut rest) else {
                return;
            };
            see(value);
        }
    }

    fn array<const N: usize>(self, at: usize) -> [u8; N] {
        self.bytes[at..at + N]
            .try_into()
            .expect("a batch holds its header")
    }
}

fn take_value<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let len = usize::try_from(take_varint(rest)?).ok()?;
    let (mut record, after) = rest.split_at_checked(len)?;
    *rest = after;
    record = record.get(1..)?;
    take_varint(&mut record)?;
    take_varint(&mut record)?;
    let key_len = take_varint(&mut record)?;
    record = record.get(usize::try_from(key_len).unwrap_or(0)..)?;
    let value_len = usize::try_from(take_varint(&mut record)?).unwrap_or(0);
    record.get(..value_len)
}

fn take_varint(rest: &mut &[u8]) -> Option<i64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let (first, after) = rest.split_first()?;
        *rest = after;
        value |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Some(((value >> 1) as i64) ^ -((value & 1) as i64));
        }
    }
    None
}

/// The whole batches in `records`, in order.
pub fn batches(records: &[u8]) -> impl Iterator<Item = Batch<'_>> {
    let mut rest = records;
    std::iter::from_fn(move || {
        let len: [u8; 4] = rest.get(8..12)?.try_into().ok()?;
        let len = 12 + usize::try_from(i32::from_be_bytes(len)).ok()?;
        let (bytes, after) = rest.split_at_checked(len)?;
        rest = after;
        (len >= HEADER_BYTES).then_some(Batch { bytes })
    })
}

/// The checksum of a batch agrees with its bytes.
///
/// # Errors
/// `InvalidData` with both values.
pub fn check_crc(batch: Batch<'_>) -> io::Result<()> {
    let stored = u32::from_be_bytes(batch.array(CRC_AT));
    let found = crc32c::crc32c(&batch.bytes[ATTRIBUTES_AT..]);
    if stored == found {
        return Ok(());
    }
    let what = format!("a batch's CRC is {stored:#x}, its bytes give {found:#x}");
    Err(io::Error::new(io::ErrorKind::InvalidData, what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back_from_an_encoded_batch() {
        let values = values_for(100, 4_096);
        let slices: Vec<&[u8]> = values.iter().map(Vec::as_slice).collect();
        let encoded = encode(&slices, Codec::None).expect("encodes");
        let mut seen = Vec::new();
        for batch in batches(&encoded) {
            check_crc(batch).expect("the CRC holds");
            assert_eq!(batch.next_offset(), values.len() as i64);
            batch.each_value(|value| seen.push(value.to_vec()));
        }
        assert_eq!(seen, values);
    }

    #[test]
    fn a_batch_fills_its_size_and_does_not_pass_it() {
        for record_bytes in [1, 100, 1_024, 10_240] {
            let values = values_for(record_bytes, 65_536);
            let slices: Vec<&[u8]> = values.iter().map(Vec::as_slice).collect();
            let len = encode(&slices, Codec::None).expect("encodes").len();
            assert!(
                (54_000..=65_536).contains(&len),
                "{len} bytes of {record_bytes}-byte records"
            );
        }
    }

    #[test]
    fn a_torn_batch_is_not_seen() {
        let encoded = encode(&[b"a", b"b"], Codec::None).expect("encodes");
        for cut in 0..encoded.len() {
            assert_eq!(batches(&encoded[..cut]).count(), 0, "cut at {cut}");
        }
    }
}
