//! What is refused, and with which error.

use super::*;

fn refused(wire: &[u8]) -> BatchError {
    decoded(wire).expect_err("refused")
}

fn two_records() -> WireBatch {
    WireBatch::of(vec![plain(b"one"), plain(b"two")])
}

/// The batch with `change` made to its header.
fn with_header(change: impl Fn(&mut BatchHeader)) -> BytesMut {
    let mut batch = two_records();
    change(&mut batch.header);
    write(&batch, Codec::None)
}

#[test]
fn a_cut_at_every_byte_is_truncated() {
    for codec in Codec::ALL {
        let wire = write(&two_records(), codec);
        assert_eq!(refused(&[]), BatchError::Empty);
        for cut in 1..wire.len() {
            let got = refused(&wire[..cut]);
            assert!(
                matches!(got, BatchError::Truncated { .. }),
                "{codec}, byte {cut}: {got}"
            );
        }
    }
}

#[test]
fn every_flipped_bit_under_the_crc_is_refused() {
    for (codec, value_len) in [(Codec::None, 10), (Codec::None, 900), (Codec::Lz4, 100)] {
        let value = Bytes::from(vec![7; value_len]);
        let record = WireRecord::new(5, Some(Bytes::from_static(b"k")), Some(value));
        let wire = write(&WireBatch::of(vec![record.clone(), record]), codec);
        for bit in 0..wire.len() * 8 {
            let mut flipped = wire.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let in_epoch = (12..16).contains(&(bit / 8));
            let in_len = (8..12).contains(&(bit / 8));
            match decoded(&flipped) {
                Ok(_) => assert!(in_epoch, "{codec}: bit {bit} was accepted"),
                Err(BatchError::Crc { .. }) => {
                    assert!(bit / 8 >= 17 || in_len, "{codec}: bit {bit}")
                }
                Err(error) => assert!(bit / 8 < 17, "{codec}: bit {bit}: {error}"),
            }
        }
    }
}

#[test]
fn header_fields_are_checked() {
    let old = |magic: u8| {
        let mut wire = write(&two_records(), Codec::None);
        wire[16] = magic;
        refused(&wire)
    };
    assert_eq!(old(0), BatchError::OldMagic(0));
    assert_eq!(old(1), BatchError::OldMagic(1));
    assert_eq!(old(3), BatchError::UnknownMagic(3));
    assert_eq!(
        refused(&with_header(|h| h.attributes |= 1 << 5)),
        BatchError::Control
    );
    assert_eq!(
        refused(&with_header(|h| h.attributes |= 1 << 6)),
        BatchError::DeleteHorizon
    );
    assert_eq!(
        refused(&with_header(|h| h.attributes |= 1 << 3)),
        BatchError::ClaimsAppendTime
    );
    let got = refused(&with_header(|h| h.last_offset_delta = 2));
    assert_eq!(got, BatchError::LastOffsetDelta { last: 2, count: 2 });
    let got = refused(&with_header(|h| h.producer_id = 4));
    assert_eq!(
        got,
        BatchError::Sequence {
            producer_id: 4,
            sequence: -1
        }
    );
    let mut wire = write(&two_records(), Codec::None);
    wire[..8].copy_from_slice(&5i64.to_be_bytes());
    assert_eq!(refused(&wire), BatchError::BaseOffset(5));
    for codec in 5..8 {
        let mut wire = write(&two_records(), Codec::None);
        wire[22] |= codec;
        assert_eq!(
            refused(&resealed(wire)),
            BatchError::UnknownCodec(codec.into())
        );
    }
}

#[test]
fn lengths_that_no_batch_has_are_refused() {
    for batch_len in [-1, 0, 48, i32::MIN] {
        let mut wire = write(&two_records(), Codec::None);
        wire[8..12].copy_from_slice(&i32::to_be_bytes(batch_len));
        assert_eq!(refused(&wire), BatchError::Length(batch_len));
    }
    let mut wire = write(&two_records(), Codec::None);
    wire[8..12].copy_from_slice(&i32::MAX.to_be_bytes());
    assert!(matches!(refused(&wire), BatchError::Truncated { .. }));
}

#[test]
fn what_kafka_accepts_is_accepted() {
    // Section 4, items 11, 14 and 16 of kafka.md.
    for wire in [
        with_header(|h| h.producer_id = -5),
        with_header(|h| h.base_sequence = 9),
        with_header(|h| h.attributes |= 1 << 12),
        with_header(|h| h.leader_epoch = 44),
        with_header(|h| {
            h.producer_id = 1;
            h.base_sequence = 0;
        }),
    ] {
        let decoded = decoded(&wire).expect("accepted");
        assert!(decoded.is_original);
    }
    let mut trailing = write(&two_records(), Codec::None);
    trailing.extend_from_slice(&[7; 30]);
    let decoded = decoded(&trailing).expect("accepted");
    assert_eq!(decoded.wire_len, trailing.len() - 30);
}

#[test]
fn a_wrong_maximum_timestamp_is_corrected() {
    let decoded = decoded(&with_header(|h| h.max_timestamp = 99)).expect("accepted");
    assert_eq!(decoded.batch.facts().max_timestamp, 1_000);
    assert!(!decoded.is_original);
}

#[test]
fn a_second_batch_is_refused() {
    let mut wire = write(&two_records(), Codec::None);
    let second = wire.clone();
    wire.extend_from_slice(&second);
    assert_eq!(refused(&wire), BatchError::SecondBatch);
}

#[test]
fn record_counts_are_not_believed() {
    for codec in Codec::ALL {
        for count in [0, -1, i32::MIN, i32::MAX, 1 << 24] {
            let mut wire = write(&two_records(), codec);
            wire[57..61].copy_from_slice(&i32::to_be_bytes(count));
            wire[23..27].copy_from_slice(&i32::to_be_bytes(count.wrapping_sub(1)));
            let got = refused(&resealed(wire));
            let bytes_max = if codec == Codec::None {
                100
            } else {
                LIMITS.inflated_bytes_max
            };
            if count > 0 && count as usize <= bytes_max / 7 {
                assert!(
                    matches!(got, BatchError::Record(_)),
                    "{codec}, {count}: {got}"
                );
            } else {
                assert!(
                    matches!(got, BatchError::RecordCount { .. }),
                    "{codec}, {count}: {got}"
                );
            }
        }
        // One record fewer than there are.
        let mut wire = write(&two_records(), codec);
        wire[57..61].copy_from_slice(&1i32.to_be_bytes());
        wire[23..27].copy_from_slice(&0i32.to_be_bytes());
        assert!(
            matches!(refused(&resealed(wire)), BatchError::AfterRecords(_)),
            "{codec}"
        );
    }
}

/// A batch of `count` whose records are `payload`.
fn of_payload(count: i32, payload: &[u8]) -> BytesMut {
    let mut header = two_records().header;
    header.record_count = count;
    header.last_offset_delta = count - 1;
    let mut wire = BytesMut::from(&header.encoded()[..]);
    wire.extend_from_slice(payload);
    resealed(wire)
}

#[test]
fn malformed_records_are_named_by_index() {
    // Length 6 (12 as zigzag), attributes, timestamp 0, offset 0, null key, null value, no headers.
    let good = [12, 0, 0, 0, 1, 1, 0];
    assert!(decoded(&of_payload(1, &good)).is_ok());
    for (second, reason) in [
        (&[12u8, 0, 0, 0, 1, 1, 0][..], RecordReason::OffsetDelta(0)),
        (&[12, 0, 0, 1, 1, 1, 0], RecordReason::OffsetDelta(-1)),
        (&[14, 0, 0, 2, 1, 1, 0, 0], RecordReason::AfterHeaders(1)),
        (&[12, 0, 0, 2, 1, 1, 1], RecordReason::Length(-1)),
        (&[12, 0, 0, 2, 8, 1, 0], RecordReason::Length(4)),
        (&[14, 0, 0, 2, 1, 1, 2, 1], RecordReason::HeaderKey(0)),
        (&[16, 0, 0, 2, 1, 1, 200, 1, 0], RecordReason::Truncated),
        (&[14, 0, 0, 2, 1, 1, 0], RecordReason::Truncated),
        (&[13, 0, 0, 2, 1, 1, 0], RecordReason::Length(-7)),
        (&[255, 255, 255, 255, 255, 1, 0], RecordReason::Varint),
    ] {
        let got = refused(&of_payload(2, &[&good, second].concat()));
        let expected = RecordError { index: 1, reason };
        assert_eq!(got, BatchError::Record(expected.clone()), "{second:?}");
        assert_eq!(got.record_errors(), [expected]);
    }
}

#[test]
fn negative_lengths_are_null() {
    let wire = of_payload(1, &[12, 0, 0, 0, 5, 3, 0]);
    let records = &served(&stored(decoded(&wire).expect("accepted"), 0))[0].records;
    assert_eq!((&records[0].key, &records[0].value), (&None, &None));
}

#[test]
fn timestamps_out_of_bounds_are_listed() {
    let limits = Limits {
        timestamps: Timestamps::create(10_000, i64::MAX, 500),
        ..LIMITS
    };
    let at = |timestamp| WireRecord::new(timestamp, None, None);
    let batch = WireBatch::of(vec![at(-1), at(10_501), at(10_500), at(0), at(i64::MAX)]);
    let got = decode(&write(&batch, Codec::None), &limits, &mut Scratch::new());
    let Err(BatchError::Timestamps(errors)) = got else {
        panic!("{got:?}")
    };
    let indexes: Vec<_> = errors.iter().map(|error| error.index).collect();
    assert_eq!(indexes, [1, 4]);
    let limits = Limits {
        timestamps: Timestamps::create(10_000, 100, i64::MAX),
        ..LIMITS
    };
    let batch = WireBatch::of(vec![at(9_900), at(9_899), at(i64::MAX)]);
    let got = decode(&write(&batch, Codec::None), &limits, &mut Scratch::new());
    let Err(BatchError::Timestamps(errors)) = got else {
        panic!("{got:?}")
    };
    assert_eq!((errors.len(), errors[0].index), (1, 1));
    let limits = Limits {
        timestamps: Timestamps::Append,
        ..LIMITS
    };
    let got = decode(&write(&batch, Codec::None), &limits, &mut Scratch::new());
    assert!(!got.expect("append time takes all").is_original);
}

#[test]
fn the_two_size_limits_hold() {
    let limits = Limits {
        batch_bytes_max: 4 << 20,
        inflated_bytes_max: 4 << 20,
        ..LIMITS
    };
    let refused = |wire: &[u8]| decode(wire, &limits, &mut Scratch::new()).expect_err("refused");
    let value = Bytes::from(vec![0; 1 << 20]);
    let records: Vec<_> = (0..5)
        .map(|_| WireRecord::new(1, None, Some(value.clone())))
        .collect();
    let batch = WireBatch::of(records);
    for codec in &Codec::ALL[1..] {
        let got = refused(&write(&batch, *codec));
        assert_eq!(
            got,
            BatchError::InflatedTooLarge { max: 4 << 20 },
            "{codec}"
        );
    }
    let wire = write(&batch, Codec::None);
    assert_eq!(
        refused(&wire),
        BatchError::TooLarge {
            bytes: wire.len(),
            max: 4 << 20
        }
    );
    // Small records: what counts is also what they take in the log.
    let records = vec![WireRecord::new(1, None, None); 100_000];
    for codec in &Codec::ALL[1..] {
        let got = refused(&write(&WireBatch::of(records.clone()), *codec));
        assert_eq!(
            got,
            BatchError::InflatedTooLarge { max: 4 << 20 },
            "{codec}"
        );
    }
    let limits = Limits {
        zstd: false,
        ..LIMITS
    };
    let got = decode(
        &write(&two_records(), Codec::Zstd),
        &limits,
        &mut Scratch::new(),
    );
    assert_eq!(got.expect_err("refused"), BatchError::ZstdTooEarly);
}

#[test]
fn content_that_does_not_unpack_is_refused() {
    for codec in &Codec::ALL[1..] {
        for content in [&[][..], &[0], &[1, 2, 3, 4, 5, 6, 7, 8, 9], &[255; 40]] {
            let mut wire = of_payload(2, content);
            wire[22] |= codec.wire() as u8;
            let got = refused(&resealed(wire));
            let is_refused = matches!(
                got,
                BatchError::Inflate { .. } | BatchError::Record(_) | BatchError::AfterRecords(_)
            );
            assert!(is_refused, "{codec}, {content:?}: {got}");
        }
    }
}
