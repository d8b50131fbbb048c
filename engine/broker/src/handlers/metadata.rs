//! Metadata and DescribeTopicPartitions: which topics there are and who leads them.
//!
//! Sources: kafka.md rules 121 and 122; KIP-516 for ids, KIP-966 for pages.

use std::collections::BTreeSet;
use std::sync::Arc;

use highwater_metadata::MetadataState;
use highwater_metadata::state::{NewTopic, PartitionState, Topic, check_topic_name};
use highwater_protocol::message::StrBytes;
use highwater_protocol::message::messages::describe_topic_partitions_response::{
    Cursor, DescribeTopicPartitionsResponsePartition, DescribeTopicPartitionsResponseTopic,
};
use highwater_protocol::message::messages::metadata_response::{
    MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};
use highwater_protocol::message::messages::{
    BrokerId, DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse, MetadataRequest,
    MetadataResponse, TopicName,
};
use highwater_runtime::Runtime;
use highwater_types::TopicId;

use crate::Broker;
use crate::context::Context;
use crate::error_code::{ResponseError, WireCode};
use crate::handlers::authorized;
use crate::handlers::topics::text;

/// How many topics one Metadata request may make. A client that names more gets the others when
/// it asks again.
const AUTO_CREATED_MAX: usize = 100;
/// Kafka's `max.request.partition.size.limit`: partitions on one page.
const PAGE_PARTITIONS_MAX: usize = 2_000;

/// Answers for all topics, for named ones, or for ids.
pub(crate) async fn handle<R: Runtime>(
    broker: &Arc<Broker<R>>,
    context: &Context<'_>,
    request: MetadataRequest,
) -> MetadataResponse {
    let version = context.version();
    let with_topic_operations = request.include_topic_authorized_operations;
    let topics = match Wanted::of(&request, version) {
        Err(error) => refused(&request, error),
        Ok(wanted) => {
            if let Wanted::Names(names) = &wanted {
                make_missing(broker, names, request.allow_auto_topic_creation).await;
            }
            let view = View::of(broker, with_topic_operations);
            wanted.answers(&view)
        }
    };
    let (host, port) = broker.advertised();
    let node = MetadataResponseBroker::default()
        .with_node_id(BrokerId(broker.node_id()))
        .with_host(StrBytes::from_string(host))
        .with_port(i32::from(port));
    let mut response = MetadataResponse::default()
        .with_brokers(vec![node])
        .with_controller_id(BrokerId(broker.node_id()))
        .with_cluster_id(Some(cluster_id(&broker.metadata().state())))
        .with_topics(topics);
    if (8..=10).contains(&version) && request.include_cluster_authorized_operations {
        response.cluster_authorized_operations = authorized::CLUSTER;
    }
    response
}

pub(crate) fn cluster_id(state: &MetadataState) -> StrBytes {
    StrBytes::from_string(state.cluster_id().to_string())
}

/// What a Metadata request asks for.
enum Wanted {
    All,
    /// Each once, in the order of the request.
    Names(Vec<StrBytes>),
    Ids(BTreeSet<TopicId>),
}

impl Wanted {
    fn of(request: &MetadataRequest, version: i16) -> Result<Self, ResponseError> {
        let Some(topics) = &request.topics else {
            return Ok(Self::All);
        };
        if version == 0 && topics.is_empty() {
            return Ok(Self::All);
        }
        let ids: BTreeSet<TopicId> = topics
            .iter()
            .map(|topic| TopicId::from_uuid(topic.topic_id))
            .filter(|id| *id != TopicId::NONE)
            .collect();
        if !ids.is_empty() {
            // Versions 10 and 11 have the field and may not use it.
            return if version < 12 {
                Err(ResponseError::InvalidRequest)
            } else {
                Ok(Self::Ids(ids))
            };
        }
        let mut seen = BTreeSet::new();
        let mut names = Vec::with_capacity(topics.len());
        for topic in topics {
            let name = topic.name.as_ref().ok_or(ResponseError::InvalidRequest)?;
            if seen.insert(name.as_str()) {
                names.push(name.0.clone());
            }
        }
        Ok(Self::Names(names))
    }

    fn answers<R: Runtime>(&self, view: &View<'_, R>) -> Vec<MetadataResponseTopic> {
        match self {
            Self::All => view.all().map(|topic| view.topic(topic)).collect(),
            Self::Names(names) => names
                .iter()
                .map(|name| match view.named(name) {
                    Ok(topic) => view.topic(topic),
                    Err(error) => MetadataResponseTopic::default()
                        .with_error_code(error.code())
                        .with_name(Some(TopicName(name.clone())))
                        .with_topic_authorized_operations(view.topic_operations()),
                })
                .collect(),
            Self::Ids(ids) => ids
                .iter()
                .map(|id| match view.identified(*id) {
                    Some(topic) => view.topic(topic),
                    None => MetadataResponseTopic::default()
                        .with_error_code(ResponseError::UnknownTopicId.code())
                        .with_name(None)
                        .with_topic_id(id.uuid())
                        .with_topic_authorized_operations(view.topic_operations()),
                })
                .collect(),
        }
    }
}

/// The answer to a request that makes no sense: every topic with the error.
fn refused(request: &MetadataRequest, error: ResponseError) -> Vec<MetadataResponseTopic> {
    let topics = request.topics.iter().flatten();
    topics
        .map(|topic| {
            MetadataResponseTopic::default()
                .with_error_code(error.code())
                .with_name(Some(topic.name.clone().unwrap_or_default()))
                .with_topic_id(topic.topic_id)
        })
        .collect()
}

/// Makes named topics that do not exist, when the client and the broker allow it, and waits until
/// they serve.
async fn make_missing<R: Runtime>(broker: &Arc<Broker<R>>, names: &[StrBytes], allowed: bool) {
    let state = broker.metadata().state();
    let catalog = broker.catalog();
    let (mut missing, mut coming) = (Vec::new(), false);
    for name in names.iter().filter(|name| catalog.named(name).is_none()) {
        match state.topic(name) {
            Some(_) => coming = true,
            None if check_topic_name(name).is_ok() => missing.push(NewTopic::named(name)),
            None => {}
        }
    }
    drop(state);
    if allowed && broker.settings().auto_create_topics && !missing.is_empty() {
        missing.truncate(AUTO_CREATED_MAX);
        // One that is refused stays unknown; the client hears that, and asks again.
        coming |= broker
            .metadata()
            .create_topics(&missing, false)
            .await
            .is_ok();
    }
    if coming {
        broker.act_on_changes().await;
    }
}

/// The topics that serve at one moment.
struct View<'a, R: Runtime> {
    broker: &'a Broker<R>,
    state: Arc<MetadataState>,
    catalog: Arc<crate::Catalog<R>>,
    operations: bool,
}

impl<'a, R: Runtime> View<'a, R> {
    fn of(broker: &'a Broker<R>, operations: bool) -> Self {
        let (catalog, state) = (broker.catalog(), broker.metadata().state());
        Self {
            broker,
            state,
            catalog,
            operations,
        }
    }

    fn serves(&self, topic: &Topic) -> bool {
        self.catalog.with_id(topic.id).is_some()
    }

    fn all(&self) -> impl Iterator<Item = &Arc<Topic>> {
        self.state.topics().filter(|topic| self.serves(topic))
    }

    fn named(&self, name: &str) -> Result<&Arc<Topic>, ResponseError> {
        let found = self.state.topic(name).filter(|topic| self.serves(topic));
        found.ok_or_else(|| match check_topic_name(name) {
            Ok(()) => ResponseError::UnknownTopicOrPartition,
            Err(error) => error.wire(),
        })
    }

    fn identified(&self, id: TopicId) -> Option<&Arc<Topic>> {
        self.state
            .topic_by_id(id)
            .filter(|topic| self.serves(topic))
    }

    /// The partitions of `topic` that serve.
    fn partitions<'t>(&self, topic: &'t Topic) -> &'t [PartitionState] {
        let serving = self
            .catalog
            .with_id(topic.id)
            .map_or(0, |entry| entry.partitions.len());
        &topic.partitions[..serving.min(topic.partitions.len())]
    }

    fn topic_operations(&self) -> i32 {
        if self.operations {
            authorized::TOPIC
        } else {
            authorized::NOT_ASKED
        }
    }

    fn topic(&self, topic: &Topic) -> MetadataResponseTopic {
        let partitions = self
            .partitions(topic)
            .iter()
            .zip(0..)
            .map(|(state, index)| {
                let facts = PartitionFacts::of(self.broker, state);
                MetadataResponsePartition::default()
                    .with_error_code(facts.error)
                    .with_partition_index(index)
                    .with_leader_id(facts.leader)
                    .with_leader_epoch(state.leader_epoch.wire())
                    .with_replica_nodes(facts.replicas)
                    .with_isr_nodes(facts.in_sync)
                    .with_offline_replicas(facts.offline)
            });
        MetadataResponseTopic::default()
            .with_name(Some(TopicName(text(&topic.name))))
            .with_topic_id(topic.id.uuid())
            .with_is_internal(topic.internal)
            .with_partitions(partitions.collect())
            .with_topic_authorized_operations(self.topic_operations())
    }
}

/// A partition's state as clients know it.
struct PartitionFacts {
    error: i16,
    leader: BrokerId,
    replicas: Vec<BrokerId>,
    in_sync: Vec<BrokerId>,
    offline: Vec<BrokerId>,
}

impl PartitionFacts {
    fn of<R: Runtime>(broker: &Broker<R>, state: &PartitionState) -> Self {
        let wire = |brokers: &[highwater_types::BrokerId]| -> Vec<BrokerId> {
            brokers
                .iter()
                .map(|id| BrokerId(id.0.cast_signed()))
                .collect()
        };
        let replicas = wire(&state.replicas);
        let here = broker.node_id();
        Self {
            error: match state.leader {
                Some(_) => 0,
                None => ResponseError::LeaderNotAvailable.code(),
            },
            leader: BrokerId(state.leader.map_or(-1, |leader| leader.0.cast_signed())),
            offline: replicas.iter().copied().filter(|id| id.0 != here).collect(),
            in_sync: wire(&state.in_sync),
            replicas,
        }
    }
}

/// Answers pages of partitions, topics sorted by name. Source: KIP-966.
pub(crate) async fn describe_partitions<R: Runtime>(
    broker: &Arc<Broker<R>>,
    _context: &Context<'_>,
    request: DescribeTopicPartitionsRequest,
) -> DescribeTopicPartitionsResponse {
    let view = View::of(broker, true);
    let cursor = request.cursor.as_ref();
    let from = cursor.map_or("", |cursor| cursor.topic_name.as_str());
    let first = cursor.map_or(0, |cursor| {
        usize::try_from(cursor.partition_index).unwrap_or(0)
    });
    let asked: BTreeSet<StrBytes> = if request.topics.is_empty() {
        view.all().map(|topic| text(&topic.name)).collect()
    } else {
        request
            .topics
            .into_iter()
            .map(|topic| topic.name.0)
            .collect()
    };
    let limit = usize::try_from(request.response_partition_limit).unwrap_or(0);
    let mut room = limit.clamp(1, PAGE_PARTITIONS_MAX);
    let mut response = DescribeTopicPartitionsResponse::default();
    for name in asked.into_iter().filter(|name| name.as_str() >= from) {
        let first = if name.as_str() == from { first } else { 0 };
        let topic = match view.named(&name) {
            Ok(topic) => topic,
            Err(error) => {
                let failed = DescribeTopicPartitionsResponseTopic::default()
                    .with_error_code(error.code())
                    .with_name(Some(TopicName(name)))
                    .with_topic_authorized_operations(authorized::NOT_ASKED);
                response.topics.push(failed);
                continue;
            }
        };
        let next = |index: usize| {
            let index = i32::try_from(index).expect("a topic has few partitions");
            Some(
                Cursor::default()
                    .with_topic_name(TopicName(name.clone()))
                    .with_partition_index(index),
            )
        };
        if room == 0 {
            response.next_cursor = next(first);
            break;
        }
        let page = page_of(&view, topic, first, room);
        let end = first + page.partitions.len();
        room -= page.partitions.len();
        response.topics.push(page);
        if end < view.partitions(topic).len() {
            response.next_cursor = next(end);
            break;
        }
    }
    response
}

/// At most `room` partitions of `topic` from number `first` on.
fn page_of<R: Runtime>(
    view: &View<'_, R>,
    topic: &Topic,
    first: usize,
    room: usize,
) -> DescribeTopicPartitionsResponseTopic {
    let partitions = view
        .partitions(topic)
        .iter()
        .zip(0..)
        .skip(first)
        .take(room);
    let partitions = partitions.map(|(state, index)| {
        let facts = PartitionFacts::of(view.broker, state);
        DescribeTopicPartitionsResponsePartition::default()
            .with_error_code(facts.error)
            .with_partition_index(index)
            .with_leader_id(facts.leader)
            .with_leader_epoch(state.leader_epoch.wire())
            .with_replica_nodes(facts.replicas)
            .with_isr_nodes(facts.in_sync)
            .with_eligible_leader_replicas(Some(Vec::new()))
            .with_last_known_elr(Some(Vec::new()))
            .with_offline_replicas(facts.offline)
    });
    DescribeTopicPartitionsResponseTopic::default()
        .with_name(Some(TopicName(text(&topic.name))))
        .with_topic_id(topic.id.uuid())
        .with_is_internal(topic.internal)
        .with_partitions(partitions.collect())
        .with_topic_authorized_operations(view.topic_operations())
}
