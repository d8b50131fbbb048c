//! Metadata as a pure state machine: records go in, in order; commands are answered with records.

mod apply;
mod configs;
mod create;
mod error;
mod names;
mod partitions;
mod record;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use highwater_types::{BrokerId, ProducerId, TopicId, TopicPartition};

use crate::settings::{Configs, Layers, StaticSettings};

pub use apply::Inconsistent;
pub use configs::{ConfigOp, ConfigOpKind};
pub use create::{Assignment, Limits, NewTopic, OFFSETS_TOPIC, Rules};
pub use error::{
    AlterConfigError, AssignmentError, CreatePartitionsError, CreateTopicError, DeleteTopicError,
    NameError, UnknownTopic,
};
pub use names::check_topic_name;
pub use record::{ConfigChange, MetadataRecord, PartitionState, Topic};

/// How many producer ids a broker gets at once; ids that it does not use are lost.
pub const PRODUCER_ID_BLOCK: i64 = 1_000;

/// Everything that the cluster agrees on. Cheap to share, cheap to change one topic of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MetadataState {
    cluster_id: Option<Arc<str>>,
    topics: BTreeMap<Arc<str>, Arc<Topic>>,
    names: BTreeMap<TopicId, Arc<str>>,
    /// Names with `.` or `_`, by the name with `_` for each `.`: two that fold alike collide.
    folded: BTreeMap<String, Arc<str>>,
    partition_count: u64,
    cluster_configs: Configs,
    broker_configs: BTreeMap<BrokerId, Configs>,
    next_producer_id: i64,
    incarnations: BTreeMap<BrokerId, u64>,
}

impl MetadataState {
    /// The cluster's name for clients.
    ///
    /// # Panics
    /// Before the first record: [`crate::Metadata::open`] writes it before it answers.
    #[must_use]
    pub fn cluster_id(&self) -> &Arc<str> {
        self.cluster_id
            .as_ref()
            .expect("opening writes the cluster id first")
    }

    /// Whether the first record of all is there.
    #[must_use]
    pub fn has_cluster_id(&self) -> bool {
        self.cluster_id.is_some()
    }

    /// Every topic, sorted by name.
    pub fn topics(&self) -> impl Iterator<Item = &Arc<Topic>> {
        self.topics.values()
    }

    /// The topic `name` and those sorted after it; for answers in pages.
    pub fn topics_from<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a Arc<Topic>> {
        self.topics
            .range::<str, _>((Bound::Included(name), Bound::Unbounded))
            .map(|(_, topic)| topic)
    }

    /// How many topics there are.
    #[must_use]
    pub fn topic_count(&self) -> usize {
        self.topics.len()
    }

    /// How many partitions all topics have together.
    #[must_use]
    pub fn partition_count(&self) -> u64 {
        self.partition_count
    }

    /// The topic of that name.
    #[must_use]
    pub fn topic(&self, name: &str) -> Option<&Arc<Topic>> {
        self.topics.get(name)
    }

    /// The topic of that id.
    #[must_use]
    pub fn topic_by_id(&self, id: TopicId) -> Option<&Arc<Topic>> {
        self.topics.get(self.names.get(&id)?)
    }

    /// A partition of the topic of that name.
    #[must_use]
    pub fn partition(&self, of: &TopicPartition) -> Option<&PartitionState> {
        self.topics
            .get(&of.topic)?
            .partitions
            .get(of.partition as usize)
    }

    /// The incarnation of a broker's last noted start.
    #[must_use]
    pub fn incarnation(&self, broker: BrokerId) -> Option<u64> {
        self.incarnations.get(&broker).copied()
    }

    /// The dynamic settings of all brokers.
    #[must_use]
    pub fn cluster_configs(&self) -> &Configs {
        &self.cluster_configs
    }

    /// The dynamic settings of one broker.
    #[must_use]
    pub fn broker_configs(&self, broker: BrokerId) -> &Configs {
        static NONE: Configs = Configs::new();
        self.broker_configs.get(&broker).unwrap_or(&NONE)
    }

    /// All dynamic settings, each with whose they are, in words.
    pub(crate) fn all_broker_configs(&self) -> impl Iterator<Item = (String, &Configs)> {
        let all = std::iter::once(("the cluster".to_owned(), &self.cluster_configs));
        all.chain(
            self.broker_configs
                .iter()
                .map(|(broker, own)| (format!("broker {broker}"), own)),
        )
    }

    /// The settings of `broker`, which was started with `statics`, level by level.
    #[must_use]
    pub fn layers<'a>(&'a self, broker: BrokerId, statics: &'a StaticSettings) -> Layers<'a> {
        Layers {
            statics,
            cluster: &self.cluster_configs,
            broker: self.broker_configs(broker),
        }
    }

    /// The record that gives a broker a block of producer ids. Source: kafka.md rule 71.
    ///
    /// # Panics
    /// When 2^63 ids are used up: at a million a second that takes 290,000 years.
    #[must_use]
    pub fn allocate_producer_ids(&self) -> MetadataRecord {
        let first = self.next_producer_id;
        let end = first
            .checked_add(PRODUCER_ID_BLOCK)
            .expect("producer ids never run out");
        MetadataRecord::ProducerIdsAllocated { first, end }
    }

    /// The first producer id that no broker was given.
    #[must_use]
    pub fn next_producer_id(&self) -> ProducerId {
        ProducerId(self.next_producer_id)
    }
}
