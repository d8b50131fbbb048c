//! What holds for batches: round trips, refusals, cuts, flips and limits.

use bytes::{Bytes, BytesMut};
use highwater_record::{BatchKind, StoredBatch, crc};
use highwater_types::{LeaderEpoch, Offset, Position};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

use super::*;

mod refusals;
mod round_trip;
mod serving;

const LIMITS: Limits = Limits {
    batch_bytes_max: 32 << 20,
    inflated_bytes_max: 32 << 20,
    timestamps: Timestamps::Create {
        min: i64::MIN,
        max: i64::MAX,
    },
    zstd: true,
};

fn decoded(wire: &[u8]) -> Result<Decoded, BatchError> {
    decode(wire, &LIMITS, &mut Scratch::new())
}

fn any_bytes(random: &mut ChaCha8Rng, len_max: u32) -> Option<Bytes> {
    let len = match random.next_u32() % 8 {
        0 => return None,
        1 => 0,
        2 => random.next_u32() % len_max,
        _ => random.next_u32() % len_max.min(64),
    };
    let mut bytes = vec![0; len as usize];
    random.fill_bytes(&mut bytes);
    Some(bytes.into())
}

/// A record with everything that a client can set.
fn any_record(random: &mut ChaCha8Rng, value_len_max: u32) -> WireRecord {
    let header_count = if random.next_u32() % 2 == 0 {
        0
    } else {
        random.next_u32() % 4
    };
    let headers = (0..header_count).map(|_| WireHeader {
        // Few different keys: duplicates must survive, in order.
        key: Bytes::from(vec![0xff; (random.next_u32() % 3) as usize]),
        value: any_bytes(random, 20),
    });
    WireRecord {
        offset: 0,
        headers: headers.collect(),
        timestamp: match random.next_u32() % 4 {
            0 => -1,
            1 => i64::from(random.next_u32()) << 10,
            _ => 1_700_000_000_000 + i64::from(random.next_u32() % 5_000),
        },
        key: any_bytes(random, 100),
        value: any_bytes(random, value_len_max),
    }
}

fn any_batch(random: &mut ChaCha8Rng) -> WireBatch {
    let count = 1 + random.next_u32() % 20;
    let value_len_max = if random.next_u32() % 2 == 0 {
        100
    } else {
        3_000
    };
    let records = (0..count)
        .map(|_| any_record(random, value_len_max))
        .collect();
    let mut batch = WireBatch::of(records);
    if random.next_u32() % 2 == 0 {
        let sequence = (random.next_u32() >> 1) as i32;
        batch = batch.with_producer(random.next_u32().into(), 3, sequence);
        if random.next_u32() % 2 == 0 {
            batch.header.attributes |= header::attribute::TRANSACTIONAL;
        }
    }
    batch
}

/// The frames of `decoded` at `base`, as the log would hold them.
fn stored(decoded: Decoded, base: u64) -> BytesMut {
    let mut batch = decoded.batch;
    batch.assign(Offset(base), LeaderEpoch(6));
    batch.into_bytes()
}

fn parsed(bytes: &[u8]) -> StoredBatch<'_> {
    let batch = StoredBatch::parse(bytes, Position(0))
        .expect("not corrupt")
        .expect("whole");
    batch.verify().expect("verified");
    batch
}

/// Everything that is served of `bytes`, one stored batch, to a reader from offset 0.
fn served(bytes: &[u8]) -> Vec<WireBatch> {
    let mut out = BytesMut::new();
    let encoded = encode(&parsed(bytes), Offset(0), usize::MAX, &mut out).expect("not corrupt");
    assert!(encoded.is_whole);
    read(&out).expect("what we write can be read")
}

/// What a consumer gets of `batch` once it stands at `base`.
fn expected_at(batch: &WireBatch, base: i64) -> Vec<WireRecord> {
    let at = |(delta, record): (usize, &WireRecord)| WireRecord {
        offset: base + delta as i64,
        ..record.clone()
    };
    batch.records.iter().enumerate().map(at).collect()
}

/// Sets the length and the CRC of a batch whose bytes a test changed.
fn resealed(mut wire: BytesMut) -> BytesMut {
    let batch_len = (wire.len() - header::at::LEN_END) as i32;
    wire[8..12].copy_from_slice(&batch_len.to_be_bytes());
    let crc = crc::crc32c(&wire[header::at::ATTRIBUTES..]);
    wire[header::at::CRC..header::at::ATTRIBUTES].copy_from_slice(&crc.to_be_bytes());
    wire
}

fn plain(value: &'static [u8]) -> WireRecord {
    WireRecord::new(1_000, None, Some(Bytes::from_static(value)))
}
