//! OffsetCommit and OffsetDelete.

use std::collections::BTreeMap;
use std::sync::Arc;

use highwater_coordinator::{
    Answer, Commit, CommitOffset, Committed, Coordinator, DeleteOffsets, Event,
};
use highwater_protocol::message::StrBytes;
use highwater_protocol::message::messages::offset_commit_request::OffsetCommitRequestTopic;
use highwater_protocol::message::messages::offset_commit_response::{
    OffsetCommitResponsePartition, OffsetCommitResponseTopic,
};
use highwater_protocol::message::messages::offset_delete_response::{
    OffsetDeleteResponsePartition, OffsetDeleteResponseTopic,
};
use highwater_protocol::message::messages::{
    OffsetCommitRequest, OffsetCommitResponse, OffsetDeleteRequest, OffsetDeleteResponse,
};
use highwater_runtime::Runtime;
use highwater_types::TopicId;

use super::{identity, own, wrong};
use crate::context::Context;
use crate::error_code::{ResponseError, WireCode};
use crate::{Broker, Catalog, TopicEntry};

/// Keeps offsets; answers when they are durable.
pub(crate) async fn commit<R: Runtime>(
    broker: &Arc<Broker<R>>,
    context: &Context<'_>,
    request: OffsetCommitRequest,
) -> OffsetCommitResponse {
    let catalog = broker.catalog();
    let by_id = context.version() >= 10;
    let mut offsets = Vec::new();
    // Topics first: one that does not exist is said before anything about the group (item 39).
    let topics: Vec<_> = request
        .topics
        .iter()
        .map(|topic| committed_topic(&catalog, topic, by_id, &mut offsets))
        .collect();
    let results = if offsets.is_empty() {
        Ok(Vec::new())
    } else {
        keep(broker, &request, offsets).await
    };
    let mut next = 0;
    let topics = request
        .topics
        .into_iter()
        .zip(topics)
        .map(|(topic, refusals)| {
            let partitions = topic
                .partitions
                .iter()
                .zip(refusals)
                .map(|(partition, refusal)| {
                    let code = match (refusal, &results) {
                        (Some(error), _) => error.code(),
                        (None, Err(error)) => error.code(),
                        (None, Ok(codes)) => {
                            next += 1;
                            codes[next - 1]
                        }
                    };
                    OffsetCommitResponsePartition::default()
                        .with_partition_index(partition.partition_index)
                        .with_error_code(code)
                });
            let partitions = partitions.collect();
            OffsetCommitResponseTopic::default()
                .with_name(topic.name)
                .with_topic_id(topic.topic_id)
                .with_partitions(partitions)
        });
    OffsetCommitResponse::default().with_topics(topics.collect())
}

/// Adds the offsets of partitions that exist; answers why the others are refused, in order.
fn committed_topic<R: Runtime>(
    catalog: &Catalog<R>,
    topic: &OffsetCommitRequestTopic,
    by_id: bool,
    offsets: &mut Vec<CommitOffset>,
) -> Vec<Option<ResponseError>> {
    let entry = if by_id {
        let id = TopicId::from_uuid(topic.topic_id);
        catalog.with_id(id).ok_or(ResponseError::UnknownTopicId)
    } else {
        catalog
            .named(&topic.name)
            .ok_or(ResponseError::UnknownTopicOrPartition)
    };
    let refusals = topic.partitions.iter().map(|asked| {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => return Some(error),
        };
        let Some(partition) = existing(entry, asked.partition_index) else {
            return Some(ResponseError::UnknownTopicOrPartition);
        };
        let metadata = asked.committed_metadata.as_ref();
        offsets.push(CommitOffset {
            topic: Arc::clone(&entry.name),
            topic_id: entry.id,
            partition,
            offset: asked.committed_offset,
            leader_epoch: asked.committed_leader_epoch,
            metadata: metadata.map_or_else(|| Arc::from(""), own),
        });
        None
    });
    refusals.collect()
}

/// Hands the offsets to the coordinator; one code an offset.
async fn keep<R: Runtime>(
    broker: &Arc<Broker<R>>,
    request: &OffsetCommitRequest,
    offsets: Vec<CommitOffset>,
) -> Result<Vec<i16>, ResponseError> {
    if broker.disk_is_full() {
        // Retriable: the offset is committed again when space was freed.
        return Err(ResponseError::CoordinatorNotAvailable);
    }
    let slot = broker
        .groups
        .slot_to_write(broker, &request.group_id.0)
        .await?;
    let commit = Commit {
        group: own(&request.group_id.0),
        member: identity(&request.member_id, request.group_instance_id.as_ref()),
        generation: request.generation_id_or_member_epoch,
        retention_ms: u64::try_from(request.retention_time_ms).ok(),
        offsets,
    };
    match slot
        .ask(broker, |token| Event::Commit(token, commit))
        .await?
    {
        Answer::Commit(results) => {
            let code = |result: &Result<(), _>| result.as_ref().err().map_or(0, WireCode::code);
            Ok(results.iter().map(code).collect())
        }
        other => wrong(&other),
    }
}

/// The partition's number, if `topic` has it.
fn existing<R: Runtime>(topic: &TopicEntry<R>, index: i32) -> Option<u32> {
    let index = u32::try_from(index).ok()?;
    ((index as usize) < topic.partitions.len()).then_some(index)
}

/// Deletes offsets of topics that the group does not read.
pub(crate) async fn delete<R: Runtime>(
    broker: &Arc<Broker<R>>,
    _context: &Context<'_>,
    request: OffsetDeleteRequest,
) -> OffsetDeleteResponse {
    let catalog = broker.catalog();
    let mut partitions = Vec::new();
    for topic in &request.topics {
        let Some(entry) = catalog.named(&topic.name) else {
            continue;
        };
        let there = topic.partitions.iter();
        let there = there.filter_map(|asked| existing(entry, asked.partition_index));
        partitions.extend(there.map(|partition| (Arc::clone(&entry.name), partition)));
    }
    let asked = partitions.clone();
    let results = match forget(broker, &request, partitions).await {
        Ok(results) => results,
        Err(error) => return OffsetDeleteResponse::default().with_error_code(error.code()),
    };
    let codes: BTreeMap<(Arc<str>, u32), i16> = asked.into_iter().zip(results).collect();
    let topics = request.topics.into_iter().map(|topic| {
        let partitions = topic.partitions.iter().map(|asked| {
            let index = u32::try_from(asked.partition_index).unwrap_or(u32::MAX);
            let code = codes.get(&(own(&topic.name.0), index)).copied();
            let unknown = ResponseError::UnknownTopicOrPartition.code();
            OffsetDeleteResponsePartition::default()
                .with_partition_index(asked.partition_index)
                .with_error_code(code.unwrap_or(unknown))
        });
        let partitions = partitions.collect();
        OffsetDeleteResponseTopic::default()
            .with_name(topic.name)
            .with_partitions(partitions)
    });
    OffsetDeleteResponse::default().with_topics(topics.collect())
}

async fn forget<R: Runtime>(
    broker: &Arc<Broker<R>>,
    request: &OffsetDeleteRequest,
    partitions: Vec<(Arc<str>, u32)>,
) -> Result<Vec<i16>, ResponseError> {
    let slot = broker.groups.slot(broker, &request.group_id.0)?;
    let slot = slot.ok_or(ResponseError::GroupIdNotFound)?;
    let delete = DeleteOffsets {
        group: own(&request.group_id.0),
        partitions,
    };
    match slot
        .ask(broker, |token| Event::DeleteOffsets(token, delete))
        .await?
    {
        Answer::DeleteOffsets(Ok(results)) => {
            let code = |result: &Result<(), _>| result.as_ref().err().map_or(0, WireCode::code);
            Ok(results.iter().map(code).collect())
        }
        Answer::DeleteOffsets(Err(error)) => Err(error.wire()),
        other => wrong(&other),
    }
}

/// A committed offset as OffsetFetch shows it, whatever its version calls the struct.
pub(super) struct Shown {
    pub(super) partition: i32,
    pub(super) offset: i64,
    pub(super) leader_epoch: i32,
    pub(super) metadata: StrBytes,
    pub(super) code: i16,
}

impl Shown {
    /// Nothing was committed, or cannot be told because of `code`.
    pub(super) fn nothing(partition: i32, code: i16) -> Self {
        Self {
            partition,
            offset: -1,
            leader_epoch: -1,
            metadata: StrBytes::new(),
            code,
        }
    }

    pub(super) fn of(partition: i32, committed: &Committed) -> Self {
        Self {
            partition,
            offset: committed.offset,
            leader_epoch: committed.leader_epoch,
            metadata: super::wire(&committed.metadata),
            code: 0,
        }
    }

    /// The offset of a partition of `topic`; one that was committed for an earlier topic of the
    /// same name counts for nothing.
    pub(super) fn find<R: Runtime>(
        coordinator: Option<&Coordinator>,
        group: &str,
        topic: Option<&Arc<TopicEntry<R>>>,
        partition: i32,
    ) -> Self {
        let found = || {
            let (topic, index) = (topic?, u32::try_from(partition).ok()?);
            let committed = coordinator?.offset(group, &topic.name, index)?;
            (committed.topic_id == topic.id).then_some(committed)
        };
        found().map_or(Self::nothing(partition, 0), |committed| {
            Self::of(partition, committed)
        })
    }
}
