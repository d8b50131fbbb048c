//! Offsets by time and by epoch.

use super::*;
use crate::EpochEnd;

fn append_at(log: &mut TestLog, value: &str, timestamp: i64) {
    log.append(&mut batch_at(&[value], timestamp), LeaderEpoch(0), NOW_MS)
        .expect("space");
}

/// Offset and timestamp of the first record at or after `timestamp`.
fn by_time(log: &TestLog, timestamp: i64) -> Option<(u64, i64)> {
    let found = log
        .offset_for_time(timestamp, log.end())
        .expect("the log is whole");
    found.map(|(offset, timestamp, _)| (offset.0, timestamp))
}

/// A log over several segments whose timestamps go up and down, and the timestamps.
fn zigzag(rt: &TestRuntime) -> (TestLog, Vec<i64>) {
    let mut log = create(rt);
    let stamps: Vec<i64> = (0..120).map(|at| (at * 7919) % 1000 + at * 10).collect();
    for stamp in &stamps {
        append_at(&mut log, "some value of a usual length", *stamp);
    }
    assert!(log.segments().count() > 5);
    (log, stamps)
}

fn first_at(stamps: &[i64], timestamp: i64) -> Option<(u64, i64)> {
    let at = stamps.iter().position(|stamp| *stamp >= timestamp)?;
    Some((at as u64, stamps[at]))
}

#[test]
fn the_first_record_not_older_is_found_whatever_the_order_of_timestamps() {
    let (log, stamps) = zigzag(&TestRuntime::new(1));
    for timestamp in -1..2300 {
        assert_eq!(
            by_time(&log, timestamp),
            first_at(&stamps, timestamp),
            "at {timestamp}"
        );
    }
}

#[test]
fn lookups_are_the_same_after_a_restart_without_any_index() {
    let rt = TestRuntime::new(1);
    let (mut log, stamps) = zigzag(&rt);
    sync(&rt, &mut log);
    log.close();
    sync(&rt, &mut log);
    let checkpoint = log.checkpoint();
    drop(log);
    let (log, report) = open(&rt.kill(), Some(checkpoint), true);
    assert!(report.clean);
    for timestamp in (-1..2300).step_by(13) {
        assert_eq!(
            by_time(&log, timestamp),
            first_at(&stamps, timestamp),
            "at {timestamp}"
        );
    }
}

#[test]
fn a_lookup_by_time_looks_at_records_not_at_batches() {
    let mut log = create(&TestRuntime::new(1));
    let mut builder = BatchBuilder::new(Flags::default(), 0, None, 256);
    for timestamp in [5, 50, 20] {
        builder.push(&NewRecord {
            timestamp,
            key: None,
            value: Some(b"v"),
            headers: &[],
        });
    }
    log.append(&mut builder.finish(), LeaderEpoch(0), NOW_MS)
        .expect("space");
    assert_eq!(by_time(&log, 6), Some((1, 50)));
    assert_eq!(by_time(&log, 5), Some((0, 5)));
    assert_eq!(by_time(&log, 51), None);
    let below = log.offset_for_time(6, Offset(1)).expect("the log is whole");
    assert_eq!(below, None, "the answer is at the limit");
}

#[test]
fn lookups_by_time_are_clamped_to_the_log_start() {
    let mut log = create(&TestRuntime::new(1));
    append_at(&mut log, "a", 30);
    append_at(&mut log, "b", 20);
    append_at(&mut log, "c", 10);
    log.delete_before(Offset(1)).expect("below the end");
    assert_eq!(by_time(&log, 0), Some((1, 20)));
    let max = log.max_timestamp(log.end()).expect("the log is whole");
    assert_eq!(max, Some((Offset(1), 20, LeaderEpoch(0))));
}

#[test]
fn the_largest_timestamp_is_the_first_of_several_and_below_the_limit() {
    let (log, stamps) = zigzag(&TestRuntime::new(1));
    for limit in 0..=stamps.len() {
        let max = stamps[..limit].iter().max();
        let at = max.and_then(|max| stamps.iter().position(|stamp| stamp == max));
        let found = log
            .max_timestamp(Offset(limit as u64))
            .expect("the log is whole");
        assert_eq!(found.map(|found| found.0.0 as usize), at, "limit {limit}");
    }
    let mut log = create(&TestRuntime::new(1));
    for stamp in [5, 9, 9, 3] {
        append_at(&mut log, "v", stamp);
    }
    let found = log.max_timestamp(log.end()).expect("the log is whole");
    assert_eq!(found, Some((Offset(1), 9, LeaderEpoch(0))));
}

#[test]
fn records_without_timestamps_have_no_largest_one() {
    let mut log = create(&TestRuntime::new(1));
    append_at(&mut log, "v", -1);
    assert_eq!(log.max_timestamp(log.end()), Ok(None));
    assert_eq!(by_time(&log, 0), None);
}

#[test]
fn epochs_answer_where_they_end_also_after_the_log_start_moved() {
    let rt = TestRuntime::new(1);
    let mut log = create(&rt);
    for (epoch, value) in [(0, "a"), (0, "b"), (2, "c"), (5, "d")] {
        log.append(&mut batch(&[value]), LeaderEpoch(epoch), NOW_MS)
            .expect("space");
    }
    let ends = |log: &TestLog, asked| {
        log.end_offset_for(LeaderEpoch(asked))
            .map(|end: EpochEnd| (end.epoch.0, end.end_offset.0))
    };
    assert_eq!(ends(&log, 0), Some((0, 2)));
    assert_eq!(ends(&log, 1), Some((0, 2)));
    assert_eq!(ends(&log, 2), Some((2, 3)));
    assert_eq!(ends(&log, 5), Some((5, 4)));
    assert_eq!(ends(&log, 6), None);
    log.delete_before(Offset(3)).expect("below the end");
    assert_eq!(ends(&log, 1), Some((1, 3)));
    sync(&rt, &mut log);
    let checkpoint = log.checkpoint();
    drop(log);
    let (log, _) = open(&rt.kill(), Some(checkpoint), false);
    assert_eq!(ends(&log, 1), Some((1, 3)));
    assert_eq!(ends(&log, 5), Some((5, 4)));
    assert_eq!(log.epoch_at(Offset(3)), Some(LeaderEpoch(5)));
}
