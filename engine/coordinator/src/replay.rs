//! Recovery: the records of a partition, in order, become its coordinator.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;

use crate::group::{Group, GroupState};
use crate::member::Member;
use crate::record::Key;
use crate::{Committed, Config, Coordinator, GroupValue, Now, RecordError};

/// The state that the records so far give.
///
/// Nothing may be served from it before the last record: [`Replay::finish`].
#[derive(Debug, Default)]
pub struct Replay {
    groups: BTreeMap<Arc<str>, Recovered>,
}

#[derive(Debug, Default)]
struct Recovered {
    value: Option<GroupValue>,
    offsets: BTreeMap<Arc<str>, BTreeMap<u32, Committed>>,
}

impl Replay {
    /// Takes the next record; one without a key says nothing and is passed over.
    ///
    /// # Errors
    /// [`RecordError`]: no version up to this one wrote it. The partition's groups must not be
    /// served: they would be only part of what was acknowledged.
    pub fn apply(&mut self, key: Option<&Bytes>, value: Option<&Bytes>) -> Result<(), RecordError> {
        let Some(key) = key else {
            return Ok(());
        };
        match Key::decode(key)? {
            Key::Group(group) => {
                let value = value.map(GroupValue::decode).transpose()?;
                self.groups.entry(group).or_default().value = value;
            }
            Key::Offset {
                group,
                topic,
                partition,
            } => {
                let committed = value.map(Committed::decode).transpose()?;
                let recovered = self.groups.entry(group).or_default();
                let partitions = recovered.offsets.entry(topic).or_default();
                match committed {
                    Some(committed) => partitions.insert(partition, committed),
                    None => partitions.remove(&partition),
                };
            }
        }
        Ok(())
    }

    /// The coordinator. Sessions of recovered members start `now`.
    #[must_use]
    pub fn finish(self, config: Config, now: Now) -> Coordinator {
        let mut groups = BTreeMap::new();
        for (id, mut recovered) in self.groups {
            recovered
                .offsets
                .retain(|_, partitions| !partitions.is_empty());
            if recovered.value.is_none() && recovered.offsets.is_empty() {
                continue;
            }
            let group = recovered.into_group(Arc::clone(&id), now);
            groups.insert(id, group);
        }
        Coordinator::new(config, groups, now)
    }
}

impl Recovered {
    fn into_group(self, id: Arc<str>, now: Now) -> Group {
        let mut group = Group::new(id, now.wall_ms);
        group.offsets = self.offsets;
        let Some(value) = self.value else {
            return group;
        };
        group.since_ms = value.since_ms;
        group.generation = value.generation;
        group.protocol_type.clone_from(&value.protocol_type);
        for member in &value.members {
            // A record with the same member twice was never written; the later one wins.
            group.remove(&member.id);
            group.add(Member::recovered(member.clone(), now.mono_ms));
        }
        if !group.members.is_empty() {
            group.state = GroupState::Stable;
            group.protocol_name.clone_from(&value.protocol_name);
            let leader = value.leader.clone();
            if let Some(leader) = leader.filter(|id| group.members.contains_key(id)) {
                group.leader = Some(leader);
            }
        }
        group.durable = Some(value);
        group
    }
}
