//! Effective settings as numbers and words that code can use.

use super::layers::Layers;
use super::listeners::{self, Listener};
use super::statics::Configs;

/// What an acknowledgement means on a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// The records are on disk.
    Fsync,
    /// The records are in the memory of the in-sync replicas.
    Replicated,
}

/// Whose clock stamps a topic's records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimestampType {
    /// The producer's.
    CreateTime,
    /// The broker's.
    LogAppendTime,
}

/// What happens to a topic's old records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CleanupPolicy {
    /// Whole segments go by age and size.
    pub delete: bool,
    /// Only the last record of each key need stay.
    pub compact: bool,
}

/// Every effective setting of one topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicSettings {
    /// `cleanup.policy`.
    pub cleanup_policy: CleanupPolicy,
    /// `durability`.
    pub durability: Durability,
    /// `file.delete.delay.ms`.
    pub file_delete_delay_ms: u64,
    /// `index.interval.bytes`.
    pub index_interval_bytes: u64,
    /// `inflated.batch.bytes.max`.
    pub inflated_batch_bytes_max: u64,
    /// `max.message.bytes`: the largest batch as the producer sent it.
    pub batch_bytes_max: u64,
    /// `message.timestamp.after.max.ms`.
    pub timestamp_after_max_ms: u64,
    /// `message.timestamp.before.max.ms`.
    pub timestamp_before_max_ms: u64,
    /// `message.timestamp.type`.
    pub timestamp_type: TimestampType,
    /// `min.insync.replicas`.
    pub min_insync_replicas: u32,
    /// `retention.bytes`; `None` for no limit, as on a topic that does not delete.
    pub retention_bytes: Option<u64>,
    /// `retention.ms`; `None` for no limit, as on a topic that does not delete.
    pub retention_ms: Option<u64>,
    /// `segment.bytes`.
    pub segment_bytes: u64,
    /// `segment.ms`.
    pub segment_ms: u64,
}

/// Every effective setting of one broker that is not a default of its topics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokerSettings {
    /// `advertised.listeners`; empty means the bound addresses.
    pub advertised_listeners: Vec<Listener>,
    /// `auto.create.topics.enable`.
    pub auto_create_topics: bool,
    /// `connections.max.idle.ms`.
    pub connections_max_idle_ms: u64,
    /// `data_dir`.
    pub data_dir: String,
    /// `default.replication.factor`.
    pub default_replication_factor: u32,
    /// `delete.topic.enable`.
    pub delete_topic: bool,
    /// `fetch.max.bytes`.
    pub fetch_bytes_max: u64,
    /// `group.initial.rebalance.delay.ms`.
    pub group_initial_rebalance_delay_ms: u64,
    /// `group.max.session.timeout.ms`.
    pub group_session_timeout_ms_max: u64,
    /// `group.min.session.timeout.ms`.
    pub group_session_timeout_ms_min: u64,
    /// `group.max.size`.
    pub group_size_max: u32,
    /// `listeners`.
    pub listeners: Vec<Listener>,
    /// `log.flush.interval.ms`.
    pub flush_interval_ms: u64,
    /// `log.flush.offset.checkpoint.interval.ms`.
    pub checkpoint_interval_ms: u64,
    /// `log.retention.check.interval.ms`.
    pub retention_check_interval_ms: u64,
    /// `max.connections`.
    pub connections_max: u32,
    /// `max.incremental.fetch.session.cache.slots`.
    pub fetch_session_slots: u32,
    /// `node.id`.
    pub node_id: u32,
    /// `num.partitions`.
    pub partitions_default: u32,
    /// `offset.metadata.max.bytes`.
    pub offset_metadata_bytes_max: u64,
    /// `offsets.retention.minutes`, in milliseconds.
    pub offsets_retention_ms: u64,
    /// `offsets.topic.num.partitions`.
    pub offsets_topic_partitions: u32,
    /// `producer.id.expiration.ms`.
    pub producer_id_expiration_ms: u64,
    /// `socket.request.max.bytes`.
    pub request_bytes_max: u64,
}

impl Layers<'_> {
    /// The effective settings of a topic that overrides `overrides`.
    #[must_use]
    pub fn topic_settings(&self, overrides: &Configs) -> TopicSettings {
        let text = |name| self.topic_value(name, overrides).value;
        let number = |name| -> i64 {
            text(name)
                .parse()
                .expect("values are checked when they are set")
        };
        let count = |name| u64::try_from(number(name)).expect("the bounds keep it positive");
        let limit = |name| u64::try_from(number(name)).ok();
        let policy = text("cleanup.policy");
        let cleanup_policy = CleanupPolicy {
            delete: policy.split(',').any(|word| word == "delete"),
            compact: policy.split(',').any(|word| word == "compact"),
        };
        let deletes = cleanup_policy.delete;
        TopicSettings {
            cleanup_policy,
            durability: match text("durability").as_str() {
                "replicated" => Durability::Replicated,
                _ => Durability::Fsync,
            },
            file_delete_delay_ms: count("file.delete.delay.ms"),
            index_interval_bytes: count("index.interval.bytes"),
            inflated_batch_bytes_max: count("inflated.batch.bytes.max"),
            batch_bytes_max: count("max.message.bytes"),
            timestamp_after_max_ms: count("message.timestamp.after.max.ms"),
            timestamp_before_max_ms: count("message.timestamp.before.max.ms"),
            timestamp_type: match text("message.timestamp.type").as_str() {
                "LogAppendTime" => TimestampType::LogAppendTime,
                _ => TimestampType::CreateTime,
            },
            min_insync_replicas: narrow(number("min.insync.replicas")),
            retention_bytes: limit("retention.bytes").filter(|_| deletes),
            retention_ms: limit("retention.ms").filter(|_| deletes),
            segment_bytes: count("segment.bytes"),
            segment_ms: count("segment.ms"),
        }
    }

    /// The effective settings of this broker.
    #[must_use]
    pub fn broker_settings(&self) -> BrokerSettings {
        let text = |name| self.broker_value(name).expect("it has a default").value;
        let flag = |name| text(name) == "true";
        let count = |name| u64::try_from(self.number(name)).expect("the bounds keep it positive");
        let listeners = |name| -> Vec<Listener> {
            self.broker_value(name).map_or_else(Vec::new, |sourced| {
                listeners::parse(&sourced.value).expect("values are checked when they are set")
            })
        };
        BrokerSettings {
            advertised_listeners: listeners("advertised.listeners"),
            auto_create_topics: flag("auto.create.topics.enable"),
            connections_max_idle_ms: count("connections.max.idle.ms"),
            data_dir: text("data_dir"),
            default_replication_factor: narrow(self.number("default.replication.factor")),
            delete_topic: flag("delete.topic.enable"),
            fetch_bytes_max: count("fetch.max.bytes"),
            group_initial_rebalance_delay_ms: count("group.initial.rebalance.delay.ms"),
            group_session_timeout_ms_max: count("group.max.session.timeout.ms"),
            group_session_timeout_ms_min: count("group.min.session.timeout.ms"),
            group_size_max: narrow(self.number("group.max.size")),
            listeners: listeners("listeners"),
            flush_interval_ms: count("log.flush.interval.ms"),
            checkpoint_interval_ms: count("log.flush.offset.checkpoint.interval.ms"),
            retention_check_interval_ms: count("log.retention.check.interval.ms"),
            connections_max: narrow(self.number("max.connections")),
            fetch_session_slots: narrow(self.number("max.incremental.fetch.session.cache.slots")),
            node_id: narrow(self.number("node.id")),
            partitions_default: narrow(self.number("num.partitions")),
            offset_metadata_bytes_max: count("offset.metadata.max.bytes"),
            offsets_retention_ms: count("offsets.retention.minutes").saturating_mul(60_000),
            offsets_topic_partitions: narrow(self.number("offsets.topic.num.partitions")),
            producer_id_expiration_ms: count("producer.id.expiration.ms"),
            request_bytes_max: count("socket.request.max.bytes"),
        }
    }
}

fn narrow(number: i64) -> u32 {
    u32::try_from(number).expect("the bounds keep it within 31 bits")
}
