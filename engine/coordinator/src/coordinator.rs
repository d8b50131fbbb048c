//! The groups of one partition of `__consumer_offsets`: events in, effects out.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::group::Group;
use crate::join::{dismiss, watch};
use crate::member::Member;
use crate::pending::{Change, Pending, PendingLog};
use crate::step::Step;
use crate::timers::{Timer, Timers};
use crate::{
    Answer, AppendId, Commit, Config, DeleteOffsets, Effect, Event, GroupError, GroupState, Join,
    Leave, Now, Record, Token,
};

/// The groups of one partition of `__consumer_offsets`.
///
/// Decides, and never waits: [`Coordinator::handle`] takes an event and says what is to be done.
/// It is made by [`crate::Replay`] from the partition's records; what it shows of offsets and
/// assignments is always what a replay of the durable records would give.
#[derive(Debug)]
pub struct Coordinator {
    config: Config,
    pub(crate) groups: BTreeMap<Arc<str>, Group>,
    timers: Timers,
    log: PendingLog,
    /// Offsets that are to go, but whose append was refused: tried again when time passes.
    owed: Vec<(Arc<str>, Vec<(Arc<str>, u32)>)>,
    is_rewriting: bool,
}

impl Coordinator {
    /// A coordinator of `groups`, as a replay left them.
    pub(crate) fn new(config: Config, groups: BTreeMap<Arc<str>, Group>, now: Now) -> Self {
        let mut coordinator = Self {
            config,
            groups,
            timers: Timers::default(),
            log: PendingLog::default(),
            owed: Vec::new(),
            is_rewriting: false,
        };
        let mut effects = Vec::new();
        let (groups, mut step) = coordinator.split(now, &mut effects);
        for group in groups.values_mut() {
            let id = Arc::clone(&group.id);
            group
                .members
                .values_mut()
                .for_each(|member| watch(&mut step, &id, member));
            group.check();
        }
        coordinator.arm_expiry(now);
        coordinator
    }

    /// Takes over changed settings; running sessions and rebalances keep theirs.
    pub fn configure(&mut self, config: Config) {
        self.config = config;
    }

    /// When [`Event::Tick`] is due, in monotonic milliseconds.
    #[must_use]
    pub fn next_deadline(&self) -> Option<u64> {
        self.timers.next()
    }

    /// Runs to completion: no await, no clock, no lock.
    pub fn handle(&mut self, now: Now, event: Event, effects: &mut Vec<Effect>) {
        match event {
            Event::Join(token, join) => self.join(now, token, &join, effects),
            Event::Sync(token, sync) => {
                let id = Arc::clone(&sync.group);
                if let Err(error) = self.in_group(now, &id, effects, |group, step| {
                    group.sync(step, token, sync)
                }) {
                    effects.push(Effect::Answer(token, Answer::Sync(Err(error))));
                }
            }
            Event::Heartbeat(token, beat) => {
                let id = Arc::clone(&beat.group);
                let result = self.in_group(now, &id, effects, |group, step| {
                    group.heartbeat(step, &beat)
                });
                let answer = Answer::Heartbeat(result.and_then(|result| result));
                effects.push(Effect::Answer(token, answer));
            }
            Event::Leave(token, leave) => self.leave(now, token, &leave, effects),
            Event::Commit(token, commit) => self.commit(now, token, &commit, effects),
            Event::DeleteGroup(token, id) => self.delete_group(now, token, &id, effects),
            Event::DeleteOffsets(token, delete) => self.delete_offsets(now, token, delete, effects),
            Event::TopicsDeleted(topics) => self.topics_deleted(now, topics, effects),
            Event::Durable(up_to) => self.durable(now, up_to, effects),
            Event::Refused(id) => self.refused(now, id, effects),
            Event::Rewrite => self.rewrite(now, effects),
            Event::Tick => self.tick(now, effects),
            Event::Lost => self.lost(now, effects),
        }
    }

    fn split<'a>(
        &'a mut self,
        now: Now,
        effects: &'a mut Vec<Effect>,
    ) -> (&'a mut BTreeMap<Arc<str>, Group>, Step<'a>) {
        let Self {
            config,
            groups,
            timers,
            log,
            ..
        } = self;
        (
            groups,
            Step {
                now,
                config,
                timers,
                log,
                effects,
            },
        )
    }

    /// Runs `run` on the group `id`, and checks the group after it.
    fn in_group<T>(
        &mut self,
        now: Now,
        id: &str,
        effects: &mut Vec<Effect>,
        run: impl FnOnce(&mut Group, &mut Step<'_>) -> T,
    ) -> Result<T, GroupError> {
        if id.is_empty() {
            return Err(GroupError::InvalidGroupId);
        }
        let (groups, mut step) = self.split(now, effects);
        let group = groups.get_mut(id).ok_or(GroupError::UnknownMember)?;
        let result = run(group, &mut step);
        group.check();
        Ok(result)
    }

    fn join(&mut self, now: Now, token: Token, join: &Join, effects: &mut Vec<Effect>) {
        let config = &self.config;
        let session = config.session_timeout_ms_min..=config.session_timeout_ms_max;
        let asked = u64::try_from(join.session_timeout_ms).unwrap_or(0);
        let exists = self.groups.contains_key(&join.group);
        let error = if join.group.is_empty() {
            Some(GroupError::InvalidGroupId)
        } else if !session.contains(&asked) {
            Some(GroupError::InvalidSessionTimeout)
        } else if join.protocol_type.is_empty()
            || join.protocols.is_empty()
            || join.protocols.len() > usize::from(u16::MAX)
        {
            Some(GroupError::InconsistentProtocol)
        } else if join.bytes() > config.member_bytes_max {
            Some(GroupError::MemberTooLarge)
        } else if !exists && !join.member_id.is_empty() {
            Some(GroupError::UnknownMember)
        } else {
            None
        };
        let (groups, mut step) = self.split(now, effects);
        if let Some(error) = error {
            return step.refuse_join(token, error, &join.member_id);
        }
        let group = groups
            .entry(Arc::clone(&join.group))
            .or_insert_with(|| Group::new(Arc::clone(&join.group), now.wall_ms));
        group.join(&mut step, token, join);
        group.check();
    }

    fn leave(&mut self, now: Now, token: Token, leave: &Leave, effects: &mut Vec<Effect>) {
        let left = self.in_group(now, &leave.group, effects, |group, step| {
            group.leave(step, leave)
        });
        let results = left.unwrap_or_else(|error| vec![Err(error); leave.members.len()]);
        effects.push(Effect::Answer(token, Answer::Leave(results)));
    }

    fn commit(&mut self, now: Now, token: Token, commit: &Commit, effects: &mut Vec<Effect>) {
        let (groups, mut step) = self.split(now, effects);
        let exists = groups.contains_key(&commit.group);
        if !exists && commit.generation >= 0 {
            let results = vec![Err(GroupError::IllegalGeneration); commit.offsets.len()];
            return step.answer(token, Answer::Commit(results));
        }
        let group = groups
            .entry(Arc::clone(&commit.group))
            .or_insert_with(|| Group::new(Arc::clone(&commit.group), now.wall_ms));
        group.commit(&mut step, token, commit);
        group.check();
    }

    fn delete_group(&mut self, now: Now, token: Token, id: &str, effects: &mut Vec<Effect>) {
        let (groups, mut step) = self.split(now, effects);
        let error = match groups.get_mut(id) {
            None => GroupError::GroupNotFound,
            Some(group) if group.state != GroupState::Empty => GroupError::GroupNotEmpty,
            Some(group) => return group.delete(&mut step, Some(token)),
        };
        step.answer(token, Answer::DeleteGroup(Err(error)));
    }

    fn delete_offsets(
        &mut self,
        now: Now,
        token: Token,
        delete: DeleteOffsets,
        effects: &mut Vec<Effect>,
    ) {
        let (groups, mut step) = self.split(now, effects);
        match groups.get_mut(&delete.group) {
            _ if delete.group.is_empty() => {
                let error = GroupError::InvalidGroupId;
                step.answer(token, Answer::DeleteOffsets(Err(error)));
            }
            Some(group) => group.delete_offsets(&mut step, token, delete),
            None => {
                let error = GroupError::GroupNotFound;
                step.answer(token, Answer::DeleteOffsets(Err(error)));
            }
        }
    }

    fn topics_deleted(
        &mut self,
        now: Now,
        topics: impl IntoIterator<Item = highwater_types::TopicId>,
        effects: &mut Vec<Effect>,
    ) {
        let topics = BTreeSet::from_iter(topics);
        let (groups, mut step) = self.split(now, effects);
        groups
            .values_mut()
            .for_each(|group| group.topics_deleted(&mut step, &topics));
    }

    /// Applies every append up to `up_to`, in the order of the log.
    fn durable(&mut self, now: Now, up_to: AppendId, effects: &mut Vec<Effect>) {
        while let Some(Pending { id, change, .. }) = self.log.durable(up_to) {
            let (groups, mut step) = self.split(now, effects);
            let Some(group_id) = change.group().cloned() else {
                self.is_rewriting = false;
                effects.push(Effect::Trim(id));
                continue;
            };
            let group = groups
                .get_mut(&group_id)
                .expect("a group with appends is kept");
            group.appends -= 1;
            apply(group, &mut step, change);
            group.check();
            if group.is_unused() {
                groups.remove(&group_id);
            }
        }
    }

    /// An append was not written: whoever waits for it is told so.
    fn refused(&mut self, now: Now, id: AppendId, effects: &mut Vec<Effect>) {
        let Some(Pending { change, .. }) = self.log.refused(id) else {
            return;
        };
        if let Change::DropOffsets {
            group,
            keys,
            answer: None,
        } = &change
        {
            self.owed.push((Arc::clone(group), keys.clone()));
        }
        let (groups, mut step) = self.split(now, effects);
        let Some(group_id) = change.group().cloned() else {
            self.is_rewriting = false;
            return;
        };
        refuse(&mut step, &change, GroupError::NotWritten);
        let group = groups
            .get_mut(&group_id)
            .expect("a group with appends is kept");
        group.appends -= 1;
        if let Change::Assign { generation, .. } = change {
            group.assignment_refused(&mut step, generation);
        }
        group.check();
    }

    /// Appends the whole state, so that everything before it in the log may go.
    ///
    /// What is on its way to the log stands before the state there, but is not in it: it is
    /// appended behind it once more.
    fn rewrite(&mut self, now: Now, effects: &mut Vec<Effect>) {
        if self.is_rewriting {
            return;
        }
        self.is_rewriting = true;
        let mut records = self.records();
        for pending in self.log.iter() {
            records.extend(pending.records.iter().cloned());
        }
        let (_, mut step) = self.split(now, effects);
        step.append(Change::Rewrite, records);
    }

    /// The durable state as records: replayed, they give it again.
    #[must_use]
    pub fn records(&self) -> Vec<Record> {
        let mut records = Vec::new();
        for group in self.groups.values() {
            if let Some(value) = &group.durable {
                records.push(value.record(&group.id));
            }
            for (topic, partitions) in &group.offsets {
                for (partition, committed) in partitions {
                    records.push(committed.record(&group.id, topic, *partition));
                }
            }
        }
        records
    }

    fn tick(&mut self, now: Now, effects: &mut Vec<Effect>) {
        loop {
            let at_ms = self.timers.next().unwrap_or_default();
            let Some(timer) = self.timers.due(now.mono_ms) else {
                return;
            };
            let (group, run): (Arc<str>, Box<dyn FnOnce(&mut Group, &mut Step<'_>)>) = match timer {
                Timer::Expire => {
                    self.expire(now, effects);
                    continue;
                }
                Timer::Join(group, number) => (
                    group,
                    Box::new(move |group, step| group.join_wait_over(step, number)),
                ),
                Timer::Sync(group, generation) => (
                    group,
                    Box::new(move |group, step| group.sync_over(step, generation)),
                ),
                Timer::Session(group, id) => (
                    group,
                    Box::new(move |group, step| group.session_over(step, &id, at_ms)),
                ),
                Timer::Promised(group, id) => (
                    group,
                    Box::new(move |group, step| group.promise_over(step, &id)),
                ),
            };
            // A group that is gone needs no timer.
            let _ = self.in_group(now, &group, effects, run);
        }
    }

    fn expire(&mut self, now: Now, effects: &mut Vec<Effect>) {
        let owed = std::mem::take(&mut self.owed);
        let (groups, mut step) = self.split(now, effects);
        for (id, keys) in owed {
            if let Some(group) = groups.get_mut(&id) {
                group.drop_offsets(&mut step, keys, None);
            }
        }
        groups.retain(|_, group| !group.expire(&mut step));
        self.arm_expiry(now);
    }

    fn arm_expiry(&mut self, now: Now) {
        let interval_ms = self.config.retention_check_interval_ms.max(1);
        self.timers
            .arm(now.mono_ms.saturating_add(interval_ms), Timer::Expire);
    }

    /// Sends everybody who waits to look for the coordinator elsewhere, and forgets all.
    fn lost(&mut self, now: Now, effects: &mut Vec<Effect>) {
        let changes: Vec<Change> = self.log.drain().map(|pending| pending.change).collect();
        let mut groups = std::mem::take(&mut self.groups);
        self.timers = Timers::default();
        let (_, mut step) = self.split(now, effects);
        for change in &changes {
            refuse(&mut step, change, GroupError::Moved);
        }
        for group in groups.values_mut() {
            let waiting = |member: &mut Member| dismiss(&mut step, member, GroupError::Moved);
            group.members.values_mut().for_each(waiting);
        }
    }
}

/// A change is durable.
fn apply(group: &mut Group, step: &mut Step<'_>, change: Change) {
    match change {
        Change::Commit {
            token,
            offsets,
            results,
            ..
        } => {
            group.keep(offsets);
            step.answer(token, Answer::Commit(results));
        }
        Change::Assign {
            generation, value, ..
        } => {
            group.durable = Some(value);
            group.assigned(step, generation);
        }
        Change::Replace {
            token,
            answer,
            value,
            ..
        } => {
            group.durable = Some(value);
            step.answer(token, Answer::Join(answer));
        }
        Change::Empty { value, .. } => group.durable = Some(value),
        Change::DeleteGroup { token, .. } => {
            group.durable = None;
            group.offsets.clear();
            if let Some(token) = token {
                step.answer(token, Answer::DeleteGroup(Ok(())));
            }
        }
        Change::DropOffsets { keys, answer, .. } => {
            group.forget(&keys);
            if let Some((token, results)) = answer {
                step.answer(token, Answer::DeleteOffsets(Ok(results)));
            }
        }
        Change::Rewrite => unreachable!("a rewrite concerns no group"),
    }
}

/// A change will not be: whoever waits for it is told `error`.
fn refuse(step: &mut Step<'_>, change: &Change, error: GroupError) {
    match change {
        Change::Commit { token, results, .. } => {
            step.answer(*token, Answer::Commit(vec![Err(error); results.len()]));
        }
        Change::Replace { token, answer, .. } => {
            step.refuse_join(*token, error, &answer.member_id);
        }
        Change::DeleteGroup {
            token: Some(token), ..
        } => {
            step.answer(*token, Answer::DeleteGroup(Err(error)));
        }
        Change::DropOffsets {
            answer: Some((token, _)),
            ..
        } => {
            step.answer(*token, Answer::DeleteOffsets(Err(error)));
        }
        Change::DeleteGroup { token: None, .. }
        | Change::DropOffsets { answer: None, .. }
        | Change::Assign { .. }
        | Change::Empty { .. }
        | Change::Rewrite => {}
    }
}
