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

use highwater_types::{Offset, Position};

use crate::Corrupt;

/// Bytes of a frame besides its three sections.
pub const FIXED_BYTES: usize = 24;

/// Largest sum of the three sections of one frame: 1 GiB.
pub const SECTIONS_BYTES_MAX: usize = 1 << 30;

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
    pub fn decode(input: &'a [u8], at: Position, verify: bool) -> Result<Option<Self>, Corrupt> {
        let _ = (input, at, verify);
        unimplemented!()
    }
}
