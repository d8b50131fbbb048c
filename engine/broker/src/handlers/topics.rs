//! CreateTopics, DeleteTopics and CreatePartitions.
//!
//! Sources: kafka.md rules 121 and 123, section 4 items 8 and 44; KIP-599 for the answers'
//! settings, KIP-516 for ids.

use std::collections::BTreeMap;
use std::sync::Arc;

use highwater_metadata::state::{Assignment, DeleteTopicError, NewTopic, Topic, UnknownTopic};
use highwater_protocol::message::StrBytes;
use highwater_protocol::message::messages::create_partitions_request::CreatePartitionsTopic;
use highwater_protocol::message::messages::create_partitions_response::CreatePartitionsTopicResult;
use highwater_protocol::message::messages::create_topics_request::CreatableTopic;
use highwater_protocol::message::messages::create_topics_response::{
    CreatableTopicConfigs, CreatableTopicResult,
};
use highwater_protocol::message::messages::delete_topics_request::DeleteTopicState;
use highwater_protocol::message::messages::delete_topics_response::DeletableTopicResult;
use highwater_protocol::message::messages::{
    CreatePartitionsRequest, CreatePartitionsResponse, CreateTopicsRequest, CreateTopicsResponse,
    DeleteTopicsRequest, DeleteTopicsResponse, TopicName,
};
use highwater_runtime::Runtime;
use highwater_types::TopicId;

use crate::Broker;
use crate::context::Context;
use crate::error_code::{ResponseError, WireCode};

/// A text of ours in a message.
pub(crate) fn text(text: &str) -> StrBytes {
    StrBytes::from_string(text.to_owned())
}

/// An error's code and its text for a person.
pub(crate) type Explained = (ResponseError, String);

/// Makes topics; each is answered on its own. They serve when the answer is out.
pub(crate) async fn create<R: Runtime>(
    broker: &Arc<Broker<R>>,
    _context: &Context<'_>,
    request: CreateTopicsRequest,
) -> CreateTopicsResponse {
    let names = once_or_twice(request.topics.iter().map(|topic| &topic.name.0));
    let wanted: Vec<NewTopic> = request
        .topics
        .iter()
        .filter(|topic| names[&topic.name.0] == Times::Once)
        .map(new_topic)
        .collect();
    let made = broker
        .metadata()
        .create_topics(&wanted, request.validate_only)
        .await;
    let mut made = match made {
        Ok((answers, _)) => {
            broker.act_on_changes().await;
            answers
                .into_iter()
                .map(|answer| answer.map_err(|error| (error.wire(), error.to_string())))
                .collect()
        }
        Err(error) => vec![Err((error.wire(), error.to_string())); wanted.len()],
    };
    let mut results: Vec<CreatableTopicResult> = names
        .iter()
        .filter(|(_, times)| **times == Times::Twice)
        .map(|(name, _)| created(broker, name, Err(twice())))
        .collect();
    results.extend(
        wanted
            .iter()
            .zip(made.drain(..))
            .map(|(new, answer)| created(broker, &StrBytes::from_string(new.name.clone()), answer)),
    );
    CreateTopicsResponse::default().with_topics(results)
}

fn new_topic(asked: &CreatableTopic) -> NewTopic {
    let assignments = asked.assignments.iter().map(|one| Assignment {
        partition: one.partition_index,
        brokers: one.broker_ids.iter().map(|id| id.0).collect(),
    });
    // A setting that stands twice has its last value, as in Kafka.
    let configs: BTreeMap<String, Option<String>> = asked
        .configs
        .iter()
        .map(|config| {
            (
                config.name.to_string(),
                config.value.as_ref().map(ToString::to_string),
            )
        })
        .collect();
    NewTopic {
        name: asked.name.to_string(),
        partitions: asked.num_partitions,
        replication: asked.replication_factor,
        assignments: assignments.collect(),
        configs: configs.into_iter().collect(),
    }
}

/// One topic's answer, with every effective setting of a new one.
fn created<R: Runtime>(
    broker: &Broker<R>,
    name: &StrBytes,
    answer: Result<Arc<Topic>, Explained>,
) -> CreatableTopicResult {
    let result = CreatableTopicResult::default().with_name(TopicName(name.clone()));
    let topic = match answer {
        Ok(topic) => topic,
        Err((error, message)) => {
            return result
                .with_error_code(error.code())
                .with_error_message(Some(StrBytes::from_string(message)))
                .with_num_partitions(-1)
                .with_replication_factor(-1)
                .with_configs(Some(Vec::new()));
        }
    };
    let (state, metadata) = (broker.metadata().state(), broker.metadata());
    let layers = state.layers(metadata.broker(), metadata.statics());
    let configs = layers
        .describe_topic(&topic.configs)
        .into_iter()
        .map(|one| {
            CreatableTopicConfigs::default()
                .with_name(StrBytes::from_static_str(one.name))
                .with_value(one.value.map(StrBytes::from_string))
                .with_read_only(one.read_only)
                .with_config_source(one.source as i8)
                .with_is_sensitive(one.sensitive)
        });
    let replicas = topic
        .partitions
        .first()
        .map_or(0, |partition| partition.replicas.len());
    let partitions = i32::try_from(topic.partitions.len()).expect("a topic has few partitions");
    result
        .with_error_message(None)
        .with_topic_id(topic.id.uuid())
        .with_num_partitions(partitions)
        .with_replication_factor(i16::try_from(replicas).expect("a partition has few replicas"))
        .with_configs(Some(configs.collect()))
}

/// Deletes topics by name or, from version 6 on, by id.
pub(crate) async fn delete<R: Runtime>(
    broker: &Arc<Broker<R>>,
    context: &Context<'_>,
    request: DeleteTopicsRequest,
) -> DeleteTopicsResponse {
    let asked: Vec<DeleteTopicState> = if context.version() >= 6 {
        request.topics
    } else {
        let named = |name| DeleteTopicState::default().with_name(Some(name));
        request.topic_names.into_iter().map(named).collect()
    };
    let mut targets: BTreeMap<Target, Times> = BTreeMap::new();
    let mut results = Vec::with_capacity(asked.len());
    for topic in &asked {
        match Target::of(broker, topic) {
            Ok(target) => {
                let times = targets
                    .entry(target)
                    .and_modify(|times| *times = Times::Twice);
                times.or_insert(Times::Once);
            }
            Err(failed) => results.push(failed),
        }
    }
    let ids: Vec<TopicId> = targets
        .iter()
        .filter(|(_, times)| **times == Times::Once)
        .filter_map(|(target, _)| target.id)
        .collect();
    let mut deleted = delete_all(broker, context, &ids).await.into_iter();
    for (target, times) in targets {
        let answer = match (times, target.id) {
            (Times::Twice, _) => Err(twice()),
            (Times::Once, Some(_)) => deleted.next().expect("one answer an id, in order"),
            (Times::Once, None) => {
                let error = match target.asked_id {
                    TopicId::NONE => ResponseError::UnknownTopicOrPartition,
                    _ => ResponseError::UnknownTopicId,
                };
                Err((error, UnknownTopic.to_string()))
            }
        };
        let shown = target.id.unwrap_or(target.asked_id);
        let result = DeletableTopicResult::default()
            .with_name(target.name.map(TopicName))
            .with_topic_id(shown.uuid());
        results.push(explained(result, answer));
    }
    broker.act_on_changes().await;
    DeleteTopicsResponse::default().with_responses(results)
}

/// A topic to delete, found or not.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Target {
    id: Option<TopicId>,
    name: Option<StrBytes>,
    /// What was asked, when it is not found by id.
    asked_id: TopicId,
}

impl Target {
    /// Finds the topic that is meant; the whole answer when the request says too much or nothing.
    fn of<R: Runtime>(
        broker: &Broker<R>,
        asked: &DeleteTopicState,
    ) -> Result<Self, DeletableTopicResult> {
        let state = broker.metadata().state();
        let asked_id = TopicId::from_uuid(asked.topic_id);
        let found = match (&asked.name, asked_id) {
            (Some(name), TopicId::NONE) => state.topic(name),
            (None, id) if id != TopicId::NONE => state.topic_by_id(id),
            (name, _) => {
                let message = match name {
                    Some(_) => "You may not specify both topic name and topic id.",
                    None => "Neither topic name nor id were specified.",
                };
                let result = DeletableTopicResult::default()
                    .with_name(name.clone())
                    .with_topic_id(asked.topic_id);
                let error = ResponseError::InvalidRequest;
                return Err(explained(result, Err((error, message.to_owned()))));
            }
        };
        Ok(match found {
            Some(topic) => {
                let name = Some(text(&topic.name));
                Self {
                    id: Some(topic.id),
                    name,
                    asked_id: TopicId::NONE,
                }
            }
            None => Self {
                id: None,
                name: asked.name.clone().map(|name| name.0),
                asked_id,
            },
        })
    }
}

/// Deletes in one commit; answers in the order of `ids`.
async fn delete_all<R: Runtime>(
    broker: &Broker<R>,
    context: &Context<'_>,
    ids: &[TopicId],
) -> Vec<Result<(), Explained>> {
    let explained = |error: DeleteTopicError| match error.wire() {
        // Older clients do not know the code.
        ResponseError::TopicDeletionDisabled if context.version() < 3 => {
            (ResponseError::InvalidRequest, error.to_string())
        }
        wire => (wire, error.to_string()),
    };
    match broker.metadata().delete_topics(ids).await {
        Ok(answers) => answers
            .into_iter()
            .map(|answer| answer.map_err(explained))
            .collect(),
        Err(error) => vec![Err((error.wire(), error.to_string())); ids.len()],
    }
}

fn explained(result: DeletableTopicResult, answer: Result<(), Explained>) -> DeletableTopicResult {
    match answer {
        Ok(()) => result,
        Err((error, message)) => result
            .with_error_code(error.code())
            .with_error_message(Some(StrBytes::from_string(message))),
    }
}

/// Gives topics more partitions.
pub(crate) async fn create_partitions<R: Runtime>(
    broker: &Arc<Broker<R>>,
    _context: &Context<'_>,
    request: CreatePartitionsRequest,
) -> CreatePartitionsResponse {
    let names = once_or_twice(request.topics.iter().map(|topic| &topic.name.0));
    let mut results = Vec::with_capacity(names.len());
    for (name, times) in &names {
        if *times == Times::Twice {
            results.push(grown(name, Err(twice())));
        }
    }
    for topic in request
        .topics
        .iter()
        .filter(|topic| names[&topic.name.0] == Times::Once)
    {
        let answer = grow(broker, topic, request.validate_only).await;
        results.push(grown(&topic.name, answer));
    }
    broker.act_on_changes().await;
    CreatePartitionsResponse::default().with_results(results)
}

async fn grow<R: Runtime>(
    broker: &Broker<R>,
    asked: &CreatePartitionsTopic,
    validate_only: bool,
) -> Result<(), Explained> {
    let assignments: Option<Vec<Vec<i32>>> = asked.assignments.as_ref().map(|assignments| {
        assignments
            .iter()
            .map(|one| one.broker_ids.iter().map(|id| id.0).collect())
            .collect()
    });
    let done = broker
        .metadata()
        .create_partitions(
            &asked.name,
            asked.count,
            assignments.as_deref(),
            validate_only,
        )
        .await;
    done.map(drop)
        .map_err(|error| (error.wire(), error.to_string()))
}

fn grown(name: &StrBytes, answer: Result<(), Explained>) -> CreatePartitionsTopicResult {
    let result = CreatePartitionsTopicResult::default().with_name(TopicName(name.clone()));
    match answer {
        Ok(()) => result,
        Err((error, message)) => result
            .with_error_code(error.code())
            .with_error_message(Some(StrBytes::from_string(message))),
    }
}

/// How often a request names a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Times {
    Once,
    Twice,
}

fn once_or_twice<'a>(names: impl Iterator<Item = &'a StrBytes>) -> BTreeMap<StrBytes, Times> {
    let mut times = BTreeMap::new();
    for name in names {
        times
            .entry(name.clone())
            .and_modify(|times| *times = Times::Twice)
            .or_insert(Times::Once);
    }
    times
}

/// A topic that stands twice in a request gets one answer (section 4, item 44).
fn twice() -> Explained {
    (
        ResponseError::InvalidRequest,
        "Duplicate topic name.".to_owned(),
    )
}
