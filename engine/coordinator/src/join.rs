//! Joins: who may be in a group, and when a rebalance begins and ends.
//!
//! Source: `kafka.md` rules 101-103; KIP-62, KIP-134 (initial delay), KIP-345 (static members),
//! KIP-394 (member ids first), KIP-814 (skipped assignment).

use std::sync::Arc;

use bytes::Bytes;

use crate::group::{Group, GroupState, JoinWait};
use crate::member::Member;
use crate::pending::Change;
use crate::step::Step;
use crate::timers::Timer;
use crate::{Answer, GroupError, Identity, Join, JoinAnswer, Token};

impl Group {
    /// A client joins.
    pub(crate) fn join(&mut self, step: &mut Step<'_>, token: Token, join: &Join) {
        if !self.has_room_for(&join.member_id, step.config.group_size_max) {
            step.refuse_join(token, GroupError::GroupFull, "");
            self.drop_member(step, &join.member_id);
            return;
        }
        let names: Vec<&str> = join.protocols.iter().map(|own| &*own.name).collect();
        if !self.accepts_protocols(&join.protocol_type, &names) {
            step.refuse_join(token, GroupError::InconsistentProtocol, &join.member_id);
        } else if join.member_id.is_empty() {
            self.join_new(step, token, join);
        } else {
            self.join_known(step, token, join);
        }
    }

    /// Whether one more join fits.
    fn has_room_for(&self, member_id: &str, size_max: usize) -> bool {
        let member = self.members.get(member_id);
        match self.state {
            GroupState::Empty | GroupState::Dead => true,
            GroupState::PreparingRebalance => {
                let waiting = |member: &&Member| member.awaiting_join.is_some();
                member.is_some_and(|member| waiting(&member))
                    || self.members.values().filter(waiting).count() < size_max
            }
            GroupState::CompletingRebalance | GroupState::Stable => {
                member.is_some() || self.members.len() < size_max
            }
        }
    }

    /// A join without a member id.
    fn join_new(&mut self, step: &mut Step<'_>, token: Token, join: &Join) {
        let id = new_member_id(join);
        match &join.instance_id {
            Some(instance) => match self.instances.get(instance).cloned() {
                Some(old) => self.replace_static(step, token, join, instance, &old, id),
                None => self.add_member(step, token, join, id),
            },
            None if join.requires_member_id && self.promised.len() >= step.config.promised_max => {
                step.refuse_join(token, GroupError::GroupFull, "");
            }
            None if join.requires_member_id => {
                let timer = Timer::Promised(Arc::clone(&self.id), Arc::clone(&id));
                step.timers.arm(step.now.mono_ms + session_ms(join), timer);
                step.refuse_join(token, GroupError::MemberIdRequired, &id);
                self.promised.insert(id);
            }
            None => self.add_member(step, token, join, id),
        }
    }

    /// A join with a member id.
    fn join_known(&mut self, step: &mut Step<'_>, token: Token, join: &Join) {
        if self.promised.contains(&join.member_id) && join.instance_id.is_none() {
            self.add_member(step, token, join, Arc::clone(&join.member_id));
            return;
        }
        let (member_id, instance_id) = (Arc::clone(&join.member_id), join.instance_id.clone());
        let id = match self.known(&Identity {
            member_id,
            instance_id,
        }) {
            Ok(id) => id,
            Err(error) => return step.refuse_join(token, error, &join.member_id),
        };
        let is_leader = self.leader.as_ref() == Some(&id);
        let member = self
            .members
            .get_mut(&id)
            .expect("a known member is in the group");
        let unchanged = member.protocols == join.protocols;
        let answer_again = match self.state {
            GroupState::Empty | GroupState::Dead | GroupState::PreparingRebalance => false,
            // Its answer was lost: it gets the same one again.
            GroupState::CompletingRebalance => unchanged,
            // The leader rejoins to force a rebalance, for example when topics changed.
            GroupState::Stable => unchanged && !is_leader,
        };
        if answer_again {
            member.heard(step.now.mono_ms);
            let answer = self.join_answer(&id);
            step.answer(token, Answer::Join(answer));
            return;
        }
        member.update(join);
        wait_in_join(step, member, token);
        self.rebalance_or_complete(step);
    }

    /// Adds a member whose id is `id`.
    fn add_member(&mut self, step: &mut Step<'_>, token: Token, join: &Join, id: Arc<str>) {
        if self.members.is_empty() {
            self.protocol_type = Some(Arc::clone(&join.protocol_type));
        }
        if self
            .join_wait
            .is_some_and(|wait| wait.initial_left_ms.is_some())
        {
            self.member_added = true;
        }
        let mut member = Member::joining(id, join);
        member.is_new = true;
        member.awaiting_join = Some(token);
        member.deadline_ms = step.now.mono_ms + step.config.new_member_join_timeout_ms;
        watch(step, &self.id, &mut member);
        self.add(member);
        self.rebalance_or_complete(step);
    }

    /// A static member comes back without its id: it gets a new one, the old one is fenced.
    fn replace_static(
        &mut self,
        step: &mut Step<'_>,
        token: Token,
        join: &Join,
        instance: &Arc<str>,
        old_id: &str,
        id: Arc<str>,
    ) {
        let old_leader = self
            .leader
            .clone()
            .expect("a group with members has a leader");
        let mut member = self
            .members
            .remove(old_id)
            .expect("an instance has a member");
        dismiss(step, &mut member, GroupError::FencedInstance);
        member.id = Arc::clone(&id);
        member.timer_ms = None;
        member.update(join);
        member.heard(step.now.mono_ms);
        watch(step, &self.id, &mut member);
        self.instances.insert(Arc::clone(instance), Arc::clone(&id));
        if *old_leader == *old_id {
            self.leader = Some(Arc::clone(&id));
        }
        let keeps = self.state == GroupState::Stable;
        if !keeps {
            member.awaiting_join = Some(token);
        }
        self.members.insert(Arc::clone(&id), member);
        if !keeps {
            // In CompletingRebalance the leader may have been told the old id: start over.
            return self.rebalance_or_complete(step);
        }
        if self.elected_protocol() != self.protocol_name {
            let member = self.members.get_mut(&id).expect("it was just put back");
            wait_in_join(step, member, token);
            return self.rebalance_or_complete(step);
        }
        let mut answer = self.join_answer(&id);
        if join.may_skip_assignment {
            answer.skip_assignment = answer.leader == id;
        } else {
            // An old client that is told to lead would assign; nothing is to be assigned.
            answer.leader = old_leader;
            answer.members.clear();
        }
        let value = self.value(|member| member.assignment.clone());
        let record = value.record(&self.id);
        self.appends += 1;
        let group = Arc::clone(&self.id);
        step.append(
            Change::Replace {
                group,
                token,
                answer,
                value,
            },
            vec![record],
        );
    }

    /// What a member is told of the current generation.
    fn join_answer(&self, id: &Arc<str>) -> JoinAnswer {
        let leader = self.leader.clone().unwrap_or_else(|| Arc::from(""));
        let members = if leader == *id {
            self.joined_members()
        } else {
            Vec::new()
        };
        JoinAnswer {
            error: None,
            member_id: Arc::clone(id),
            generation: self.generation,
            protocol_type: self.protocol_type.clone(),
            protocol_name: self.protocol_name.clone(),
            leader,
            skip_assignment: false,
            members,
        }
    }

    /// Who is in the group has changed.
    pub(crate) fn rebalance_or_complete(&mut self, step: &mut Step<'_>) {
        if self.state == GroupState::PreparingRebalance {
            self.maybe_complete_join(step);
        } else {
            self.prepare_rebalance(step);
        }
    }

    /// Begins a rebalance: every member must join again.
    fn prepare_rebalance(&mut self, step: &mut Step<'_>) {
        if self.state == GroupState::CompletingRebalance {
            self.abandon_assignment(step, GroupError::RebalanceInProgress);
        }
        let is_first = self.state == GroupState::Empty;
        self.enter(GroupState::PreparingRebalance, step.now.wall_ms);
        self.member_added = false;
        let delay_ms = step.config.initial_rebalance_delay_ms;
        if is_first && delay_ms > 0 {
            let left_ms = self.rebalance_timeout_ms().saturating_sub(delay_ms);
            self.wait_for_joins(step, delay_ms, Some(left_ms));
        } else {
            self.wait_for_joins(step, self.rebalance_timeout_ms(), None);
            self.maybe_complete_join(step);
        }
    }

    fn wait_for_joins(&mut self, step: &mut Step<'_>, for_ms: u64, initial_left_ms: Option<u64>) {
        self.join_waits += 1;
        let number = self.join_waits;
        self.join_wait = Some(JoinWait {
            number,
            initial_left_ms,
        });
        let timer = Timer::Join(Arc::clone(&self.id), number);
        step.timers.arm(step.now.mono_ms + for_ms, timer);
    }

    /// Ends the wait early when nobody is missing. The first one lasts its time: more come.
    pub(crate) fn maybe_complete_join(&mut self, step: &mut Step<'_>) {
        let Some(wait) = self.join_wait else {
            return;
        };
        if wait.initial_left_ms.is_none() && self.all_joined() {
            self.complete_join(step);
        }
    }

    /// The wait `number` has lasted its time.
    pub(crate) fn join_wait_over(&mut self, step: &mut Step<'_>, number: u64) {
        let Some(wait) = self.join_wait.filter(|wait| wait.number == number) else {
            return;
        };
        match wait.initial_left_ms {
            Some(left_ms) if self.member_added && left_ms > 0 => {
                self.member_added = false;
                let more_ms = step.config.initial_rebalance_delay_ms.min(left_ms);
                self.wait_for_joins(step, more_ms, Some(left_ms - more_ms));
            }
            Some(_) | None => self.complete_join(step),
        }
    }

    /// Begins the next generation with those who joined, and with absent static members.
    fn complete_join(&mut self, step: &mut Step<'_>) {
        let absent = |member: &&Member| member.awaiting_join.is_none();
        let gone: Vec<Arc<str>> = self
            .members
            .values()
            .filter(|member| absent(member) && member.instance_id.is_none())
            .map(|member| Arc::clone(&member.id))
            .collect();
        for id in gone {
            self.remove(&id);
        }
        let joined = self.members.values().find(|member| !absent(member));
        let joined = joined.map(|member| Arc::clone(&member.id));
        if self
            .leader
            .as_ref()
            .is_some_and(|id| absent(&&self.members[id]))
        {
            match joined {
                Some(joined) => self.leader = Some(joined),
                // Only absent static members are left: their sessions decide.
                None => {
                    let for_ms = self.rebalance_timeout_ms().max(1);
                    return self.wait_for_joins(step, for_ms, None);
                }
            }
        }
        self.join_wait = None;
        self.generation = self.generation.checked_add(1).unwrap_or(1);
        self.protocol_name = self.elected_protocol();
        if self.members.is_empty() {
            self.enter(GroupState::Empty, step.now.wall_ms);
            let value = self.value(|_| Bytes::new());
            let record = value.record(&self.id);
            self.appends += 1;
            let group = Arc::clone(&self.id);
            step.append(Change::Empty { group, value }, vec![record]);
            return;
        }
        self.enter(GroupState::CompletingRebalance, step.now.wall_ms);
        self.announce_generation(step);
    }

    /// Answers every join, and gives the members their time to sync.
    fn announce_generation(&mut self, step: &mut Step<'_>) {
        let ids: Vec<Arc<str>> = self.members.keys().cloned().collect();
        for id in ids {
            let answer = self.join_answer(&id);
            let member = self.members.get_mut(&id).expect("the id is a member's");
            if let Some(token) = member.awaiting_join.take() {
                step.answer(token, Answer::Join(answer));
                member.heard(step.now.mono_ms);
            }
            member.is_new = false;
            member.owes_sync = true;
            watch(step, &self.id, member);
        }
        let timer = Timer::Sync(Arc::clone(&self.id), self.generation);
        step.timers
            .arm(step.now.mono_ms + self.rebalance_timeout_ms(), timer);
    }
}

/// Makes `member` wait for the end of the rebalance with `token`.
fn wait_in_join(step: &mut Step<'_>, member: &mut Member, token: Token) {
    if let Some(earlier) = member.awaiting_join.replace(token) {
        step.refuse_join(earlier, GroupError::RebalanceInProgress, &member.id);
    }
}

/// Refuses whatever `member` waits for.
pub(crate) fn dismiss(step: &mut Step<'_>, member: &mut Member, error: GroupError) {
    if let Some(token) = member.awaiting_join.take() {
        step.refuse_join(token, error, &member.id);
    }
    if let Some(token) = member.awaiting_sync.take() {
        step.answer(token, Answer::Sync(Err(error)));
    }
}

/// Makes sure that a timer fires when the member's session ends, at the latest.
pub(crate) fn watch(step: &mut Step<'_>, group: &Arc<str>, member: &mut Member) {
    if member
        .timer_ms
        .is_none_or(|timer_ms| member.deadline_ms < timer_ms)
    {
        member.timer_ms = Some(member.deadline_ms);
        let timer = Timer::Session(Arc::clone(group), Arc::clone(&member.id));
        step.timers.arm(member.deadline_ms, timer);
    }
}

fn session_ms(join: &Join) -> u64 {
    u64::try_from(join.session_timeout_ms).unwrap_or(0)
}

/// An id that nobody had: the client's or instance's name and 128 random bits as a UUID.
fn new_member_id(join: &Join) -> Arc<str> {
    let name = join.instance_id.as_ref().unwrap_or(&join.client_id);
    let hex = format!("{:032x}", join.draw);
    let (a, b, c, d, e) = (
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..],
    );
    Arc::from(format!("{name}-{a}-{b}-{c}-{d}-{e}"))
}
