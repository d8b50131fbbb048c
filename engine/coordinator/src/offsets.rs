//! Committed offsets: who may commit, and when offsets go.
//!
//! Source: `kafka.md` rules 104-106 and section 4, item 39; KIP-211 for expiry.

use std::collections::BTreeSet;
use std::sync::Arc;

use highwater_types::TopicId;

use crate::group::{Group, GroupState};
use crate::pending::{Change, Pending};
use crate::record::Key;
use crate::step::Step;
use crate::{Answer, Commit, CommitOffset, Committed, DeleteOffsets, GroupError, Record, Token};

/// The protocol type of consumers: their metadata names topics.
const CONSUMER: &str = "consumer";

impl Group {
    /// Offsets are committed.
    pub(crate) fn commit(&mut self, step: &mut Step<'_>, token: Token, commit: &Commit) {
        if let Err(error) = self.may_commit(step, commit) {
            let results = vec![Err(error); commit.offsets.len()];
            return step.answer(token, Answer::Commit(results));
        }
        let mut results = Vec::with_capacity(commit.offsets.len());
        let mut offsets = Vec::with_capacity(commit.offsets.len());
        let mut records = Vec::with_capacity(commit.offsets.len());
        for asked in &commit.offsets {
            if asked.metadata.len() > step.config.metadata_bytes_max {
                results.push(Err(GroupError::MetadataTooLarge));
                continue;
            }
            let committed = committed(asked, commit.retention_ms, step.now.wall_ms);
            records.push(committed.record(&self.id, &asked.topic, asked.partition));
            offsets.push((Arc::clone(&asked.topic), asked.partition, committed));
            results.push(Ok(()));
        }
        if records.is_empty() {
            return step.answer(token, Answer::Commit(results));
        }
        self.appends += 1;
        let group = Arc::clone(&self.id);
        step.append(
            Change::Commit {
                token,
                group,
                offsets,
                results,
            },
            records,
        );
    }

    fn may_commit(&mut self, step: &mut Step<'_>, commit: &Commit) -> Result<(), GroupError> {
        let from_outside = commit.generation < 0
            && commit.member.member_id.is_empty()
            && commit.member.instance_id.is_none();
        if self.state == GroupState::Empty && commit.generation < 0 {
            return Ok(());
        }
        if from_outside {
            return Err(GroupError::UnknownMember);
        }
        let id = self.known(&commit.member)?;
        if commit.generation != self.generation {
            return Err(GroupError::IllegalGeneration);
        }
        if self.state == GroupState::CompletingRebalance {
            return Err(GroupError::RebalanceInProgress);
        }
        self.hear(step, &id);
        Ok(())
    }

    /// Keeps offsets whose records are durable.
    pub(crate) fn keep(&mut self, offsets: Vec<(Arc<str>, u32, Committed)>) {
        for (topic, partition, committed) in offsets {
            self.offsets
                .entry(topic)
                .or_default()
                .insert(partition, committed);
        }
    }

    /// Forgets offsets; those that are not there are no error.
    pub(crate) fn forget(&mut self, keys: &[(Arc<str>, u32)]) {
        for (topic, partition) in keys {
            if let Some(partitions) = self.offsets.get_mut(topic) {
                partitions.remove(partition);
                if partitions.is_empty() {
                    self.offsets.remove(topic);
                }
            }
        }
    }

    /// Deletes offsets of topics that the group does not read.
    pub(crate) fn delete_offsets(
        &mut self,
        step: &mut Step<'_>,
        token: Token,
        delete: DeleteOffsets,
    ) {
        let is_empty = self.state == GroupState::Empty;
        if !is_empty && self.protocol_type.as_deref() != Some(CONSUMER) {
            return step.answer(token, Answer::DeleteOffsets(Err(GroupError::GroupNotEmpty)));
        }
        let subscribed = self.subscribed_topics();
        let is_read = |topic: &Arc<str>| {
            !is_empty
                && subscribed
                    .as_ref()
                    .is_none_or(|topics| topics.contains(topic))
        };
        let mut results = Vec::with_capacity(delete.partitions.len());
        let mut keys = Vec::new();
        for (topic, partition) in delete.partitions {
            if is_read(&topic) {
                results.push(Err(GroupError::SubscribedToTopic));
            } else {
                results.push(Ok(()));
                keys.push((topic, partition));
            }
        }
        if keys.is_empty() {
            return step.answer(token, Answer::DeleteOffsets(Ok(results)));
        }
        self.drop_offsets(step, keys, Some((token, results)));
    }

    /// Appends that the offsets of `keys` are gone.
    pub(crate) fn drop_offsets(
        &mut self,
        step: &mut Step<'_>,
        keys: Vec<(Arc<str>, u32)>,
        answer: Option<(Token, Vec<Result<(), GroupError>>)>,
    ) {
        let records = keys.iter().map(|key| self.offset_key(key).gone()).collect();
        self.appends += 1;
        let group = Arc::clone(&self.id);
        step.append(
            Change::DropOffsets {
                group,
                keys,
                answer,
            },
            records,
        );
    }

    /// Appends that the group is gone, with every offset it has or is about to have.
    pub(crate) fn delete(&mut self, step: &mut Step<'_>, token: Option<Token>) {
        let mut keys = self.keys_where(|_, _| true);
        keys.extend(pending_keys(step.log.iter(), &self.id, |_| true));
        let mut records: Vec<Record> = keys.iter().map(|key| self.offset_key(key).gone()).collect();
        records.push(Key::Group(Arc::clone(&self.id)).gone());
        self.appends += 1;
        let group = Arc::clone(&self.id);
        step.append(Change::DeleteGroup { token, group }, records);
    }

    /// Appends that the offsets of deleted topics are gone.
    pub(crate) fn topics_deleted(&mut self, step: &mut Step<'_>, topics: &BTreeSet<TopicId>) {
        let mut keys = self.keys_where(|_, committed| topics.contains(&committed.topic_id));
        let is_hit = |committed: &Committed| topics.contains(&committed.topic_id);
        keys.extend(pending_keys(step.log.iter(), &self.id, is_hit));
        if !keys.is_empty() {
            self.drop_offsets(step, keys.into_iter().collect(), None);
        }
    }

    /// Appends that expired offsets are gone, and the group when nothing is left of it.
    ///
    /// Answers whether the group was never more than a name and can be dropped at once.
    pub(crate) fn expire(&mut self, step: &mut Step<'_>) -> bool {
        let is_rebalancing = matches!(
            self.state,
            GroupState::PreparingRebalance | GroupState::CompletingRebalance
        );
        // A commit on its way may be for an offset that looks expired.
        if is_rebalancing || self.appends > 0 {
            return false;
        }
        let expired = self.expired(step.config.offsets_retention_ms, step.now.wall_ms);
        let all = self
            .offsets
            .values()
            .map(|partitions| partitions.len())
            .sum::<usize>();
        let is_over = self.state == GroupState::Empty && self.promised.is_empty();
        if is_over && expired.len() == all {
            if all == 0 && self.durable.is_none() {
                return true;
            }
            self.delete(step, None);
        } else if !expired.is_empty() {
            self.drop_offsets(step, expired.into_iter().collect(), None);
        }
        false
    }

    fn expired(&self, retention_ms: u64, now_ms: i64) -> BTreeSet<(Arc<str>, u32)> {
        let retention_ms = i64::try_from(retention_ms).unwrap_or(i64::MAX);
        let is_old = |since_ms: i64| now_ms.saturating_sub(since_ms) >= retention_ms;
        let subscribed = self.subscribed_topics();
        self.keys_where(|topic, committed| match committed.expires_ms {
            Some(at_ms) => now_ms >= at_ms,
            // A group that was used counts from when its last member went; offsets that were
            // only ever committed from outside count for themselves.
            None if self.state == GroupState::Empty && self.protocol_type.is_some() => {
                is_old(committed.committed_ms.max(self.since_ms))
            }
            None if self.state == GroupState::Empty => is_old(committed.committed_ms),
            None => {
                self.protocol_type.as_deref() == Some(CONSUMER)
                    && subscribed
                        .as_ref()
                        .is_some_and(|topics| !topics.contains(topic))
                    && is_old(committed.committed_ms)
            }
        })
    }

    fn keys_where(
        &self,
        is_hit: impl Fn(&Arc<str>, &Committed) -> bool,
    ) -> BTreeSet<(Arc<str>, u32)> {
        let mut keys = BTreeSet::new();
        for (topic, partitions) in &self.offsets {
            for (partition, committed) in partitions {
                if is_hit(topic, committed) {
                    keys.insert((Arc::clone(topic), *partition));
                }
            }
        }
        keys
    }

    fn offset_key(&self, (topic, partition): &(Arc<str>, u32)) -> Key {
        let (group, topic) = (Arc::clone(&self.id), Arc::clone(topic));
        Key::Offset {
            group,
            topic,
            partition: *partition,
        }
    }
}

/// The offsets that commits of `group` on their way will set.
fn pending_keys<'a>(
    pending: impl Iterator<Item = &'a Pending>,
    group: &str,
    is_hit: impl Fn(&Committed) -> bool,
) -> Vec<(Arc<str>, u32)> {
    let mut keys = Vec::new();
    for append in pending {
        let Change::Commit {
            group: of, offsets, ..
        } = &append.change
        else {
            continue;
        };
        if **of == *group {
            let hits = offsets.iter().filter(|(_, _, committed)| is_hit(committed));
            keys.extend(hits.map(|(topic, partition, _)| (Arc::clone(topic), *partition)));
        }
    }
    keys
}

fn committed(asked: &CommitOffset, retention_ms: Option<u64>, now_ms: i64) -> Committed {
    let expires_ms = retention_ms.map(|retention_ms| {
        now_ms
            .saturating_add(i64::try_from(retention_ms).unwrap_or(i64::MAX))
            .max(0)
    });
    Committed {
        offset: asked.offset,
        leader_epoch: asked.leader_epoch,
        topic_id: asked.topic_id,
        committed_ms: now_ms,
        expires_ms,
        metadata: Arc::clone(&asked.metadata),
    }
}
