//! Producer state: every case of rules 72-80, and the snapshot's bytes.

use highwater_record::{BatchFacts, BatchHead, BatchKind, Producer};
use highwater_types::LeaderEpoch;

use super::*;

const DAY_MS: u64 = 86_400_000;

fn head(id: i64, epoch: i16, sequence: i32, base: u64, count: u32) -> BatchHead {
    let facts = BatchFacts {
        kind: BatchKind::Records,
        base_delta: 0,
        last_delta: count - 1,
        record_count: count,
        frames_len: 100,
        leader_epoch: LeaderEpoch(0),
        attributes: 0,
        max_timestamp: base as i64,
        producer: Some(Producer {
            id: ProducerId(id),
            epoch: ProducerEpoch(epoch),
            base_sequence: sequence,
        }),
        delete_horizon: None,
    };
    BatchHead {
        first_offset: Offset(base),
        facts,
    }
}

/// Checks a batch against `table` whose log ends at `end`; `Ok(Some(base))` is a duplicate.
fn check(table: &Producers, head: &BatchHead, end: u64) -> Result<Option<u64>, ProducerRefusal> {
    let batch = incoming(&head.facts).expect("the test batch has a producer");
    match table.check(&batch, Offset(end), 0, DAY_MS)? {
        Verdict::New => Ok(None),
        Verdict::Duplicate(old) => Ok(Some(old.base_offset.0)),
    }
}

fn table_of(batches: &[(i16, i32, u64, u32)]) -> Producers {
    let mut table = Producers::default();
    for (epoch, sequence, base, count) in batches {
        table.appended(&head(7, *epoch, *sequence, *base, *count), 0);
    }
    table
}

#[test]
fn a_never_written_partition_takes_only_sequence_0() {
    let table = Producers::default();
    assert_eq!(check(&table, &head(7, 0, 0, 0, 1), 0), Ok(None));
    let refusal = check(&table, &head(7, 0, 3, 0, 1), 0).unwrap_err();
    assert!(matches!(
        refusal,
        ProducerRefusal::OutOfOrder {
            expected: 0,
            got: 3,
            ..
        }
    ));
    assert_eq!(check(&table, &head(7, 0, 3, 0, 1), 1), Ok(None));
}

#[test]
fn exactly_the_last_five_batches_are_duplicates() {
    let batches: Vec<_> = (0..7).map(|i| (0, i * 2, i as u64 * 2, 2)).collect();
    let table = table_of(&batches);
    for i in 2..7 {
        let again = head(7, 0, i * 2, 99, 2);
        assert_eq!(check(&table, &again, 14), Ok(Some(i as u64 * 2)));
    }
    assert!(
        check(&table, &head(7, 0, 2, 99, 2), 14).is_err(),
        "older than the window"
    );
    assert!(
        check(&table, &head(7, 0, 12, 99, 1), 14).is_err(),
        "half of a remembered batch"
    );
    assert!(check(&table, &head(7, 0, 15, 99, 1), 14).is_err(), "a gap");
    assert_eq!(check(&table, &head(7, 0, 14, 99, 1), 14), Ok(None));
}

#[test]
fn sequences_wrap_to_0() {
    let table = table_of(&[(0, i32::MAX - 1, 0, 2)]);
    assert_eq!(check(&table, &head(7, 0, 0, 2, 1), 2), Ok(None));
    let table = table_of(&[(0, i32::MAX, 0, 3)]);
    assert_eq!(
        check(&table, &head(7, 0, 2, 2, 1), 3),
        Ok(None),
        "a batch across the wrap"
    );
}

#[test]
fn a_newer_epoch_starts_at_0_and_an_older_one_is_refused() {
    let table = table_of(&[(3, 0, 0, 2)]);
    assert_eq!(check(&table, &head(7, 4, 0, 2, 1), 2), Ok(None));
    assert!(check(&table, &head(7, 4, 2, 2, 1), 2).is_err());
    let refusal = check(&table, &head(7, 2, 2, 2, 1), 2).unwrap_err();
    assert!(matches!(
        refusal,
        ProducerRefusal::OldEpoch {
            current: ProducerEpoch(3),
            ..
        }
    ));
}

#[test]
fn epoch_minus_1_is_not_checked_for_order() {
    let table = table_of(&[(-1, 5, 0, 1)]);
    assert_eq!(check(&table, &head(7, -1, 50, 1, 1), 1), Ok(None));
    assert_eq!(check(&table, &head(7, 2, 9, 1, 1), 1), Ok(None));
}

#[test]
fn a_marker_raises_the_epoch_and_leaves_no_batch() {
    let mut table = table_of(&[(0, 0, 0, 2)]);
    table.appended(&head(7, 1, -1, 2, 1), 0);
    let (_, entry) = table.iter().next().expect("the producer is known");
    assert_eq!((entry.epoch, entry.batches().len()), (ProducerEpoch(1), 0));
    assert_eq!(check(&table, &head(7, 1, 0, 3, 1), 3), Ok(None));
    assert!(check(&table, &head(7, 1, 2, 3, 1), 3).is_err());
}

#[test]
fn an_idle_producer_is_forgotten_by_the_brokers_clock() {
    let mut table = table_of(&[(0, 0, 0, 2)]);
    let late = DAY_MS as i64 + 1;
    let gap = incoming(&head(7, 0, 9, 2, 1).facts).expect("the test batch has a producer");
    assert_eq!(table.check(&gap, Offset(2), late, DAY_MS), Ok(Verdict::New));
    assert_eq!(table.expire(late - 1, DAY_MS), 0);
    assert_eq!(table.expire(late, DAY_MS), 1);
    assert!(table.is_empty());
}

#[test]
fn a_snapshot_keeps_everything_and_notices_every_damage() {
    let batches: Vec<_> = (0..6).map(|i| (4, i, i as u64, 1)).collect();
    let mut table = table_of(&batches);
    table.appended(&head(9, -1, -1, 6, 1), 55);
    let bytes = encode(&table, Offset(7), 0xfeed);
    let snapshot = Snapshot {
        offset: Offset(7),
        print: 0xfeed,
        producers: table,
    };
    assert_eq!(decode(&bytes), Some(snapshot));
    for cut in 0..bytes.len() {
        assert_eq!(decode(&bytes[..cut]), None, "cut at {cut}");
    }
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes.to_vec();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(decode(&flipped), None, "bit {bit}");
    }
}
