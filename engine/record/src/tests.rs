//! What holds for the bytes of records: golden bytes, cuts, flips, and random batches.

use bytes::BytesMut;
use highwater_types::{
    LeaderEpoch, Offset, Position, ProducerEpoch, ProducerId, SegmentNo, TopicId,
};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

use crate::*;

const AT: Position = Position(0);

/// One record that owns its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Owned {
    timestamp: i64,
    key: Option<Vec<u8>>,
    value: Option<Vec<u8>>,
    headers: Vec<u8>,
}

impl Owned {
    fn of(frame: &FrameView<'_>) -> Self {
        Self {
            timestamp: frame.timestamp,
            key: frame.key.map(<[u8]>::to_vec),
            value: frame.value.map(<[u8]>::to_vec),
            headers: frame.headers.to_vec(),
        }
    }

    fn borrowed(&self) -> NewRecord<'_> {
        NewRecord {
            timestamp: self.timestamp,
            key: self.key.as_deref(),
            value: self.value.as_deref(),
            headers: &self.headers,
        }
    }
}

fn any_bytes(random: &mut ChaCha8Rng, len_max: u32) -> Option<Vec<u8>> {
    let len = match random.next_u32() % 4 {
        0 => return None,
        1 => 0,
        _ => random.next_u32() % len_max,
    };
    let mut bytes = vec![0; len as usize];
    random.fill_bytes(&mut bytes);
    Some(bytes)
}

fn any_record(random: &mut ChaCha8Rng) -> Owned {
    Owned {
        timestamp: i64::from(random.next_u32()) - 1,
        key: any_bytes(random, 20),
        value: any_bytes(random, 40),
        headers: any_bytes(random, 10).unwrap_or_default(),
    }
}

fn any_producer(random: &mut ChaCha8Rng) -> Option<Producer> {
    (random.next_u32() % 2 == 0).then(|| Producer {
        id: ProducerId(random.next_u32().into()),
        epoch: ProducerEpoch(random.next_u32() as i16),
        base_sequence: random.next_u32() as i32 & i32::MAX,
    })
}

fn staged(records: &[Owned], flags: u16, producer: Option<Producer>) -> StagedBatch {
    let mut builder = BatchBuilder::new(Flags(flags), 0, producer, 0);
    for record in records {
        builder.push(&record.borrowed());
    }
    builder.finish()
}

/// A random batch as it goes to disk.
fn any_batch(random: &mut ChaCha8Rng) -> (Vec<Owned>, BytesMut) {
    let count = 1 + random.next_u32() % 4;
    let records: Vec<_> = (0..count).map(|_| any_record(random)).collect();
    let flags = [0, Flags::TRANSACTIONAL, Flags::CONTROL][random.next_u32() as usize % 3];
    let mut batch = staged(&records, flags, any_producer(random));
    batch.assign(Offset(random.next_u32().into()), LeaderEpoch(7));
    (records, batch.into_bytes())
}

fn parsed(bytes: &[u8]) -> StoredBatch<'_> {
    let batch = StoredBatch::parse(bytes, AT)
        .expect("not corrupt")
        .expect("whole");
    batch.verify().expect("verified");
    batch
}

fn records_of(batch: &StoredBatch<'_>) -> Vec<Owned> {
    batch
        .frames()
        .map(|frame| Owned::of(&frame.expect("a frame")))
        .collect()
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text
        .bytes()
        .filter_map(|c| (c as char).to_digit(16))
        .map(|d| d as u8)
        .collect();
    digits
        .chunks(2)
        .map(|pair| pair[0] << 4 | pair[1])
        .collect()
}

#[test]
fn a_batch_of_two_records_has_its_golden_bytes() {
    let header_block = [2, 2, b'h', 0];
    let records = [
        Owned {
            timestamp: 0x0102_0304_0506,
            key: Some(b"k".to_vec()),
            value: Some(b"value".to_vec()),
            headers: header_block.to_vec(),
        },
        Owned {
            timestamp: -1,
            key: None,
            value: None,
            headers: Vec::new(),
        },
    ];
    let producer = Producer {
        id: ProducerId(9),
        epoch: ProducerEpoch(3),
        base_sequence: 0x1122,
    };
    let mut batch = staged(&records, Flags::TRANSACTIONAL, Some(producer));
    batch.assign(Offset(0x1000), LeaderEpoch(5));
    let golden = hex(GOLDEN_BATCH);
    assert_eq!(batch.bytes(), golden, "{:02x?}", batch.bytes());
}

const GOLDEN_BATCH: &str = "\
    0000000000001000
    00000058
    0000001c
    01
    001c
    0000010203040506
    e1e00363
    eaa4e489
    00000001
    6b
    02026800
    00000037
    01010100000000000010000000000000000001000000020000009f0000000500
    0000000102030405060000000000000009000300001122
    00000005
    76616c7565
    0000000000001001
    00000017
    00000017
    01
    0013
    ffffffffffffffff
    00000000
    934d2235
    00000000
    00000000
    00000000
";

#[test]
fn a_segment_header_has_its_golden_bytes() {
    let header = golden_header();
    let golden = hex(GOLDEN_HEADER);
    assert_eq!(
        &header.encode()[..],
        golden,
        "{:02x?}",
        &header.encode()[..]
    );
    assert_eq!(SegmentHeader::decode(&golden), Ok(Some(header)));
}

fn golden_header() -> SegmentHeader {
    SegmentHeader {
        topic_id: TopicId(*b"0123456789abcdef"),
        partition: 3,
        segment_no: SegmentNo(17),
        start_offset: Offset(0x2000),
        created_ms: 0x0102_0304_0506,
    }
}

const GOLDEN_HEADER: &str = "\
    0000000000002000
    00000065
    00000017
    01
    002b
    0000010203040506
    00000000
    a77011b3
    00000000
    0000004e
    04010000000000000020000000000000000000000000010000007d0000000000
    0000000102030405060130313233343536373839616263646566000000030000
    0000000000110000010203040506
    00000000
";

#[test]
fn zeros_are_the_end_of_the_log_and_never_a_record() {
    for len in 0..200 {
        let zeros = vec![0; len];
        assert_eq!(FrameView::decode(&zeros, AT, true), Ok(None), "{len} zeros");
        assert_eq!(BatchHead::parse(&zeros, AT), Ok(None), "{len} zeros");
        assert_eq!(SegmentHeader::decode(&zeros), Ok(None), "{len} zeros");
    }
}

#[test]
fn a_frame_is_written_as_its_safe_twin_writes_it() {
    for seed in 0..2_000 {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let record = any_record(&mut random);
        let protocol_data = any_bytes(&mut random, 300).unwrap_or_default();
        let frame = crate::frame::NewFrame {
            offset: Offset(random.next_u64() >> 1),
            batch_flags: random.next_u32() as u16 & (Flags::OF_BATCH | Flags::FIRST_OF_BATCH),
            timestamp: random.next_u64() as i64,
            data_crc: random.next_u32(),
            key: record.key.as_deref(),
            headers: &record.headers,
            protocol_data: &protocol_data,
            value: record.value.as_deref(),
        };
        let (mut got, mut expected) = (BytesMut::from(&b"x"[..]), BytesMut::from(&b"x"[..]));
        frame.put(&mut got);
        frame.put_plainly(&mut expected);
        assert_eq!(got, expected, "seed {seed}");
    }
}

#[test]
fn random_batches_come_back_as_they_went_in() {
    for seed in 0..500 {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let (records, bytes) = any_batch(&mut random);
        let batch = parsed(&bytes);
        assert_eq!(records_of(&batch), records, "seed {seed}");
        assert_eq!(batch.head.len(), bytes.len(), "seed {seed}");
        assert_eq!(
            batch.head.facts.record_count as usize,
            records.len(),
            "seed {seed}"
        );
        assert_eq!(
            batch.head.end_offset().since(batch.head.base_offset()),
            records.len() as u64
        );
        let max = records.iter().map(|record| record.timestamp).max();
        assert_eq!(Some(batch.head.facts.max_timestamp), max, "seed {seed}");
    }
}

#[test]
fn every_strict_prefix_is_a_torn_tail() {
    for seed in 0..100 {
        let (_, bytes) = any_batch(&mut ChaCha8Rng::seed_from_u64(seed));
        for cut in 0..bytes.len() {
            let got = StoredBatch::parse(&bytes[..cut], AT);
            assert!(
                matches!(got, Ok(None)),
                "seed {seed}, cut at byte {cut}: {got:?}"
            );
        }
    }
    let header = golden_header().encode();
    for cut in 0..header.len() {
        assert_eq!(
            SegmentHeader::decode(&header[..cut]),
            Ok(None),
            "cut at byte {cut}"
        );
    }
}

#[test]
fn every_strict_prefix_of_a_frame_is_a_torn_tail() {
    let (_, bytes) = any_batch(&mut ChaCha8Rng::seed_from_u64(3));
    let frame = FrameView::decode(&bytes, AT, true)
        .expect("not corrupt")
        .expect("whole");
    for cut in 0..frame.frame_len {
        for verify in [false, true] {
            assert_eq!(
                FrameView::decode(&bytes[..cut], AT, verify),
                Ok(None),
                "cut at {cut}"
            );
        }
    }
}

#[test]
fn every_flipped_bit_is_seen() {
    for seed in 0..60 {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let (_, mut bytes) = any_batch(&mut random);
        if seed % 2 == 1 {
            let mut odd = random.next_u32();
            let kept = parsed(&bytes).retain(Some(5), |_| {
                odd >>= 1;
                odd & 1 == 1
            });
            bytes = kept.expect("verified");
            parsed(&bytes);
        }
        for bit in 0..bytes.len() * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            let seen = match StoredBatch::parse(&bytes, AT) {
                // A length that now points past the end; the log knows that more was written.
                Ok(None) | Err(_) => true,
                Ok(Some(batch)) => batch.verify().is_err(),
            };
            assert!(seen, "seed {seed}, bit {bit}");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        parsed(&bytes);
    }
}

#[test]
fn every_flipped_bit_of_a_segment_header_is_seen() {
    let mut bytes = golden_header().encode();
    for bit in 0..bytes.len() * 8 {
        bytes[bit / 8] ^= 1 << (bit % 8);
        assert!(
            !matches!(SegmentHeader::decode(&bytes), Ok(Some(_))),
            "bit {bit}"
        );
        bytes[bit / 8] ^= 1 << (bit % 8);
    }
}

#[test]
fn a_frame_from_the_middle_starts_no_batch() {
    let record = Owned {
        timestamp: 1,
        key: None,
        value: None,
        headers: Vec::new(),
    };
    let mut batch = staged(&[record.clone(), record], 0, None);
    batch.assign(Offset(4), LeaderEpoch(0));
    let first = FrameView::decode(batch.bytes(), AT, true)
        .expect("not corrupt")
        .expect("whole");
    let got = BatchHead::parse(&batch.bytes()[first.frame_len..], Position(77));
    assert_eq!(
        got,
        Err(Corrupt {
            at: Position(77),
            reason: CorruptReason::BatchStart
        })
    );
}

#[test]
fn batches_swapped_in_their_frames_are_seen() {
    let record = Owned {
        timestamp: 1,
        key: None,
        value: None,
        headers: Vec::new(),
    };
    let mut batch = staged(&[record.clone(), record.clone(), record], 0, None);
    batch.assign(Offset(4), LeaderEpoch(0));
    let mut bytes = batch.into_bytes();
    let first_len = FrameView::decode(&bytes, AT, true)
        .expect("ok")
        .expect("whole")
        .frame_len;
    let (middle, last) = bytes[first_len..].split_at_mut(FIXED_BYTES + 23);
    middle.swap_with_slice(last);
    let batch = StoredBatch::parse(&bytes, AT)
        .expect("the head is whole")
        .expect("whole");
    assert_eq!(
        batch.verify().map_err(|corrupt| corrupt.reason),
        Err(CorruptReason::Offsets)
    );
}

#[test]
fn assign_again_moves_the_batch() {
    let (_, bytes) = any_batch(&mut ChaCha8Rng::seed_from_u64(11));
    let records = records_of(&parsed(&bytes));
    let mut batch = staged(&records, 0, None);
    batch.assign(Offset(10), LeaderEpoch(1));
    batch.assign(Offset(1 << 40), LeaderEpoch(2));
    let batch = parsed(batch.bytes());
    assert_eq!(batch.head.base_offset(), Offset(1 << 40));
    assert_eq!(batch.head.facts.leader_epoch, LeaderEpoch(2));
    let offsets: Vec<_> = batch
        .frames()
        .map(|frame| frame.expect("a frame").offset)
        .collect();
    let expected: Vec<_> = (0..records.len() as u64)
        .map(|i| Offset((1 << 40) + i))
        .collect();
    assert_eq!(offsets, expected);
}

#[test]
fn append_time_replaces_every_timestamp_and_nothing_else() {
    for seed in 0..50 {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let records: Vec<_> = (0..3).map(|_| any_record(&mut random)).collect();
        let mut batch = staged(&records, 0, any_producer(&mut random));
        batch.stamp_append_time(4_242);
        batch.assign(Offset(1), LeaderEpoch(1));
        let batch = parsed(batch.bytes());
        assert_eq!(batch.head.facts.max_timestamp, 4_242);
        assert_eq!(batch.head.facts.attributes, 1 << 3);
        let expected: Vec<_> = records
            .into_iter()
            .map(|record| Owned {
                timestamp: 4_242,
                ..record
            })
            .collect();
        assert_eq!(records_of(&batch), expected, "seed {seed}");
        assert!(
            batch
                .frames()
                .all(|f| f.expect("a frame").flags.has(Flags::APPEND_TIME))
        );
    }
}

#[test]
fn facts_survive_compaction() {
    for seed in 0..200 {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let (records, bytes) = any_batch(&mut random);
        let before = parsed(&bytes);
        let mut bits = random.next_u32();
        let mut expected = Vec::new();
        let compacted = before.retain(None, |frame| {
            bits >>= 1;
            if bits & 1 == 1 {
                expected.push((frame.offset, Owned::of(frame)));
            }
            bits & 1 == 1
        });
        let compacted = compacted.expect("verified");
        let after = parsed(&compacted);
        let got: Vec<_> = after.frames().map(|f| f.expect("a frame")).collect();
        if expected.is_empty() {
            assert_eq!(after.head.facts.kind, BatchKind::Placeholder, "seed {seed}");
        } else {
            let got: Vec<_> = got.iter().map(|f| (f.offset, Owned::of(f))).collect();
            assert_eq!(got, expected, "seed {seed}");
            assert_eq!(after.head.facts.kind, before.head.facts.kind, "seed {seed}");
        }
        assert_eq!(
            after.head.base_offset(),
            before.head.base_offset(),
            "seed {seed}"
        );
        assert_eq!(
            after.head.end_offset(),
            before.head.end_offset(),
            "seed {seed}"
        );
        assert_eq!(
            after.head.facts.producer, before.head.facts.producer,
            "seed {seed}"
        );
        assert_eq!(
            after.head.facts.last_sequence(),
            before.head.facts.last_sequence()
        );
        assert_eq!(
            after.head.facts.max_timestamp,
            before.head.facts.max_timestamp
        );
        assert!(after.bytes.len() <= before.bytes.len() + 200 && !records.is_empty());
        // Once more, to nothing: it stays a placeholder with the same facts.
        let gone = after.retain(None, |_| false).expect("verified");
        let gone = parsed(&gone);
        assert_eq!(gone.head.facts.kind, BatchKind::Placeholder);
        assert_eq!(
            gone.head.end_offset(),
            before.head.end_offset(),
            "seed {seed}"
        );
    }
}

#[test]
fn sequences_wrap_after_the_largest() {
    let producer = Producer {
        id: ProducerId(1),
        epoch: ProducerEpoch(0),
        base_sequence: i32::MAX - 1,
    };
    let record = Owned {
        timestamp: 1,
        key: None,
        value: None,
        headers: Vec::new(),
    };
    let batch = staged(&[record.clone(), record.clone(), record], 0, Some(producer));
    assert_eq!(batch.facts().last_sequence(), Some(0));
}
