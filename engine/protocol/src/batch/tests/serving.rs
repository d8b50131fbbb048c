//! From the log to consumers: pieces, gaps, append time, originals, corruption.

use highwater_record::StagedBatch;

use super::*;

/// A stored batch of 3 MiB and what a consumer must get of it.
fn large() -> (BytesMut, Vec<WireRecord>) {
    let mut random = ChaCha8Rng::seed_from_u64(8);
    let records = (0..1_500).map(|_| {
        let mut value = vec![0; 2_000];
        random.fill_bytes(&mut value);
        WireRecord::new(i64::from(random.next_u32()), None, Some(value.into()))
    });
    let batch = WireBatch::of(records.collect()).with_producer(7, 1, i32::MAX - 600);
    let bytes = stored(
        decoded(&write(&batch, Codec::Zstd)).expect("accepted"),
        5_000,
    );
    (bytes, expected_at(&batch, 5_000))
}

#[test]
fn a_large_batch_is_served_in_pieces_with_their_own_sequences() {
    let (bytes, expected) = large();
    let pieces = served(&bytes);
    assert!(pieces.len() >= 3, "{} pieces", pieces.len());
    let got: Vec<_> = pieces
        .iter()
        .flat_map(|piece| piece.records.clone())
        .collect();
    assert_eq!(got, expected);
    let mut next = 5_000;
    for piece in &pieces {
        let header = &piece.header;
        assert_eq!(header.base_offset, next);
        assert!(header.batch_len <= PIECE_BYTES_MAX as i32);
        let sequence = (i64::from(i32::MAX) - 600 + next - 5_000) % (1 << 31);
        assert_eq!(i64::from(header.base_sequence), sequence);
        assert_eq!(header.last_offset_delta + 1, header.record_count);
        let max = piece.records.iter().map(|record| record.timestamp).max();
        assert_eq!(Some(header.max_timestamp), max);
        next = piece.end_offset();
    }
    assert_eq!(next, 6_500);
}

#[test]
fn a_reader_of_pieces_goes_on_where_it_stopped() {
    let (bytes, expected) = large();
    let batch = parsed(&bytes);
    let mut from = Offset(5_000);
    let mut got = Vec::new();
    loop {
        let mut out = BytesMut::from(&b"before"[..]);
        let encoded = encode(&batch, from, 1, &mut out).expect("not corrupt");
        let pieces = read(&out[6..]).expect("readable");
        assert_eq!(pieces.len(), 1);
        got.extend(pieces[0].records.clone());
        assert_eq!(pieces[0].end_offset(), encoded.end.wire());
        from = encoded.end;
        if encoded.is_whole {
            break;
        }
    }
    assert_eq!(got, expected);
    // From inside a piece: the piece that holds the offset comes first.
    let mut out = BytesMut::new();
    encode(&batch, Offset(6_400), usize::MAX, &mut out).expect("not corrupt");
    let pieces = read(&out).expect("readable");
    assert!(pieces[0].header.base_offset <= 6_400 && pieces[0].end_offset() > 6_400);
}

#[test]
fn append_time_is_what_a_consumer_reads() {
    let batch = any_batch(&mut ChaCha8Rng::seed_from_u64(4));
    let limits = Limits {
        timestamps: Timestamps::Append,
        ..LIMITS
    };
    let wire = write(&batch, Codec::Gzip);
    let decoded = decode(&wire, &limits, &mut Scratch::new()).expect("accepted");
    assert!(original::keep(&wire, &decoded, Offset(3), LeaderEpoch(6)).is_none());
    let mut staged = decoded.batch;
    staged.stamp_append_time(123_456);
    staged.assign(Offset(3), LeaderEpoch(6));
    let got = &served(staged.bytes())[0];
    assert_eq!(got.header.max_timestamp, 123_456);
    assert_eq!(
        got.header.attributes & header::attribute::APPEND_TIME,
        1 << 3
    );
    assert!(got.records.iter().all(|record| record.timestamp == 123_456));
}

#[test]
fn the_original_says_the_same_as_the_frames() {
    for seed in 0..50 {
        let batch = any_batch(&mut ChaCha8Rng::seed_from_u64(seed));
        for codec in Codec::ALL {
            let mut wire = write(&batch, codec);
            wire.extend_from_slice(b"trailing");
            let decoded = decoded(&wire).expect("accepted");
            let original = original::keep(&wire, &decoded, Offset(1 << 33), LeaderEpoch(6));
            let original = original.expect("an original");
            assert_eq!(original.codec, codec);
            assert_eq!(original.end, Offset((1 << 33) + batch.records.len() as u64));
            let from_frames = served(&stored(decoded, 1 << 33));
            let from_original = read(&original.bytes).expect("readable");
            assert_eq!(
                from_original[0].records, from_frames[0].records,
                "seed {seed}, {codec}"
            );
            assert_eq!(from_original[0].header.leader_epoch, 6);
        }
    }
}

#[test]
fn a_compacted_batch_keeps_its_ends_and_gaps() {
    let records = (0..10).map(|_| plain(b"value")).collect();
    let batch = WireBatch::of(records).with_producer(2, 0, 40);
    let bytes = stored(decoded(&write(&batch, Codec::None)).expect("accepted"), 100);
    let compacted = parsed(&bytes)
        .retain(Some(77), |frame| [103, 104, 107].contains(&frame.offset.0))
        .expect("verified");
    let got = &served(&compacted)[0];
    let offsets: Vec<_> = got.records.iter().map(|record| record.offset).collect();
    assert_eq!(offsets, [103, 104, 107]);
    assert_eq!((got.header.base_offset, got.end_offset()), (100, 110));
    assert_eq!(
        (got.header.base_sequence, got.header.base_timestamp),
        (40, 77)
    );
    assert!(got.records.iter().all(|record| record.timestamp == 1_000));
    let nothing = parsed(&compacted)
        .retain(Some(77), |_| false)
        .expect("verified");
    let got = &served(&nothing)[0];
    assert_eq!((got.header.base_offset, got.end_offset()), (100, 110));
    assert_eq!((got.records.len(), got.header.producer_id), (0, 2));
}

#[test]
fn a_placeholder_is_served_as_a_batch_without_records() {
    let mut staged = StagedBatch::marker(BatchKind::Placeholder, 5);
    staged.assign(Offset(8), LeaderEpoch(1));
    let got = &served(staged.bytes())[0];
    assert_eq!(
        (got.header.base_offset, got.end_offset(), got.records.len()),
        (8, 9, 0)
    );
}

#[test]
fn no_changed_byte_of_a_frame_is_served() {
    let mut random = ChaCha8Rng::seed_from_u64(21);
    let mut big = any_record(&mut random, 100);
    big.value = Some(Bytes::from(vec![1; 700]));
    let batch = WireBatch::of(vec![big.clone(), any_record(&mut random, 50), big]);
    let bytes = stored(decoded(&write(&batch, Codec::None)).expect("accepted"), 100);
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let Ok(Some(batch)) = StoredBatch::parse(&flipped, Position(0)) else {
            continue;
        };
        let mut out = BytesMut::new();
        let got = encode(&batch, Offset(0), usize::MAX, &mut out);
        assert!(got.is_err() && out.is_empty(), "bit {bit} was served");
    }
}
