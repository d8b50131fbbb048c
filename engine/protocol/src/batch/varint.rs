//! Kafka's variable-length numbers: zigzag, then seven bits a byte, lowest first.

use bytes::{BufMut, BytesMut};

use super::RecordReason;

/// Takes a 32-bit number off the front of `input`.
#[inline(always)]
pub(super) fn take_i32(input: &mut &[u8]) -> Result<i32, RecordReason> {
    // One and two bytes by hand: nearly every number in a batch.
    match **input {
        [first, ref rest @ ..] if first < 0x80 => {
            *input = rest;
            Ok(unzigzag32(first.into()))
        }
        [first, second, ref rest @ ..] if second < 0x80 => {
            *input = rest;
            Ok(unzigzag32(u32::from(first & 0x7f) | u32::from(second) << 7))
        }
        _ => take_i32_slow(input),
    }
}

#[inline(never)]
fn take_i32_slow(input: &mut &[u8]) -> Result<i32, RecordReason> {
    let mut value: u32 = 0;
    for i in 0..5 {
        let byte = *input.get(i).ok_or(RecordReason::Truncated)?;
        value |= u32::from(byte & 0x7f) << (7 * i);
        if byte < 0x80 {
            *input = &input[i + 1..];
            return Ok(unzigzag32(value));
        }
    }
    Err(RecordReason::Varint)
}

/// Takes a 64-bit number off the front of `input`.
#[inline(always)]
pub(super) fn take_i64(input: &mut &[u8]) -> Result<i64, RecordReason> {
    match **input {
        [first, ref rest @ ..] if first < 0x80 => {
            *input = rest;
            Ok(unzigzag64(first.into()))
        }
        [first, second, ref rest @ ..] if second < 0x80 => {
            *input = rest;
            Ok(unzigzag64(u64::from(first & 0x7f) | u64::from(second) << 7))
        }
        _ => take_i64_slow(input),
    }
}

#[inline(never)]
fn take_i64_slow(input: &mut &[u8]) -> Result<i64, RecordReason> {
    let mut value: u64 = 0;
    for i in 0..10 {
        let byte = *input.get(i).ok_or(RecordReason::Truncated)?;
        value |= u64::from(byte & 0x7f) << (7 * i);
        if byte < 0x80 {
            *input = &input[i + 1..];
            return Ok(unzigzag64(value));
        }
    }
    Err(RecordReason::Varint)
}

fn unzigzag32(value: u32) -> i32 {
    (value >> 1) as i32 ^ -((value & 1) as i32)
}

#[inline]
pub(super) fn unzigzag64(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// Bytes that `value` takes.
#[inline]
pub(super) fn len(value: i64) -> usize {
    // Seven bits a byte; zero takes one byte.
    (70 - (zigzag(value) | 1).leading_zeros() as usize) / 7
}

/// Appends `value`. A 32-bit number and the same 64-bit number have the same bytes.
#[inline]
pub(super) fn put(value: i64, out: &mut BytesMut) {
    let mut bytes = [0; LEN_MAX];
    let len = write(value, &mut bytes, 0);
    out.put_slice(&bytes[..len]);
}

/// Most bytes that a number takes.
pub(super) const LEN_MAX: usize = 10;

/// Writes `value` into `out` from `at` on; returns where it ends.
///
/// # Panics
/// When there is no room for it.
#[inline(always)]
pub(super) fn write(value: i64, out: &mut [u8], at: usize) -> usize {
    let mut rest = zigzag(value);
    let mut at = at;
    while rest >= 0x80 {
        out[at] = rest as u8 | 0x80;
        rest >>= 7;
        at += 1;
    }
    out[at] = rest as u8;
    at + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_and_have_the_length_that_len_says() {
        let mut values = vec![0, i64::MAX, i64::MIN];
        for bits in 0..63 {
            for near in [-2, -1, 0, 1, 2] {
                values.push((1i64 << bits) + near);
                values.push(-(1i64 << bits) + near);
            }
        }
        for value in values {
            let mut out = BytesMut::new();
            put(value, &mut out);
            assert_eq!(out.len(), len(value), "{value}");
            let mut rest = &out[..];
            assert_eq!(take_i64(&mut rest), Ok(value));
            assert!(rest.is_empty());
            if let Ok(small) = i32::try_from(value) {
                rest = &out[..];
                assert_eq!(take_i32(&mut rest), Ok(small));
                assert!(rest.is_empty());
            }
        }
    }

    #[test]
    fn a_number_that_never_ends_is_refused() {
        let endless = [0xff; 11];
        assert_eq!(take_i32(&mut &endless[..]), Err(RecordReason::Varint));
        assert_eq!(take_i64(&mut &endless[..]), Err(RecordReason::Varint));
        assert_eq!(take_i32(&mut &endless[..3]), Err(RecordReason::Truncated));
        assert_eq!(take_i64(&mut &endless[..9]), Err(RecordReason::Truncated));
        assert_eq!(take_i32(&mut &endless[..0]), Err(RecordReason::Truncated));
    }
}
