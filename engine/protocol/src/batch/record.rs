//! One record of a v2 batch.
//!
//! ```text
//! len varint | attributes i8 | timestamp_delta varint | offset_delta varint
//!   | key_len varint | key | value_len varint | value | header_count varint | headers
//! header: key_len varint | key | value_len varint | value
//! ```
//!
//! A negative length of a key or value is null; Kafka writes -1 and accepts all.

use super::{RecordReason, varint};

/// Fewest bytes of a record: its length, attributes and five one-byte numbers.
pub(super) const RECORD_BYTES_MIN: usize = 7;

/// One record, borrowing the bytes of its batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct RawRecord<'a> {
    pub(super) timestamp_delta: i64,
    pub(super) offset_delta: i32,
    pub(super) key: Option<&'a [u8]>,
    pub(super) value: Option<&'a [u8]>,
    /// Where the value starts in the body, or would; it ends `value.len()` later.
    pub(super) value_at: usize,
    /// Count and entries; empty when the count is 0.
    pub(super) headers: &'a [u8],
}

impl<'a> RawRecord<'a> {
    /// Reads the record whose bytes behind its length are `body`.
    #[inline(always)]
    pub(super) fn parse(body: &'a [u8]) -> Result<Self, RecordReason> {
        // Attributes are unused and may be anything.
        let mut rest = body.get(1..).ok_or(RecordReason::Truncated)?;
        let (timestamp_delta, offset_delta, key) = match Front::parse(rest) {
            Some(front) => {
                rest = &rest[front.len..];
                (
                    front.timestamp_delta,
                    front.offset_delta,
                    take(&mut rest, front.key_len)?,
                )
            }
            None => {
                let timestamp_delta = varint::take_i64(&mut rest)?;
                (
                    timestamp_delta,
                    varint::take_i32(&mut rest)?,
                    take_bytes(&mut rest)?,
                )
            }
        };
        let value = take_bytes(&mut rest)?;
        let value_at = body.len() - rest.len() - value.map_or(0, <[u8]>::len);
        let block = rest;
        let headers = match varint::take_i32(&mut rest)? {
            0 => &[],
            count @ 1.. => {
                skip_headers(&mut rest, count)?;
                &block[..block.len() - rest.len()]
            }
            count => return Err(RecordReason::Length(count)),
        };
        if !rest.is_empty() {
            return Err(RecordReason::AfterHeaders(rest.len()));
        }
        Ok(Self {
            timestamp_delta,
            offset_delta,
            key,
            value,
            value_at,
            headers,
        })
    }
}

/// The three numbers at the front of nearly every record, each of one or two bytes: read from
/// one word, without a bounds check a byte.
struct Front {
    timestamp_delta: i64,
    offset_delta: i32,
    key_len: i32,
    /// Bytes that they take.
    len: usize,
}

impl Front {
    /// `None` when one is longer or the record ends near: the caller reads them one by one.
    #[inline(always)]
    fn parse(rest: &[u8]) -> Option<Self> {
        let mut word = u64::from_le_bytes(*rest.first_chunk()?);
        let mut len = 0;
        let mut next = || {
            let first = word & 0x7f;
            if word & 0x80 == 0 {
                word >>= 8;
                len += 1;
                Some(varint::unzigzag64(first) as i32)
            } else if word & 0x8000 == 0 {
                let both = first | (word >> 1 & 0x3f80);
                word >>= 16;
                len += 2;
                Some(varint::unzigzag64(both) as i32)
            } else {
                None
            }
        };
        let (timestamp_delta, offset_delta, key_len) = (next()?, next()?, next()?);
        Some(Self {
            timestamp_delta: timestamp_delta.into(),
            offset_delta,
            key_len,
            len,
        })
    }
}

/// Takes a length and that many bytes off the front of `rest`; a negative length is null.
#[inline(always)]
pub(super) fn take_bytes<'a>(rest: &mut &'a [u8]) -> Result<Option<&'a [u8]>, RecordReason> {
    let len = varint::take_i32(rest)?;
    take(rest, len)
}

/// Takes `len` bytes off the front of `rest`; a negative length is null.
#[inline(always)]
fn take<'a>(rest: &mut &'a [u8], len: i32) -> Result<Option<&'a [u8]>, RecordReason> {
    if len < 0 {
        return Ok(None);
    }
    let (bytes, after) = rest
        .split_at_checked(len as usize)
        .ok_or(RecordReason::Length(len))?;
    *rest = after;
    Ok(Some(bytes))
}

fn skip_headers(rest: &mut &[u8], count: i32) -> Result<(), RecordReason> {
    // Each header takes at least two bytes, so a false count ends with the bytes.
    for header_no in 0..count {
        take_bytes(rest)?.ok_or(RecordReason::HeaderKey(header_no as u32))?;
        take_bytes(rest)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use bytes::{BufMut, BytesMut};

    use super::*;

    #[test]
    fn numbers_of_every_length_are_read_at_the_front() {
        let numbers = [
            0i64,
            -1,
            1,
            63,
            -64,
            64,
            -65,
            8_191,
            -8_192,
            8_192,
            i64::from(i32::MAX),
        ];
        for timestamp_delta in numbers.into_iter().chain([i64::MAX, i64::MIN]) {
            for offset_delta in numbers {
                for key_len in [-1, 0, 1, 5, 64, 9_000] {
                    let mut body = BytesMut::from(&[0][..]);
                    varint::put(timestamp_delta, &mut body);
                    varint::put(offset_delta, &mut body);
                    varint::put(key_len, &mut body);
                    body.put_bytes(7, key_len.max(0) as usize);
                    body.put_slice(&[1, 0]);
                    let record = RawRecord::parse(&body).expect("a record");
                    assert_eq!(record.timestamp_delta, timestamp_delta);
                    assert_eq!(i64::from(record.offset_delta), offset_delta);
                    assert_eq!(record.key.map_or(-1, |key| key.len() as i64), key_len);
                    assert_eq!((record.value, record.headers), (None, &[][..]));
                }
            }
        }
    }
}
