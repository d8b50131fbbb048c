//! Records into partitions: exactly once when the broker acknowledges all.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use highwater_protocol::batch::{self, Codec, WireBatch, WireRecord};
use kafka_protocol::messages::produce_request::{PartitionProduceData, TopicProduceData};
use kafka_protocol::messages::{InitProducerIdRequest, ProduceRequest, TopicName};
use kafka_protocol::protocol::StrBytes;

use super::{Client, ClientError, Cluster, TIMEOUT, Topic};

/// Later versions name topics by their ids.
const PRODUCE_MAX: i16 = 12;
const INIT_PRODUCER_ID_MAX: i16 = 4;

/// How long a batch is sent again before giving up.
const RETRY_LIMIT: Duration = Duration::from_secs(60);
const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// Which acknowledgement to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acks {
    /// None.
    None,
    /// The leader's.
    Leader,
    /// That of every in-sync replica.
    All,
}

/// Where a batch went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// The partition.
    pub partition: i32,
    /// The first record's offset; `None` without acknowledgement.
    pub base_offset: Option<i64>,
}

/// Sends batches to one topic, one at a time.
pub struct Producer {
    client: Client,
    cluster: Cluster,
    topic: Topic,
    acks: Acks,
    codec: Codec,
    /// Producer id and epoch, with which the broker drops what it has already.
    identity: Option<(i64, i16)>,
    sequences: BTreeMap<i32, i32>,
}

impl Producer {
    /// A producer for the topic `name`, which the broker may make.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn new(
        mut client: Client,
        name: &str,
        acks: Acks,
        codec: Codec,
    ) -> Result<Self, ClientError> {
        let deadline = Instant::now() + TIMEOUT;
        let (cluster, topic) = loop {
            // A topic made by this very request has no leader for a moment.
            match client.topic(name, true) {
                Ok(found) => break found,
                Err(error) if error.is_retriable() && Instant::now() < deadline => {
                    thread::sleep(RETRY_PAUSE);
                }
                Err(error) => return Err(error),
            }
        };
        let mut identity = None;
        if acks == Acks::All {
            let request = InitProducerIdRequest::default()
                .with_transactional_id(None)
                .with_producer_id(kafka_protocol::messages::ProducerId(-1))
                .with_producer_epoch(-1);
            let answer = client.ask(&request, INIT_PRODUCER_ID_MAX)?;
            ClientError::check("get a producer id", answer.error_code, None)?;
            identity = Some((*answer.producer_id, answer.producer_epoch));
        }
        Ok(Self {
            client,
            cluster,
            topic,
            acks,
            codec,
            identity,
            sequences: BTreeMap::new(),
        })
    }

    /// How many partitions the topic has.
    #[must_use]
    pub fn partition_count(&self) -> usize {
        self.topic.partitions.len()
    }

    /// Writes `records` to `partition` as one batch; tries again while the broker says so.
    ///
    /// # Errors
    /// See [`ClientError`]: the batch is then not acknowledged.
    pub fn write(
        &mut self,
        partition: i32,
        records: Vec<WireRecord>,
    ) -> Result<Written, ClientError> {
        let count = i32::try_from(records.len()).expect("a batch has fewer than 2^31 records");
        let mut batch = WireBatch::of(records);
        let sequence = self.sequences.entry(partition).or_insert(0);
        if let Some((id, epoch)) = self.identity {
            batch = batch.with_producer(id, epoch, *sequence);
        }
        // Source: Kafka, `DefaultRecordBatch.incrementSequence`: after 2^31 - 1 comes 0.
        *sequence = i32::try_from((i64::from(*sequence) + i64::from(count)) % (1 << 31))
            .expect("below 2^31");
        let wire = batch::write(&batch, self.codec).freeze();
        let started = Instant::now();
        loop {
            match self.send(partition, &wire) {
                Err(error)
                    if error.is_retriable()
                        && self.identity.is_some()
                        && started.elapsed() < RETRY_LIMIT =>
                {
                    thread::sleep(RETRY_PAUSE);
                    // The leader may have moved, or may come back.
                    if let Ok((cluster, topic)) = self.client.topic(&self.topic.name, false) {
                        (self.cluster, self.topic) = (cluster, topic);
                    }
                }
                result => return result,
            }
        }
    }

    fn send(&mut self, partition: i32, wire: &bytes::Bytes) -> Result<Written, ClientError> {
        let what = || format!("write to {}-{partition}", self.topic.name);
        let known = self
            .topic
            .partitions
            .iter()
            .find(|known| known.index == partition);
        let known = known.ok_or_else(|| ClientError::Refused {
            what: what(),
            code: 3,
            message: Some(format!(
                "the topic has {} partitions",
                self.topic.partitions.len()
            )),
        })?;
        let leader = self.cluster.leader(&self.topic.name, known)?.to_owned();
        let data = PartitionProduceData::default()
            .with_index(partition)
            .with_records(Some(wire.clone()));
        let topic = TopicProduceData::default()
            .with_name(TopicName(StrBytes::from_string(self.topic.name.clone())))
            .with_partition_data(vec![data]);
        let acks = match self.acks {
            Acks::None => 0,
            Acks::Leader => 1,
            Acks::All => -1,
        };
        let request = ProduceRequest::default()
            .with_transactional_id(None)
            .with_acks(acks)
            .with_timeout_ms(i32::try_from(TIMEOUT.as_millis() / 2).expect("seconds"))
            .with_topic_data(vec![topic]);
        if self.acks == Acks::None {
            self.client
                .connection(&leader)?
                .tell(&request, PRODUCE_MAX)?;
            return Ok(Written {
                partition,
                base_offset: None,
            });
        }
        let answer = self.client.ask_at(&leader, &request, PRODUCE_MAX)?;
        let mut answers = answer
            .responses
            .into_iter()
            .flat_map(|topic| topic.partition_responses);
        let answer = answers.find(|answer| answer.index == partition);
        let answer = answer.ok_or_else(|| ClientError::Malformed {
            addr: leader,
            why: "it says nothing of the batch".to_owned(),
        })?;
        let message = answer.error_message.map(|text| text.to_string());
        ClientError::check(what(), answer.error_code, message)?;
        Ok(Written {
            partition,
            base_offset: Some(answer.base_offset),
        })
    }
}
