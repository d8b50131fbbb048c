//! Damaged files: rebuilt when they are caches, told with their place when they are the log.

use super::*;
use highwater_runtime::{Disk, File, Kv};
use highwater_sim_disk::SimKv;

use crate::ReadError;

/// A synced log of some sealed segments; answers its records and checkpoint.
fn some_segments(rt: &TestRuntime) -> (Vec<(u64, String)>, LogCheckpoint) {
    let mut log = create_synced(rt);
    append_until_rolled(&mut log, 3);
    sync(rt, &mut log);
    (records(&log), log.checkpoint())
}

#[test]
fn damage_in_a_sealed_segment_is_told_with_its_place_and_the_rest_is_served() {
    let rt = TestRuntime::new(1);
    let (before, checkpoint) = some_segments(&rt);
    let rt = rt.kill();
    let (log, _) = open(&rt, Some(checkpoint), false);
    let second: Vec<_> = log.segments().skip(1).take(1).collect();
    let (from, to) = (second[0].start, second[0].end);
    drop(log);
    let rt = rt.kill();
    let at = second[0].bytes / 2;
    assert!(rt.disk().corrupt("orders-0/1.msg", at, 3));
    let (log, report) = open(&rt, Some(checkpoint), false);
    assert!(
        !report.is_notable(),
        "the segment was not scanned: {report}"
    );
    let (mut good, mut bad) = (0, 0);
    for offset in from.0..to.0 {
        match log.read(Offset(offset), to, 1, true) {
            Ok(slice) => {
                good += 1;
                assert_eq!(
                    records_of(&slice.bytes, slice.base)[0],
                    before[offset as usize]
                );
            }
            Err(ReadError::Corrupt { file, corrupt }) => {
                bad += 1;
                assert_eq!(file, "orders-0/1.msg");
                assert!(corrupt.at.0 <= at);
            }
            Err(error) => panic!("{error}"),
        }
    }
    assert!(bad >= 1 && good >= 1, "{good} good and {bad} bad");
    assert_eq!(records_below(&log, from), before[..from.0 as usize]);
    let slice = log
        .read(to, log.end(), 1, true)
        .expect("the next segment is good");
    assert_eq!(slice.base, to);
}

#[test]
fn a_flip_of_any_bit_of_a_sealed_segment_is_never_served() {
    let (before, checkpoint, len) = {
        let rt = TestRuntime::new(1);
        let mut log = create_synced(&rt);
        append(&mut log, &["a", "b"]);
        append(&mut log, &["c"]);
        log.roll(NOW_MS).expect("space");
        append(&mut log, &["d"]);
        sync(&rt, &mut log);
        (
            records(&log),
            log.checkpoint(),
            log.segments().next().expect("one").bytes,
        )
    };
    for bit in 0..len * 8 {
        let rt = TestRuntime::new(1);
        let mut log = create_synced(&rt);
        append(&mut log, &["a", "b"]);
        append(&mut log, &["c"]);
        log.roll(NOW_MS).expect("space");
        append(&mut log, &["d"]);
        sync(&rt, &mut log);
        drop(log);
        assert!(
            rt.disk()
                .corrupt("orders-0/0.msg", bit / 8, (bit % 8) as u8)
        );
        let rt = rt.kill();
        let Ok((log, _)) = try_open(&rt, Some(checkpoint), false) else {
            continue;
        };
        let mut at = Offset(0);
        while at < Offset(3) {
            match log.read(at, Offset(3), 100, true) {
                Ok(slice) => {
                    let from = at.0 as usize;
                    let got = records_of(&slice.bytes, at);
                    assert_eq!(got, before[from..from + got.len()], "bit {bit}");
                    at = slice.end;
                }
                Err(ReadError::Corrupt { .. } | ReadError::Missing { .. }) => at = at.plus(1),
                Err(error) => panic!("bit {bit}: {error}"),
            }
        }
        let tail = log
            .read(Offset(3), Offset(4), 100, true)
            .expect("the next segment is good");
        assert_eq!(records_of(&tail.bytes, Offset(3)), before[3..]);
    }
}

#[test]
fn a_damaged_header_below_the_checkpoint_costs_its_segment_only() {
    let rt = TestRuntime::new(1);
    let (before, checkpoint) = some_segments(&rt);
    let rt = rt.kill();
    assert!(rt.disk().corrupt("orders-0/1.msg", 40, 0));
    let (log, report) = open(&rt, Some(checkpoint), false);
    assert_eq!(report.broken_segments, ["orders-0/1.msg"]);
    let broken = log.segments().nth(1).expect("still listed");
    assert!(broken.broken);
    assert!(matches!(
        log.read(broken.start, log.end(), 100, true),
        Err(ReadError::Corrupt { .. })
    ));
    assert_eq!(
        records_below(&log, broken.start),
        before[..broken.start.0 as usize]
    );
    assert!(log.read(broken.end, log.end(), 100, true).is_ok());
}

#[test]
fn a_damaged_partition_meta_is_rebuilt_from_the_log() {
    let rt = TestRuntime::new(1);
    let mut log = create_synced(&rt);
    for epoch in [1, 4, 4, 9] {
        log.append(&mut batch(&["v"]), LeaderEpoch(epoch), NOW_MS)
            .expect("space");
        log.roll(NOW_MS).expect("space");
    }
    log.delete_before(Offset(2)).expect("below the end");
    sync(&rt, &mut log);
    let checkpoint = log.checkpoint();
    let ends: Vec<_> = (0..11)
        .map(|epoch| log.end_offset_for(LeaderEpoch(epoch)))
        .collect();
    drop(log);
    let rt = rt.kill();
    assert!(rt.disk().corrupt("orders-0/partition.meta", 9, 1));
    let (mut log, report) = open(&rt, Some(checkpoint), false);
    assert!(report.meta_rebuilt && report.epochs_rebuilt, "{report}");
    assert_eq!(log.start(), Offset(2));
    let after: Vec<_> = (0..11)
        .map(|epoch| log.end_offset_for(LeaderEpoch(epoch)))
        .collect();
    assert_eq!(after, ends);
    sync(&rt, &mut log);
    let checkpoint = log.checkpoint();
    drop(log);
    let (_, report) = open(&rt.kill(), Some(checkpoint), false);
    assert!(!report.is_notable(), "{report}");
}

#[test]
fn a_partition_meta_of_a_newer_release_is_refused() {
    let rt = TestRuntime::new(1);
    drop(create(&rt));
    let mut out = crate::coding::begin(*b"HWPM", 2);
    out.extend_from_slice(b"whatever");
    let file = rt
        .disk()
        .create("orders-0/partition.meta")
        .expect("none yet");
    file.append(&[&crate::coding::finish(out)]).expect("space");
    let error = try_open(&rt, None, false).err();
    let file = "orders-0/partition.meta".to_owned();
    assert_eq!(
        error,
        Some(crate::LogError::NewerFormat { file, version: 2 })
    );
}

#[test]
fn a_damaged_snapshot_is_replaced_by_an_older_one_and_a_longer_replay() {
    let rt = TestRuntime::new(1);
    let mut log = create_synced(&rt);
    for sequence in 0..60 {
        let mut batch = batch_of(5, 0, sequence, &["some value of a usual length"]);
        log.append(&mut batch, LeaderEpoch(0), NOW_MS)
            .expect("space");
    }
    sync(&rt, &mut log);
    log.close();
    sync(&rt, &mut log);
    let checkpoint = log.checkpoint();
    let producers: Vec<_> = log
        .producers()
        .map(|(id, entry)| (id, entry.clone()))
        .collect();
    drop(log);
    let rt = rt.kill();
    assert!(rt.disk().corrupt("orders-0/60.producers", 30, 1));
    let (log, report) = open(&rt, Some(checkpoint), true);
    assert_eq!(report.snapshots_dropped, 1);
    assert!(report.batches_replayed > 0);
    let after: Vec<_> = log
        .producers()
        .map(|(id, entry)| (id, entry.clone()))
        .collect();
    assert_eq!(after, producers);
}

#[test]
fn a_snapshot_of_a_tail_that_was_cut_and_rewritten_is_not_believed() {
    let rt = TestRuntime::new(1);
    let mut log = create_synced(&rt);
    log.append(&mut batch_of(5, 0, 0, &["a"]), LeaderEpoch(0), NOW_MS)
        .expect("space");
    log.close();
    let snapshot = rt
        .disk()
        .read("orders-0/1.producers")
        .expect("taken at the stop");
    log.truncate_to(Offset(0), NOW_MS).expect("the disk cuts");
    log.append(&mut batch_of(6, 0, 0, &["b"]), LeaderEpoch(0), NOW_MS)
        .expect("space");
    sync(&rt, &mut log);
    let checkpoint = log.checkpoint();
    drop(log);
    let rt = rt.kill();
    let file = rt
        .disk()
        .create("orders-0/1.producers")
        .expect("the cut removed it");
    file.append(&[&snapshot]).expect("space");
    let (log, report) = open(&rt, Some(checkpoint), false);
    assert_eq!(report.snapshots_dropped, 1);
    let ids: Vec<_> = log.producers().map(|(id, _)| id.0).collect();
    assert_eq!(ids, [6]);
}

/// A log with an index in a key store, reopened so that nothing of it is in memory.
fn with_kv(rt: &TestRuntime, change: impl FnOnce(&SimKv)) -> (TestLog, Vec<(u64, String)>) {
    let kv = rt.open_kv("index").expect("a new store");
    let config = LogConfig {
        segment_bytes: 400_000,
        ..config()
    };
    let value = "v".repeat(1000);
    let mut log =
        Log::create(rt, Some(&kv), &name(), TOPIC, config.clone(), NOW_MS).expect("a new folder");
    for at in 0..900 {
        log.append(&mut batch_at(&[&value], at), LeaderEpoch(0), NOW_MS)
            .expect("space");
    }
    sync(rt, &mut log);
    let (before, checkpoint) = (records(&log), log.checkpoint());
    drop(log);
    change(&kv);
    let options = OpenOptions {
        topic_id: TOPIC,
        config,
        clean: false,
        checkpoint: Some(checkpoint),
    };
    let (log, _) = Log::open(rt, Some(&kv), &name(), options, NOW_MS).expect("the log opens");
    (log, before)
}

#[test]
fn an_index_that_is_missing_or_wrong_changes_no_answer() {
    use highwater_runtime::KvOp;
    type Change = fn(&SimKv);
    let changes: [(&str, Change); 4] = [
        ("good", |_| {}),
        ("missing", |kv| {
            crate::forget_partition(kv, TOPIC, 0).expect("the store is good")
        }),
        ("positions off", |kv| {
            for (key, value) in kv.scan(&[0], &[255; 40], 1000).expect("the store is good") {
                let mut wrong = key.to_vec();
                let last = wrong.len() - 1;
                wrong[last] = wrong[last].wrapping_add(3);
                let put = KvOp::Put {
                    key: wrong.into(),
                    value,
                };
                kv.write(&[KvOp::Delete { key }, put])
                    .expect("the store is good");
            }
        }),
        ("offsets off", |kv| {
            for (key, value) in kv.scan(&[0], &[255; 40], 1000).expect("the store is good") {
                let mut wrong = value.to_vec();
                wrong[3] = wrong[3].wrapping_add(1);
                kv.write(&[KvOp::Put {
                    key,
                    value: wrong.into(),
                }])
                .expect("the store is good");
            }
        }),
    ];
    for (what, change) in changes {
        let rt = TestRuntime::new(1);
        let (log, before) = with_kv(&rt, change);
        for offset in (0..900).rev().step_by(7) {
            let slice = log
                .read(Offset(offset), log.end(), 5000, true)
                .expect("whole");
            let got = records_of(&slice.bytes, Offset(offset));
            let from = offset as usize;
            assert_eq!(
                got,
                before[from..from + got.len()],
                "{what}, offset {offset}"
            );
        }
        if what != "offsets off" {
            for time in (0..900).step_by(31) {
                let found = log.offset_for_time(time, log.end()).expect("whole");
                assert_eq!(found.map(|found| found.0.0), Some(time as u64), "{what}");
            }
        }
    }
}
