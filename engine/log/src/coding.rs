//! Small files with a checksum: magic, version, body, CRC-32C; and reading them back.
//!
//! ```text
//! magic [4] | version u8 | body | crc u32 (CRC-32C of all before it)
//! ```

use bytes::{BufMut, Bytes, BytesMut};

const FRAME_BYTES: usize = 4 + 1 + 4;

/// Starts a file: the body goes behind.
pub(crate) fn begin(magic: [u8; 4], version: u8) -> BytesMut {
    let mut out = BytesMut::with_capacity(128);
    out.put_slice(&magic);
    out.put_u8(version);
    out
}

/// Ends a file with its checksum.
pub(crate) fn finish(mut out: BytesMut) -> Bytes {
    let crc = crc32c::crc32c(&out);
    out.put_u32(crc);
    out.freeze()
}

/// What stands in a small file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Opened<'a> {
    /// The body of a file of the asked version.
    Body(&'a [u8]),
    /// A whole file of another version.
    OtherVersion(u8),
    /// Torn, foreign or damaged bytes.
    Damaged,
}

/// Checks magic, checksum and version.
pub(crate) fn open(magic: [u8; 4], version: u8, content: &[u8]) -> Opened<'_> {
    if content.len() < FRAME_BYTES || content[..4] != magic {
        return Opened::Damaged;
    }
    let (body, crc) = content.split_at(content.len() - 4);
    if crc32c::crc32c(body).to_be_bytes() != crc {
        return Opened::Damaged;
    }
    if body[4] != version {
        return Opened::OtherVersion(body[4]);
    }
    Opened::Body(&body[5..])
}

/// Takes big-endian numbers off the front; `None` when the bytes end too early.
pub(crate) struct Take<'a>(pub(crate) &'a [u8]);

impl<'a> Take<'a> {
    pub(crate) fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(head)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.try_into().ok()
    }

    pub(crate) fn id(&mut self) -> Option<[u8; 16]> {
        self.array()
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.array().map(u8::from_be_bytes)
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_be_bytes)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_be_bytes)
    }

    pub(crate) fn i16(&mut self) -> Option<i16> {
        self.array().map(i16::from_be_bytes)
    }

    pub(crate) fn i32(&mut self) -> Option<i32> {
        self.array().map(i32::from_be_bytes)
    }

    pub(crate) fn i64(&mut self) -> Option<i64> {
        self.array().map(i64::from_be_bytes)
    }

    /// The rest must be empty: longer files were not written by this version.
    pub(crate) fn done(self) -> Option<()> {
        self.0.is_empty().then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cut_and_every_flip_is_damage() {
        let mut out = begin(*b"TEST", 3);
        out.put_u64(77);
        let whole = finish(out);
        assert_eq!(
            open(*b"TEST", 3, &whole),
            Opened::Body(&77u64.to_be_bytes())
        );
        assert_eq!(open(*b"TEST", 2, &whole), Opened::OtherVersion(3));
        for cut in 0..whole.len() {
            assert_eq!(
                open(*b"TEST", 3, &whole[..cut]),
                Opened::Damaged,
                "cut at {cut}"
            );
        }
        for bit in 0..whole.len() * 8 {
            let mut flipped = whole.to_vec();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(open(*b"TEST", 3, &flipped), Opened::Damaged, "bit {bit}");
        }
    }
}
