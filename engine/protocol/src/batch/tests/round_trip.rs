//! What goes in comes out: from a producer into frames and to a consumer.

use super::*;

#[test]
fn everything_that_a_client_sets_comes_back_with_every_codec() {
    for seed in 0..400 {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let batch = any_batch(&mut random);
        let base = i64::from(random.next_u32());
        for codec in Codec::ALL {
            let wire = write(&batch, codec);
            let decoded = decoded(&wire).unwrap_or_else(|e| panic!("seed {seed}, {codec}: {e}"));
            assert_eq!(decoded.codec, codec);
            assert!(decoded.is_original, "seed {seed}");
            let bytes = stored(decoded, base as u64);
            let got = served(&bytes);
            let [got] = &got[..] else {
                panic!("seed {seed}: {} batches", got.len())
            };
            assert_eq!(
                got.records,
                expected_at(&batch, base),
                "seed {seed}, {codec}"
            );
            let expected = BatchHeader {
                base_offset: base,
                leader_epoch: 6,
                batch_len: got.header.batch_len,
                crc: got.header.crc,
                ..batch.header
            };
            assert_eq!(got.header, expected, "seed {seed}, {codec}");
        }
    }
}

#[test]
fn an_uncompressed_batch_is_served_with_the_same_bytes() {
    for seed in 0..100 {
        let batch = any_batch(&mut ChaCha8Rng::seed_from_u64(seed));
        let wire = write(&batch, Codec::None);
        let mut expected = wire.clone();
        original::patch(&mut expected, Offset(77), LeaderEpoch(6));
        let bytes = stored(decoded(&wire).expect("accepted"), 77);
        let mut out = BytesMut::new();
        encode(&parsed(&bytes), Offset(0), usize::MAX, &mut out).expect("not corrupt");
        assert_eq!(out, expected, "seed {seed}");
    }
}

#[test]
fn raw_snappy_is_read_as_the_framed_one() {
    let batch = any_batch(&mut ChaCha8Rng::seed_from_u64(5));
    let plain = write(&batch, Codec::None);
    let mut wire = BytesMut::from(&plain[..HEADER_BYTES]);
    wire.extend_from_slice(&super::super::write::snappy_raw(&plain[HEADER_BYTES..]));
    wire[22] |= 2;
    let wire = resealed(wire);
    let bytes = stored(decoded(&wire).expect("accepted"), 0);
    assert_eq!(served(&bytes)[0].records, expected_at(&batch, 0));
}

#[test]
fn concatenated_gzip_members_and_zstd_frames_are_read_to_the_end() {
    let records = (0..100).map(|_| plain(b"a value that repeats")).collect();
    let batch = WireBatch::of(records);
    let uncompressed = write(&batch, Codec::None);
    for codec in [Codec::Gzip, Codec::Zstd] {
        let (first, second) = uncompressed[HEADER_BYTES..].split_at(333);
        let mut wire = BytesMut::from(&uncompressed[..HEADER_BYTES]);
        for part in [first, second] {
            wire.extend_from_slice(&super::super::write::compress(part, codec));
        }
        wire[22] |= codec.wire() as u8;
        let bytes = stored(decoded(&resealed(wire)).expect("accepted"), 0);
        assert_eq!(served(&bytes)[0].records.len(), 100, "{codec}");
    }
}

#[test]
fn scratch_survives_a_batch_that_was_refused_half_way() {
    let records: Vec<_> = (0..2_000)
        .map(|_| plain(b"a value that repeats a bit"))
        .collect();
    let batch = WireBatch::of(records);
    let mut scratch = Scratch::new();
    for codec in Codec::ALL {
        let wire = write(&batch, codec);
        let mut broken = wire.clone();
        broken.truncate(wire.len() * 2 / 3);
        let broken = resealed(broken);
        assert!(decode(&broken, &LIMITS, &mut scratch).is_err(), "{codec}");
        let decoded = decode(&wire, &LIMITS, &mut scratch).expect("accepted");
        assert_eq!(
            served(&stored(decoded, 9))[0].records,
            expected_at(&batch, 9),
            "{codec}"
        );
    }
}

#[test]
fn the_message_crate_reads_what_we_serve() {
    use kafka_protocol::records::RecordBatchDecoder;
    for seed in 0..100 {
        let batch = any_batch(&mut ChaCha8Rng::seed_from_u64(seed));
        let base = 1_000;
        let bytes = stored(
            decoded(&write(&batch, Codec::None)).expect("accepted"),
            base,
        );
        let mut out = BytesMut::new();
        encode(&parsed(&bytes), Offset(0), usize::MAX, &mut out).expect("not corrupt");
        let Ok(set) = RecordBatchDecoder::decode(&mut out.freeze()) else {
            // The crate refuses what is legal: deltas of more than 32 bits, keys that are no text.
            continue;
        };
        for ((got, expected), offset) in set.records.iter().zip(&batch.records).zip(base..) {
            assert_eq!(got.offset as u64, offset, "seed {seed}");
            assert_eq!(got.timestamp, expected.timestamp, "seed {seed}");
            assert_eq!(got.key, expected.key, "seed {seed}");
            assert_eq!(got.value, expected.value, "seed {seed}");
        }
        assert_eq!(set.records.len(), batch.records.len());
    }
}
