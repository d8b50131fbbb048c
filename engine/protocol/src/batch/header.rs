//! The fixed front of a v2 batch.

use bytes::{BufMut, BytesMut};
use highwater_record::crc;

use super::{BatchError, Codec};

/// Bytes of a batch before its records.
pub const HEADER_BYTES: usize = 61;

/// Where fields stand in a batch.
pub(super) mod at {
    /// Bytes before what `batch_len` counts.
    pub(in super::super) const LEN_END: usize = 12;
    pub(in super::super) const LEADER_EPOCH: usize = 12;
    pub(super) const MAGIC: usize = 16;
    pub(in super::super) const CRC: usize = 17;
    /// What the CRC covers starts here.
    pub(in super::super) const ATTRIBUTES: usize = 21;
}

/// The magic of the one format that is left.
const MAGIC: i8 = 2;

/// Attribute bits. The lowest three are the codec's number.
pub(super) mod attribute {
    /// The codec's bits.
    pub(in super::super) const CODEC: u16 = 0b111;
    /// The timestamp is the time of the append.
    pub(in super::super) const APPEND_TIME: u16 = 1 << 3;
    /// Part of a transaction.
    pub(in super::super) const TRANSACTIONAL: u16 = 1 << 4;
    /// A control batch.
    pub(in super::super) const CONTROL: u16 = 1 << 5;
    /// The base timestamp is a delete horizon.
    pub(in super::super) const DELETE_HORIZON: u16 = 1 << 6;
}

/// The fixed front of a v2 batch, as on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchHeader {
    /// Offset of the first record.
    pub base_offset: i64,
    /// Bytes after this field.
    pub batch_len: i32,
    /// The leader that appended the batch; -1 from producers.
    pub leader_epoch: i32,
    /// CRC-32C of everything behind it.
    pub crc: u32,
    /// Codec, timestamp type, transactional, control, delete horizon.
    pub attributes: u16,
    /// The last record's offset minus the base offset.
    pub last_offset_delta: i32,
    /// What timestamp deltas count from.
    pub base_timestamp: i64,
    /// The largest timestamp.
    pub max_timestamp: i64,
    /// The idempotent producer; negative for none.
    pub producer_id: i64,
    /// Its epoch.
    pub producer_epoch: i16,
    /// The sequence number of the first record.
    pub base_sequence: i32,
    /// How many records follow.
    pub record_count: i32,
}

impl BatchHeader {
    /// Reads the header at the front of `wire` and checks length and magic, not the CRC.
    ///
    /// # Errors
    /// [`BatchError::Empty`], [`BatchError::Truncated`] also when the batch's end is missing,
    /// [`BatchError::Length`] and the two magics.
    pub fn parse(wire: &[u8]) -> Result<Self, BatchError> {
        if wire.is_empty() {
            return Err(BatchError::Empty);
        }
        // A short message set of an old magic is refused as such, not as truncated.
        if let Some(&magic) = wire.get(at::MAGIC) {
            match magic as i8 {
                MAGIC => {}
                old @ (0 | 1) => return Err(BatchError::OldMagic(old)),
                unknown => return Err(BatchError::UnknownMagic(unknown)),
            }
        }
        let mut rest = wire;
        let header = Self::fields(&mut rest);
        let batch_len = match (header, wire.first_chunk::<{ at::LEN_END }>()) {
            (Some(header), _) => header.batch_len,
            (None, Some(front)) => i32::from_be_bytes([front[8], front[9], front[10], front[11]]),
            (None, None) => {
                return Err(BatchError::Truncated {
                    claimed: HEADER_BYTES,
                    present: wire.len(),
                });
            }
        };
        let claimed = usize::try_from(batch_len).map_err(|_| BatchError::Length(batch_len))?;
        let claimed = claimed + at::LEN_END;
        if claimed < HEADER_BYTES {
            return Err(BatchError::Length(batch_len));
        }
        let present = wire.len();
        match header {
            Some(header) if claimed <= present => Ok(header),
            _ => Err(BatchError::Truncated { claimed, present }),
        }
    }

    fn fields(rest: &mut &[u8]) -> Option<Self> {
        if rest.len() < HEADER_BYTES {
            return None;
        }
        let base_offset = i64::from_be_bytes(take(rest)?);
        let batch_len = i32::from_be_bytes(take(rest)?);
        let leader_epoch = i32::from_be_bytes(take(rest)?);
        let [_magic] = take(rest)?;
        Some(Self {
            base_offset,
            batch_len,
            leader_epoch,
            crc: u32::from_be_bytes(take(rest)?),
            attributes: u16::from_be_bytes(take(rest)?),
            last_offset_delta: i32::from_be_bytes(take(rest)?),
            base_timestamp: i64::from_be_bytes(take(rest)?),
            max_timestamp: i64::from_be_bytes(take(rest)?),
            producer_id: i64::from_be_bytes(take(rest)?),
            producer_epoch: i16::from_be_bytes(take(rest)?),
            base_sequence: i32::from_be_bytes(take(rest)?),
            record_count: i32::from_be_bytes(take(rest)?),
        })
    }

    /// Bytes of the whole batch.
    #[must_use]
    pub fn wire_len(&self) -> usize {
        at::LEN_END + self.batch_len.max(0) as usize
    }

    /// The codec.
    ///
    /// # Errors
    /// [`BatchError::UnknownCodec`].
    pub fn codec(&self) -> Result<Codec, BatchError> {
        let wire = self.attributes & attribute::CODEC;
        Codec::from_wire(wire).ok_or(BatchError::UnknownCodec(wire))
    }

    /// The header's bytes; length and CRC as the fields say.
    pub(super) fn encoded(&self) -> [u8; HEADER_BYTES] {
        let mut out = BytesMut::with_capacity(HEADER_BYTES);
        out.put_i64(self.base_offset);
        out.put_i32(self.batch_len);
        out.put_i32(self.leader_epoch);
        out.put_i8(MAGIC);
        out.put_u32(self.crc);
        out.put_u16(self.attributes);
        out.put_i32(self.last_offset_delta);
        out.put_i64(self.base_timestamp);
        out.put_i64(self.max_timestamp);
        out.put_i64(self.producer_id);
        out.put_i16(self.producer_epoch);
        out.put_i32(self.base_sequence);
        out.put_i32(self.record_count);
        *out.first_chunk().expect("the fields take 61 bytes")
    }
}

/// Writes the header of the batch that is `batch`, whose records stand there already; sets
/// length and CRC. `records_crc` is the CRC-32C of the records.
pub(super) fn seal(header: &BatchHeader, records_crc: u32, batch: &mut [u8]) {
    let records_len = batch.len() - HEADER_BYTES;
    let batch_len = i32::try_from(batch.len() - at::LEN_END).expect("a batch is below 2 GiB");
    let bytes = BatchHeader {
        batch_len,
        ..*header
    }
    .encoded();
    let crc = crc::combine(
        crc::crc32c(&bytes[at::ATTRIBUTES..]),
        records_crc,
        records_len,
    );
    batch[..HEADER_BYTES].copy_from_slice(&bytes);
    batch[at::CRC..at::ATTRIBUTES].copy_from_slice(&crc.to_be_bytes());
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (field, after) = rest.split_first_chunk()?;
    *rest = after;
    Some(*field)
}
