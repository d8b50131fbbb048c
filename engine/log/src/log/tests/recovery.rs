//! Opening a log after a stop, a kill and a power loss.

use super::*;
use highwater_runtime::{Disk, File};
use highwater_sim_disk::Tear;

const NOTHING_KEPT: Tear = Tear {
    unit: 512,
    keep_percent: 0,
};

fn clean_stop(rt: &TestRuntime, mut log: TestLog) -> LogCheckpoint {
    sync(rt, &mut log);
    log.close();
    sync(rt, &mut log);
    let checkpoint = log.checkpoint();
    assert!(checkpoint.clean);
    checkpoint
}

#[test]
fn after_a_clean_stop_nothing_is_scanned_and_everything_is_known() {
    let rt = TestRuntime::new(1);
    let mut log = create_synced(&rt);
    for sequence in 0..7 {
        let mut batch = batch_of(5, 0, sequence, &["some value of a usual length"]);
        log.append(&mut batch, LeaderEpoch(0), NOW_MS)
            .expect("space");
    }
    append_until_rolled(&mut log, 1);
    let (before, end) = (records(&log), log.end());
    let checkpoint = clean_stop(&rt, log);
    let (mut log, report) = open(&rt.kill(), Some(checkpoint), true);
    assert!(report.clean && !report.is_notable(), "{report}");
    assert_eq!((report.scanned_bytes, report.batches_replayed), (0, 0));
    assert_eq!((records(&log), log.end(), log.synced()), (before, end, end));
    let again = log.append(&mut batch_of(5, 0, 2, &["x"]), LeaderEpoch(0), NOW_MS);
    assert!(again.expect("the third last of seven").duplicate);
    assert_eq!(append(&mut log, &["next"]).base, end);
}

#[test]
fn without_the_marker_only_what_lies_behind_the_checkpoint_is_scanned() {
    let rt = TestRuntime::new(1);
    let mut log = create_synced(&rt);
    append_until_rolled(&mut log, 2);
    sync(&rt, &mut log);
    let checkpoint = log.checkpoint();
    let len = append_len(&mut log);
    let end = log.end();
    drop(log);
    let (log, report) = open(&rt.kill(), Some(checkpoint), false);
    assert_eq!((report.scanned_bytes, report.rescued_bytes), (len, len));
    assert_eq!((log.end(), log.synced()), (end, checkpoint.synced));
}

fn append_len(log: &mut TestLog) -> u64 {
    let before = log.size();
    append(log, &["one more"]);
    log.size() - before
}

#[test]
fn a_kill_loses_nothing_that_was_in_the_page_cache() {
    let rt = TestRuntime::new(1);
    let mut log = create(&rt);
    append_until_rolled(&mut log, 2);
    let before = records(&log);
    drop(log);
    let (log, report) = open(&rt.kill(), None, false);
    assert_eq!((records(&log), report.cut_bytes), (before, 0));
}

#[test]
fn a_power_loss_keeps_what_was_synced_and_whole_batches_of_the_rest() {
    for seed in 0..200 {
        let rt = TestRuntime::new(seed);
        let mut log = create_synced(&rt);
        append_until_rolled(&mut log, 1);
        sync(&rt, &mut log);
        append_until_rolled(&mut log, 1);
        append(&mut log, &["x", "y"]);
        let (before, synced) = (records(&log), log.synced());
        drop(log);
        let unit = [1, 7, 64, 512, 4096][seed as usize % 5];
        let rt = rt.power_loss(Tear {
            unit,
            keep_percent: 60,
        });
        let (mut log, _) = open(&rt, None, false);
        let after = records(&log);
        assert!(
            log.end() >= synced,
            "seed {seed}: {} of {synced}",
            log.end()
        );
        assert_eq!(after, before[..after.len()], "seed {seed}");
        append(&mut log, &["next"]);
        sync(&rt, &mut log);
        assert_no_violations(&rt);
    }
}

#[test]
fn a_tail_of_zeros_and_a_torn_batch_are_cut_at_the_batch_start() {
    for tail in [&[0u8; 700][..], &[7u8; 3][..], &[0u8; 5][..]] {
        let rt = TestRuntime::new(1);
        let mut log = create(&rt);
        append(&mut log, &["a", "b"]);
        drop(log);
        let rt = rt.kill();
        let file = rt.disk().open("orders-0/0.msg").expect("the segment");
        file.append(&[tail]).expect("space");
        let (log, report) = open(&rt, None, false);
        assert_eq!(
            (log.end(), report.cut_bytes),
            (Offset(2), tail.len() as u64)
        );
    }
}

#[test]
fn a_log_cut_at_every_byte_opens_with_the_whole_batches_before_the_cut() {
    let whole = {
        let rt = TestRuntime::new(1);
        let mut log = create(&rt);
        for values in [&["a"][..], &["b", "c"], &["d"]] {
            append(&mut log, values);
        }
        rt.disk().read("orders-0/0.msg").expect("the segment")
    };
    let mut ends = Vec::new();
    for cut in 0..=whole.len() {
        let rt = TestRuntime::new(1);
        rt.disk().create_dir("orders-0").expect("an empty disk");
        let file = rt.disk().create("orders-0/0.msg").expect("an empty folder");
        file.append(&[&whole[..cut]]).expect("space");
        drop(file);
        let (mut log, _) = open(&rt, None, false);
        ends.push(log.end().0);
        let next = log.end();
        assert_eq!(append(&mut log, &["next"]).base, next, "cut at {cut}");
        assert_eq!(records(&log).len() as u64, log.end().0, "cut at {cut}");
        sync(&rt, &mut log);
    }
    assert!(ends.is_sorted());
    assert_eq!(
        (ends[0], ends[whole.len() - 1], ends[whole.len()]),
        (0, 3, 4)
    );
}

#[test]
fn a_lost_synced_tail_is_reported_and_its_offsets_are_not_given_again() {
    let rt = TestRuntime::new(1);
    let mut log = create(&rt);
    append(&mut log, &["a", "b"]);
    append(&mut log, &["c"]);
    sync(&rt, &mut log);
    let checkpoint = log.checkpoint();
    drop(log);
    let rt = rt.kill();
    let file = rt.disk().open("orders-0/0.msg").expect("the segment");
    file.truncate(file.len() - 3).expect("a cut");
    let (mut log, report) = open(&rt, Some(checkpoint), false);
    assert_eq!(report.missing, Some((Offset(2), Offset(3))));
    assert_eq!(append(&mut log, &["d"]).base, Offset(3));
    assert!(matches!(
        log.read(Offset(2), log.end(), 100, true),
        Err(crate::ReadError::Missing {
            offset: Offset(2),
            ..
        })
    ));
    assert_eq!(
        log.read(Offset(3), log.end(), 100, true)
            .expect("there")
            .end,
        Offset(4)
    );
}

#[test]
fn an_empty_log_behind_its_start_goes_on_at_its_start() {
    let rt = TestRuntime::new(1);
    let mut log = create_synced(&rt);
    append(&mut log, &["a", "b"]);
    let checkpoint = LogCheckpoint {
        log_start: Offset(2),
        ..log.checkpoint()
    };
    assert_eq!(checkpoint.synced, Offset(0));
    drop(log);
    let (log, _) = open(&rt.power_loss(NOTHING_KEPT), Some(checkpoint), false);
    assert_eq!((log.start(), log.end()), (Offset(2), Offset(2)));
}

#[test]
fn a_sync_that_failed_before_the_crash_costs_nothing_that_is_acknowledged_after_it() {
    for seed in 0..50 {
        let rt = TestRuntime::new(seed);
        let mut log = create_synced(&rt);
        append(&mut log, &["synced"]);
        sync(&rt, &mut log);
        let checkpoint = log.checkpoint();
        append(&mut log, &["in the page cache only"]);
        rt.disk().fail_syncs(1);
        let job = log.begin_sync().expect("a record is not durable");
        let error = rt.block_on(job.run()).expect_err("the sync fails");
        log.fail(error);
        drop(log);
        let rt = rt.kill();
        let (mut log, report) = open(&rt, Some(checkpoint), false);
        assert!(report.rescued_bytes > 0);
        sync(&rt, &mut log);
        assert_eq!(log.synced(), Offset(2));
        let checkpoint = log.checkpoint();
        drop(log);
        let (log, _) = open(&rt.power_loss(NOTHING_KEPT), Some(checkpoint), false);
        assert_eq!(
            values(&log),
            ["synced", "in the page cache only"],
            "seed {seed}"
        );
    }
}

#[test]
fn a_kill_before_the_rescue_is_durable_keeps_what_was_appended_to_it() {
    let rt = TestRuntime::new(1);
    let mut log = create_synced(&rt);
    append(&mut log, &["a"]);
    let checkpoint = log.checkpoint();
    drop(log);
    let rt = rt.kill();
    let (mut log, _) = open(&rt, Some(checkpoint), false);
    append(&mut log, &["b"]);
    drop(log);
    let rt = rt.kill();
    let (mut log, _) = open(&rt, Some(checkpoint), false);
    append(&mut log, &["c"]);
    sync(&rt, &mut log);
    assert_eq!(values(&log), ["a", "b", "c"]);
    let entries = rt.disk().list("orders-0").expect("the folder");
    assert!(
        entries.iter().all(|entry| !entry.name.ends_with(".rescue")),
        "{entries:?}"
    );
    assert_no_violations(&rt);
}

#[test]
fn a_start_on_a_full_disk_works() {
    let rt = TestRuntime::new(1);
    let mut log = create_synced(&rt);
    append(&mut log, &["a"]);
    let checkpoint = log.checkpoint();
    drop(log);
    let rt = rt.kill();
    rt.disk().set_free(0);
    let (mut log, report) = open(&rt, Some(checkpoint), false);
    assert!(report.rescue_skipped);
    sync(&rt, &mut log);
    assert_eq!(
        (values(&log), log.synced()),
        (vec!["a".to_owned()], Offset(1))
    );
}
