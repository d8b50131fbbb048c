//! Every setting that a broker can have, from a file, the command line or a running cluster.

use super::key::{Key, bool, int, key, long};
use super::kind::Kind;
use super::topic_keys::{
    COMPRESSION, DURABILITY, RETENTION_SYNONYMS, ROLL_SYNONYMS, TIMESTAMP_TYPE,
};

/// The broker keys, sorted by name.
pub static BROKER_KEYS: &[Key] = &[
    key(
        "advertised.listeners",
        Kind::Listeners,
        None,
        "The address that clients are told to connect to; without it, the bound address of `listeners`. Set it when clients reach the broker by another name.",
    )
    .at_start(),
    key(
        "auto.create.topics.enable",
        bool(),
        Some("true"),
        "Whether a client that asks for a topic that does not exist makes the broker create it, with `num.partitions` partitions.",
    ),
    key("compression.type", COMPRESSION, Some("producer"), "Default of the topic setting `compression.type`."),
    key(
        "connections.max.idle.ms",
        long(1),
        Some("600000"),
        "A connection without a request for this long is closed.",
    ),
    key(
        "data_dir",
        Kind::Text,
        Some("./highwater-data"),
        "The folder that holds everything the broker keeps.",
    )
    .aliases(&["data_fold", "log.dirs", "log.dir"])
    .at_start(),
    key(
        "default.replication.factor",
        int(1),
        Some("1"),
        "How many replicas the partitions of a new topic have when its creator does not say.",
    ),
    key(
        "delete.topic.enable",
        bool(),
        Some("true"),
        "Whether topics may be deleted; when false, DeleteTopics is refused with TOPIC_DELETION_DISABLED.",
    ),
    key("durability", DURABILITY, Some("fsync"), "Default of the topic setting `durability`."),
    key(
        "fetch.max.bytes",
        int(1024),
        Some("57671680"),
        "The largest answer to one Fetch, whatever the client asks; the first batch is always whole.",
    ),
    key(
        "group.initial.rebalance.delay.ms",
        int(0),
        Some("3000"),
        "How long the first join of an empty group waits for more members before the group starts.",
    ),
    key(
        "group.max.session.timeout.ms",
        int(1),
        Some("1800000"),
        "The largest session timeout that a group member may ask for.",
    ),
    key("group.max.size", int(1), Some("2147483647"), "The largest number of members of one group."),
    key(
        "group.min.session.timeout.ms",
        int(1),
        Some("6000"),
        "The smallest session timeout that a group member may ask for.",
    ),
    key(
        "inflated.batch.bytes.max",
        int(1024),
        Some("33554432"),
        "Default of the topic setting `inflated.batch.bytes.max`.",
    ),
    key(
        "listeners",
        Kind::Listeners,
        Some("PLAINTEXT://127.0.0.1:9092"),
        "The address to serve Kafka clients on; port 0 picks a free one.",
    )
    .at_start(),
    key("log.cleanup.policy", Kind::CleanupPolicy, Some("delete"), "Default of the topic setting `cleanup.policy`."),
    key(
        "log.flush.interval.ms",
        long(1),
        Some("1000"),
        "On topics with `durability=replicated`: how long written records may stay in memory before they are synced to disk.",
    ),
    key(
        "log.flush.offset.checkpoint.interval.ms",
        int(1),
        Some("2000"),
        "How often the place up to which every log is on disk is noted; a start after a crash reads the logs from there.",
    ),
    key("log.index.interval.bytes", int(0), Some("4096"), "Default of the topic setting `index.interval.bytes`."),
    key("log.message.timestamp.after.max.ms", long(0), Some("3600000"), "Default of the topic setting `message.timestamp.after.max.ms`."),
    key("log.message.timestamp.before.max.ms", long(0), Some("9223372036854775807"), "Default of the topic setting `message.timestamp.before.max.ms`."),
    key("log.message.timestamp.type", TIMESTAMP_TYPE, Some("CreateTime"), "Default of the topic setting `message.timestamp.type`."),
    key("log.retention.bytes", long(-1), Some("-1"), "Default of the topic setting `retention.bytes`."),
    key(
        "log.retention.check.interval.ms",
        long(1),
        Some("300000"),
        "How often the broker looks for segments that `retention.ms` or `retention.bytes` delete.",
    ),
    key("log.retention.hours", int(-1), Some("168"), "Default of the topic setting `retention.ms`, in hours; `log.retention.minutes` and `log.retention.ms` come before it.").synonyms(RETENTION_SYNONYMS),
    key("log.retention.minutes", int(-1), None, "Default of the topic setting `retention.ms`, in minutes; `log.retention.ms` comes before it.").synonyms(RETENTION_SYNONYMS),
    key("log.retention.ms", long(-1), None, "Default of the topic setting `retention.ms`.").synonyms(RETENTION_SYNONYMS),
    key("log.roll.hours", int(1), Some("168"), "Default of the topic setting `segment.ms`, in hours; `log.roll.ms` comes before it.").synonyms(ROLL_SYNONYMS),
    key("log.roll.ms", long(1), None, "Default of the topic setting `segment.ms`.").synonyms(ROLL_SYNONYMS),
    key("log.segment.bytes", int(1 << 20), Some("1073741824"), "Default of the topic setting `segment.bytes`.").aliases(&["max_segment_size"]),
    key("log.segment.delete.delay.ms", long(0), Some("60000"), "Default of the topic setting `file.delete.delay.ms`."),
    key(
        "max.connections",
        int(1),
        Some("2147483647"),
        "The largest number of client connections; one more is closed at once.",
    ),
    key(
        "max.incremental.fetch.session.cache.slots",
        int(0),
        Some("1000"),
        "How many fetch sessions are remembered; a consumer without one sends all its partitions with each Fetch.",
    )
    .at_start(),
    key("message.max.bytes", int(0), Some("1048588"), "Default of the topic setting `max.message.bytes`."),
    key("min.insync.replicas", int(1), Some("1"), "Default of the topic setting `min.insync.replicas`."),
    key("node.id", int(1), Some("1"), "The broker's number in its cluster; it must not change.")
        .aliases(&["broker.id"])
        .at_start(),
    key(
        "num.partitions",
        int(1),
        Some("1"),
        "How many partitions a new topic has when its creator does not say.",
    ),
    key(
        "offset.metadata.max.bytes",
        int(0),
        Some("4096"),
        "The largest text that a consumer may commit beside an offset.",
    ),
    key(
        "offsets.retention.minutes",
        int(1),
        Some("10080"),
        "How long committed offsets are kept after their group became empty.",
    ),
    key(
        "offsets.topic.num.partitions",
        int(1),
        Some("4"),
        "How many partitions the topic of committed offsets has when it is created; a later change does nothing. Kafka's default is 50: fewer start faster and hold less memory, and one broker gains nothing from more.",
    )
    .at_start(),
    key(
        "producer.id.expiration.ms",
        int(1),
        Some("86400000"),
        "How long an idempotent producer that writes nothing is remembered.",
    ),
    key(
        "socket.request.max.bytes",
        int(1024),
        Some("104857600"),
        "The largest request; a connection that announces a larger one is closed.",
    ),
];
