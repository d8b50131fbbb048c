//! Tests of the log on a simulated disk; what they share.

mod basics;
mod crash;
mod damage;
mod dumps;
mod faults;
mod lookups;
mod model;
mod random_ops;
mod recovery;
mod retention;
mod rolling;

use highwater_record::{BatchBuilder, Flags, NewRecord, Producer, StagedBatch, StoredBatch};
use highwater_runtime::Runtime;
use highwater_sim_disk::TestRuntime;
use highwater_types::{
    LeaderEpoch, Offset, Position, ProducerEpoch, ProducerId, TopicId, TopicPartition,
};

use crate::{Appended, Log, LogCheckpoint, LogConfig, OpenOptions, RecoveryReport};

pub(super) type TestLog = Log<TestRuntime>;

pub(super) const TOPIC: TopicId = TopicId([7; 16]);
pub(super) const NOW_MS: i64 = 1_000_000;

pub(super) fn name() -> TopicPartition {
    TopicPartition {
        topic: "orders".into(),
        partition: 0,
    }
}

/// Small segments, so that a test reaches every border.
pub(super) fn config() -> LogConfig {
    LogConfig {
        segment_bytes: 1500,
        index_bytes: 200,
        file_delete_delay_ms: 0,
        ..<_>::default()
    }
}

pub(super) fn create(rt: &TestRuntime) -> TestLog {
    Log::create(rt, None, &name(), TOPIC, config(), NOW_MS).expect("a new folder")
}

/// A log whose folder is durable.
pub(super) fn create_synced(rt: &TestRuntime) -> TestLog {
    let mut log = create(rt);
    sync(rt, &mut log);
    log
}

pub(super) fn open(
    rt: &TestRuntime,
    checkpoint: Option<LogCheckpoint>,
    clean: bool,
) -> (TestLog, RecoveryReport) {
    try_open(rt, checkpoint, clean).expect("the log opens")
}

pub(super) fn try_open(
    rt: &TestRuntime,
    checkpoint: Option<LogCheckpoint>,
    clean: bool,
) -> Result<(TestLog, RecoveryReport), crate::LogError> {
    let options = OpenOptions {
        topic_id: TOPIC,
        config: config(),
        clean,
        checkpoint,
    };
    Log::open(rt, None, &name(), options, NOW_MS)
}

/// A batch of records with these values, all stamped `timestamp`.
pub(super) fn batch_at(values: &[&str], timestamp: i64) -> StagedBatch {
    build(values, timestamp, None)
}

pub(super) fn batch(values: &[&str]) -> StagedBatch {
    batch_at(values, 10)
}

/// A batch of an idempotent producer.
pub(super) fn batch_of(id: i64, epoch: i16, sequence: i32, values: &[&str]) -> StagedBatch {
    let producer = Producer {
        id: ProducerId(id),
        epoch: ProducerEpoch(epoch),
        base_sequence: sequence,
    };
    build(values, 10, Some(producer))
}

pub(super) fn build(values: &[&str], timestamp: i64, producer: Option<Producer>) -> StagedBatch {
    let mut builder = BatchBuilder::new(Flags::default(), 0, producer, 256);
    for value in values {
        let value = Some(value.as_bytes());
        builder.push(&NewRecord {
            timestamp,
            key: None,
            value,
            headers: &[],
        });
    }
    builder.finish()
}

pub(super) fn append(log: &mut TestLog, values: &[&str]) -> Appended {
    let epoch = log.epoch_newest().unwrap_or_default();
    log.append(&mut batch(values), epoch, NOW_MS)
        .expect("the disk takes it")
}

/// Appends until a segment was rolled `count` times more.
pub(super) fn append_until_rolled(log: &mut TestLog, count: usize) {
    let wanted = log.segments().count() + count;
    for _ in 0..1000 {
        if log.segments().count() >= wanted {
            return;
        }
        append(log, &["some value of a usual length"]);
    }
    panic!(
        "1,000 batches did not roll a segment of {} bytes",
        config().segment_bytes
    );
}

/// Runs sync jobs until nothing is left to do.
pub(super) fn sync(rt: &TestRuntime, log: &mut TestLog) {
    while let Some(job) = log.begin_sync() {
        let done = rt.block_on(job.run()).expect("the disk syncs");
        log.finish_sync(done);
    }
}

/// Every record from the log start to `limit`: offset and value.
pub(super) fn records_below(log: &TestLog, limit: Offset) -> Vec<(u64, String)> {
    let (mut at, mut out) = (log.start(), Vec::new());
    while at < limit {
        let slice = log.read(at, limit, 300, true).expect("the log is whole");
        assert!(
            slice.end > at,
            "a read at {at} below {limit} answers nothing"
        );
        out.extend(records_of(&slice.bytes, at));
        at = slice.end;
    }
    out
}

pub(super) fn records(log: &TestLog) -> Vec<(u64, String)> {
    records_below(log, log.end())
}

/// The records of whole batches from offset `from` on.
pub(super) fn records_of(mut bytes: &[u8], from: Offset) -> Vec<(u64, String)> {
    let mut out = Vec::new();
    while !bytes.is_empty() {
        let batch = StoredBatch::parse(bytes, Position(0))
            .expect("good")
            .expect("whole");
        for frame in batch.frames() {
            let frame = frame.expect("good");
            if frame.offset >= from {
                let value = frame.value.expect("the tests write no null");
                out.push((
                    frame.offset.0,
                    String::from_utf8(value.to_vec()).expect("text"),
                ));
            }
        }
        bytes = &bytes[batch.head.len()..];
    }
    out
}

/// Values of all records.
pub(super) fn values(log: &TestLog) -> Vec<String> {
    records(log).into_iter().map(|(_, value)| value).collect()
}

/// No rule of the disk was broken.
pub(super) fn assert_no_violations(rt: &TestRuntime) {
    let violations = rt.disk().take_violations();
    assert!(violations.is_empty(), "{violations:#?}");
}
