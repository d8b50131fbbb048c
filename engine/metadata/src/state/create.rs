//! Making and deleting topics: a request in, records out.

use std::sync::Arc;

use highwater_types::{BrokerId, TopicId};

use super::MetadataState;
use super::configs::{ConfigOp, checked_changes};
use super::error::{AssignmentError, CreateTopicError, DeleteTopicError, UnknownTopic};
use super::names::{check_topic_name, folded};
use super::record::{MetadataRecord, PartitionState, Topic};
use crate::settings::{Configs, SettingsLimits};

/// How much a cluster may hold: absurd requests are refused at once (kafka.md section 4, item 8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The largest number of partitions of one topic.
    pub topic_partitions_max: u64,
    /// The largest number of partitions of all topics together.
    pub partitions_max: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            topic_partitions_max: 10_000,
            partitions_max: 100_000,
        }
    }
}

/// What a command is checked against, beside the state.
#[derive(Clone, Copy, Debug)]
pub struct Rules<'a> {
    /// How much the cluster may hold.
    pub limits: Limits,
    /// Bounds of settings.
    pub settings: SettingsLimits,
    /// The brokers that can hold partitions, sorted.
    pub brokers: &'a [BrokerId],
    /// Partitions of a topic whose creator does not say.
    pub partitions_default: u32,
    /// Replicas of a partition whose creator does not say.
    pub replication_default: u32,
    /// Partitions of the topic of committed offsets when its creator does not say.
    pub offsets_topic_partitions: u32,
}

/// A partition's number and its brokers, as a client sends them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// The partition.
    pub partition: i32,
    /// Its brokers, the preferred leader first.
    pub brokers: Vec<i32>,
}

/// The topic that holds committed offsets. It is internal whoever makes it, and compacts.
pub const OFFSETS_TOPIC: &str = "__consumer_offsets";

/// A topic to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewTopic {
    /// The name.
    pub name: String,
    /// How many partitions; -1 for the default.
    pub partitions: i32,
    /// How many replicas each; -1 for the default.
    pub replication: i16,
    /// Where each partition is; empty to let the cluster place them.
    pub assignments: Vec<Assignment>,
    /// The topic's own settings; a null value is refused.
    pub configs: Vec<(String, Option<String>)>,
}

impl NewTopic {
    /// A topic with every default.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            partitions: -1,
            replication: -1,
            assignments: Vec::new(),
            configs: Vec::new(),
        }
    }
}

impl MetadataState {
    /// The record that makes `new` with the id `id`, which no topic ever had.
    ///
    /// # Errors
    /// [`CreateTopicError`]; nothing is made. Source: kafka.md rules 122 and 123.
    pub fn create_topic(
        &self,
        new: &NewTopic,
        id: TopicId,
        rules: &Rules<'_>,
    ) -> Result<MetadataRecord, CreateTopicError> {
        assert!(id != TopicId::NONE, "a topic needs an id");
        assert!(self.topic_by_id(id).is_none(), "topic id {id} is taken");
        self.check_new_name(&new.name)?;
        let replicas = match new.assignments.as_slice() {
            [] => self.placed(new, rules)?,
            assignments => {
                if new.partitions != -1 {
                    return Err(CreateTopicError::CountAndAssignment {
                        field: "numPartitions",
                    });
                }
                if new.replication != -1 {
                    let field = "replication factor";
                    return Err(CreateTopicError::CountAndAssignment { field });
                }
                self.check_count(assignments.len() as u64, rules)?;
                assigned(assignments, rules.brokers)?
            }
        };
        let internal = new.name == OFFSETS_TOPIC;
        let ops: Vec<ConfigOp> = new
            .configs
            .iter()
            .map(|(key, value)| ConfigOp::set(key, value.as_deref()))
            .collect();
        let changes = checked_changes(&Configs::new(), &ops, rules.settings, internal)?;
        let mut configs: Configs = changes
            .into_iter()
            .filter_map(|change| Some((change.key, change.value?)))
            .collect();
        if internal {
            let policy = configs.entry("cleanup.policy".to_owned());
            policy.or_insert_with(|| "compact".to_owned());
        }
        let topic = Topic {
            name: Arc::from(new.name.as_str()),
            id,
            internal,
            configs,
            partitions: replicas.into_iter().map(PartitionState::new).collect(),
        };
        Ok(MetadataRecord::TopicCreated {
            topic: Arc::new(topic),
        })
    }

    /// Whether a topic of this name could be made now.
    ///
    /// # Errors
    /// [`CreateTopicError`] for a name that is not allowed, taken, or too like a taken one.
    pub fn check_new_name(&self, name: &str) -> Result<(), CreateTopicError> {
        check_topic_name(name)?;
        if name == "__cluster_metadata" {
            return Err(CreateTopicError::Reserved {
                name: name.to_owned(),
            });
        }
        if self.topic(name).is_some() {
            return Err(CreateTopicError::Exists {
                name: name.to_owned(),
            });
        }
        if let Some(existing) = folded(name).and_then(|folded| self.folded.get(&folded)) {
            let (name, existing) = (name.to_owned(), existing.to_string());
            return Err(CreateTopicError::Collides { name, existing });
        }
        Ok(())
    }

    /// The record that deletes a topic.
    ///
    /// # Errors
    /// [`DeleteTopicError::Unknown`] when there is no topic of that id.
    pub fn delete_topic(&self, id: TopicId) -> Result<MetadataRecord, DeleteTopicError> {
        let topic = self.topic_by_id(id).ok_or(UnknownTopic)?;
        if topic.internal {
            return Err(DeleteTopicError::Internal {
                name: topic.name.to_string(),
            });
        }
        Ok(MetadataRecord::TopicDeleted { id })
    }

    fn placed(
        &self,
        new: &NewTopic,
        rules: &Rules<'_>,
    ) -> Result<Vec<Vec<BrokerId>>, CreateTopicError> {
        let count = match new.partitions {
            -1 if new.name == OFFSETS_TOPIC => rules.offsets_topic_partitions,
            -1 => rules.partitions_default,
            count => u32::try_from(count).unwrap_or(0),
        };
        if count == 0 {
            return Err(CreateTopicError::PartitionCount);
        }
        self.check_count(u64::from(count), rules)?;
        let brokers = rules.brokers.len();
        let replicas = match new.replication {
            -1 => rules.replication_default as usize,
            factor => usize::try_from(factor).unwrap_or(0),
        };
        if replicas == 0 {
            return Err(CreateTopicError::NoReplication);
        }
        if replicas > brokers {
            let asked = replicas;
            return Err(CreateTopicError::ReplicationFactor { asked, brokers });
        }
        Ok((0..count)
            .map(|partition| place(partition, replicas, rules.brokers))
            .collect())
    }

    fn check_count(&self, count: u64, rules: &Rules<'_>) -> Result<(), CreateTopicError> {
        let max = rules.limits.topic_partitions_max;
        if count > max {
            return Err(CreateTopicError::TooManyPartitions { count, max });
        }
        let (total, max) = (self.partition_count() + count, rules.limits.partitions_max);
        if total > max {
            return Err(CreateTopicError::ClusterFull { count, total, max });
        }
        Ok(())
    }
}

/// The brokers of a partition: neighbours in a ring, so that leaders and replicas spread.
pub(super) fn place(partition: u32, replicas: usize, brokers: &[BrokerId]) -> Vec<BrokerId> {
    let first = partition as usize % brokers.len();
    (0..replicas)
        .map(|replica| brokers[(first + replica) % brokers.len()])
        .collect()
}

/// Checks a manual assignment and answers it in the order of partitions.
fn assigned(
    assignments: &[Assignment],
    brokers: &[BrokerId],
) -> Result<Vec<Vec<BrokerId>>, AssignmentError> {
    let mut sorted: Vec<&Assignment> = assignments.iter().collect();
    sorted.sort_by_key(|assignment| assignment.partition);
    let consecutive = sorted
        .iter()
        .zip(0..)
        .all(|(assignment, number)| assignment.partition == number);
    if !consecutive {
        return Err(AssignmentError::NotConsecutive);
    }
    let expected = sorted
        .first()
        .map_or(0, |assignment| assignment.brokers.len());
    sorted
        .into_iter()
        .map(|assignment| assigned_one(&assignment.brokers, expected, brokers))
        .collect()
}

/// Checks one partition's brokers.
pub(super) fn assigned_one(
    asked: &[i32],
    expected: usize,
    brokers: &[BrokerId],
) -> Result<Vec<BrokerId>, AssignmentError> {
    if asked.is_empty() {
        return Err(AssignmentError::NoReplica);
    }
    let mut replicas = Vec::new();
    for &broker in asked {
        let known = u32::try_from(broker)
            .map(BrokerId)
            .ok()
            .filter(|id| brokers.contains(id));
        let id = known.ok_or(AssignmentError::UnknownBroker { broker })?;
        if replicas.contains(&id) {
            return Err(AssignmentError::Twice { broker });
        }
        replicas.push(id);
    }
    if replicas.len() != expected {
        return Err(AssignmentError::Uneven {
            found: replicas.len(),
            expected,
        });
    }
    Ok(replicas)
}
