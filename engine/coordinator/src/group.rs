//! One group: its members, its generation, and the offsets it committed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;

use crate::member::Member;
use crate::{Committed, GroupError, GroupValue, Identity, JoinedMember, subscription};

/// Where a group is in its rebalances.
///
/// ```text
///            join                     all joined, or time          leader's sync is durable
///  Empty ----------> PreparingRebalance -----------> CompletingRebalance --------> Stable
///    ^                  |     ^   ^                          |                       |
///    '- nobody joined --'     |   '-- join, leave, silence --'                       |
///                             '------------- join, leave, silence -------------------'
/// ```
/// A group that is deleted, or empty without offsets for a while, is Dead: it is no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GroupState {
    /// No members; perhaps offsets.
    Empty,
    /// Members join.
    PreparingRebalance,
    /// The members are told the generation; the leader assigns.
    CompletingRebalance,
    /// Every member can have its assignment.
    Stable,
    /// There is no such group.
    Dead,
}

impl GroupState {
    /// The state's name, as Kafka's tools show it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Empty => "Empty",
            Self::PreparingRebalance => "PreparingRebalance",
            Self::CompletingRebalance => "CompletingRebalance",
            Self::Stable => "Stable",
            Self::Dead => "Dead",
        }
    }
}

/// The wait for members of a rebalance.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JoinWait {
    /// Tells this wait from earlier ones of the group.
    pub(crate) number: u64,
    /// For the first rebalance of an empty group: what is left of the time to extend it by.
    pub(crate) initial_left_ms: Option<u64>,
}

/// One group.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) id: Arc<str>,
    pub(crate) state: GroupState,
    /// When it entered its state, in wall milliseconds.
    pub(crate) since_ms: i64,
    pub(crate) generation: i32,
    pub(crate) protocol_type: Option<Arc<str>>,
    pub(crate) protocol_name: Option<Arc<str>>,
    pub(crate) leader: Option<Arc<str>>,
    pub(crate) members: BTreeMap<Arc<str>, Member>,
    /// Static members: instance id to member id.
    pub(crate) instances: BTreeMap<Arc<str>, Arc<str>>,
    /// Ids given out by MEMBER_ID_REQUIRED that have not joined yet.
    pub(crate) promised: BTreeSet<Arc<str>>,
    pub(crate) join_wait: Option<JoinWait>,
    pub(crate) join_waits: u64,
    /// Whether a member was added since the initial delay was last extended.
    pub(crate) member_added: bool,
    /// The leader's assignment, on its way to the log.
    pub(crate) assignment_pending: Option<BTreeMap<Arc<str>, Bytes>>,
    /// Offsets by topic and partition.
    pub(crate) offsets: BTreeMap<Arc<str>, BTreeMap<u32, Committed>>,
    /// Appends on their way to the log that concern this group.
    pub(crate) appends: usize,
    /// The group's newest durable record, if the log holds one.
    pub(crate) durable: Option<GroupValue>,
}

impl Group {
    /// A group that nobody is in.
    pub(crate) fn new(id: Arc<str>, now_ms: i64) -> Self {
        Self {
            id,
            state: GroupState::Empty,
            since_ms: now_ms,
            generation: 0,
            protocol_type: None,
            protocol_name: None,
            leader: None,
            members: BTreeMap::new(),
            instances: BTreeMap::new(),
            promised: BTreeSet::new(),
            join_wait: None,
            join_waits: 0,
            member_added: false,
            assignment_pending: None,
            offsets: BTreeMap::new(),
            appends: 0,
            durable: None,
        }
    }

    /// Enters `state`.
    pub(crate) fn enter(&mut self, state: GroupState, now_ms: i64) {
        self.state = state;
        self.since_ms = now_ms;
    }

    /// Whether anything is left that makes the group exist.
    pub(crate) fn is_unused(&self) -> bool {
        self.state == GroupState::Empty
            && self.promised.is_empty()
            && self.offsets.is_empty()
            && self.appends == 0
            && self.durable.is_none()
    }

    /// Whether a member of type `protocol_type` with the protocols `names` may be in the group.
    pub(crate) fn accepts_protocols(&self, protocol_type: &str, names: &[&str]) -> bool {
        if self.state == GroupState::Empty || self.members.is_empty() {
            return !protocol_type.is_empty() && !names.is_empty();
        }
        self.protocol_type.as_deref() == Some(protocol_type)
            && names
                .iter()
                .any(|name| self.members.values().all(|member| member.supports(name)))
    }

    /// The protocol that most members prefer among those that all support; of several the one
    /// that the leader likes best. `None` without members.
    pub(crate) fn elected_protocol(&self) -> Option<Arc<str>> {
        let leader = self.leader.as_ref().and_then(|id| self.members.get(id));
        let judge = leader.or_else(|| self.members.values().next())?;
        let common = |name: &str| self.members.values().all(|member| member.supports(name));
        let candidates: Vec<&Arc<str>> = judge
            .protocols
            .iter()
            .map(|own| &own.name)
            .filter(|name| common(name))
            .collect();
        let mut votes = vec![0usize; candidates.len()];
        for member in self.members.values() {
            let choice = member
                .protocols
                .iter()
                .find_map(|own| candidates.iter().position(|name| **name == own.name));
            if let Some(choice) = choice {
                votes[choice] += 1;
            }
        }
        let most = votes.iter().max()?;
        let winner = votes.iter().position(|count| count == most)?;
        Some(Arc::clone(candidates[winner]))
    }

    /// The id of the member that `identity` names, if it is one and not fenced.
    pub(crate) fn known(&self, identity: &Identity) -> Result<Arc<str>, GroupError> {
        if let Some(instance) = &identity.instance_id {
            let holder = self
                .instances
                .get(instance)
                .ok_or(GroupError::UnknownMember)?;
            if *holder != identity.member_id {
                return Err(GroupError::FencedInstance);
            }
        }
        match self.members.get_key_value(&identity.member_id) {
            Some((id, _)) => Ok(Arc::clone(id)),
            None => Err(GroupError::UnknownMember),
        }
    }

    /// Adds `member`.
    pub(crate) fn add(&mut self, member: Member) {
        if self.members.is_empty() {
            self.leader = None;
        }
        if self.leader.is_none() {
            self.leader = Some(Arc::clone(&member.id));
        }
        if let Some(instance) = &member.instance_id {
            self.instances
                .insert(Arc::clone(instance), Arc::clone(&member.id));
        }
        self.promised.remove(&member.id);
        let replaced = self.members.insert(Arc::clone(&member.id), member);
        assert!(replaced.is_none(), "a member id was given out twice");
    }

    /// Removes a member; another one leads when it led.
    pub(crate) fn remove(&mut self, id: &str) -> Option<Member> {
        let member = self.members.remove(id)?;
        if let Some(instance) = &member.instance_id {
            self.instances.remove(instance);
        }
        if self.leader.as_deref() == Some(id) {
            self.leader = self.members.keys().next().cloned();
        }
        Some(member)
    }

    /// Whether every member, and everyone who was promised an id, waits in a join.
    pub(crate) fn all_joined(&self) -> bool {
        self.promised.is_empty()
            && self
                .members
                .values()
                .all(|member| member.awaiting_join.is_some())
    }

    /// How long members may take to join again.
    pub(crate) fn rebalance_timeout_ms(&self) -> u64 {
        let longest = self
            .members
            .values()
            .map(|member| member.rebalance_timeout_ms)
            .max();
        u64::from(longest.unwrap_or(0))
    }

    /// The members as the leader sees them.
    pub(crate) fn joined_members(&self) -> Vec<JoinedMember> {
        let protocol = self.protocol_name.as_deref().unwrap_or_default();
        let members = self.members.values();
        members
            .map(|member| JoinedMember {
                member_id: Arc::clone(&member.id),
                instance_id: member.instance_id.clone(),
                metadata: member.metadata_for(protocol),
            })
            .collect()
    }

    /// The topics that the members read; `None` when that cannot be known.
    ///
    /// Before the first generation is chosen the metadata for any protocol counts.
    pub(crate) fn subscribed_topics(&self) -> Option<BTreeSet<Arc<str>>> {
        let mut topics = BTreeSet::new();
        for member in self.members.values() {
            for protocol in &member.protocols {
                topics.extend(subscription::topics(&protocol.metadata)?);
            }
        }
        Some(topics)
    }

    /// The state that a record keeps, with `assignment` choosing each member's share.
    pub(crate) fn value(&self, assignment: impl Fn(&Member) -> Bytes) -> GroupValue {
        GroupValue {
            since_ms: self.since_ms,
            generation: self.generation,
            protocol_type: self.protocol_type.clone(),
            protocol_name: self.protocol_name.clone(),
            leader: self.leader.clone(),
            members: self
                .members
                .values()
                .map(|member| member.value(assignment(member)))
                .collect(),
        }
    }

    /// Asserted after each event; a violation stops the broker rather than serve wrong data.
    #[track_caller]
    pub(crate) fn check(&self) {
        let id = &self.id;
        let has_members = !self.members.is_empty();
        match self.state {
            GroupState::Empty => assert!(!has_members, "{id}: an empty group has members"),
            GroupState::PreparingRebalance => {
                assert!(self.join_wait.is_some(), "{id}: nothing ends the rebalance");
            }
            GroupState::CompletingRebalance | GroupState::Stable => {
                assert!(has_members, "{id}: {:?} without members", self.state);
                assert!(self.generation > 0, "{id}: generation {}", self.generation);
                let protocol = self.protocol_name.as_deref().unwrap_or_default();
                let supported = self
                    .members
                    .values()
                    .all(|member| member.supports(protocol));
                assert!(supported, "{id}: not every member supports {protocol:?}");
            }
            GroupState::Dead => panic!("{id}: a dead group is kept"),
        }
        let preparing = self.state == GroupState::PreparingRebalance;
        assert!(
            preparing || self.join_wait.is_none(),
            "{id}: a rebalance waits in {:?}",
            self.state
        );
        let completing = self.state == GroupState::CompletingRebalance;
        assert!(
            completing || self.assignment_pending.is_none(),
            "{id}: a stray assignment"
        );
        assert_eq!(
            has_members,
            self.leader.is_some(),
            "{id}: members and leader go together"
        );
        if let Some(leader) = &self.leader {
            assert!(
                self.members.contains_key(leader),
                "{id}: leader {leader} is no member"
            );
        }
        self.check_members(preparing, completing);
    }

    #[track_caller]
    fn check_members(&self, preparing: bool, completing: bool) {
        let id = &self.id;
        let mut instances = 0;
        for member in self.members.values() {
            let name = &member.id;
            assert!(
                preparing || member.awaiting_join.is_none(),
                "{id}: {name} waits to join"
            );
            assert!(
                completing || member.awaiting_sync.is_none(),
                "{id}: {name} waits to sync"
            );
            assert!(
                !self.promised.contains(name),
                "{id}: {name} is promised and joined"
            );
            if let Some(instance) = &member.instance_id {
                instances += 1;
                assert_eq!(self.instances.get(instance), Some(name), "{id}: {instance}");
            }
        }
        assert_eq!(
            instances,
            self.instances.len(),
            "{id}: an instance without a member"
        );
    }
}
