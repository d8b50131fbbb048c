//! Topics made, removed and described.

use kafka_protocol::messages::create_topics_request::{CreatableTopic, CreatableTopicConfig};
use kafka_protocol::messages::describe_configs_request::DescribeConfigsResource;
use kafka_protocol::messages::{
    CreateTopicsRequest, DeleteTopicsRequest, DescribeConfigsRequest, TopicName,
};
use kafka_protocol::protocol::StrBytes;

use super::{Client, ClientError, TIMEOUT};

const CREATE_TOPICS_MAX: i16 = 7;
/// Later versions name topics by a structure that allows ids.
const DELETE_TOPICS_MAX: i16 = 5;
const DESCRIBE_CONFIGS_MAX: i16 = 4;

/// Kafka's number for a topic in config requests.
const RESOURCE_TOPIC: i8 = 2;

/// A topic to be made.
#[derive(Clone, Debug)]
pub struct NewTopic {
    /// Its name.
    pub name: String,
    /// How many partitions; `None` for the broker's default.
    pub partitions: Option<i32>,
    /// How many replicas; `None` for the broker's default.
    pub replicas: Option<i16>,
    /// Its settings.
    pub configs: Vec<(String, String)>,
}

/// One setting of a topic.
#[derive(Clone, Debug)]
pub struct TopicConfig {
    /// Its key.
    pub name: String,
    /// Its value; `None` when it is a secret.
    pub value: Option<String>,
    /// Where the value comes from, in words.
    pub source: &'static str,
}

fn text(text: &str) -> StrBytes {
    StrBytes::from_string(text.to_owned())
}

fn own(text: Option<StrBytes>) -> Option<String> {
    text.map(|text| text.to_string())
}

impl Client {
    /// Makes `topic`, or only checks it.
    ///
    /// # Errors
    /// [`ClientError::Refused`] with the broker's reason. Others: see [`ClientError`].
    pub fn create_topic(&mut self, topic: &NewTopic, check_only: bool) -> Result<(), ClientError> {
        let config = |(name, value): &(String, String)| {
            CreatableTopicConfig::default()
                .with_name(text(name))
                .with_value(Some(text(value)))
        };
        let wanted = CreatableTopic::default()
            .with_name(TopicName(text(&topic.name)))
            .with_num_partitions(topic.partitions.unwrap_or(-1))
            .with_replication_factor(topic.replicas.unwrap_or(-1))
            .with_configs(topic.configs.iter().map(config).collect());
        let request = CreateTopicsRequest::default()
            .with_topics(vec![wanted])
            .with_timeout_ms(timeout_ms())
            .with_validate_only(check_only);
        let answer = self.ask(&request, CREATE_TOPICS_MAX)?;
        for result in answer.topics {
            let what = format!("create topic {:?}", topic.name);
            ClientError::check(what, result.error_code, own(result.error_message))?;
        }
        Ok(())
    }

    /// Removes the topic `name` with all its records.
    ///
    /// # Errors
    /// [`ClientError::Refused`] with the broker's reason. Others: see [`ClientError`].
    pub fn delete_topic(&mut self, name: &str) -> Result<(), ClientError> {
        let request = DeleteTopicsRequest::default()
            .with_topic_names(vec![TopicName(text(name))])
            .with_timeout_ms(timeout_ms());
        let answer = self.ask(&request, DELETE_TOPICS_MAX)?;
        for result in answer.responses {
            let what = format!("delete topic {name:?}");
            ClientError::check(what, result.error_code, own(result.error_message))?;
        }
        Ok(())
    }

    /// The settings of the topic `name`, by key.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn topic_configs(&mut self, name: &str) -> Result<Vec<TopicConfig>, ClientError> {
        let resource = DescribeConfigsResource::default()
            .with_resource_type(RESOURCE_TOPIC)
            .with_resource_name(text(name))
            .with_configuration_keys(None);
        let request = DescribeConfigsRequest::default().with_resources(vec![resource]);
        let answer = self.ask(&request, DESCRIBE_CONFIGS_MAX)?;
        let mut configs = Vec::new();
        for result in answer.results {
            let what = format!("describe topic {name:?}");
            ClientError::check(what, result.error_code, own(result.error_message))?;
            configs.extend(result.configs.into_iter().map(|config| TopicConfig {
                name: config.name.to_string(),
                value: own(config.value),
                source: source_name(config.config_source),
            }));
        }
        configs.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(configs)
    }
}

/// Source: Kafka, `DescribeConfigsResponse.ConfigSource`.
fn source_name(source: i8) -> &'static str {
    match source {
        1 => "topic",
        2 => "broker, dynamic",
        3 => "cluster, dynamic",
        4 => "broker, static",
        5 => "default",
        _ => "unknown",
    }
}

fn timeout_ms() -> i32 {
    i32::try_from(TIMEOUT.as_millis()).expect("half a minute")
}
