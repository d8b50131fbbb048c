//! Retention by time, size and log start; deleting records.

use super::*;
use highwater_runtime::Disk;

fn files(rt: &TestRuntime) -> Vec<String> {
    let entries = rt.disk().list("orders-0").expect("the folder is there");
    entries
        .into_iter()
        .map(|entry| entry.name)
        .filter(|name| name.ends_with(".msg"))
        .collect()
}

/// A log of four segments whose records are stamped 100 ms apart a segment.
fn four_segments(rt: &TestRuntime, change: impl FnOnce(&mut LogConfig)) -> TestLog {
    let mut config = LogConfig {
        retention_ms: None,
        ..config()
    };
    change(&mut config);
    let mut log = Log::create(rt, None, &name(), TOPIC, config, NOW_MS).expect("a new folder");
    for at in 0..4 {
        let mut batch = batch_at(&["a", "b"], NOW_MS + at * 100);
        log.append(&mut batch, LeaderEpoch(0), NOW_MS)
            .expect("space");
        if at < 3 {
            log.roll(NOW_MS + at * 100).expect("space");
        }
    }
    sync(rt, &mut log);
    log
}

#[test]
fn segments_go_when_their_newest_record_is_too_old_the_last_one_too() {
    let rt = TestRuntime::new(1);
    let mut log = four_segments(&rt, |config| config.retention_ms = Some(1000));
    assert_eq!(log.due(NOW_MS), Some(NOW_MS + 1000));
    assert_eq!(log.retain(log.end(), NOW_MS + 1000).segments, 0);
    assert_eq!(log.retain(log.end(), NOW_MS + 1101).segments, 2);
    assert_eq!(log.start(), Offset(4));
    let all = log.retain(log.end(), NOW_MS + 9000);
    assert_eq!((all.segments, all.rolled), (2, true));
    assert_eq!((log.start(), log.end()), (Offset(8), Offset(8)));
    assert_eq!(append(&mut log, &["next"]).base, Offset(8));
}

#[test]
fn nothing_at_or_above_the_limit_goes() {
    let rt = TestRuntime::new(1);
    let mut log = four_segments(&rt, |config| config.retention_ms = Some(1));
    assert_eq!(log.retain(Offset(3), NOW_MS + 9000).segments, 1);
    assert_eq!(log.start(), Offset(2));
}

#[test]
fn a_future_timestamp_keeps_its_segment_and_all_after_it() {
    let rt = TestRuntime::new(1);
    let config = LogConfig {
        retention_ms: Some(10),
        ..config()
    };
    let mut log = Log::create(&rt, None, &name(), TOPIC, config, NOW_MS).expect("a new folder");
    for stamp in [NOW_MS + 1_000_000, NOW_MS] {
        log.append(&mut batch_at(&["v"], stamp), LeaderEpoch(0), NOW_MS)
            .expect("space");
        log.roll(NOW_MS).expect("space");
    }
    assert_eq!(log.retain(log.end(), NOW_MS + 1000).segments, 0);
}

#[test]
fn records_without_timestamps_count_from_when_their_segment_was_sealed() {
    let rt = TestRuntime::new(1);
    let config = LogConfig {
        retention_ms: Some(10),
        ..config()
    };
    let mut log = Log::create(&rt, None, &name(), TOPIC, config, NOW_MS).expect("a new folder");
    log.append(&mut batch_at(&["v"], -1), LeaderEpoch(0), NOW_MS)
        .expect("space");
    log.roll(NOW_MS + 50).expect("space");
    assert_eq!(log.retain(log.end(), NOW_MS + 60).segments, 0);
    assert_eq!(log.retain(log.end(), NOW_MS + 61).segments, 1);
}

#[test]
fn the_log_stays_at_least_as_large_as_its_size_limit() {
    let rt = TestRuntime::new(1);
    let mut log = four_segments(&rt, |_| {});
    let segment = log.segments().next().expect("one").bytes;
    log.reconfigure(LogConfig {
        retention_bytes: Some(segment * 2 + 1),
        ..log.config().clone()
    });
    assert_eq!(log.retain(log.end(), NOW_MS).segments, 1);
    let idle_roll_ms = NOW_MS + config().segment_ms as i64;
    assert_eq!(
        log.due(NOW_MS),
        Some(idle_roll_ms),
        "size is not due any more"
    );
}

#[test]
fn deleted_records_stay_deleted_after_a_power_loss_once_synced() {
    let rt = TestRuntime::new(1);
    let mut log = four_segments(&rt, |_| {});
    let checkpoint = log.checkpoint();
    log.delete_before(Offset(5)).expect("below the end");
    sync(&rt, &mut log);
    drop(log);
    let rt = rt.power_loss(highwater_sim_disk::Tear {
        unit: 512,
        keep_percent: 0,
    });
    let (mut log, _) = open(&rt, Some(checkpoint), false);
    assert_eq!((log.start(), log.end()), (Offset(5), Offset(8)));
    assert!(log.delete_before(Offset(9)).is_err());
    assert_eq!(
        log.delete_before(Offset(2)),
        Ok(Offset(5)),
        "going back changes nothing"
    );
}

#[test]
fn files_go_only_after_the_new_log_start_is_durable_and_the_delay_is_over() {
    let rt = TestRuntime::new(1);
    let mut log = four_segments(&rt, |config| config.file_delete_delay_ms = 500);
    log.delete_before(Offset(4)).expect("below the end");
    assert_eq!(log.due(NOW_MS), Some(NOW_MS));
    let retained = log.retain(log.end(), NOW_MS);
    assert_eq!((retained.segments, retained.files), (2, 0));
    assert_eq!(
        log.retain(log.end(), NOW_MS + 500).files,
        0,
        "the log start is not durable"
    );
    sync(&rt, &mut log);
    assert_eq!(log.retain(log.end(), NOW_MS + 499).files, 0);
    assert_eq!(log.due(NOW_MS), Some(NOW_MS + 500));
    assert_eq!(log.retain(log.end(), NOW_MS + 500).files, 2);
    assert_eq!(files(&rt), ["2.msg", "3.msg"]);
}

#[test]
fn a_slice_read_before_its_segment_went_stays_readable() {
    let rt = TestRuntime::new(1);
    let mut log = four_segments(&rt, |_| {});
    let slice = log
        .read(Offset(0), log.end(), 1000, true)
        .expect("in range");
    log.delete_before(log.end()).expect("the end");
    log.retain(log.end(), NOW_MS);
    sync(&rt, &mut log);
    log.retain(log.end(), NOW_MS);
    assert_eq!(files(&rt), ["4.msg"]);
    assert_eq!(records_of(&slice.bytes, Offset(0)).len(), 2);
    assert_no_violations(&rt);
}

#[test]
fn on_a_full_disk_retention_still_frees_space() {
    let rt = TestRuntime::new(1);
    let mut log = four_segments(&rt, |_| {});
    rt.disk().set_free(0);
    log.delete_before(Offset(6)).expect("below the end");
    assert_eq!(log.retain(log.end(), NOW_MS).segments, 3);
    for _ in 0..5 {
        if let Some(job) = log.begin_sync() {
            let done = rt.block_on(job.run()).expect("a full disk is no failure");
            log.finish_sync(done);
        }
        log.retain(log.end(), NOW_MS);
    }
    assert_eq!(files(&rt), ["3.msg"]);
    assert!(!log.needs_sync());
}

#[test]
fn idle_sealed_segments_give_back_their_files_and_indexes() {
    let rt = TestRuntime::new(1);
    let mut log = four_segments(&rt, |_| {});
    log.release_idle();
    assert_eq!(log.release_idle(), 3);
    assert_eq!(records(&log).len(), 8);
}
