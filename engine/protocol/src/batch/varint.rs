//! Kafka's variable-length numbers: zigzag, then seven bits a byte, lowest first.

use bytes::{BufMut, BytesMut};

use super::RecordReason;

/// Takes a 32-bit number off the front of `input`, moving `at` on.
#[inline]
pub(super) fn take_i32(input: &[u8], at: &mut usize) -> Result<i32, RecordReason> {
    match input.get(*at) {
        Some(&byte) if byte < 0x80 => {
            *at += 1;
            Ok(unzigzag32(u32::from(byte)))
        }
        Some(_) => take_i32_slow(input, at),
        None => Err(RecordReason::Truncated),
    }
}

fn take_i32_slow(input: &[u8], at: &mut usize) -> Result<i32, RecordReason> {
    let mut value: u32 = 0;
    for i in 0..5 {
        let byte = *input.get(*at + i).ok_or(RecordReason::Truncated)?;
        value |= u32::from(byte & 0x7f) << (7 * i);
        if byte < 0x80 {
            *at += i + 1;
            return Ok(unzigzag32(value));
        }
    }
    Err(RecordReason::Varint)
}

/// Takes a 64-bit number off the front of `input`, moving `at` on.
#[inline]
pub(super) fn take_i64(input: &[u8], at: &mut usize) -> Result<i64, RecordReason> {
    match input.get(*at) {
        Some(&byte) if byte < 0x80 => {
            *at += 1;
            Ok(unzigzag64(u64::from(byte)))
        }
        Some(_) => take_i64_slow(input, at),
        None => Err(RecordReason::Truncated),
    }
}

fn take_i64_slow(input: &[u8], at: &mut usize) -> Result<i64, RecordReason> {
    let mut value: u64 = 0;
    for i in 0..10 {
        let byte = *input.get(*at + i).ok_or(RecordReason::Truncated)?;
        value |= u64::from(byte & 0x7f) << (7 * i);
        if byte < 0x80 {
            *at += i + 1;
            return Ok(unzigzag64(value));
        }
    }
    Err(RecordReason::Varint)
}

fn unzigzag32(value: u32) -> i32 {
    (value >> 1) as i32 ^ -((value & 1) as i32)
}

fn unzigzag64(value: u64) -> i64 {
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
    let mut rest = zigzag(value);
    if rest < 0x80 {
        out.put_u8(rest as u8);
        return;
    }
    let mut bytes = [0; 10];
    let mut count = 0;
    while rest >= 0x80 {
        bytes[count] = rest as u8 | 0x80;
        rest >>= 7;
        count += 1;
    }
    bytes[count] = rest as u8;
    out.put_slice(&bytes[..=count]);
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
            let mut at = 0;
            assert_eq!(take_i64(&out, &mut at), Ok(value));
            assert_eq!(at, out.len());
            if let Ok(small) = i32::try_from(value) {
                at = 0;
                assert_eq!(take_i32(&out, &mut at), Ok(small));
                assert_eq!(at, out.len());
            }
        }
    }

    #[test]
    fn a_number_that_never_ends_is_refused() {
        let endless = [0xff; 11];
        assert_eq!(take_i32(&endless, &mut 0), Err(RecordReason::Varint));
        assert_eq!(take_i64(&endless, &mut 0), Err(RecordReason::Varint));
        assert_eq!(
            take_i32(&endless[..3], &mut 0),
            Err(RecordReason::Truncated)
        );
        assert_eq!(
            take_i64(&endless[..9], &mut 0),
            Err(RecordReason::Truncated)
        );
        assert_eq!(take_i32(&[], &mut 0), Err(RecordReason::Truncated));
    }
}
