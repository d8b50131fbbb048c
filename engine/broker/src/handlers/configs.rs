//! DescribeConfigs, IncrementalAlterConfigs and AlterConfigs.
//!
//! Sources: kafka.md rule 120, section 4 item 45; KIP-226, KIP-339, KIP-524, KIP-569.

use std::collections::BTreeMap;
use std::sync::Arc;

use highwater_metadata::settings::Described;
use highwater_metadata::state::{
    AlterConfigError, ConfigOp, ConfigOpKind, UnknownTopic, check_topic_name,
};
use highwater_metadata::{CommitError, ConfigsChange};
use highwater_protocol::message::StrBytes;
use highwater_protocol::message::messages::describe_configs_request::DescribeConfigsResource;
use highwater_protocol::message::messages::describe_configs_response::{
    DescribeConfigsResourceResult, DescribeConfigsResult, DescribeConfigsSynonym,
};
use highwater_protocol::message::messages::{
    AlterConfigsRequest, AlterConfigsResponse, DescribeConfigsRequest, DescribeConfigsResponse,
    IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse, alter_configs_response,
    incremental_alter_configs_response,
};
use highwater_runtime::Runtime;
use highwater_types::BrokerId;

use crate::Broker;
use crate::context::Context;
use crate::error_code::{ResponseError, WireCode, broker_config, topic_config};
use crate::handlers::topics::Explained;

/// Kafka's number of a kind of resource.
const TOPIC: i8 = 2;
const BROKER: i8 = 4;

/// What settings belong to.
#[derive(Clone, Debug)]
enum Resource {
    Topic(String),
    /// One broker, or all with `None`.
    Broker(Option<BrokerId>),
}

impl Resource {
    fn of<R: Runtime>(broker: &Broker<R>, kind: i8, name: &str) -> Result<Self, Explained> {
        match kind {
            TOPIC => match check_topic_name(name) {
                Ok(()) => Ok(Self::Topic(name.to_owned())),
                Err(error) => Err((error.wire(), error.to_string())),
            },
            BROKER if name.is_empty() => Ok(Self::Broker(None)),
            BROKER => {
                let here = broker.metadata().broker();
                match name.parse::<u32>() {
                    Ok(id) if id == here.0 => Ok(Self::Broker(Some(here))),
                    Ok(_) => Err((
                        ResponseError::InvalidRequest,
                        format!(
                            "Unexpected broker id, expected {here} or empty string, but received {name}"
                        ),
                    )),
                    Err(_) => Err((
                        ResponseError::InvalidRequest,
                        format!("Broker id must be an integer, but it is: {name}"),
                    )),
                }
            }
            _ => Err((
                ResponseError::InvalidRequest,
                format!("Unsupported resource type: {kind}"),
            )),
        }
    }
}

/// Tells effective settings, where they come from and what they do.
pub(crate) async fn describe<R: Runtime>(
    broker: &Arc<Broker<R>>,
    context: &Context<'_>,
    request: DescribeConfigsRequest,
) -> DescribeConfigsResponse {
    let with_documentation = request.include_documentation && context.version() >= 3;
    let results = request.resources.iter().map(|resource| {
        let result = DescribeConfigsResult::default()
            .with_resource_type(resource.resource_type)
            .with_resource_name(resource.resource_name.clone());
        match described(broker, resource) {
            Ok(settings) => result.with_configs(
                settings
                    .into_iter()
                    .map(|one| entry(one, request.include_synonyms, with_documentation))
                    .collect(),
            ),
            Err((error, message)) => result
                .with_error_code(error.code())
                .with_error_message(Some(StrBytes::from_string(message))),
        }
    });
    DescribeConfigsResponse::default().with_results(results.collect())
}

fn described<R: Runtime>(
    broker: &Broker<R>,
    resource: &DescribeConfigsResource,
) -> Result<Vec<Described>, Explained> {
    let (metadata, state) = (broker.metadata(), broker.metadata().state());
    let layers = state.layers(metadata.broker(), metadata.statics());
    let mut settings = match Resource::of(broker, resource.resource_type, &resource.resource_name)?
    {
        Resource::Topic(name) => {
            let topic = state.topic(&name);
            let topic = topic.ok_or_else(|| (UnknownTopic.wire(), UnknownTopic.to_string()))?;
            layers.describe_topic(&topic.configs)
        }
        Resource::Broker(None) => layers.describe_cluster(),
        Resource::Broker(Some(_)) => layers.describe_broker(),
    };
    if let Some(keys) = resource
        .configuration_keys
        .as_ref()
        .filter(|keys| !keys.is_empty())
    {
        settings.retain(|one| keys.iter().any(|key| key.as_str() == one.name));
    }
    Ok(settings)
}

fn entry(
    one: Described,
    with_synonyms: bool,
    with_documentation: bool,
) -> DescribeConfigsResourceResult {
    let synonyms = one
        .synonyms
        .into_iter()
        .filter(|_| with_synonyms)
        .map(|synonym| {
            DescribeConfigsSynonym::default()
                .with_name(StrBytes::from_static_str(synonym.key))
                .with_value(Some(StrBytes::from_string(synonym.value)))
                .with_source(synonym.source as i8)
        });
    DescribeConfigsResourceResult::default()
        .with_name(StrBytes::from_static_str(one.name))
        .with_value(one.value.map(StrBytes::from_string))
        .with_read_only(one.read_only)
        .with_config_source(one.source as i8)
        .with_is_sensitive(one.sensitive)
        .with_synonyms(synonyms.collect())
        .with_config_type(one.value_type as i8)
        .with_documentation(with_documentation.then(|| StrBytes::from_static_str(one.doc)))
}

/// One resource's changes, in the words of metadata.
struct Change {
    kind: i8,
    name: StrBytes,
    what: Result<What, Explained>,
}

enum What {
    Ops(Vec<ConfigOp>),
    Replace(Vec<(String, Option<String>)>),
}

/// Changes settings one by one.
pub(crate) async fn alter_incrementally<R: Runtime>(
    broker: &Arc<Broker<R>>,
    _context: &Context<'_>,
    request: IncrementalAlterConfigsRequest,
) -> IncrementalAlterConfigsResponse {
    let changes = request.resources.into_iter().map(|resource| {
        let ops: Result<Vec<ConfigOp>, Explained> = resource
            .configs
            .into_iter()
            .map(|config| {
                let value = config.value.as_ref().map(ToString::to_string);
                let kind = op_kind(config.config_operation)?;
                Ok(ConfigOp {
                    key: config.name.to_string(),
                    kind,
                    value,
                })
            })
            .collect();
        let (kind, name) = (resource.resource_type, resource.resource_name);
        Change {
            kind,
            name,
            what: ops.map(What::Ops),
        }
    });
    let answers = alter_all(broker, changes.collect(), request.validate_only).await;
    let responses = answers.into_iter().map(|(kind, name, answer)| {
        let (code, message) = on_wire(answer);
        incremental_alter_configs_response::AlterConfigsResourceResponse::default()
            .with_error_code(code)
            .with_error_message(message)
            .with_resource_type(kind)
            .with_resource_name(name)
    });
    IncrementalAlterConfigsResponse::default().with_responses(responses.collect())
}

/// Replaces all settings of each resource.
pub(crate) async fn alter<R: Runtime>(
    broker: &Arc<Broker<R>>,
    _context: &Context<'_>,
    request: AlterConfigsRequest,
) -> AlterConfigsResponse {
    let changes = request.resources.into_iter().map(|resource| {
        let configs = resource.configs.into_iter();
        let configs = configs.map(|config| {
            (
                config.name.to_string(),
                config.value.as_ref().map(ToString::to_string),
            )
        });
        let what = Ok(What::Replace(configs.collect()));
        Change {
            kind: resource.resource_type,
            name: resource.resource_name,
            what,
        }
    });
    let answers = alter_all(broker, changes.collect(), request.validate_only).await;
    let responses = answers.into_iter().map(|(kind, name, answer)| {
        let (code, message) = on_wire(answer);
        alter_configs_response::AlterConfigsResourceResponse::default()
            .with_error_code(code)
            .with_error_message(message)
            .with_resource_type(kind)
            .with_resource_name(name)
    });
    AlterConfigsResponse::default().with_responses(responses.collect())
}

type Answered = (i8, StrBytes, Result<(), Explained>);

/// Carries out each change, then makes them act; a resource that stands twice is refused each
/// time (section 4, item 45).
async fn alter_all<R: Runtime>(
    broker: &Arc<Broker<R>>,
    changes: Vec<Change>,
    validate_only: bool,
) -> Vec<Answered> {
    let mut times: BTreeMap<(i8, StrBytes), u32> = BTreeMap::new();
    for change in &changes {
        *times.entry((change.kind, change.name.clone())).or_default() += 1;
    }
    let mut answers = Vec::with_capacity(changes.len());
    for change in changes {
        let key = (change.kind, change.name);
        let answer = match change.what {
            _ if times[&key] > 1 => {
                let message = "Each resource must appear at most once.".to_owned();
                Err((ResponseError::InvalidRequest, message))
            }
            Ok(what) => alter_one(broker, key.0, &key.1, &what, validate_only).await,
            Err(refused) => Err(refused),
        };
        answers.push((key.0, key.1, answer));
    }
    broker.act_on_changes().await;
    answers
}

async fn alter_one<R: Runtime>(
    broker: &Broker<R>,
    kind: i8,
    name: &str,
    what: &What,
    validate_only: bool,
) -> Result<(), Explained> {
    let change = match what {
        What::Ops(ops) => ConfigsChange::Ops(ops),
        What::Replace(configs) => ConfigsChange::Replace(configs),
    };
    if kind == TOPIC && name.is_empty() {
        let message = "Default topic resources are not allowed.".to_owned();
        return Err((ResponseError::InvalidRequest, message));
    }
    let metadata = broker.metadata();
    let (done, wire): (_, fn(&AlterConfigError) -> ResponseError) =
        match Resource::of(broker, kind, name)? {
            Resource::Topic(name) => (
                metadata
                    .alter_topic_configs(&name, change, validate_only)
                    .await,
                topic_config,
            ),
            Resource::Broker(id) => (
                metadata
                    .alter_broker_configs(id, change, validate_only)
                    .await,
                broker_config,
            ),
        };
    done.map(drop).map_err(|error| match &error {
        CommitError::Refused(refused) => (wire(refused), error.to_string()),
        CommitError::Full(_) | CommitError::Offline(_) => {
            (ResponseError::KafkaStorageError, error.to_string())
        }
    })
}

fn op_kind(number: i8) -> Result<ConfigOpKind, Explained> {
    match number {
        0 => Ok(ConfigOpKind::Set),
        1 => Ok(ConfigOpKind::Delete),
        2 => Ok(ConfigOpKind::Append),
        3 => Ok(ConfigOpKind::Subtract),
        _ => Err((
            ResponseError::InvalidRequest,
            format!("Unknown operation type: {number}"),
        )),
    }
}

fn on_wire(answer: Result<(), Explained>) -> (i16, Option<StrBytes>) {
    match answer {
        Ok(()) => (0, None),
        Err((error, message)) => (error.code(), Some(StrBytes::from_string(message))),
    }
}
