//! Appending and reading on a healthy disk.

use super::*;
use crate::{AppendError, LogError, ProducerRefusal, ReadError};

#[test]
fn append_gives_contiguous_offsets_and_read_gives_them_back() {
    let rt = TestRuntime::new(1);
    let mut log = create(&rt);
    assert_eq!(append(&mut log, &["a", "b"]).base, Offset(0));
    let appended = append(&mut log, &["c"]);
    assert_eq!(
        (appended.base, appended.end, appended.duplicate),
        (Offset(2), Offset(3), false)
    );
    let expected = [
        (0, "a".to_owned()),
        (1, "b".to_owned()),
        (2, "c".to_owned()),
    ];
    assert_eq!(records(&log), expected);
}

#[test]
fn read_begins_with_the_batch_that_holds_the_offset_and_stops_below_the_limit() {
    let rt = TestRuntime::new(1);
    let mut log = create(&rt);
    append(&mut log, &["a", "b"]);
    append(&mut log, &["c", "d"]);
    append(&mut log, &["e"]);
    let slice = log
        .read(Offset(1), Offset(4), 10_000, true)
        .expect("in range");
    assert_eq!((slice.base, slice.end), (Offset(0), Offset(4)));
    let slice = log
        .read(Offset(1), Offset(3), 10_000, true)
        .expect("in range");
    assert_eq!(
        (slice.base, slice.end),
        (Offset(0), Offset(2)),
        "half of a batch is not served"
    );
    assert!(
        log.read(Offset(2), Offset(3), 10_000, true)
            .expect("in range")
            .bytes
            .is_empty()
    );
    assert!(
        log.read(Offset(4), Offset(4), 10_000, true)
            .expect("in range")
            .bytes
            .is_empty()
    );
}

#[test]
fn read_respects_max_bytes_but_for_a_first_batch_when_asked() {
    let rt = TestRuntime::new(1);
    let mut log = create(&rt);
    let len = {
        append(&mut log, &["a"]);
        log.read(Offset(0), Offset(1), 10_000, true)
            .expect("in range")
            .bytes
            .len()
    };
    append(&mut log, &["b"]);
    append(&mut log, &["c"]);
    let read = |max, least| {
        log.read(Offset(0), Offset(3), max, least)
            .expect("in range")
            .end
            .0
    };
    assert_eq!(read(len - 1, false), 0);
    assert_eq!(read(len - 1, true), 1);
    assert_eq!(read(2 * len, false), 2);
    assert_eq!(read(3 * len - 1, false), 2);
    assert_eq!(read(3 * len, false), 3);
}

#[test]
fn read_outside_of_the_log_is_out_of_range() {
    let rt = TestRuntime::new(1);
    let mut log = create(&rt);
    append(&mut log, &["a", "b", "c"]);
    log.delete_before(Offset(2)).expect("below the end");
    for asked in [0, 1, 4] {
        let error = log.read(Offset(asked), Offset(9), 100, true).unwrap_err();
        let (start, end) = (Offset(2), Offset(3));
        assert_eq!(
            error,
            ReadError::OutOfRange {
                asked: Offset(asked),
                start,
                end
            }
        );
    }
    assert_eq!(records(&log), [(2, "c".to_owned())]);
}

#[test]
fn a_duplicate_is_answered_with_its_first_offsets() {
    let rt = TestRuntime::new(1);
    let mut log = create(&rt);
    let first = log.append(&mut batch_of(5, 0, 0, &["a", "b"]), LeaderEpoch(0), NOW_MS);
    let again = log.append(
        &mut batch_of(5, 0, 0, &["a", "b"]),
        LeaderEpoch(0),
        NOW_MS + 9,
    );
    let (first, again) = (first.expect("new"), again.expect("known"));
    assert!(again.duplicate && !first.duplicate);
    assert_eq!(
        (again.base, again.end, again.timestamp),
        (first.base, first.end, 10)
    );
    assert_eq!(log.end(), Offset(2));
    let gap = log.append(&mut batch_of(5, 0, 5, &["x"]), LeaderEpoch(0), NOW_MS);
    assert!(matches!(
        gap,
        Err(AppendError::Producer(ProducerRefusal::OutOfOrder { .. }))
    ));
}

#[test]
fn a_duplicate_is_recognised_after_its_records_were_deleted() {
    let rt = TestRuntime::new(1);
    let mut log = create_synced(&rt);
    log.append(&mut batch_of(5, 0, 0, &["a", "b"]), LeaderEpoch(0), NOW_MS)
        .expect("new");
    log.delete_before(Offset(2)).expect("the end");
    log.retain(Offset(2), NOW_MS);
    sync(&rt, &mut log);
    let checkpoint = log.checkpoint();
    drop(log);
    let (mut log, _) = open(&rt.kill(), Some(checkpoint), false);
    let again = log.append(&mut batch_of(5, 0, 0, &["a", "b"]), LeaderEpoch(0), NOW_MS);
    let again = again.expect("known");
    assert!(again.duplicate);
    assert_eq!(again.base, Offset(0));
}

#[test]
fn an_older_leader_is_refused() {
    let rt = TestRuntime::new(1);
    let mut log = create(&rt);
    log.become_leader(LeaderEpoch(3)).expect("newer");
    let refused = log.append(&mut batch(&["a"]), LeaderEpoch(2), NOW_MS);
    let (current, asked) = (LeaderEpoch(3), LeaderEpoch(2));
    assert_eq!(refused, Err(AppendError::StaleEpoch { current, asked }));
    assert!(log.become_leader(LeaderEpoch(2)).is_err());
}

#[test]
fn create_refuses_a_folder_with_files_and_open_one_of_another_topic() {
    let rt = TestRuntime::new(1);
    drop(create(&rt));
    assert!(Log::create(&rt, None, &name(), TOPIC, config(), NOW_MS).is_err());
    let topic_id = TopicId([8; 16]);
    let options = OpenOptions {
        topic_id,
        config: config(),
        clean: false,
        checkpoint: None,
    };
    let error = Log::open(&rt, None, &name(), options, NOW_MS).err();
    let folder = "orders-0".to_owned();
    assert_eq!(
        error,
        Some(LogError::OtherTopic {
            folder,
            found: TOPIC,
            expected: topic_id
        })
    );
}

#[test]
fn synced_moves_only_with_a_finished_job_and_one_job_is_under_way_at_a_time() {
    let rt = TestRuntime::new(1);
    let mut log = create(&rt);
    append(&mut log, &["a"]);
    let job = log.begin_sync().expect("a record is not durable");
    append(&mut log, &["b"]);
    assert!(log.begin_sync().is_none());
    assert_eq!((job.end(), log.synced()), (Offset(1), Offset(0)));
    let done = rt.block_on(job.run()).expect("the disk syncs");
    log.finish_sync(done);
    assert_eq!(log.synced(), Offset(1));
    sync(&rt, &mut log);
    assert_eq!(log.synced(), Offset(2));
    assert!(log.begin_sync().is_none(), "nothing is left to do");
}

#[test]
fn an_idle_log_takes_little_memory() {
    let rt = TestRuntime::new(1);
    let mut log = create_synced(&rt);
    append(&mut log, &["a"]);
    sync(&rt, &mut log);
    assert!(log.memory_bytes() <= 4096, "{} bytes", log.memory_bytes());
}
