//! The client's side: records into the batch of a producer.

use std::io::Write;

use bytes::{BufMut, BytesMut};
use highwater_record::crc;

use super::encode::{bytes_len, put_bytes};
use super::header::{self, attribute};
use super::inflate::XERIAL_MAGIC;
use super::{BatchHeader, Codec, HEADER_BYTES, WireBatch, WireRecord, varint};

/// Bytes of a block in the Java library's snappy framing.
const XERIAL_BLOCK_BYTES: usize = 32 << 10;

/// The v2 batch of `batch`, compressed by `codec`. Length, CRC, codec bits and record count are
/// set here; everything else stands in the batch's header and is written as it is.
///
/// # Panics
/// When a record's offset is more than 2^31 away from the base offset.
#[must_use]
pub fn write(batch: &WireBatch, codec: Codec) -> BytesMut {
    let mut records = BytesMut::new();
    for record in &batch.records {
        put_record(record, &batch.header, &mut records);
    }
    let compressed = compress(&records, codec);
    let mut out = BytesMut::with_capacity(HEADER_BYTES + compressed.len());
    out.put_bytes(0, HEADER_BYTES);
    out.put_slice(&compressed);
    let header = BatchHeader {
        attributes: batch.header.attributes & !attribute::CODEC | codec.wire(),
        record_count: batch.records.len() as i32,
        ..batch.header
    };
    header::seal(&header, crc::crc32c(&compressed), &mut out);
    out
}

fn put_record(record: &WireRecord, header: &BatchHeader, out: &mut BytesMut) {
    let timestamp_delta = record.timestamp.wrapping_sub(header.base_timestamp);
    let offset_delta = i32::try_from(record.offset - header.base_offset)
        .expect("a record is within 2^31 offsets of its batch");
    let mut headers = BytesMut::new();
    varint::put(record.headers.len() as i64, &mut headers);
    for header in &record.headers {
        put_bytes(Some(&header.key), &mut headers);
        put_bytes(header.value.as_deref(), &mut headers);
    }
    let (key, value) = (record.key.as_deref(), record.value.as_deref());
    let body_len = 1
        + varint::len(timestamp_delta)
        + varint::len(offset_delta.into())
        + bytes_len(key)
        + bytes_len(value)
        + headers.len();
    varint::put(body_len as i64, out);
    out.put_u8(0);
    varint::put(timestamp_delta, out);
    varint::put(offset_delta.into(), out);
    put_bytes(key, out);
    put_bytes(value, out);
    out.put_slice(&headers);
}

/// `records` compressed as Kafka's own producer does; snappy in the Java library's framing.
pub(super) fn compress(records: &[u8], codec: Codec) -> Vec<u8> {
    const INTO_MEMORY: &str = "writing into memory cannot fail";
    match codec {
        Codec::None => records.to_vec(),
        Codec::Gzip => {
            let level = flate2::Compression::default();
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), level);
            encoder.write_all(records).expect(INTO_MEMORY);
            encoder.finish().expect(INTO_MEMORY)
        }
        Codec::Snappy => {
            let mut out = XERIAL_MAGIC.to_vec();
            out.extend_from_slice(&1u32.to_be_bytes());
            out.extend_from_slice(&1u32.to_be_bytes());
            for block in records.chunks(XERIAL_BLOCK_BYTES) {
                let compressed = snappy_raw(block);
                out.extend_from_slice(&(compressed.len() as u32).to_be_bytes());
                out.extend_from_slice(&compressed);
            }
            out
        }
        Codec::Lz4 => {
            let info = lz4_flex::frame::FrameInfo::new()
                .block_size(lz4_flex::frame::BlockSize::Max64KB)
                .block_mode(lz4_flex::frame::BlockMode::Independent);
            let mut encoder = lz4_flex::frame::FrameEncoder::with_frame_info(info, Vec::new());
            encoder.write_all(records).expect(INTO_MEMORY);
            encoder.finish().expect(INTO_MEMORY)
        }
        Codec::Zstd => {
            zstd::bulk::compress(records, zstd::DEFAULT_COMPRESSION_LEVEL).expect(INTO_MEMORY)
        }
    }
}

/// One raw snappy block, as librdkafka sends for a whole batch.
pub(super) fn snappy_raw(block: &[u8]) -> Vec<u8> {
    let compressed = snap::raw::Encoder::new().compress_vec(block);
    compressed.expect("a block is below 4 GiB")
}
