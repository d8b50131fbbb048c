//! Disks that refuse: every error path of the steps.

use super::*;
use crate::{AppendError, LogError, ReadError};
use highwater_runtime::{Disk, DiskErrorKind};

#[test]
fn a_full_disk_refuses_the_append_and_takes_it_again_later() {
    let rt = TestRuntime::new(1);
    let mut log = create_synced(&rt);
    append(&mut log, &["a"]);
    rt.disk().set_free(20);
    let mut batch = batch_of(5, 0, 0, &["b"]);
    let refused = log.append(&mut batch, LeaderEpoch(0), NOW_MS);
    assert!(matches!(refused, Err(AppendError::Full(_))), "{refused:?}");
    assert_eq!((log.end(), log.producers().count()), (Offset(1), 0));
    rt.disk().set_free(u64::MAX);
    let taken = log
        .append(&mut batch, LeaderEpoch(0), NOW_MS)
        .expect("space");
    assert_eq!((taken.base, taken.duplicate), (Offset(1), false));
    sync(&rt, &mut log);
    assert_eq!(values(&log), ["a", "b"]);
}

#[test]
fn a_failed_append_takes_the_log_offline_and_synced_records_stay_readable() {
    let rt = TestRuntime::new(1);
    let mut log = create_synced(&rt);
    append(&mut log, &["a"]);
    sync(&rt, &mut log);
    append(&mut log, &["b"]);
    rt.disk().fail_appends(1);
    let failed = log.append(&mut batch(&["c"]), LeaderEpoch(0), NOW_MS);
    assert!(matches!(failed, Err(AppendError::Failed(_))), "{failed:?}");
    let again = log.append(&mut batch(&["c"]), LeaderEpoch(0), NOW_MS);
    assert!(
        matches!(again, Err(AppendError::Failed(_))),
        "nothing is tried again"
    );
    assert!(log.begin_sync().is_none() && log.failure().is_some() && log.due(NOW_MS).is_none());
    assert!(matches!(
        log.truncate_to(Offset(0), NOW_MS),
        Err(LogError::Failed(_))
    ));
    assert!(matches!(log.roll(NOW_MS), Err(AppendError::Failed(_))));
    assert_eq!(records_below(&log, Offset(1)), [(0, "a".to_owned())]);
    let unsynced = log.read(Offset(1), Offset(9), 100, true).expect("in range");
    assert!(
        unsynced.bytes.is_empty(),
        "what is not on the platter is not served"
    );
    let checkpoint = log.checkpoint();
    assert!(!checkpoint.clean);
    drop(log);
    let (mut log, report) = open(&rt, Some(checkpoint), false);
    assert_eq!(values(&log), ["a", "b"], "{report}");
    sync(&rt, &mut log);
    append(&mut log, &["c"]);
    assert_eq!(values(&log), ["a", "b", "c"]);
}

#[test]
fn a_failed_sync_moves_nothing() {
    let rt = TestRuntime::new(1);
    let mut log = create_synced(&rt);
    append(&mut log, &["a"]);
    rt.disk().fail_syncs(1);
    let error = rt
        .block_on(log.begin_sync().expect("dirty").run())
        .expect_err("it fails");
    log.fail(error);
    assert_eq!(log.synced(), Offset(0));
    assert!(log.begin_sync().is_none());
}

#[test]
fn a_read_only_disk_refuses_everything_but_reads() {
    let rt = TestRuntime::new(1);
    let mut log = create_synced(&rt);
    append(&mut log, &["a"]);
    sync(&rt, &mut log);
    rt.disk().set_faults(|faults| faults.read_only = true);
    let failed = log.append(&mut batch(&["b"]), LeaderEpoch(0), NOW_MS);
    let Err(AppendError::Failed(error)) = failed else {
        panic!("{failed:?}")
    };
    assert_eq!(error.kind, DiskErrorKind::ReadOnly);
    assert_eq!(values(&log), ["a"]);
    let other = TopicPartition {
        topic: "other".into(),
        partition: 0,
    };
    assert!(Log::create(&rt, None, &other, TOPIC, config(), NOW_MS).is_err());
}

#[test]
fn a_failed_read_is_told_and_the_next_one_may_succeed() {
    let rt = TestRuntime::new(1);
    let mut log = create(&rt);
    append(&mut log, &["a"]);
    rt.disk().fail_reads(1);
    let failed = log.read(Offset(0), Offset(1), 100, true);
    assert!(matches!(failed, Err(ReadError::Disk(_))), "{failed:?}");
    assert_eq!(values(&log), ["a"]);
}

#[test]
fn a_failed_read_while_opening_is_told_and_changes_nothing() {
    let rt = TestRuntime::new(1);
    let mut log = create(&rt);
    append_until_rolled(&mut log, 1);
    let before = records(&log);
    drop(log);
    let mut failures = 0;
    for reads in 1..200 {
        // The read number `reads` fails: those before it succeed one by one.
        let rate = if reads % 2 == 0 { 30 } else { 200 };
        rt.disk()
            .set_faults(|faults| faults.read_fail_permille = rate);
        failures += usize::from(try_open(&rt, None, false).is_err());
    }
    rt.disk().set_faults(|faults| faults.read_fail_permille = 0);
    assert!(failures > 20, "{failures}");
    let (log, _) = open(&rt, None, false);
    assert_eq!(records(&log), before);
}

#[test]
fn opening_a_missing_folder_says_so() {
    let rt = TestRuntime::new(1);
    let error = try_open(&rt, None, false).err();
    let Some(LogError::Disk(error)) = error else {
        panic!("{error:?}")
    };
    assert_eq!(error.kind, DiskErrorKind::NotFound);
    assert!(!Log::exists(&rt, &name()).expect("the disk answers"));
    rt.disk().create_dir("orders-0").expect("space");
    assert!(!Log::exists(&rt, &name()).expect("the disk answers"));
    drop(create(&rt));
    assert!(Log::exists(&rt, &name()).expect("the disk answers"));
}

#[test]
fn truncation_on_a_full_disk_is_refused_whole() {
    let rt = TestRuntime::new(1);
    let mut log = create_synced(&rt);
    append_until_rolled(&mut log, 2);
    let before = records(&log);
    rt.disk().set_free(0);
    let refused = log.truncate_to(Offset(1), NOW_MS);
    assert!(matches!(refused, Err(LogError::Disk(_))), "{refused:?}");
    assert_eq!(records(&log), before);
    rt.disk().set_free(u64::MAX);
    assert_eq!(log.truncate_to(Offset(1), NOW_MS), Ok(Offset(1)));
    assert_eq!(records(&log), before[..1]);
}
