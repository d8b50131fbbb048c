//! What a coordinator tells about its groups and offsets. Nothing here changes anything.

use std::sync::Arc;

use bytes::Bytes;
use highwater_types::TopicId;

use crate::{Committed, Coordinator, GroupState};

/// A group in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The group's id.
    pub group: Arc<str>,
    /// The kind of group; empty when nobody was ever in it.
    pub protocol_type: Arc<str>,
    /// Where it is in its rebalances.
    pub state: GroupState,
}

/// A group with its members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// Where it is in its rebalances.
    pub state: GroupState,
    /// The kind of group; empty when nobody was ever in it.
    pub protocol_type: Arc<str>,
    /// The chosen assignor; empty unless the group is stable.
    pub protocol_name: Arc<str>,
    /// The members.
    pub members: Vec<DescribedMember>,
}

/// A member in a description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescribedMember {
    /// The member's id.
    pub id: Arc<str>,
    /// The static member's name, if it is one.
    pub instance_id: Option<Arc<str>>,
    /// What the client calls itself.
    pub client_id: Arc<str>,
    /// Where it connects from.
    pub client_host: Arc<str>,
    /// Its metadata for the chosen assignor; empty unless the group is stable.
    pub metadata: Bytes,
    /// What it was last assigned.
    pub assignment: Bytes,
}

impl Coordinator {
    /// The durable offset of `group` in a partition.
    #[must_use]
    pub fn offset(&self, group: &str, topic: &str, partition: u32) -> Option<&Committed> {
        self.groups.get(group)?.offsets.get(topic)?.get(&partition)
    }

    /// Every durable offset of `group`, by topic and partition.
    pub fn offsets(&self, group: &str) -> impl Iterator<Item = (&Arc<str>, u32, &Committed)> {
        let topics = self
            .groups
            .get(group)
            .into_iter()
            .flat_map(|group| &group.offsets);
        topics.flat_map(|(topic, partitions)| {
            partitions
                .iter()
                .map(move |(partition, committed)| (topic, *partition, committed))
        })
    }

    /// The topics that any group has offsets for, by identity, each once.
    #[must_use]
    pub fn topics(&self) -> Vec<TopicId> {
        let mut topics: Vec<TopicId> = self
            .groups
            .values()
            .flat_map(|group| group.offsets.values())
            .flat_map(|partitions| partitions.values().map(|committed| committed.topic_id))
            .collect();
        topics.sort_unstable();
        topics.dedup();
        topics
    }

    /// Every group.
    pub fn list(&self) -> impl Iterator<Item = Listed> {
        self.groups.values().map(|group| Listed {
            group: Arc::clone(&group.id),
            protocol_type: group.protocol_type.clone().unwrap_or_else(|| Arc::from("")),
            state: group.state,
        })
    }

    /// The group `id`; `None` when there is none.
    #[must_use]
    pub fn describe(&self, id: &str) -> Option<Description> {
        let group = self.groups.get(id)?;
        let is_stable = group.state == GroupState::Stable;
        let protocol_name = group.protocol_name.clone().filter(|_| is_stable);
        let protocol_name = protocol_name.unwrap_or_else(|| Arc::from(""));
        let members = group.members.values().map(|member| DescribedMember {
            id: Arc::clone(&member.id),
            instance_id: member.instance_id.clone(),
            client_id: Arc::clone(&member.client_id),
            client_host: Arc::clone(&member.client_host),
            metadata: member.metadata_for(&protocol_name),
            assignment: member.assignment.clone(),
        });
        Some(Description {
            state: group.state,
            protocol_type: group.protocol_type.clone().unwrap_or_else(|| Arc::from("")),
            members: members.collect(),
            protocol_name,
        })
    }
}
