//! Why a command is refused. The broker gives each its wire code.

use highwater_types::BrokerId;
use thiserror::Error;

use crate::settings::SettingError;

/// A name that no topic may have.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NameError {
    /// Nothing.
    #[error("the empty string is not allowed as a topic name")]
    Empty,
    /// Longer than a folder's name may be.
    #[error("a topic name of {len} characters is longer than {max}")]
    TooLong {
        /// Its length.
        len: usize,
        /// The largest length.
        max: usize,
    },
    /// `.` or `..`.
    #[error("{name:?} is not allowed as a topic name")]
    Dots {
        /// The name.
        name: String,
    },
    /// A character that is not allowed.
    #[error(
        "topic name {name:?} has characters other than ASCII letters and digits, '.', '_' and '-'"
    )]
    Characters {
        /// The name.
        name: String,
    },
}

/// Why a topic is not made.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CreateTopicError {
    /// The name is not allowed.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The name is taken.
    #[error("Topic '{name}' already exists.")]
    Exists {
        /// The name.
        name: String,
    },
    /// Another topic's name differs in `.` and `_` only.
    #[error("Topic '{name}' collides with existing topic: {existing}")]
    Collides {
        /// The name.
        name: String,
        /// The topic that has it.
        existing: String,
    },
    /// A name that Kafka keeps for itself.
    #[error("Creation of internal topic {name} is prohibited.")]
    Reserved {
        /// The name.
        name: String,
    },
    /// Fewer than one partition.
    #[error("Number of partitions must be larger than 0, or -1 to use the default value.")]
    PartitionCount,
    /// More partitions than one topic may have.
    #[error("{count} partitions are more than the {max} that one topic may have")]
    TooManyPartitions {
        /// What was asked.
        count: u64,
        /// The limit.
        max: u64,
    },
    /// The cluster would hold too many.
    #[error("{count} more partitions would make {total}; the limit is {max}")]
    ClusterFull {
        /// What was asked.
        count: u64,
        /// The sum.
        total: u64,
        /// The limit.
        max: u64,
    },
    /// Fewer than one replica.
    #[error("Replication factor must be larger than 0, or -1 to use the default value.")]
    NoReplication,
    /// More replicas than brokers.
    #[error("Unable to replicate the partition {asked} time(s): there are {brokers} broker(s)")]
    ReplicationFactor {
        /// What was asked.
        asked: usize,
        /// How many brokers there are.
        brokers: usize,
    },
    /// Both a number of partitions or replicas and an assignment.
    #[error("A manual partition assignment was specified, but {field} was not set to -1.")]
    CountAndAssignment {
        /// The field that should be -1.
        field: &'static str,
    },
    /// An assignment that cannot be.
    #[error(transparent)]
    Assignment(#[from] AssignmentError),
    /// A setting that is refused.
    #[error(transparent)]
    Config(#[from] AlterConfigError),
}

/// Why an assignment of replicas cannot be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AssignmentError {
    /// Partition numbers with a gap or twice.
    #[error("partitions should be a consecutive 0-based integer sequence")]
    NotConsecutive,
    /// A partition on no broker.
    #[error("The manual partition assignment includes an empty replica list.")]
    NoReplica,
    /// A broker twice.
    #[error("The manual partition assignment includes the broker {broker} more than once.")]
    Twice {
        /// The broker.
        broker: i32,
    },
    /// A broker that does not exist.
    #[error(
        "The manual partition assignment includes broker {broker}, but no such broker is registered."
    )]
    UnknownBroker {
        /// What was asked.
        broker: i32,
    },
    /// Partitions with different numbers of replicas.
    #[error(
        "The manual partition assignment includes a partition with {found} replica(s), but this is not consistent with previous partitions, which have {expected} replica(s)."
    )]
    Uneven {
        /// The number of this partition.
        found: usize,
        /// The number of those before it.
        expected: usize,
    },
    /// As many assignments as new partitions are needed.
    #[error(
        "Attempted to add {added} additional partition(s), but {assigned} assignment(s) were specified."
    )]
    Count {
        /// How many there are.
        assigned: usize,
        /// How many are needed.
        added: u32,
    },
}

/// The topic does not exist.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("This server does not host this topic.")]
pub struct UnknownTopic;

/// Why a topic is not deleted.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DeleteTopicError {
    /// It does not exist.
    #[error(transparent)]
    Unknown(#[from] UnknownTopic),
    /// The operator forbids it.
    #[error("Topic deletion is disabled.")]
    Disabled,
    /// The broker keeps its own records in it.
    #[error("Topic {name} holds the broker's own records and cannot be deleted.")]
    Internal {
        /// The topic.
        name: String,
    },
}

/// Why a topic gets no more partitions.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CreatePartitionsError {
    /// It does not exist.
    #[error(transparent)]
    Unknown(#[from] UnknownTopic),
    /// The broker finds its own records in it by the number of partitions.
    #[error("Topic {name} holds the broker's own records; its number of partitions is fixed.")]
    Internal {
        /// The topic.
        name: String,
    },
    /// The number is what it has already.
    #[error("Topic already has {count} partition(s).")]
    Same {
        /// How many it has.
        count: u32,
    },
    /// Partitions are never taken away.
    #[error(
        "The topic {name} currently has {count} partition(s); {asked} would not be an increase."
    )]
    Fewer {
        /// The topic.
        name: String,
        /// How many it has.
        count: u32,
        /// What was asked.
        asked: i32,
    },
    /// More partitions than one topic may have.
    #[error("{count} partitions are more than the {max} that one topic may have")]
    TooManyPartitions {
        /// What was asked.
        count: u64,
        /// The limit.
        max: u64,
    },
    /// The cluster would hold too many.
    #[error("{count} more partitions would make {total}; the limit is {max}")]
    ClusterFull {
        /// What was asked.
        count: u64,
        /// The sum.
        total: u64,
        /// The limit.
        max: u64,
    },
    /// More replicas than brokers are left.
    #[error("Unable to replicate the partition {asked} time(s): there are {brokers} broker(s)")]
    ReplicationFactor {
        /// What the topic has.
        asked: usize,
        /// How many brokers there are.
        brokers: usize,
    },
    /// An assignment that cannot be.
    #[error(transparent)]
    Assignment(#[from] AssignmentError),
}

/// Why settings are not changed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AlterConfigError {
    /// The topic does not exist.
    #[error(transparent)]
    UnknownTopic(#[from] UnknownTopic),
    /// No such broker.
    #[error("Unexpected broker id {broker}: there is no such broker")]
    UnknownBroker {
        /// What was asked.
        broker: BrokerId,
    },
    /// The key or the value is refused.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// A value that internal topics alone may have.
    #[error(
        "Invalid value {value} for setting {key}: compaction does not act on this topic; use 'delete'"
    )]
    Compact {
        /// The key.
        key: &'static str,
        /// The value as given.
        value: String,
    },
    /// No value where one is needed.
    #[error("Null value not supported for : {key}")]
    NullValue {
        /// The key.
        key: String,
    },
    /// One key twice in a request.
    #[error("Error due to duplicate config keys: {key}")]
    Twice {
        /// The key.
        key: String,
    },
    /// APPEND or SUBTRACT on a setting that is no list.
    #[error("Can't {op} to key {key} because its type is not LIST.")]
    NotList {
        /// What was asked.
        op: &'static str,
        /// The key.
        key: &'static str,
    },
    /// A setting that changes only at a start.
    #[error(
        "Cannot update these configs dynamically: {key}; set it in the file or with -c and start again"
    )]
    AtStart {
        /// The key.
        key: &'static str,
    },
}
