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
        let timestamp_delta = varint::take_i64(&mut rest)?;
        let offset_delta = varint::take_i32(&mut rest)?;
        let key = take_bytes(&mut rest)?;
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

/// Takes a length and that many bytes off the front of `rest`; a negative length is null.
#[inline(always)]
pub(super) fn take_bytes<'a>(rest: &mut &'a [u8]) -> Result<Option<&'a [u8]>, RecordReason> {
    let len = varint::take_i32(rest)?;
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
