//! Being in a group: syncs, heartbeats, leaving, and silence.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;

use crate::group::{Group, GroupState};
use crate::join::{dismiss, watch};
use crate::pending::Change;
use crate::step::Step;
use crate::{Answer, GroupError, Heartbeat, Identity, Leave, Sync, SyncAnswer, Token};

impl Group {
    /// A member asks for its assignment.
    pub(crate) fn sync(&mut self, step: &mut Step<'_>, token: Token, sync: Sync) {
        let id = match self.may_sync(&sync) {
            Ok(id) => id,
            Err(error) => return step.answer(token, Answer::Sync(Err(error))),
        };
        let member = self
            .members
            .get_mut(&id)
            .expect("a known member is in the group");
        member.owes_sync = false;
        member.heard(step.now.mono_ms);
        if self.state == GroupState::Stable {
            let answer = self.sync_answer(&id);
            return step.answer(token, Answer::Sync(Ok(answer)));
        }
        if let Some(earlier) = member.awaiting_sync.replace(token) {
            step.answer(earlier, Answer::Sync(Err(GroupError::RebalanceInProgress)));
        }
        if self.leader.as_ref() == Some(&id) && self.assignment_pending.is_none() {
            self.assign(step, sync.assignments);
        }
    }

    fn may_sync(&self, sync: &Sync) -> Result<Arc<str>, GroupError> {
        let id = self.known(&sync.member)?;
        if sync.generation != self.generation {
            return Err(GroupError::IllegalGeneration);
        }
        let differs = |given: &Option<Arc<str>>, own: &Option<Arc<str>>| {
            given.is_some() && own.is_some() && given != own
        };
        if differs(&sync.protocol_type, &self.protocol_type)
            || differs(&sync.protocol_name, &self.protocol_name)
        {
            return Err(GroupError::InconsistentProtocol);
        }
        match self.state {
            GroupState::Empty | GroupState::Dead => Err(GroupError::UnknownMember),
            GroupState::PreparingRebalance => Err(GroupError::RebalanceInProgress),
            GroupState::CompletingRebalance | GroupState::Stable => Ok(id),
        }
    }

    /// Writes what the leader decided; it holds once it is durable.
    fn assign(&mut self, step: &mut Step<'_>, assignments: Vec<(Arc<str>, Bytes)>) {
        let shares: BTreeMap<Arc<str>, Bytes> = assignments
            .into_iter()
            .filter(|(id, _)| self.members.contains_key(id))
            .collect();
        let share = |id: &Arc<str>| shares.get(id).cloned().unwrap_or_default();
        let value = self.value(|member| share(&member.id));
        let record = value.record(&self.id);
        self.assignment_pending = Some(shares);
        if record.len_bytes() > step.config.group_bytes_max {
            // It could never be written: nobody gets a share of it.
            return self.assignment_refused(step, self.generation);
        }
        self.appends += 1;
        let (group, generation) = (Arc::clone(&self.id), self.generation);
        step.append(
            Change::Assign {
                group,
                generation,
                value,
            },
            vec![record],
        );
    }

    /// The assignment of `generation` is durable: every member may have its share.
    pub(crate) fn assigned(&mut self, step: &mut Step<'_>, generation: i32) {
        if self.generation != generation {
            return;
        }
        let Some(mut shares) = self.assignment_pending.take() else {
            return;
        };
        self.enter(GroupState::Stable, step.now.wall_ms);
        let mut waiting = Vec::new();
        for member in self.members.values_mut() {
            member.assignment = shares.remove(&member.id).unwrap_or_default();
            if let Some(token) = member.awaiting_sync.take() {
                member.heard(step.now.mono_ms);
                waiting.push((token, Arc::clone(&member.id)));
            }
        }
        for (token, id) in waiting {
            let answer = self.sync_answer(&id);
            step.answer(token, Answer::Sync(Ok(answer)));
        }
    }

    /// The assignment of `generation` could not be written: start over.
    pub(crate) fn assignment_refused(&mut self, step: &mut Step<'_>, generation: i32) {
        if self.generation == generation && self.assignment_pending.is_some() {
            self.abandon_assignment(step, GroupError::NotWritten);
            self.rebalance_or_complete(step);
        }
    }

    /// Refuses every sync that waits, and forgets the leader's assignment.
    pub(crate) fn abandon_assignment(&mut self, step: &mut Step<'_>, error: GroupError) {
        self.assignment_pending = None;
        for member in self.members.values_mut() {
            if let Some(token) = member.awaiting_sync.take() {
                step.answer(token, Answer::Sync(Err(error)));
                member.heard(step.now.mono_ms);
            }
        }
    }

    fn sync_answer(&self, id: &str) -> SyncAnswer {
        SyncAnswer {
            protocol_type: self.protocol_type.clone(),
            protocol_name: self.protocol_name.clone(),
            assignment: self.members[id].assignment.clone(),
        }
    }

    /// A member says that it lives.
    pub(crate) fn heartbeat(
        &mut self,
        step: &mut Step<'_>,
        heartbeat: &Heartbeat,
    ) -> Result<(), GroupError> {
        let id = self.known(&heartbeat.member)?;
        if heartbeat.generation != self.generation {
            return Err(GroupError::IllegalGeneration);
        }
        self.hear(step, &id);
        match self.state {
            GroupState::Empty | GroupState::Dead => Err(GroupError::UnknownMember),
            GroupState::PreparingRebalance => Err(GroupError::RebalanceInProgress),
            GroupState::CompletingRebalance | GroupState::Stable => Ok(()),
        }
    }

    /// Starts the member's session again.
    pub(crate) fn hear(&mut self, step: &mut Step<'_>, id: &str) {
        let member = self
            .members
            .get_mut(id)
            .expect("a known member is in the group");
        if !member.is_new {
            member.heard(step.now.mono_ms);
            watch(step, &self.id, member);
        }
    }

    /// Members leave; one result each, in order.
    pub(crate) fn leave(
        &mut self,
        step: &mut Step<'_>,
        leave: &Leave,
    ) -> Vec<Result<(), GroupError>> {
        let (mut member_left, mut promise_returned) = (false, false);
        let mut results = Vec::with_capacity(leave.members.len());
        for identity in &leave.members {
            if self.promised.remove(&identity.member_id) {
                promise_returned = true;
                results.push(Ok(()));
                continue;
            }
            let leaving = self.leaving(identity);
            if let Ok(id) = &leaving {
                let mut member = self.remove(id).expect("a known member is in the group");
                dismiss(step, &mut member, GroupError::UnknownMember);
                member_left = true;
            }
            results.push(leaving.map(|_| ()));
        }
        if member_left {
            self.rebalance_or_complete(step);
        } else if promise_returned {
            self.maybe_complete_join(step);
        }
        results
    }

    /// The member that leaves: a static one may be named by its instance alone.
    fn leaving(&self, identity: &Identity) -> Result<Arc<str>, GroupError> {
        match &identity.instance_id {
            Some(instance) if identity.member_id.is_empty() => self
                .instances
                .get(instance)
                .cloned()
                .ok_or(GroupError::UnknownMember),
            _ => self.known(identity),
        }
    }

    /// Removes a member, if it is one.
    pub(crate) fn drop_member(&mut self, step: &mut Step<'_>, id: &str) {
        if let Some(mut member) = self.remove(id) {
            dismiss(step, &mut member, GroupError::UnknownMember);
            self.rebalance_or_complete(step);
        }
    }

    /// A promised id was not used in time.
    pub(crate) fn promise_over(&mut self, step: &mut Step<'_>, id: &str) {
        if self.promised.remove(id) {
            self.maybe_complete_join(step);
        }
    }

    /// The session timer of a member, set to `at_ms`, fired.
    pub(crate) fn session_over(&mut self, step: &mut Step<'_>, id: &str, at_ms: u64) {
        let now_ms = step.now.mono_ms;
        let Some(member) = self.members.get_mut(id) else {
            return;
        };
        if member.timer_ms != Some(at_ms) {
            return;
        }
        member.timer_ms = None;
        if member.is_shielded() {
            member.heard(now_ms);
        }
        if member.deadline_ms > now_ms {
            return watch(step, &self.id, member);
        }
        self.drop_member(step, id);
    }

    /// The members of `generation` have had their time to sync.
    pub(crate) fn sync_over(&mut self, step: &mut Step<'_>, generation: i32) {
        let is_running = matches!(
            self.state,
            GroupState::CompletingRebalance | GroupState::Stable
        );
        if !is_running || self.generation != generation {
            return;
        }
        let owing = self.members.values().filter(|member| member.owes_sync);
        let owing: Vec<Arc<str>> = owing.map(|member| Arc::clone(&member.id)).collect();
        for id in &owing {
            self.remove(id);
        }
        if !owing.is_empty() {
            self.rebalance_or_complete(step);
        }
    }
}
