//! What a load must know of the cluster: who leads, where logs start and end; topics made.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use kafka_protocol::messages::create_topics_request::{CreatableTopic, CreatableTopicConfig};
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::{
    BrokerId, CreateTopicsRequest, DeleteTopicsRequest, ListOffsetsRequest, MetadataRequest,
    TopicName,
};
use kafka_protocol::protocol::StrBytes;

use crate::LoadError;
use crate::client::{Client, resolve};

/// How long a new topic may take until every partition has a leader.
const LEADERS_LIMIT: Duration = Duration::from_secs(60);

const UNKNOWN_TOPIC: i16 = 3;
const LEADER_NOT_AVAILABLE: i16 = 5;
const NOT_LEADER: i16 = 6;
const TOPIC_EXISTS: i16 = 36;

/// The end of a log, in ListOffsets.
pub const LATEST: i64 = -1;
/// The start of a log, in ListOffsets.
pub const EARLIEST: i64 = -2;

/// A partition and who leads it.
#[derive(Clone, Copy, Debug)]
pub struct Led {
    /// The partition's number.
    pub partition: i32,
    /// Its leader's address.
    pub leader: SocketAddr,
}

fn topic_name(topic: &str) -> TopicName {
    TopicName(StrBytes::from_string(topic.to_owned()))
}

/// The partitions of `topic` with their leaders, in order; lets the broker make a missing topic
/// if it does so, and waits until every leader knows that it leads.
///
/// # Errors
/// [`LoadError::TooLate`] when a partition gets no leader, [`LoadError::Refused`].
pub fn leaders(bootstrap: &str, topic: &str) -> Result<Vec<Led>, LoadError> {
    let deadline = Instant::now() + LEADERS_LIMIT;
    let mut client = Client::connect(resolve(bootstrap)?)?;
    loop {
        if let Some(led) = leaders_now(&mut client, topic)? {
            match offsets(&led, topic, LATEST) {
                Ok(_) => return Ok(led),
                // Metadata names a leader of a new partition before that broker leads it.
                Err(LoadError::Refused {
                    code: UNKNOWN_TOPIC | NOT_LEADER,
                    ..
                }) => {}
                Err(error) => return Err(error),
            }
        }
        if Instant::now() > deadline {
            let seconds = LEADERS_LIMIT.as_secs();
            return Err(LoadError::TooLate {
                during: "leaders of the topic",
                seconds,
            });
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// As [`leaders`], without waiting; `None` while one is missing.
///
/// # Errors
/// [`LoadError::Refused`] and what breaks a connection.
pub fn leaders_now(client: &mut Client, topic: &str) -> Result<Option<Vec<Led>>, LoadError> {
    let asked = MetadataRequestTopic::default().with_name(Some(topic_name(topic)));
    let request = MetadataRequest::default()
        .with_topics(Some(vec![asked]))
        .with_allow_auto_topic_creation(true);
    let answer = client.call(&request, 9)?;
    let mut brokers: BTreeMap<BrokerId, SocketAddr> = BTreeMap::new();
    for broker in answer.brokers {
        let address = resolve(&format!("{}:{}", broker.host, broker.port))?;
        brokers.insert(broker.node_id, address);
    }
    let Some(found) = answer.topics.into_iter().next() else {
        return Ok(None);
    };
    match found.error_code {
        0 => {}
        UNKNOWN_TOPIC | LEADER_NOT_AVAILABLE => return Ok(None),
        code => {
            return Err(LoadError::Refused {
                during: "metadata",
                code,
            });
        }
    }
    let mut led = Vec::with_capacity(found.partitions.len());
    for partition in found.partitions {
        let Some(leader) = brokers.get(&partition.leader_id) else {
            return Ok(None);
        };
        led.push(Led {
            partition: partition.partition_index,
            leader: *leader,
        });
    }
    led.sort_by_key(|led| led.partition);
    Ok((!led.is_empty()).then_some(led))
}

/// Makes `topics` of `partitions` partitions each, one copy, in one request; a topic that exists
/// is left as it is. `configs` are `key=value`.
///
/// # Errors
/// [`LoadError::Refused`] with the first error, [`LoadError::Usage`] for a bad config.
pub fn create(
    bootstrap: &str,
    topics: &[String],
    partitions: i32,
    configs: &[String],
) -> Result<(), LoadError> {
    let configs: Vec<_> = configs
        .iter()
        .map(|pair| topic_config(pair))
        .collect::<Result<_, _>>()?;
    let creatable = |topic: &String| {
        CreatableTopic::default()
            .with_name(topic_name(topic))
            .with_num_partitions(partitions)
            .with_replication_factor(1)
            .with_configs(configs.clone())
    };
    let request = CreateTopicsRequest::default()
        .with_topics(topics.iter().map(creatable).collect())
        .with_timeout_ms(60_000);
    let answer = Client::connect(resolve(bootstrap)?)?.call(&request, 5)?;
    let refused = answer.topics.iter().map(|topic| topic.error_code);
    match refused
        .into_iter()
        .find(|code| ![0, TOPIC_EXISTS].contains(code))
    {
        Some(code) => Err(LoadError::Refused {
            during: "create topics",
            code,
        }),
        None => Ok(()),
    }
}

fn topic_config(pair: &str) -> Result<CreatableTopicConfig, LoadError> {
    let (key, value) = pair
        .split_once('=')
        .ok_or_else(|| LoadError::Usage(format!("{pair:?} is not of the form key=value")))?;
    Ok(CreatableTopicConfig::default()
        .with_name(StrBytes::from_string(key.to_owned()))
        .with_value(Some(StrBytes::from_string(value.to_owned()))))
}

/// Deletes `topic`; one that does not exist is no error.
///
/// # Errors
/// [`LoadError::Refused`].
pub fn delete(bootstrap: &str, topic: &str) -> Result<(), LoadError> {
    let request = DeleteTopicsRequest::default()
        .with_topic_names(vec![topic_name(topic)])
        .with_timeout_ms(60_000);
    let answer = Client::connect(resolve(bootstrap)?)?.call(&request, 5)?;
    match answer
        .responses
        .first()
        .map_or(0, |response| response.error_code)
    {
        0 | UNKNOWN_TOPIC => Ok(()),
        code => Err(LoadError::Refused {
            during: "delete the topic",
            code,
        }),
    }
}

/// The offset of every partition of `topic` at `time` ([`LATEST`] or [`EARLIEST`]).
///
/// # Errors
/// [`LoadError::Refused`] with the first partition's error.
pub fn offsets(led: &[Led], topic: &str, time: i64) -> Result<BTreeMap<i32, i64>, LoadError> {
    let mut by_leader: BTreeMap<SocketAddr, Vec<i32>> = BTreeMap::new();
    for Led { partition, leader } in led {
        by_leader.entry(*leader).or_default().push(*partition);
    }
    let mut found = BTreeMap::new();
    for (leader, partitions) in by_leader {
        let asked = |partition: &i32| {
            ListOffsetsPartition::default()
                .with_partition_index(*partition)
                .with_timestamp(time)
        };
        let topic = ListOffsetsTopic::default()
            .with_name(topic_name(topic))
            .with_partitions(partitions.iter().map(asked).collect());
        let request = ListOffsetsRequest::default()
            .with_replica_id(BrokerId(-1))
            .with_topics(vec![topic]);
        let answer = Client::connect(leader)?.call(&request, 5)?;
        for partition in answer.topics.into_iter().flat_map(|topic| topic.partitions) {
            if partition.error_code != 0 {
                let code = partition.error_code;
                return Err(LoadError::Refused {
                    during: "list offsets",
                    code,
                });
            }
            found.insert(partition.partition_index, partition.offset);
        }
    }
    Ok(found)
}
