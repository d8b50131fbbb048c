//! OffsetFetch: what a group has committed.

use std::sync::Arc;

use highwater_coordinator::Coordinator;
use highwater_protocol::message::StrBytes;
use highwater_protocol::message::messages::offset_fetch_request::{
    OffsetFetchRequestGroup, OffsetFetchRequestTopics,
};
use highwater_protocol::message::messages::offset_fetch_response::{
    OffsetFetchResponseGroup, OffsetFetchResponsePartition, OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic, OffsetFetchResponseTopics,
};
use highwater_protocol::message::messages::{OffsetFetchRequest, OffsetFetchResponse, TopicName};
use highwater_runtime::Runtime;
use highwater_types::TopicId;

use super::offsets::Shown;
use super::wire;
use crate::context::Context;
use crate::error_code::ResponseError;
use crate::{Broker, Catalog, TopicEntry};

/// Tells what groups have committed; what was never committed is -1 and no error (rule 106).
pub(crate) async fn fetch<R: Runtime>(
    broker: &Arc<Broker<R>>,
    context: &Context<'_>,
    request: OffsetFetchRequest,
) -> OffsetFetchResponse {
    let version = context.version();
    if version >= 8 {
        let groups = request
            .groups
            .into_iter()
            .map(|group| of_group(broker, version, group));
        return OffsetFetchResponse::default().with_groups(groups.collect());
    }
    // The older layout is that of one group.
    let topics = request.topics.map(|topics| {
        let newer = topics.into_iter().map(|topic| {
            OffsetFetchRequestTopics::default()
                .with_name(topic.name)
                .with_partition_indexes(topic.partition_indexes)
        });
        newer.collect()
    });
    let group = OffsetFetchRequestGroup::default()
        .with_group_id(request.group_id)
        .with_topics(topics);
    let found = of_group(broker, version, group);
    let code = found.error_code;
    let topics = found.topics.into_iter().map(|topic| {
        let partitions = topic.partitions.into_iter().map(|partition| {
            // Before version 2 there was no other place for the group's error.
            let code = if version < 2 && code != 0 {
                code
            } else {
                partition.error_code
            };
            OffsetFetchResponsePartition::default()
                .with_partition_index(partition.partition_index)
                .with_committed_offset(partition.committed_offset)
                .with_committed_leader_epoch(partition.committed_leader_epoch)
                .with_metadata(partition.metadata)
                .with_error_code(code)
        });
        let partitions = partitions.collect();
        OffsetFetchResponseTopic::default()
            .with_name(topic.name)
            .with_partitions(partitions)
    });
    let answer = OffsetFetchResponse::default().with_topics(topics.collect());
    if version >= 2 {
        answer.with_error_code(code)
    } else {
        answer
    }
}

fn of_group<R: Runtime>(
    broker: &Arc<Broker<R>>,
    version: i16,
    request: OffsetFetchRequestGroup,
) -> OffsetFetchResponseGroup {
    let group = request.group_id.clone();
    let catalog = broker.catalog();
    let view = View {
        catalog: &catalog,
        version,
        group: &group.0,
    };
    let look = |coordinator: Option<&Coordinator>| match &request.topics {
        Some(topics) => view.asked(coordinator, topics),
        None => view.all(coordinator),
    };
    let found = match broker.groups.slot(broker, &group.0) {
        Ok(Some(slot)) => slot.look(|coordinator| look(Some(coordinator))),
        Ok(None) => Ok(look(None)),
        Err(error) => Err(error),
    };
    let answer = OffsetFetchResponseGroup::default().with_group_id(group.clone());
    match found {
        Ok(topics) => answer.with_topics(topics),
        Err(error) if version < 2 => {
            // The asked partitions carry the error.
            answer.with_topics(look(None)).with_error_code(error.code())
        }
        Err(error) => answer.with_error_code(error.code()),
    }
}

/// What one group's offsets look like in one version.
struct View<'a, R: Runtime> {
    catalog: &'a Catalog<R>,
    version: i16,
    group: &'a str,
}

impl<R: Runtime> View<'_, R> {
    fn asked(
        &self,
        coordinator: Option<&Coordinator>,
        topics: &[OffsetFetchRequestTopics],
    ) -> Vec<OffsetFetchResponseTopics> {
        let by_id = self.version >= 10;
        let topics = topics.iter().map(|asked| {
            let entry = if by_id {
                self.catalog.with_id(TopicId::from_uuid(asked.topic_id))
            } else {
                self.catalog.named(&asked.name)
            };
            let partitions = asked.partition_indexes.iter().map(|index| {
                if by_id && entry.is_none() {
                    Shown::nothing(*index, ResponseError::UnknownTopicId.code())
                } else {
                    Shown::find(coordinator, self.group, entry, *index)
                }
            });
            self.topic(asked.name.clone(), asked.topic_id, partitions.collect())
        });
        topics.collect()
    }

    /// Every offset of the group whose topic is still there.
    fn all(&self, coordinator: Option<&Coordinator>) -> Vec<OffsetFetchResponseTopics> {
        let Some(coordinator) = coordinator else {
            return Vec::new();
        };
        let mut topics: Vec<(&Arc<TopicEntry<R>>, Vec<Shown>)> = Vec::new();
        for (name, partition, committed) in coordinator.offsets(self.group) {
            let entry = self.catalog.named(name);
            let Some(entry) = entry.filter(|entry| entry.id == committed.topic_id) else {
                continue;
            };
            if topics.last().is_none_or(|(last, _)| last.id != entry.id) {
                topics.push((entry, Vec::new()));
            }
            let (_, shown) = topics.last_mut().expect("one was just pushed");
            shown.push(Shown::of(partition.cast_signed(), committed));
        }
        let topics = topics.into_iter().map(|(entry, shown)| {
            let name = if self.version >= 10 {
                StrBytes::new()
            } else {
                wire(&entry.name)
            };
            self.topic(TopicName(name), entry.id.uuid(), shown)
        });
        topics.collect()
    }

    fn topic(
        &self,
        name: TopicName,
        id: uuid::Uuid,
        partitions: Vec<Shown>,
    ) -> OffsetFetchResponseTopics {
        let partitions = partitions.into_iter().map(|shown| {
            OffsetFetchResponsePartitions::default()
                .with_partition_index(shown.partition)
                .with_committed_offset(shown.offset)
                .with_committed_leader_epoch(shown.leader_epoch)
                .with_metadata(Some(shown.metadata))
                .with_error_code(shown.code)
        });
        let topic = OffsetFetchResponseTopics::default().with_partitions(partitions.collect());
        if self.version >= 10 {
            topic.with_topic_id(id)
        } else {
            topic.with_name(name)
        }
    }
}
