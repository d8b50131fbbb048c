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
    #[inline]
    pub(super) fn parse(body: &'a [u8]) -> Result<Self, RecordReason> {
        // Attributes are unused and may be anything.
        let mut at = 1;
        let timestamp_delta = varint::take_i64(body, &mut at)?;
        let offset_delta = varint::take_i32(body, &mut at)?;
        let key = take_bytes(body, &mut at)?;
        let value = take_bytes(body, &mut at)?;
        let value_at = at - value.map_or(0, <[u8]>::len);
        let headers_at = at;
        let header_count = varint::take_i32(body, &mut at)?;
        let headers = match header_count {
            0 => &[],
            1.. => {
                skip_headers(body, &mut at, header_count)?;
                &body[headers_at..at]
            }
            _ => return Err(RecordReason::Length(header_count)),
        };
        if at != body.len() {
            return Err(RecordReason::AfterHeaders(body.len() - at));
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

/// Takes a length and that many bytes; a negative length is null.
#[inline]
pub(super) fn take_bytes<'a>(
    body: &'a [u8],
    at: &mut usize,
) -> Result<Option<&'a [u8]>, RecordReason> {
    let len = varint::take_i32(body, at)?;
    if len < 0 {
        return Ok(None);
    }
    let rest = &body[*at..];
    let bytes = rest.get(..len as usize).ok_or(RecordReason::Length(len))?;
    *at += bytes.len();
    Ok(Some(bytes))
}

fn skip_headers(body: &[u8], at: &mut usize, count: i32) -> Result<(), RecordReason> {
    // Each header takes at least two bytes, so a false count ends with the bytes.
    for header_no in 0..count {
        take_bytes(body, at)?.ok_or(RecordReason::HeaderKey(header_no as u32))?;
        take_bytes(body, at)?;
    }
    Ok(())
}
