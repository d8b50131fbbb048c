//! On-disk form of one record; every integer is big-endian.
//!
//! ```text
//! offset u64 | total_len u32 | metadata_len u32      | metadata
//!                            | protocol_data_len u32 | protocol_data
//!                            | data_len u32          | data
//! metadata: version u8 (1) | flags u16 | timestamp i64 | data_crc u32 | frame_crc u32
//!           | key_len u32 | key | headers (Kafka v2 encoding, present if flagged)
//! ```
//!
//! `total_len` counts the three sections and none of the 24 fixed bytes. `data_crc` is the
//! CRC-32C of data. `frame_crc` is the CRC-32C of everything from `total_len` to the end of
//! protocol_data plus `data_len`, with its own four bytes as zero; it leaves out `offset`, so a
//! frame can be given its offset late, and `data`, which has a CRC of its own.
//! Specified in `docs/format/record.md`; a change here changes that page and the version.

use std::mem::MaybeUninit;

use bytes::BytesMut;
use highwater_types::{Offset, Position};

use crate::{Corrupt, CorruptReason, crc};

/// Bytes of a frame besides its three sections.
pub const FIXED_BYTES: usize = 24;

/// Largest sum of the three sections of one frame: 1 GiB.
pub const SECTIONS_BYTES_MAX: usize = 1 << 30;

/// The version of the metadata that this build writes and reads.
pub(crate) const METADATA_VERSION: u8 = 1;

/// Bytes of the metadata besides key and headers.
pub(crate) const METADATA_FIXED_BYTES: usize = 23;

/// Where things stand in a frame, from its first byte.
pub(crate) mod at {
    /// `total_len`; the frame's CRC starts here.
    pub(crate) const TOTAL_LEN: usize = 8;
    /// `metadata_len`.
    pub(crate) const METADATA_LEN: usize = 12;
    /// `metadata`, with its version.
    pub(crate) const METADATA: usize = 16;
    /// The flag bits.
    pub(crate) const FLAGS: usize = 17;
    /// The timestamp.
    pub(crate) const TIMESTAMP: usize = 19;
    /// The CRC of the data.
    pub(crate) const DATA_CRC: usize = 27;
    /// The CRC of the frame.
    pub(crate) const FRAME_CRC: usize = 31;
    /// The key's length.
    pub(crate) const KEY_LEN: usize = 35;
    /// The key.
    pub(crate) const KEY: usize = 39;
}

/// The flag bits of a frame's metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Flags(pub u16);

impl Flags {
    /// The key is null (not empty).
    pub const NULL_KEY: u16 = 1 << 0;
    /// The value is null (not empty).
    pub const NULL_VALUE: u16 = 1 << 1;
    /// A header block follows the key.
    pub const HEADERS: u16 = 1 << 2;
    /// The first frame of a stored batch: protocol data starts with the batch's facts.
    pub const FIRST_OF_BATCH: u16 = 1 << 3;
    /// Part of a transaction.
    pub const TRANSACTIONAL: u16 = 1 << 4;
    /// Not application data: its kind stands in the facts.
    pub const CONTROL: u16 = 1 << 5;
    /// The timestamp is the time of the append, not the producer's.
    pub const APPEND_TIME: u16 = 1 << 6;
    /// Written by an MQTT client; else by a Kafka client.
    pub const ORIGIN_MQTT: u16 = 1 << 7;

    /// The bits that say something about one frame and not about its batch.
    pub(crate) const OF_FRAME: u16 =
        Self::NULL_KEY | Self::NULL_VALUE | Self::HEADERS | Self::FIRST_OF_BATCH;
    /// The bits that all frames of a batch share.
    pub(crate) const OF_BATCH: u16 =
        Self::TRANSACTIONAL | Self::CONTROL | Self::APPEND_TIME | Self::ORIGIN_MQTT;

    /// Whether every bit of `bits` is set.
    #[must_use]
    pub fn has(self, bits: u16) -> bool {
        self.0 & bits == bits
    }
}

/// One decoded frame, borrowing its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameView<'a> {
    /// The record's offset.
    pub offset: Offset,
    /// Its flag bits.
    pub flags: Flags,
    /// Milliseconds since 1970; -1 when the producer gave none.
    pub timestamp: i64,
    /// CRC-32C of the data.
    pub data_crc: u32,
    /// The key; `None` is null, which differs from empty.
    pub key: Option<&'a [u8]>,
    /// The headers as Kafka v2 encodes them (count, then entries); empty when there are none.
    pub headers: &'a [u8],
    /// What only one protocol means; the batch's facts in a first frame.
    pub protocol_data: &'a [u8],
    /// The value; `None` is null, which differs from empty.
    pub value: Option<&'a [u8]>,
    /// Bytes of the whole frame.
    pub frame_len: usize,
}

impl<'a> FrameView<'a> {
    /// Decodes the frame at the front of `input`; `at` is where `input` starts in its segment.
    /// Checks lengths always, the two CRCs only when `verify` is set.
    ///
    /// `Ok(None)` means that `input` ends inside the frame, or that zeros follow: the log's end.
    ///
    /// # Errors
    /// [`Corrupt`]: the segment must not be served from `at` on.
    #[inline]
    pub fn decode(input: &'a [u8], at: Position, verify: bool) -> Result<Option<Self>, Corrupt> {
        let Some(head) = Head::decode(input, at, verify)? else {
            return Ok(None);
        };
        let Some(data) = input.get(head.data_at..head.data_at + head.data_len) else {
            return Ok(None);
        };
        if verify && crc::crc32c(data) != head.data_crc {
            return Err(Corrupt {
                at,
                reason: CorruptReason::DataCrc,
            });
        }
        let flags = head.flags;
        Ok(Some(Self {
            offset: head.offset,
            flags,
            timestamp: head.timestamp,
            data_crc: head.data_crc,
            key: (!flags.has(Flags::NULL_KEY)).then_some(head.key),
            headers: head.headers,
            protocol_data: head.protocol_data,
            value: (!flags.has(Flags::NULL_VALUE)).then_some(data),
            frame_len: head.data_at + head.data_len,
        }))
    }
}

/// What goes into one frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewFrame<'a> {
    pub(crate) offset: Offset,
    /// The flag bits that do not follow from the other fields.
    pub(crate) batch_flags: u16,
    pub(crate) timestamp: i64,
    pub(crate) data_crc: u32,
    pub(crate) key: Option<&'a [u8]>,
    pub(crate) headers: &'a [u8],
    pub(crate) protocol_data: &'a [u8],
    pub(crate) value: Option<&'a [u8]>,
}

impl NewFrame<'_> {
    /// Appends the frame to `out`, with its CRC. Writes into memory that is not zeroed first, in
    /// whole words; [`NewFrame::put_plainly`] is its safe twin.
    ///
    /// # Panics
    /// When the sections are larger than [`SECTIONS_BYTES_MAX`].
    #[inline]
    pub(crate) fn put(&self, out: &mut BytesMut) {
        let key = self.key.unwrap_or_default();
        let value = self.value.unwrap_or_default();
        let metadata_len = METADATA_FIXED_BYTES + key.len() + self.headers.len();
        let total_len = metadata_len + self.protocol_data.len() + value.len();
        assert!(
            total_len <= SECTIONS_BYTES_MAX,
            "admission let {total_len} bytes through"
        );
        let mut flags = self.batch_flags;
        flags |= u16::from(self.key.is_none()) * Flags::NULL_KEY;
        flags |= u16::from(self.value.is_none()) * Flags::NULL_VALUE;
        flags |= u16::from(!self.headers.is_empty()) * Flags::HEADERS;

        // Bytes 8 to 32 as numbers, where only the CRC's first byte is missing: they are summed
        // from registers, not read back from memory.
        let time = self.timestamp as u64;
        let words = [
            (total_len as u64) << 32 | metadata_len as u64,
            u64::from(METADATA_VERSION) << 56 | u64::from(flags) << 40 | time >> 24,
            time << 40 | u64::from(self.data_crc) << 8,
        ];
        let key_len = key.len() as u32;
        let frame_len = FIXED_BYTES + total_len;
        out.reserve(frame_len);
        let room = &mut out.spare_capacity_mut()[..frame_len];
        let (fixed, room) = room
            .split_first_chunk_mut::<{ at::KEY }>()
            .expect("at least 47 bytes");
        fixed[..at::TOTAL_LEN].write_copy_of_slice(&self.offset.0.to_be_bytes());
        for (place, word) in fixed[at::TOTAL_LEN..].chunks_exact_mut(8).zip(words) {
            place.write_copy_of_slice(&word.to_be_bytes());
        }
        fixed[at::KEY_LEN..].write_copy_of_slice(&key_len.to_be_bytes());
        let (rest, data) = room.split_at_mut(frame_len - at::KEY - value.len());
        let rest = fill(
            rest,
            [
                key,
                self.headers,
                &(self.protocol_data.len() as u32).to_be_bytes(),
                self.protocol_data,
                &(value.len() as u32).to_be_bytes(),
            ],
        );
        let frame_crc = crc::of_words(words, key_len, rest);
        fixed[at::FRAME_CRC..at::KEY_LEN].write_copy_of_slice(&frame_crc.to_be_bytes());
        data.write_copy_of_slice(value);
        let end = out.len() + frame_len;
        // SAFETY: every byte up to `end` was written: the 39 of `fixed` one by one range, `rest`
        // by `fill`, which checks that its parts fill it, and `data` by a copy of its length.
        unsafe { out.set_len(end) };
    }
}

#[cfg(test)]
impl NewFrame<'_> {
    /// What [`NewFrame::put`] must write, field by field.
    pub(crate) fn put_plainly(&self, out: &mut BytesMut) {
        use bytes::BufMut;
        let key = self.key.unwrap_or_default();
        let value = self.value.unwrap_or_default();
        let metadata_len = METADATA_FIXED_BYTES + key.len() + self.headers.len();
        let mut flags = self.batch_flags;
        flags |= u16::from(self.key.is_none()) * Flags::NULL_KEY;
        flags |= u16::from(self.value.is_none()) * Flags::NULL_VALUE;
        flags |= u16::from(!self.headers.is_empty()) * Flags::HEADERS;
        let start = out.len();
        out.put_u64(self.offset.0);
        out.put_u32((metadata_len + self.protocol_data.len() + value.len()) as u32);
        out.put_u32(metadata_len as u32);
        out.put_u8(METADATA_VERSION);
        out.put_u16(flags);
        out.put_i64(self.timestamp);
        out.put_u32(self.data_crc);
        out.put_u32(0);
        out.put_u32(key.len() as u32);
        out.put_slice(key);
        out.put_slice(self.headers);
        out.put_u32(self.protocol_data.len() as u32);
        out.put_slice(self.protocol_data);
        out.put_u32(value.len() as u32);
        let frame_crc = crc32c::crc32c(&out[start + at::TOTAL_LEN..]);
        out[start + at::FRAME_CRC..start + at::KEY_LEN].copy_from_slice(&frame_crc.to_be_bytes());
        out.put_slice(value);
    }
}

/// Writes `parts` one after the other; returns the bytes.
///
/// # Panics
/// When they do not fill `room` exactly.
#[inline]
fn fill<'a, const N: usize>(room: &'a mut [MaybeUninit<u8>], parts: [&[u8]; N]) -> &'a [u8] {
    let mut at = 0;
    for part in parts {
        if !part.is_empty() {
            room[at..at + part.len()].write_copy_of_slice(part);
            at += part.len();
        }
    }
    assert_eq!(at, room.len(), "the parts fill the room");
    // SAFETY: the parts were written back to back from the start, and `at` is the room's length.
    unsafe { room.assume_init_ref() }
}

/// A frame without its data, which `input` need not hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head<'a> {
    pub(crate) offset: Offset,
    pub(crate) flags: Flags,
    pub(crate) timestamp: i64,
    pub(crate) data_crc: u32,
    /// Empty when the key is null.
    pub(crate) key: &'a [u8],
    pub(crate) headers: &'a [u8],
    pub(crate) protocol_data: &'a [u8],
    /// Where the data starts in the frame.
    pub(crate) data_at: usize,
    pub(crate) data_len: usize,
}

impl<'a> Head<'a> {
    /// As [`FrameView::decode`], but for the data and its CRC.
    #[inline(always)]
    pub(crate) fn decode(
        input: &'a [u8],
        at: Position,
        verify: bool,
    ) -> Result<Option<Self>, Corrupt> {
        let corrupt = |reason| Err(Corrupt { at, reason });
        let Some(fixed) = input.first_chunk::<{ at::METADATA }>() else {
            return Ok(None);
        };
        let offset = u64::from_be_bytes(*fixed.first_chunk().expect("8 of 16 bytes"));
        let total_len = u32_at(fixed, at::TOTAL_LEN) as usize;
        let metadata_len = u32_at(fixed, at::METADATA_LEN) as usize;
        if total_len == 0 {
            let zeros = input.iter().take(FIXED_BYTES).all(|byte| *byte == 0);
            return if zeros {
                Ok(None)
            } else {
                corrupt(CorruptReason::Lengths)
            };
        }
        if total_len > SECTIONS_BYTES_MAX
            || metadata_len < METADATA_FIXED_BYTES
            || metadata_len > total_len
        {
            return corrupt(CorruptReason::Lengths);
        }
        match input.get(at::METADATA) {
            Some(&METADATA_VERSION) => {}
            Some(version) => return corrupt(CorruptReason::Version(*version)),
            None => return Ok(None),
        }

        let metadata_end = at::METADATA + metadata_len;
        let Some(protocol_data_len) = read_u32(input, metadata_end) else {
            return Ok(None);
        };
        let protocol_data_at = metadata_end + 4;
        let protocol_data_len = protocol_data_len as usize;
        if protocol_data_len > total_len - metadata_len {
            return corrupt(CorruptReason::Lengths);
        }
        let protocol_data_end = protocol_data_at + protocol_data_len;
        let Some(data_len) = read_u32(input, protocol_data_end) else {
            return Ok(None);
        };
        let data_at = protocol_data_end + 4;
        if metadata_len + protocol_data_len + data_len as usize != total_len {
            return corrupt(CorruptReason::Lengths);
        }
        if verify && frame_crc(&input[..data_at]) != u32_at(input, at::FRAME_CRC) {
            return corrupt(CorruptReason::FrameCrc);
        }

        let flags = Flags(u16::from_be_bytes([input[at::FLAGS], input[at::FLAGS + 1]]));
        let key_len = u32_at(input, at::KEY_LEN) as usize;
        let Some(headers_len) = (metadata_len - METADATA_FIXED_BYTES).checked_sub(key_len) else {
            return corrupt(CorruptReason::Metadata);
        };
        let agree = flags.0 & !(Flags::OF_FRAME | Flags::OF_BATCH) == 0
            && flags.has(Flags::HEADERS) == (headers_len > 0)
            && !(flags.has(Flags::NULL_KEY) && key_len > 0)
            && !(flags.has(Flags::NULL_VALUE) && data_len > 0)
            && offset <= Offset::MAX.0;
        if !agree {
            return corrupt(CorruptReason::Metadata);
        }
        let key_end = at::KEY + key_len;
        Ok(Some(Self {
            offset: Offset(offset),
            flags,
            timestamp: i64_at(input, at::TIMESTAMP),
            data_crc: u32_at(input, at::DATA_CRC),
            key: &input[at::KEY..key_end],
            headers: &input[key_end..metadata_end],
            protocol_data: &input[protocol_data_at..protocol_data_end],
            data_at,
            data_len: data_len as usize,
        }))
    }
}

/// The CRC of a frame whose bytes up to its data are `head`, whatever its CRC field holds.
#[inline]
pub(crate) fn frame_crc(head: &[u8]) -> u32 {
    let word = |at: usize| i64_at(head, at) as u64;
    // The last byte of the third word is the first of the CRC's own field.
    let words = [word(8), word(16), word(24) & !0xff];
    crc::of_words(words, u32_at(head, at::KEY_LEN), &head[at::KEY..])
}

#[inline]
fn u32_at(bytes: &[u8], at: usize) -> u32 {
    read_u32(bytes, at).expect("the caller checked the length")
}

#[inline]
fn i64_at(bytes: &[u8], at: usize) -> i64 {
    let field = bytes.get(at..).and_then(|rest| rest.first_chunk());
    i64::from_be_bytes(*field.expect("the caller checked the length"))
}

#[inline]
fn read_u32(bytes: &[u8], at: usize) -> Option<u32> {
    bytes
        .get(at..)?
        .first_chunk()
        .map(|field| u32::from_be_bytes(*field))
}
