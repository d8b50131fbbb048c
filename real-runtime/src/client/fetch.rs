//! Offsets by name or time, and records from an offset on.

use std::collections::BTreeMap;

use highwater_protocol::batch::{self, WireBatch};
use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic};
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::{BrokerId, FetchRequest, ListOffsetsRequest, TopicName};
use kafka_protocol::protocol::StrBytes;

use super::{Client, ClientError, Cluster, Topic};

const LIST_OFFSETS_MAX: i16 = 7;
/// Later versions name topics by their ids.
const FETCH_MAX: i16 = 12;

/// A place in a log that the broker looks up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OffsetSpec {
    /// The first offset that is still there.
    Start,
    /// Behind the last one that may be read.
    End,
    /// The first record with at least this timestamp, in milliseconds since 1970.
    AtTime(i64),
}

/// What a fetch got from one partition.
#[derive(Clone, Debug)]
pub struct Fetched {
    /// The partition.
    pub partition: i32,
    /// Kafka's error code.
    pub error: i16,
    /// Whole batches; the first may begin before the offset that was asked for.
    pub batches: Vec<WireBatch>,
    /// Behind the last record that may be read.
    pub high_watermark: i64,
    /// The first offset that is still there.
    pub log_start: i64,
}

impl Client {
    /// The offset of `spec` in each of `partitions`; the end where no record is that late.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn offsets(
        &mut self,
        cluster: &Cluster,
        topic: &Topic,
        partitions: &[i32],
        spec: OffsetSpec,
    ) -> Result<BTreeMap<i32, i64>, ClientError> {
        let timestamp = match spec {
            OffsetSpec::Start => -2,
            OffsetSpec::End => -1,
            OffsetSpec::AtTime(ms) => ms,
        };
        let mut offsets = BTreeMap::new();
        for (leader, partitions) in by_leader(cluster, topic, partitions)? {
            let wanted = |index: &i32| {
                ListOffsetsPartition::default()
                    .with_partition_index(*index)
                    .with_timestamp(timestamp)
            };
            let name = TopicName(StrBytes::from_string(topic.name.clone()));
            let asked = ListOffsetsTopic::default()
                .with_name(name)
                .with_partitions(partitions.iter().map(wanted).collect());
            let request = ListOffsetsRequest::default()
                .with_replica_id(BrokerId(-1))
                .with_topics(vec![asked]);
            let answer = self.ask_at(&leader, &request, LIST_OFFSETS_MAX)?;
            for found in answer.topics.iter().flat_map(|topic| &topic.partitions) {
                let index = found.partition_index;
                let what = format!("look up an offset in {}-{index}", topic.name);
                ClientError::check(what, found.error_code, None)?;
                offsets.insert(index, found.offset);
            }
        }
        let late: Vec<i32> = offsets
            .iter()
            .filter(|(_, at)| **at < 0)
            .map(|(i, _)| *i)
            .collect();
        if matches!(spec, OffsetSpec::AtTime(_)) && !late.is_empty() {
            offsets.extend(self.offsets(cluster, topic, &late, OffsetSpec::End)?);
        }
        Ok(offsets)
    }

    /// Records of `topic` from `positions` on, waiting at most `wait_ms` for a first one.
    ///
    /// # Errors
    /// See [`ClientError`]; errors of single partitions are in the answer.
    pub fn fetch(
        &mut self,
        cluster: &Cluster,
        topic: &Topic,
        positions: &BTreeMap<i32, i64>,
        wait_ms: i32,
    ) -> Result<Vec<Fetched>, ClientError> {
        let partitions: Vec<i32> = positions.keys().copied().collect();
        let mut fetched = Vec::new();
        let leaders = by_leader(cluster, topic, &partitions)?;
        // One request waits while the others must: share the wait.
        let wait_ms = wait_ms / i32::try_from(leaders.len().max(1)).unwrap_or(1);
        for (leader, partitions) in leaders {
            let wanted = |index: &i32| {
                FetchPartition::default()
                    .with_partition(*index)
                    .with_current_leader_epoch(-1)
                    .with_fetch_offset(positions[index])
                    .with_last_fetched_epoch(-1)
                    .with_log_start_offset(-1)
                    .with_partition_max_bytes(4 << 20)
            };
            let asked = FetchTopic::default()
                .with_topic(TopicName(StrBytes::from_string(topic.name.clone())))
                .with_partitions(partitions.iter().map(wanted).collect());
            let request = FetchRequest::default()
                .with_replica_id(BrokerId(-1))
                .with_max_wait_ms(wait_ms)
                .with_min_bytes(1)
                .with_max_bytes(32 << 20)
                .with_session_epoch(-1)
                .with_topics(vec![asked]);
            let answer = self.ask_at(&leader, &request, FETCH_MAX)?;
            ClientError::check(format!("fetch {:?}", topic.name), answer.error_code, None)?;
            for found in answer
                .responses
                .into_iter()
                .flat_map(|topic| topic.partitions)
            {
                let records = found.records.unwrap_or_default();
                let batches = batch::read(&records).map_err(|error| ClientError::Malformed {
                    addr: leader.clone(),
                    why: format!("{}-{}: {error}", topic.name, found.partition_index),
                })?;
                fetched.push(Fetched {
                    partition: found.partition_index,
                    error: found.error_code,
                    batches,
                    high_watermark: found.high_watermark,
                    log_start: found.log_start_offset,
                });
            }
        }
        Ok(fetched)
    }
}

/// `partitions` by the address of their leader.
fn by_leader(
    cluster: &Cluster,
    topic: &Topic,
    partitions: &[i32],
) -> Result<BTreeMap<String, Vec<i32>>, ClientError> {
    let mut leaders: BTreeMap<String, Vec<i32>> = BTreeMap::new();
    for wanted in partitions {
        let known = topic
            .partitions
            .iter()
            .find(|partition| partition.index == *wanted);
        let partition = known.ok_or_else(|| ClientError::Refused {
            what: format!("find partition {wanted} of {:?}", topic.name),
            code: 3,
            message: Some(format!(
                "the topic has {} partitions",
                topic.partitions.len()
            )),
        })?;
        let leader = cluster.leader(&topic.name, partition)?.to_owned();
        leaders.entry(leader).or_default().push(*wanted);
    }
    Ok(leaders)
}
