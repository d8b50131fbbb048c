//! More partitions for a topic, and changes of one partition.

use highwater_types::{BrokerId, TopicId};

use super::MetadataState;
use super::create::{Rules, assigned_one, place};
use super::error::{AssignmentError, CreatePartitionsError, UnknownTopic};
use super::record::{MetadataRecord, PartitionState};

impl MetadataState {
    /// The record that brings the topic `name` to `count` partitions; `assignments`, when there,
    /// has the brokers of each new one.
    ///
    /// # Errors
    /// [`CreatePartitionsError`]; nothing changes. An empty list of assignments is refused too
    /// (kafka.md section 4, item 44).
    pub fn create_partitions(
        &self,
        name: &str,
        count: i32,
        assignments: Option<&[Vec<i32>]>,
        rules: &Rules<'_>,
    ) -> Result<MetadataRecord, CreatePartitionsError> {
        let topic = self.topic(name).ok_or(UnknownTopic)?;
        if topic.internal {
            return Err(CreatePartitionsError::Internal {
                name: name.to_owned(),
            });
        }
        let first = u32::try_from(topic.partitions.len()).expect("the limits keep it small");
        let wanted = u32::try_from(count).unwrap_or(0);
        if wanted == first {
            return Err(CreatePartitionsError::Same { count: first });
        }
        if wanted < first {
            let (name, asked) = (name.to_owned(), count);
            return Err(CreatePartitionsError::Fewer {
                name,
                count: first,
                asked,
            });
        }
        let (limits, added) = (rules.limits, wanted - first);
        if u64::from(wanted) > limits.topic_partitions_max {
            let (count, max) = (u64::from(wanted), limits.topic_partitions_max);
            return Err(CreatePartitionsError::TooManyPartitions { count, max });
        }
        let total = self.partition_count() + u64::from(added);
        if total > limits.partitions_max {
            let (count, max) = (u64::from(added), limits.partitions_max);
            return Err(CreatePartitionsError::ClusterFull { count, total, max });
        }
        let replicas = topic
            .partitions
            .first()
            .map_or(1, |partition| partition.replicas.len());
        let placed = match assignments {
            None if replicas > rules.brokers.len() => {
                let (asked, brokers) = (replicas, rules.brokers.len());
                return Err(CreatePartitionsError::ReplicationFactor { asked, brokers });
            }
            None => (first..wanted)
                .map(|number| place(number, replicas, rules.brokers))
                .collect(),
            Some(given) => checked(given, added, replicas, rules.brokers)?,
        };
        let partitions = placed.into_iter().map(PartitionState::new).collect();
        Ok(MetadataRecord::PartitionsAdded {
            id: topic.id,
            first,
            partitions,
        })
    }

    /// The record that starts a new leadership of a partition by the leader that it has.
    ///
    /// # Errors
    /// [`UnknownTopic`] when there is no such partition.
    pub fn bump_leader_epoch(
        &self,
        id: TopicId,
        partition: u32,
    ) -> Result<MetadataRecord, UnknownTopic> {
        let topic = self.topic_by_id(id).ok_or(UnknownTopic)?;
        let mut state = topic
            .partitions
            .get(partition as usize)
            .ok_or(UnknownTopic)?
            .clone();
        state.leader_epoch.0 += 1;
        state.partition_epoch += 1;
        Ok(MetadataRecord::PartitionChanged {
            id,
            partition,
            state,
        })
    }
}

fn checked(
    given: &[Vec<i32>],
    added: u32,
    replicas: usize,
    brokers: &[BrokerId],
) -> Result<Vec<Vec<BrokerId>>, AssignmentError> {
    if given.len() != added as usize {
        return Err(AssignmentError::Count {
            assigned: given.len(),
            added,
        });
    }
    given
        .iter()
        .map(|one| assigned_one(one, replicas, brokers))
        .collect()
}
