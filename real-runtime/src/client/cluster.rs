//! What a cluster is made of: brokers, topics, partitions and their leaders.

use std::collections::BTreeMap;

use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::{MetadataRequest, MetadataResponse, TopicName};
use kafka_protocol::protocol::StrBytes;
use uuid::Uuid;

use super::{Client, ClientError};

/// The newest Metadata request that this client speaks.
const METADATA_MAX: i16 = 12;

/// A cluster, as one of its brokers sees it.
#[derive(Clone, Debug, Default)]
pub struct Cluster {
    /// The brokers' addresses, by number.
    pub brokers: BTreeMap<i32, String>,
    /// The topics asked for, by name.
    pub topics: BTreeMap<String, Topic>,
}

/// One topic.
#[derive(Clone, Debug)]
pub struct Topic {
    /// Its name.
    pub name: String,
    /// Its identity; all zero from a broker that has none.
    pub id: Uuid,
    /// Whether the broker keeps its own records in it.
    pub internal: bool,
    /// Its partitions, by number.
    pub partitions: Vec<Partition>,
}

/// One partition of a topic.
#[derive(Clone, Debug)]
pub struct Partition {
    /// Its number.
    pub index: i32,
    /// The broker that leads it; -1 when none does.
    pub leader: i32,
    /// The leadership's number.
    pub leader_epoch: i32,
    /// The brokers that hold it.
    pub replicas: Vec<i32>,
    /// Those that are in sync.
    pub isr: Vec<i32>,
}

impl Client {
    /// Every topic.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn cluster(&mut self) -> Result<Cluster, ClientError> {
        let request = MetadataRequest::default().with_topics(None);
        let answer = self.ask(&request, METADATA_MAX)?;
        read(&answer, None)
    }

    /// The topic `name`; `create` lets the broker make it, when it does so on its own.
    ///
    /// # Errors
    /// [`ClientError::Refused`] when there is none. Others: see [`ClientError`].
    pub fn topic(&mut self, name: &str, create: bool) -> Result<(Cluster, Topic), ClientError> {
        let wanted = TopicName(StrBytes::from_string(name.to_owned()));
        let request = MetadataRequest::default()
            .with_topics(Some(vec![
                MetadataRequestTopic::default().with_name(Some(wanted)),
            ]))
            .with_allow_auto_topic_creation(create);
        let answer = self.ask(&request, METADATA_MAX)?;
        let cluster = read(&answer, Some(name))?;
        let topic = cluster.topics.get(name).cloned();
        let topic = topic.ok_or_else(|| ClientError::Refused {
            what: format!("find topic {name:?}"),
            code: 3,
            message: None,
        })?;
        Ok((cluster, topic))
    }
}

impl Cluster {
    /// Where the leader of `partition` is.
    ///
    /// # Errors
    /// [`ClientError::Refused`], retriable, when it has none now.
    pub fn leader(&self, topic: &str, partition: &Partition) -> Result<&str, ClientError> {
        self.brokers
            .get(&partition.leader)
            .map(String::as_str)
            .ok_or_else(|| ClientError::Refused {
                what: format!("reach the leader of {topic}-{}", partition.index),
                code: 5,
                message: None,
            })
    }
}

fn read(answer: &MetadataResponse, wanted: Option<&str>) -> Result<Cluster, ClientError> {
    let mut cluster = Cluster::default();
    for broker in &answer.brokers {
        let host = broker.host.as_str();
        let host = if host.contains(':') {
            format!("[{host}]")
        } else {
            host.to_owned()
        };
        cluster
            .brokers
            .insert(*broker.node_id, format!("{host}:{}", broker.port));
    }
    for topic in &answer.topics {
        let name = topic
            .name
            .as_ref()
            .map(|name| name.to_string())
            .unwrap_or_default();
        if wanted == Some(name.as_str()) {
            ClientError::check(format!("find topic {name:?}"), topic.error_code, None)?;
        }
        let mut partitions: Vec<_> = topic
            .partitions
            .iter()
            .map(|partition| Partition {
                index: partition.partition_index,
                leader: *partition.leader_id,
                leader_epoch: partition.leader_epoch,
                replicas: partition.replica_nodes.iter().map(|id| id.0).collect(),
                isr: partition.isr_nodes.iter().map(|id| id.0).collect(),
            })
            .collect();
        partitions.sort_by_key(|partition| partition.index);
        let (id, internal) = (topic.topic_id, topic.is_internal);
        cluster.topics.insert(
            name.clone(),
            Topic {
                name,
                id,
                internal,
                partitions,
            },
        );
    }
    Ok(cluster)
}
