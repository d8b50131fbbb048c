//! Identities: topics, partitions, segments, brokers, producers and their epochs.

use std::fmt;
use std::sync::Arc;

/// The number of a leadership, handed out by the metadata quorum only; it never goes back.
///
/// Kafka writes it as a signed 32-bit number; "no epoch" (-1) is `Option::None` here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct LeaderEpoch(pub u32);

impl LeaderEpoch {
    /// The epoch as Kafka writes it.
    #[must_use]
    pub fn wire(self) -> i32 {
        i32::try_from(self.0).expect("an epoch stays below 2^31")
    }

    /// Reads an epoch from a Kafka client; `None` for -1 and every other negative number.
    #[must_use]
    pub fn from_wire(wire: i32) -> Option<Self> {
        u32::try_from(wire).ok().map(Self)
    }
}

impl fmt::Display for LeaderEpoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A broker's number in its cluster, from 1 on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BrokerId(pub u32);

impl fmt::Display for BrokerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A segment's number in its partition, from 0 on; never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct SegmentNo(pub u64);

impl fmt::Display for SegmentNo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// An idempotent producer's number; never negative, never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProducerId(pub i64);

/// An idempotent producer's epoch. Kafka accepts -1 beside a producer id (section 4, item 16).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProducerEpoch(pub i16);

/// A topic's identity: new each time a topic is created, also under an old name.
///
/// All zero means "no id" on the wire and is never given to a topic. Source: KIP-516.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicId(pub [u8; 16]);

impl TopicId {
    /// Kafka's "no id".
    pub const NONE: Self = Self([0; 16]);

    /// The id as the `uuid` type that message structs carry.
    #[must_use]
    pub fn uuid(self) -> uuid::Uuid {
        uuid::Uuid::from_bytes(self.0)
    }

    /// The id in a message struct.
    #[must_use]
    pub fn from_uuid(id: uuid::Uuid) -> Self {
        Self(*id.as_bytes())
    }
}

impl fmt::Display for TopicId {
    /// 32 hexadecimal digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for TopicId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TopicId({self})")
    }
}

/// One partition of one topic, by name. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicPartition {
    /// The topic's name: at most 249 of `[a-zA-Z0-9._-]`.
    pub topic: Arc<str>,
    /// The partition's number, from 0 on.
    pub partition: u32,
}

impl fmt::Display for TopicPartition {
    /// The name of the partition's folder, such as `orders-3`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.topic, self.partition)
    }
}
