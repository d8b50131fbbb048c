//! When a segment is rolled, and what that leaves.

use super::*;
use crate::AppendError;

fn starts(log: &TestLog) -> Vec<(u64, u64)> {
    log.segments()
        .map(|segment| (segment.no.0, segment.start.0))
        .collect()
}

#[test]
fn a_batch_that_would_pass_the_limit_goes_to_the_next_segment() {
    let rt = TestRuntime::new(1);
    let mut log = create(&rt);
    append_until_rolled(&mut log, 2);
    for segment in log.segments() {
        assert!(segment.bytes <= config().segment_bytes, "{segment:?}");
    }
    assert_eq!(records(&log).len() as u64, log.end().0);
}

#[test]
fn a_batch_larger_than_a_segment_gets_one_of_its_own() {
    let rt = TestRuntime::new(1);
    let mut log = create(&rt);
    let large = "x".repeat(4000);
    append(&mut log, &["a"]);
    assert!(append(&mut log, &[&large]).rolled);
    assert!(append(&mut log, &["b"]).rolled);
    assert_eq!(starts(&log), [(0, 0), (1, 1), (2, 2)]);
    assert_eq!(values(&log), ["a", &large, "b"]);
}

#[test]
fn a_nearly_full_segment_rolls_once_10_000_offsets_were_written() {
    let rt = TestRuntime::new(1);
    let config = LogConfig {
        segment_bytes: 1_000_000,
        ..config()
    };
    let mut log = Log::create(&rt, None, &name(), TOPIC, config, NOW_MS).expect("a new folder");
    let values = vec!["a value of forty-five bytes, as long as this."; 2500];
    for _ in 0..4 {
        log.append(&mut batch(&values), LeaderEpoch(0), NOW_MS)
            .expect("space");
    }
    let bytes = log.size();
    assert!(
        (900_000..990_000).contains(&bytes),
        "the test needs a nearly full segment: {bytes}"
    );
    assert!(append(&mut log, &["small"]).rolled);
}

#[test]
fn records_far_apart_in_time_are_not_in_one_segment() {
    let rt = TestRuntime::new(1);
    let mut log = create(&rt);
    let week_ms = config().segment_ms as i64;
    log.append(&mut batch_at(&["1970"], 5), LeaderEpoch(0), NOW_MS)
        .expect("space");
    let at_limit = log.append(&mut batch_at(&["b"], 5 + week_ms), LeaderEpoch(0), NOW_MS);
    assert!(!at_limit.expect("space").rolled);
    let past = log.append(&mut batch_at(&["c"], 6 + week_ms), LeaderEpoch(0), NOW_MS);
    assert!(past.expect("space").rolled);
}

#[test]
fn an_idle_log_rolls_by_the_clock_once_and_only_when_it_has_records() {
    let rt = TestRuntime::new(1);
    let mut log = create(&rt);
    let due_ms = NOW_MS + config().segment_ms as i64;
    assert_eq!(log.roll_if_idle(due_ms * 2), Ok(false));
    append(&mut log, &["a"]);
    assert_eq!(log.roll_if_idle(due_ms - 1), Ok(false));
    assert_eq!(log.roll_if_idle(due_ms), Ok(true));
    assert_eq!(log.roll_if_idle(due_ms * 2), Ok(false));
    assert_eq!(starts(&log), [(0, 0), (1, 1)]);
    assert_eq!(
        log.due(due_ms),
        Some(10 + config().retention_ms.expect("a limit") as i64)
    );
}

#[test]
fn a_full_disk_refuses_the_roll_and_changes_nothing() {
    let rt = TestRuntime::new(1);
    let mut log = create(&rt);
    append(&mut log, &["a"]);
    rt.disk().set_free(10);
    assert!(matches!(log.roll(NOW_MS), Err(AppendError::Full(_))));
    assert_eq!((log.segments().count(), log.end()), (1, Offset(1)));
    rt.disk().set_free(u64::MAX);
    assert_eq!(log.roll(NOW_MS), Ok(true));
    append(&mut log, &["b"]);
    assert_eq!(values(&log), ["a", "b"]);
}

#[test]
fn numbers_of_segments_are_never_used_again() {
    let rt = TestRuntime::new(1);
    let mut log = create_synced(&rt);
    append_until_rolled(&mut log, 3);
    log.truncate_to(Offset(1), NOW_MS).expect("the disk cuts");
    assert_eq!(log.segments().last().expect("one").no.0, 4);
    sync(&rt, &mut log);
    let checkpoint = log.checkpoint();
    drop(log);
    let rt = rt.kill();
    let (mut log, _) = open(&rt, Some(checkpoint), false);
    sync(&rt, &mut log);
    append_until_rolled(&mut log, 1);
    assert_eq!(log.segments().last().expect("one").no.0, 5);
}
