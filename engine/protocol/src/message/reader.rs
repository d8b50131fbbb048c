//! A cursor over a message that never reads past its end and never allocates.

use bytes::Bytes;

use super::StrBytes;
use super::error::{Malformed, MalformedReason};

/// Longest string in a Kafka message, in bytes.
const STRING_BYTES_MAX: usize = i16::MAX as usize;

/// A place in a message.
pub(super) struct Reader<'a> {
    bytes: &'a Bytes,
    at: usize,
}

impl<'a> Reader<'a> {
    /// The start of `bytes`.
    pub(super) fn new(bytes: &'a Bytes) -> Self {
        Self { bytes, at: 0 }
    }

    /// Bytes read so far.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// Bytes not read yet.
    pub(super) fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// An error at the current place.
    pub(super) fn refuse(&self, reason: MalformedReason) -> Malformed {
        Malformed {
            at: self.at,
            reason,
        }
    }

    /// Passes over `len` bytes.
    #[inline]
    pub(super) fn skip(&mut self, len: usize) -> Result<(), Malformed> {
        if len > self.left() {
            let reason = MalformedReason::Truncated {
                needed: len,
                left: self.left(),
            };
            return Err(self.refuse(reason));
        }
        self.at += len;
        Ok(())
    }

    #[inline]
    fn take<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let start = self.at;
        self.skip(N)?;
        Ok(self.bytes[start..start + N]
            .try_into()
            .expect("N bytes were skipped"))
    }

    /// One byte.
    #[inline]
    pub(super) fn u8(&mut self) -> Result<u8, Malformed> {
        Ok(self.take::<1>()?[0])
    }

    /// A big-endian 16-bit number.
    #[inline]
    pub(super) fn i16(&mut self) -> Result<i16, Malformed> {
        self.take().map(i16::from_be_bytes)
    }

    /// A big-endian 32-bit number.
    #[inline]
    pub(super) fn i32(&mut self) -> Result<i32, Malformed> {
        self.take().map(i32::from_be_bytes)
    }

    /// A big-endian 64-bit number.
    #[inline]
    pub(super) fn i64(&mut self) -> Result<i64, Malformed> {
        self.take().map(i64::from_be_bytes)
    }

    /// The 16 bytes of a topic id.
    #[inline]
    pub(super) fn id(&mut self) -> Result<[u8; 16], Malformed> {
        self.take()
    }

    /// An unsigned varint of at most 32 bits.
    #[inline]
    pub(super) fn uvarint(&mut self) -> Result<u32, Malformed> {
        let start = self.at;
        let mut value = 0u32;
        for shift in [0, 7, 14, 21, 28] {
            let byte = self.u8()?;
            if shift == 28 && byte > 0x0f {
                break;
            }
            value |= u32::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Malformed {
            at: start,
            reason: MalformedReason::VarintTooLong,
        })
    }

    /// A length of a string, byte field or array; `None` is null.
    #[inline]
    fn len(&mut self, compact: bool, wide: bool) -> Result<Option<usize>, Malformed> {
        if compact {
            return Ok(self.uvarint()?.checked_sub(1).map(|len| len as usize));
        }
        let start = self.at;
        let len = if wide {
            self.i32()?
        } else {
            i32::from(self.i16()?)
        };
        match usize::try_from(len) {
            Ok(len) => Ok(Some(len)),
            Err(_) if len == -1 => Ok(None),
            Err(_) => Err(Malformed {
                at: start,
                reason: MalformedReason::NegativeLength(len),
            }),
        }
    }

    /// The length of a string and its place; `None` is null.
    #[inline]
    pub(super) fn skip_string(&mut self, compact: bool) -> Result<Option<usize>, Malformed> {
        let Some(len) = self.len(compact, false)? else {
            return Ok(None);
        };
        if len > STRING_BYTES_MAX {
            return Err(self.refuse(MalformedReason::StringTooLong(len)));
        }
        self.skip(len)?;
        Ok(Some(len))
    }

    /// A string that shares the message's memory; `None` is null.
    #[inline]
    pub(super) fn string(&mut self, compact: bool) -> Result<Option<StrBytes>, Malformed> {
        let Some(len) = self.skip_string(compact)? else {
            return Ok(None);
        };
        let slice = self.bytes.slice(self.at - len..self.at);
        StrBytes::from_utf8(slice).map(Some).map_err(|_| Malformed {
            at: self.at - len,
            reason: MalformedReason::NotUtf8,
        })
    }

    /// A string that must not be null.
    #[inline]
    pub(super) fn name(&mut self, compact: bool) -> Result<StrBytes, Malformed> {
        let at = self.at;
        self.string(compact)?.ok_or(Malformed {
            at,
            reason: MalformedReason::Refused,
        })
    }

    /// A byte field that shares the message's memory; `None` is null.
    #[inline]
    pub(super) fn bytes(&mut self, compact: bool) -> Result<Option<Bytes>, Malformed> {
        let Some(len) = self.len(compact, true)? else {
            return Ok(None);
        };
        self.skip(len)?;
        Ok(Some(self.bytes.slice(self.at - len..self.at)))
    }

    /// Produced records: as [`Reader::bytes`], but every negative length is null.
    ///
    /// Source: `kafka.md` section 4, item 6: such a request is answered, not dropped.
    #[inline]
    pub(super) fn records(&mut self, compact: bool) -> Result<Option<Bytes>, Malformed> {
        if !compact && self.left() >= 4 && self.bytes[self.at] & 0x80 != 0 {
            self.skip(4)?;
            return Ok(None);
        }
        self.bytes(compact)
    }

    /// The number of elements of an array, each of at least one byte; `None` is null.
    #[inline]
    pub(super) fn count(&mut self, compact: bool) -> Result<Option<usize>, Malformed> {
        let Some(count) = self.len(compact, true)? else {
            return Ok(None);
        };
        if count > self.left() {
            let reason = MalformedReason::CountTooLarge {
                count,
                left: self.left(),
            };
            return Err(self.refuse(reason));
        }
        Ok(Some(count))
    }

    /// Passes over tagged fields, whatever they are; answers how many there were.
    #[inline]
    pub(super) fn skip_tags(&mut self) -> Result<usize, Malformed> {
        let count = self.uvarint()? as usize;
        for _ in 0..count {
            self.uvarint()?;
            let len = self.uvarint()? as usize;
            self.skip(len)?;
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uvarint_takes_32_bits_and_refuses_more() {
        let max = Bytes::from_static(&[0xff, 0xff, 0xff, 0xff, 0x0f]);
        assert_eq!(Reader::new(&max).uvarint(), Ok(u32::MAX));
        let over = Bytes::from_static(&[0xff, 0xff, 0xff, 0xff, 0x1f]);
        let refused = Malformed {
            at: 0,
            reason: MalformedReason::VarintTooLong,
        };
        assert_eq!(Reader::new(&over).uvarint(), Err(refused));
        let endless = Bytes::from_static(&[0x80; 9]);
        assert_eq!(Reader::new(&endless).uvarint(), Err(refused));
    }

    #[test]
    fn records_of_every_negative_length_are_null() {
        for len in [-1, -2, i32::MIN] {
            let bytes = Bytes::copy_from_slice(&len.to_be_bytes());
            assert_eq!(Reader::new(&bytes).records(false), Ok(None));
        }
    }

    #[test]
    fn a_string_shares_the_memory_of_its_message() {
        let bytes = Bytes::from_static(b"\x00\x03abc");
        let string = Reader::new(&bytes).string(false).unwrap().unwrap();
        assert_eq!(string.as_ptr(), bytes[2..].as_ptr());
    }
}
