//! The changes that metadata is made of. State is what applying them in order gives.

use std::sync::Arc;

use highwater_types::{BrokerId, LeaderEpoch, TopicId};

use crate::settings::Configs;

/// One change. Its bytes are in `docs/format/metadata.md`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MetadataRecord {
    /// The cluster was made; the first record of all, once.
    Cluster {
        /// The cluster's name for clients: 22 characters.
        id: Arc<str>,
    },
    /// A topic was made.
    TopicCreated {
        /// The new topic, whole.
        topic: Arc<Topic>,
    },
    /// A topic is gone. Its name may be used again, its id never.
    TopicDeleted {
        /// The topic's id.
        id: TopicId,
    },
    /// A topic has more partitions.
    PartitionsAdded {
        /// The topic's id.
        id: TopicId,
        /// The number of the first new partition.
        first: u32,
        /// The new partitions.
        partitions: Vec<PartitionState>,
    },
    /// A partition has another leader or other in-sync replicas.
    PartitionChanged {
        /// The topic's id.
        id: TopicId,
        /// The partition's number.
        partition: u32,
        /// Its new state; both epochs are at least the old ones, the partition epoch is larger.
        state: PartitionState,
    },
    /// A topic's own settings changed.
    TopicConfigured {
        /// The topic's id.
        id: TopicId,
        /// What changed.
        changes: Vec<ConfigChange>,
    },
    /// Dynamic broker settings changed.
    BrokerConfigured {
        /// The broker; `None` for all of them.
        broker: Option<BrokerId>,
        /// What changed.
        changes: Vec<ConfigChange>,
    },
    /// Producer ids were given to a broker.
    ProducerIdsAllocated {
        /// The first id of the block.
        first: i64,
        /// The end of the block; the next block starts here.
        end: i64,
    },
    /// A broker started.
    BrokerStarted {
        /// The broker.
        broker: BrokerId,
        /// Differs from that of each earlier start.
        incarnation: u64,
    },
}

impl MetadataRecord {
    /// Whether live parts of a broker follow the change.
    #[must_use]
    pub fn acts(&self) -> bool {
        match self {
            Self::TopicCreated { .. }
            | Self::TopicDeleted { .. }
            | Self::PartitionsAdded { .. }
            | Self::PartitionChanged { .. }
            | Self::TopicConfigured { .. }
            | Self::BrokerConfigured { .. } => true,
            Self::Cluster { .. }
            | Self::ProducerIdsAllocated { .. }
            | Self::BrokerStarted { .. } => false,
        }
    }
}

/// One setting that was set or, when `value` is `None`, taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigChange {
    /// The key's canonical name.
    pub key: String,
    /// The new value.
    pub value: Option<String>,
}

/// A topic: what every broker and client knows of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topic {
    /// The name, unique in the cluster at one time.
    pub name: Arc<str>,
    /// The id, unique for ever.
    pub id: TopicId,
    /// Whether the broker keeps its own records in it. Clients do not write to it.
    pub internal: bool,
    /// The settings that the topic has of its own.
    pub configs: Configs,
    /// The partitions, by number from 0.
    pub partitions: Vec<PartitionState>,
}

/// Where a partition is and who leads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionState {
    /// The leader; `None` while no replica may lead.
    pub leader: Option<BrokerId>,
    /// The number of the leadership.
    pub leader_epoch: LeaderEpoch,
    /// Rises with each change of this state. Source: kafka.md rule 47.
    pub partition_epoch: u32,
    /// The brokers that hold it; the first one is preferred as leader.
    pub replicas: Vec<BrokerId>,
    /// The replicas that hold everything committed.
    pub in_sync: Vec<BrokerId>,
}

impl PartitionState {
    /// A new partition on `replicas`, led by the first one.
    ///
    /// # Panics
    /// When there is no replica: placement never answers none.
    #[must_use]
    pub fn new(replicas: Vec<BrokerId>) -> Self {
        let leader = *replicas.first().expect("a partition has a replica");
        Self {
            leader: Some(leader),
            leader_epoch: LeaderEpoch(0),
            partition_epoch: 0,
            in_sync: replicas.clone(),
            replicas,
        }
    }
}
