//! Damaged frames: no input makes the decoder panic, and none that it accepts was changed.
//!
//! A fixed number of mutations from fixed seeds, so that a failure repeats: each names its round.

use bytes::BytesMut;
use highwater_record::{
    BatchBuilder, Flags, FrameView, NewRecord, Producer, SegmentHeader, StoredBatch, crc,
};
use highwater_types::{LeaderEpoch, Offset, Position, ProducerEpoch, ProducerId};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

const ROUNDS: u64 = 300_000;

/// Where a frame's CRC stands, and what it leaves out in front.
const FRAME_CRC: std::ops::Range<usize> = 31..35;
const OFFSET_BYTES: usize = 8;

fn batch(random: &mut ChaCha8Rng) -> BytesMut {
    let producer = (random.next_u32() % 2 == 0).then_some(Producer {
        id: ProducerId(5),
        epoch: ProducerEpoch(0),
        base_sequence: 3,
    });
    let mut builder = BatchBuilder::new(Flags(Flags::TRANSACTIONAL), 0, producer, 0);
    let bytes = [7; 64];
    for i in 0..1 + random.next_u32() % 3 {
        let len = |random: &mut ChaCha8Rng| random.next_u32() as usize % bytes.len();
        builder.push(&NewRecord {
            timestamp: i64::from(i),
            key: (i % 2 == 0).then_some(&bytes[..len(random)]),
            value: (i != 1).then_some(&bytes[..len(random)]),
            headers: &bytes[..len(random) / 8],
        });
    }
    let mut staged = builder.finish();
    staged.assign(Offset(random.next_u32().into()), LeaderEpoch(2));
    let bytes = staged.into_bytes();
    if random.next_u32() % 3 != 0 {
        return bytes;
    }
    let batch = StoredBatch::parse(&bytes, Position(0))
        .expect("ours")
        .expect("whole");
    let mut bits = random.next_u32();
    batch
        .retain(Some(9), |_| {
            bits >>= 1;
            bits & 1 == 1
        })
        .expect("verified")
}

/// Changes some bytes, often lengths, to values that hurt.
fn mutate(bytes: &mut BytesMut, random: &mut ChaCha8Rng) {
    for _ in 0..1 + random.next_u32() % 3 {
        let at = random.next_u32() as usize % bytes.len();
        match random.next_u32() % 6 {
            0 => bytes[at] ^= 1 << (random.next_u32() % 8),
            1 => bytes[at] = [0, 0xff, 0x7f, 0x80][random.next_u32() as usize % 4],
            2 => bytes.truncate(at.max(1)),
            3 => {
                let end = (at + 4).min(bytes.len());
                let word = [0u32, u32::MAX, 1 << 30, 23][random.next_u32() as usize % 4];
                bytes[at..end].copy_from_slice(&word.to_be_bytes()[..end - at]);
            }
            4 => bytes.extend_from_slice(&[0; 24]),
            _ => bytes[at] = random.next_u32() as u8,
        }
    }
}

/// Makes the first frame's CRC right again, so that what lies behind the check is reached.
fn reseal(bytes: &mut BytesMut) {
    let Ok(Some(frame)) = FrameView::decode(bytes, Position(0), false) else {
        return;
    };
    let data_at = frame.frame_len - frame.value.map_or(0, <[u8]>::len);
    let mut head = bytes[OFFSET_BYTES..data_at].to_vec();
    head[FRAME_CRC.start - OFFSET_BYTES..FRAME_CRC.end - OFFSET_BYTES].fill(0);
    bytes[FRAME_CRC].copy_from_slice(&crc::crc32c(&head).to_be_bytes());
}

#[test]
fn damaged_batches_are_refused_or_unchanged() {
    let mut accepted = 0;
    for round in 0..ROUNDS {
        let mut random = ChaCha8Rng::seed_from_u64(round);
        let original = batch(&mut random);
        let mut bytes = original.clone();
        mutate(&mut bytes, &mut random);
        let is_resealed = random.next_u32() % 2 == 0;
        if is_resealed {
            reseal(&mut bytes);
        }
        let _ = SegmentHeader::decode(&bytes);
        let Ok(Some(batch)) = StoredBatch::parse(&bytes, Position(0)) else {
            continue;
        };
        let frames = batch.frames().take_while(Result::is_ok).count();
        assert!(frames <= bytes.len() / 47, "round {round}");
        if batch.verify().is_err() {
            continue;
        }
        accepted += 1;
        let _ = (
            batch.head.base_offset(),
            batch.head.end_offset(),
            batch.head.facts.last_sequence(),
        );
        assert!(
            is_resealed || original.starts_with(batch.bytes),
            "round {round}"
        );
        let rewritten = batch.retain(None, |_| true).expect("verified");
        let again = StoredBatch::parse(&rewritten, Position(0))
            .expect("ours")
            .expect("whole");
        assert_eq!(again.verify(), Ok(()), "round {round}");
    }
    assert!(accepted > ROUNDS / 100, "only {accepted} reached the end");
}
