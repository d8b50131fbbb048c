//! Applying records: the only way that metadata changes.

use std::sync::Arc;

use highwater_types::{BrokerId, TopicId};
use thiserror::Error;

use super::MetadataState;
use super::names::folded;
use super::record::{ConfigChange, MetadataRecord, Topic};
use crate::settings::Configs;

/// A record that does not fit the state: it was not written by the broker that wrote the ones
/// before it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Inconsistent {
    /// A second cluster id.
    #[error("a second cluster id")]
    ClusterTwice,
    /// A topic whose name or id another one has.
    #[error("topic {name:?} is made while its name or id is taken")]
    TopicTaken {
        /// Its name.
        name: Arc<str>,
    },
    /// A change of a topic that does not exist.
    #[error("topic {id} is changed and does not exist")]
    UnknownTopic {
        /// Its id.
        id: TopicId,
    },
    /// New partitions that do not follow the old ones.
    #[error("topic {id} has {count} partitions and gets more from number {first}")]
    PartitionGap {
        /// The topic's id.
        id: TopicId,
        /// How many it has.
        count: usize,
        /// The number of the first new one.
        first: u32,
    },
    /// A change of a partition that does not exist or moves an epoch back.
    #[error("partition {partition} of topic {id} is changed to an older state")]
    PartitionBack {
        /// The topic's id.
        id: TopicId,
        /// The partition's number.
        partition: u32,
    },
    /// Producer ids that were given before.
    #[error("producer ids from {first} are given a second time")]
    ProducerIds {
        /// The first of them.
        first: i64,
    },
}

impl MetadataState {
    /// Applies one record.
    ///
    /// # Errors
    /// [`Inconsistent`] for a record that does not fit; the state is unchanged. From a command of
    /// this state that is a bug; from disk it is damage.
    pub fn apply(&mut self, record: &MetadataRecord) -> Result<(), Inconsistent> {
        match record {
            MetadataRecord::Cluster { id } => {
                if self.cluster_id.is_some() {
                    return Err(Inconsistent::ClusterTwice);
                }
                self.cluster_id = Some(Arc::clone(id));
            }
            MetadataRecord::TopicCreated { topic } => self.insert(topic)?,
            MetadataRecord::TopicDeleted { id } => self.remove(*id)?,
            MetadataRecord::PartitionsAdded {
                id,
                first,
                partitions,
            } => {
                let topic = self.topic_mut(*id)?;
                let count = topic.partitions.len();
                if count != *first as usize {
                    return Err(Inconsistent::PartitionGap {
                        id: *id,
                        count,
                        first: *first,
                    });
                }
                topic.partitions.extend(partitions.iter().cloned());
                self.partition_count += partitions.len() as u64;
            }
            MetadataRecord::PartitionChanged {
                id,
                partition,
                state,
            } => {
                let topic = self.topic_mut(*id)?;
                let slot = topic.partitions.get_mut(*partition as usize).filter(|old| {
                    old.leader_epoch <= state.leader_epoch
                        && old.partition_epoch < state.partition_epoch
                });
                let (id, partition) = (*id, *partition);
                *slot.ok_or(Inconsistent::PartitionBack { id, partition })? = state.clone();
            }
            MetadataRecord::TopicConfigured { id, changes } => {
                configure(&mut self.topic_mut(*id)?.configs, changes);
            }
            MetadataRecord::BrokerConfigured { broker, changes } => {
                self.configure_broker(*broker, changes);
            }
            MetadataRecord::ProducerIdsAllocated { first, end } => {
                if *first < self.next_producer_id || end < first {
                    return Err(Inconsistent::ProducerIds { first: *first });
                }
                self.next_producer_id = *end;
            }
            MetadataRecord::BrokerStarted {
                broker,
                incarnation,
            } => {
                self.incarnations.insert(*broker, *incarnation);
            }
        }
        Ok(())
    }

    /// The records that make this state out of an empty one: what a snapshot holds.
    #[must_use]
    pub fn records(&self) -> Vec<MetadataRecord> {
        let mut records = Vec::new();
        records.extend(
            self.cluster_id
                .clone()
                .map(|id| MetadataRecord::Cluster { id }),
        );
        if self.next_producer_id > 0 {
            let end = self.next_producer_id;
            records.push(MetadataRecord::ProducerIdsAllocated { first: 0, end });
        }
        records.extend(self.incarnations.iter().map(|(broker, incarnation)| {
            MetadataRecord::BrokerStarted {
                broker: *broker,
                incarnation: *incarnation,
            }
        }));
        let scopes = std::iter::once((None, &self.cluster_configs)).chain(
            self.broker_configs
                .iter()
                .map(|(broker, configs)| (Some(*broker), configs)),
        );
        for (broker, configs) in scopes.filter(|(_, configs)| !configs.is_empty()) {
            let changes = configs
                .iter()
                .map(|(key, value)| ConfigChange {
                    key: key.clone(),
                    value: Some(value.clone()),
                })
                .collect();
            records.push(MetadataRecord::BrokerConfigured { broker, changes });
        }
        records.extend(
            self.topics
                .values()
                .map(|topic| MetadataRecord::TopicCreated {
                    topic: topic.clone(),
                }),
        );
        records
    }

    pub(super) fn configure_broker(&mut self, broker: Option<BrokerId>, changes: &[ConfigChange]) {
        let Some(broker) = broker else {
            return configure(&mut self.cluster_configs, changes);
        };
        let configs = self.broker_configs.entry(broker).or_default();
        configure(configs, changes);
        if configs.is_empty() {
            self.broker_configs.remove(&broker);
        }
    }

    fn insert(&mut self, topic: &Arc<Topic>) -> Result<(), Inconsistent> {
        let name = Arc::clone(&topic.name);
        if self.topics.contains_key(&name) || self.names.contains_key(&topic.id) {
            return Err(Inconsistent::TopicTaken { name });
        }
        if let Some(folded) = folded(&name) {
            self.folded.insert(folded, Arc::clone(&name));
        }
        self.names.insert(topic.id, Arc::clone(&name));
        self.partition_count += topic.partitions.len() as u64;
        self.topics.insert(name, Arc::clone(topic));
        Ok(())
    }

    fn remove(&mut self, id: TopicId) -> Result<(), Inconsistent> {
        let name = self
            .names
            .remove(&id)
            .ok_or(Inconsistent::UnknownTopic { id })?;
        let topic = self
            .topics
            .remove(&name)
            .expect("a topic with an id has a name");
        if let Some(folded) = folded(&name) {
            self.folded.remove(&folded);
        }
        self.partition_count -= topic.partitions.len() as u64;
        Ok(())
    }

    fn topic_mut(&mut self, id: TopicId) -> Result<&mut Topic, Inconsistent> {
        let unknown = Inconsistent::UnknownTopic { id };
        let name = self.names.get(&id).ok_or(unknown)?;
        let topic = self
            .topics
            .get_mut(name)
            .expect("a topic with an id has a name");
        Ok(Arc::make_mut(topic))
    }
}

fn configure(configs: &mut Configs, changes: &[ConfigChange]) {
    for ConfigChange { key, value } in changes {
        match value {
            Some(value) => configs.insert(key.clone(), value.clone()),
            None => configs.remove(key),
        };
    }
}
