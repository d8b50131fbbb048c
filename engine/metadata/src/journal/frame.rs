//! Headers and frames: how records stand in the journal and in the snapshot.
//!
//! ```text
//! file   = header frame*
//! header = magic [8] | version u16 | reserved u16 | index u64 | crc u32          (24 bytes)
//! frame  = magic [4] | payload_len u32 | crc u32 | index u64 | durable u64 | payload
//! payload = record_count u32 | records
//! ```
//!
//! The header's CRC-32C covers the 20 bytes before it; a frame's covers its length and everything
//! after the CRC. A frame is one commit: all of its records or none. In a journal the header's
//! index is that of its first frame; in a snapshot it is that of the last commit that the snapshot
//! holds. `durable` is the last commit that was known to be on disk when the frame was written: a
//! damaged frame is no torn end if a whole one behind it says that it was on disk.

use bytes::BufMut;

use super::codec;
use crate::state::MetadataRecord;

/// Which file a header stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// Commits, one after the other.
    Journal,
    /// The whole state.
    Snapshot,
}

/// The version that this code writes, and the newest that it reads.
pub const VERSION: u16 = 1;
/// The length of a header.
pub const HEADER_LEN: usize = 24;
const FRAME_MAGIC: [u8; 4] = *b"HWmf";
const FRAME_FIXED: usize = 28;

impl FileKind {
    fn magic(self) -> [u8; 8] {
        match self {
            Self::Journal => *b"HWMETAJ\n",
            Self::Snapshot => *b"HWMETAS\n",
        }
    }
}

/// Bytes at the start of a file that are no header of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadHeader {
    /// Too short, foreign or damaged.
    Damaged,
    /// Written by a newer version of this program.
    Newer {
        /// That version's number.
        version: u16,
    },
}

/// One commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The commit's number; the first one is 1.
    pub index: u64,
    /// The last commit that was on disk when this one was written; 0 for none.
    pub durable: u64,
    /// Its records.
    pub records: Vec<MetadataRecord>,
}

/// The header of a file.
#[must_use]
pub fn header(kind: FileKind, index: u64) -> Vec<u8> {
    let mut out = Vec::with_capacity(HEADER_LEN);
    out.put_slice(&kind.magic());
    out.put_u16(VERSION);
    out.put_u16(0);
    out.put_u64(index);
    out.put_u32(crc32c::crc32c(&out));
    assert_eq!(out.len(), HEADER_LEN);
    out
}

/// Reads the header at the start of `file` and answers its index.
///
/// # Errors
/// [`BadHeader`]; what that means depends on the file.
pub fn read_header(kind: FileKind, file: &[u8]) -> Result<u64, BadHeader> {
    let head: &[u8; HEADER_LEN] = file.first_chunk().ok_or(BadHeader::Damaged)?;
    let (body, crc) = head.split_at(HEADER_LEN - 4);
    if body[..8] != kind.magic() || crc != crc32c::crc32c(body).to_be_bytes() {
        return Err(BadHeader::Damaged);
    }
    let version = u16::from_be_bytes([body[8], body[9]]);
    if version > VERSION {
        return Err(BadHeader::Newer { version });
    }
    if version == 0 || body[10..12] != [0, 0] {
        return Err(BadHeader::Damaged);
    }
    Ok(u64::from_be_bytes(
        body[12..20].try_into().expect("eight bytes"),
    ))
}

/// The bytes of one commit.
#[must_use]
pub fn encode(index: u64, durable: u64, records: &[MetadataRecord]) -> Vec<u8> {
    let mut out = Vec::with_capacity(256);
    out.put_slice(&FRAME_MAGIC);
    out.put_u64(0);
    out.put_u64(index);
    out.put_u64(durable);
    out.put_u32(u32::try_from(records.len()).expect("a commit has few records"));
    for record in records {
        codec::encode(record, &mut out);
    }
    let payload_len = u32::try_from(out.len() - FRAME_FIXED).expect("a commit stays below 4 GiB");
    out[4..8].copy_from_slice(&payload_len.to_be_bytes());
    let crc = frame_crc(&out);
    out[8..12].copy_from_slice(&crc.to_be_bytes());
    out
}

/// Takes one frame off the front of `input`; answers it and its length, or `None` when there is
/// no whole and undamaged frame.
#[must_use]
pub fn decode(input: &[u8]) -> Option<(Frame, usize)> {
    if input.len() < FRAME_FIXED || input[..4] != FRAME_MAGIC {
        return None;
    }
    let payload_len = u32::from_be_bytes(input[4..8].try_into().ok()?) as usize;
    let len = FRAME_FIXED.checked_add(payload_len)?;
    let frame = input.get(..len)?;
    if frame[8..12] != frame_crc(frame).to_be_bytes() {
        return None;
    }
    let index = u64::from_be_bytes(frame[12..20].try_into().ok()?);
    let durable = u64::from_be_bytes(frame[20..28].try_into().ok()?);
    let (count, mut rest) = frame[FRAME_FIXED..].split_first_chunk()?;
    let count = u32::from_be_bytes(*count);
    let records: Option<Vec<_>> = (0..count).map(|_| codec::decode(&mut rest)).collect();
    rest.is_empty().then_some((
        Frame {
            index,
            durable,
            records: records?,
        },
        len,
    ))
}

/// The first whole frame that starts anywhere in `input` and for which `wanted` holds.
#[must_use]
pub fn find(input: &[u8], wanted: impl Fn(&Frame) -> bool) -> Option<Frame> {
    let starts = input.windows(FRAME_MAGIC.len()).enumerate();
    starts
        .filter(|(_, window)| *window == FRAME_MAGIC)
        .filter_map(|(at, _)| decode(&input[at..]))
        .map(|(frame, _)| frame)
        .find(wanted)
}

fn frame_crc(frame: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&frame[4..8]), &frame[12..])
}
