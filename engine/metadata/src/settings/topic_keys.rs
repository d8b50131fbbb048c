//! Every setting that a topic can have.

use super::key::{Key, Synonym, int, key, long, same, scaled};
use super::kind::Kind;

const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 3_600_000;

pub(super) const TIMESTAMP_TYPE: Kind = Kind::Choice {
    acts: &["CreateTime", "LogAppendTime"],
    refused: &[],
};

pub(super) const DURABILITY: Kind = Kind::Choice {
    acts: &["fsync", "replicated"],
    refused: &[],
};

const ONLY_PRODUCER: &str = "only 'producer' acts: records are kept and served as the producer sent them, never recompressed";

pub(super) const COMPRESSION: Kind = Kind::Choice {
    acts: &["producer"],
    refused: &[
        ("uncompressed", ONLY_PRODUCER),
        ("gzip", ONLY_PRODUCER),
        ("snappy", ONLY_PRODUCER),
        ("lz4", ONLY_PRODUCER),
        ("zstd", ONLY_PRODUCER),
    ],
};

pub(super) const RETENTION_SYNONYMS: &[Synonym] = &[
    same("log.retention.ms"),
    scaled("log.retention.minutes", MINUTE_MS),
    scaled("log.retention.hours", HOUR_MS),
];

pub(super) const ROLL_SYNONYMS: &[Synonym] =
    &[same("log.roll.ms"), scaled("log.roll.hours", HOUR_MS)];

/// The topic keys, sorted by name.
pub static TOPIC_KEYS: &[Key] = &[
    key(
        "cleanup.policy",
        Kind::CleanupPolicy,
        Some("delete"),
        "What happens to old records: `delete` removes whole segments by `retention.ms` and `retention.bytes`; with nothing here all records stay. `compact` is refused; internal topics alone have it, and nothing in them expires.",
    )
    .synonyms(&[same("log.cleanup.policy")]),
    key(
        "compression.type",
        COMPRESSION,
        Some("producer"),
        "Only `producer` acts: every codec of a producer is accepted, and nothing is compressed again by the broker.",
    )
    .synonyms(&[same("compression.type")]),
    key(
        "durability",
        DURABILITY,
        Some("fsync"),
        "What an acknowledgement means. `fsync`: the records are on disk. `replicated`: the records are in the memory of the in-sync replicas and reach the disk within `log.flush.interval.ms`. Readers see a record when it is that safe. Ours, not Kafka's.",
    )
    .synonyms(&[same("durability")]),
    key(
        "file.delete.delay.ms",
        long(0),
        Some("60000"),
        "How long the files of a deleted segment stay on disk, for readers that are still at them.",
    )
    .synonyms(&[same("log.segment.delete.delay.ms")]),
    key(
        "index.interval.bytes",
        int(0),
        Some("4096"),
        "Bytes of log between two entries of the position index: smaller makes seeks shorter and the index larger.",
    )
    .synonyms(&[same("log.index.interval.bytes")]),
    key(
        "inflated.batch.bytes.max",
        int(1024),
        Some("33554432"),
        "The largest size of a batch after it is unpacked; a batch that unpacks to more is refused with MESSAGE_TOO_LARGE. Ours, not Kafka's.",
    )
    .synonyms(&[same("inflated.batch.bytes.max")]),
    key(
        "max.message.bytes",
        int(0),
        Some("1048588"),
        "The largest batch, in bytes as the producer sent it; a larger one is refused with MESSAGE_TOO_LARGE.",
    )
    .synonyms(&[same("message.max.bytes")]),
    key(
        "message.timestamp.after.max.ms",
        long(0),
        Some("3600000"),
        "How far a record's timestamp may be ahead of the broker's clock; further ahead is refused with INVALID_TIMESTAMP. Acts with CreateTime.",
    )
    .synonyms(&[same("log.message.timestamp.after.max.ms")]),
    key(
        "message.timestamp.before.max.ms",
        long(0),
        Some("9223372036854775807"),
        "How far a record's timestamp may be behind the broker's clock; further behind is refused with INVALID_TIMESTAMP. Acts with CreateTime.",
    )
    .synonyms(&[same("log.message.timestamp.before.max.ms")]),
    key(
        "message.timestamp.type",
        TIMESTAMP_TYPE,
        Some("CreateTime"),
        "Whose clock stamps records: `CreateTime` keeps the producer's timestamps, `LogAppendTime` replaces them by the broker's.",
    )
    .synonyms(&[same("log.message.timestamp.type")]),
    key(
        "min.insync.replicas",
        int(1),
        Some("1"),
        "How many in-sync replicas an `acks=all` produce needs; with fewer it is refused with NOT_ENOUGH_REPLICAS. A topic of fewer replicas needs all of them.",
    )
    .synonyms(&[same("min.insync.replicas")]),
    key(
        "retention.bytes",
        long(-1),
        Some("-1"),
        "The size of a partition beyond which its oldest segments are deleted; -1 for no limit.",
    )
    .synonyms(&[same("log.retention.bytes")]),
    key(
        "retention.ms",
        long(-1),
        Some("604800000"),
        "The age of a segment's newest record at which the segment is deleted; -1 for no limit.",
    )
    .synonyms(RETENTION_SYNONYMS),
    key(
        "segment.bytes",
        int(1 << 20),
        Some("1073741824"),
        "The size at which a segment is sealed and the next one starts; records are deleted a segment at a time.",
    )
    .aliases(&["max_segment_size"])
    .synonyms(&[same("log.segment.bytes")]),
    key(
        "segment.ms",
        long(1),
        Some("604800000"),
        "The time after which a segment that is not full is sealed, also when nobody writes any more.",
    )
    .synonyms(ROLL_SYNONYMS),
];
