//! A broker in memory, and a client that speaks Kafka to it.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use highwater_broker::{Broker, BrokerConfig, StartReport};
use highwater_metadata::settings::{SettingsLimits, StaticSettings};
use highwater_protocol::batch::{self, Codec, WireBatch, WireRecord};
use highwater_protocol::message::StrBytes;
use highwater_protocol::message::messages::fetch_request::{FetchPartition, FetchTopic};
use highwater_protocol::message::messages::fetch_response::PartitionData;
use highwater_protocol::message::messages::produce_request::{
    PartitionProduceData, TopicProduceData,
};
use highwater_protocol::message::messages::produce_response::PartitionProduceResponse;
use highwater_protocol::message::messages::{
    ApiKey, BrokerId, FetchRequest, FetchResponse, MetadataRequest, MetadataResponse,
    ProduceRequest, ProduceResponse, RequestHeader, TopicName,
};
use highwater_runtime::{Listener, Net, Reader, Runtime, Writer};
use highwater_sim_disk::TestRuntime;
use kafka_protocol::protocol::{Decodable, Encodable};

/// How long a client waits for a connection.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);

pub type TestBroker = Arc<Broker<TestRuntime>>;

/// Starts a broker that serves on the answered address.
pub async fn start(runtime: &TestRuntime) -> (TestBroker, StartReport, String) {
    start_with(runtime, &[]).await
}

/// Starts a broker with settings.
pub async fn start_with(
    runtime: &TestRuntime,
    pairs: &[(&str, &str)],
) -> (TestBroker, StartReport, String) {
    let settings = StaticSettings::parse(pairs.iter().copied(), SettingsLimits::default());
    let config = BrokerConfig {
        settings: settings.expect("tests give good settings"),
        advertised: ("127.0.0.1".to_owned(), 9092),
        tail_bytes: 0,
    };
    let (broker, report) = Broker::start(runtime.clone(), config)
        .await
        .expect("it starts");
    let listener = runtime
        .net()
        .listen("127.0.0.1:0")
        .await
        .expect("a port is free");
    let address = listener.local_addr().to_string();
    let server = Arc::clone(&broker);
    let on = runtime.clone();
    runtime.spawn("serve", async move { server.serve(on, listener).await });
    (broker, report, address)
}

/// One connection.
pub struct Client {
    reader: <<TestRuntime as Runtime>::Net as Net>::Reader,
    writer: <<TestRuntime as Runtime>::Net as Net>::Writer,
    input: BytesMut,
    correlation_id: i32,
}

impl Client {
    pub async fn connect(runtime: &TestRuntime, address: &str) -> Self {
        let (reader, writer) = runtime
            .net()
            .connect(address, CONNECT_LIMIT)
            .await
            .expect("the broker listens");
        Self {
            reader,
            writer,
            input: BytesMut::new(),
            correlation_id: 0,
        }
    }

    /// Sends a request.
    pub async fn send(&mut self, key: ApiKey, version: i16, body: &impl Encodable) {
        self.correlation_id += 1;
        let header = RequestHeader::default()
            .with_request_api_key(key as i16)
            .with_request_api_version(version)
            .with_correlation_id(self.correlation_id)
            .with_client_id(Some(StrBytes::from_static_str("test")));
        let mut frame = BytesMut::new();
        frame.put_i32(0);
        header
            .encode(&mut frame, key.request_header_version(version))
            .expect("it encodes");
        body.encode(&mut frame, version).expect("it encodes");
        let len = i32::try_from(frame.len() - 4).expect("frames are small");
        frame[..4].copy_from_slice(&len.to_be_bytes());
        self.write(frame.freeze()).await;
    }

    /// Sends bytes as they are.
    pub async fn write(&mut self, bytes: Bytes) {
        self.writer
            .write_all(&mut vec![bytes])
            .await
            .expect("the broker reads");
    }

    /// The next frame; `None` when the broker closed the connection.
    pub async fn frame(&mut self) -> Option<Bytes> {
        loop {
            if self.input.len() >= 4 {
                let len = (&self.input[..4]).get_u32() as usize;
                if self.input.len() >= 4 + len {
                    let mut frame = self.input.split_to(4 + len).freeze();
                    frame.advance(4);
                    return Some(frame);
                }
            }
            self.input.reserve(64 << 10);
            match self.reader.read(&mut self.input).await {
                Ok(0) | Err(_) => return None,
                Ok(_) => {}
            }
        }
    }

    /// Receives the answer to a request of `key` and `version`.
    pub async fn receive<T: Decodable>(&mut self, key: ApiKey, version: i16) -> T {
        let mut frame = self.frame().await.expect("the broker answers");
        let header = key.response_header_version(version);
        kafka_protocol::messages::ResponseHeader::decode(&mut frame, header).expect("a header");
        let body = T::decode(&mut frame, version).expect("a body");
        assert!(frame.is_empty(), "{} bytes after the answer", frame.len());
        body
    }

    /// Asks for topics, which makes them where auto-creation is on.
    pub async fn metadata(&mut self, topic: &str) -> MetadataResponse {
        let topic = kafka_protocol::messages::metadata_request::MetadataRequestTopic::default()
            .with_name(Some(name(topic)));
        let request = MetadataRequest::default()
            .with_topics(Some(vec![topic]))
            .with_allow_auto_topic_creation(true);
        self.send(ApiKey::Metadata, 12, &request).await;
        self.receive(ApiKey::Metadata, 12).await
    }

    /// Makes a topic by asking for it until it is there.
    pub async fn make(&mut self, topic: &str) {
        for _ in 0..10 {
            let answer = self.metadata(topic).await;
            if answer.topics[0].error_code == 0 {
                return;
            }
        }
        panic!("topic {topic} did not come to be");
    }

    /// Sends one batch to partition 0 of `topic`.
    pub async fn send_batch(&mut self, topic: &str, batch: &WireBatch, acks: i16) {
        let data = PartitionProduceData::default()
            .with_index(0)
            .with_records(Some(batch::write(batch, Codec::None).freeze()));
        let topic = TopicProduceData::default()
            .with_name(name(topic))
            .with_partition_data(vec![data]);
        let request = ProduceRequest::default()
            .with_acks(acks)
            .with_timeout_ms(30_000)
            .with_topic_data(vec![topic]);
        self.send(ApiKey::Produce, 9, &request).await;
    }

    /// Receives the answer to [`Client::send_batch`].
    pub async fn produced(&mut self) -> PartitionProduceResponse {
        let mut answer: ProduceResponse = self.receive(ApiKey::Produce, 9).await;
        answer.responses.remove(0).partition_responses.remove(0)
    }

    pub async fn produce(&mut self, topic: &str, batch: &WireBatch) -> PartitionProduceResponse {
        self.send_batch(topic, batch, -1).await;
        self.produced().await
    }

    pub async fn send_fetch(&mut self, topic: &str, from: i64, wait_ms: i32) {
        let partition = FetchPartition::default()
            .with_partition(0)
            .with_fetch_offset(from)
            .with_partition_max_bytes(1 << 20);
        let topic = FetchTopic::default()
            .with_topic(name(topic))
            .with_partitions(vec![partition]);
        let request = FetchRequest::default()
            .with_replica_id(BrokerId(-1))
            .with_max_wait_ms(wait_ms)
            .with_min_bytes(1)
            .with_max_bytes(1 << 20)
            .with_session_epoch(-1)
            .with_topics(vec![topic]);
        self.send(ApiKey::Fetch, 12, &request).await;
    }

    pub async fn fetched(&mut self) -> PartitionData {
        let mut answer: FetchResponse = self.receive(ApiKey::Fetch, 12).await;
        answer.responses.remove(0).partitions.remove(0)
    }

    /// The values of partition 0 from `from` on, with their offsets. One answer comes from one
    /// segment, so this asks until nothing more comes.
    pub async fn read(&mut self, topic: &str, from: i64) -> Vec<(i64, String)> {
        let mut all: Vec<(i64, String)> = Vec::new();
        loop {
            let next = all.last().map_or(from, |(offset, _)| offset + 1);
            self.send_fetch(topic, next, 200).await;
            let data = self.fetched().await;
            assert_eq!(data.error_code, 0, "fetch failed");
            let more = values(&data)
                .into_iter()
                .filter(|(offset, _)| *offset >= next);
            let before = all.len();
            all.extend(more);
            if all.len() == before {
                return all;
            }
        }
    }
}

/// Offsets and values of an answer.
pub fn values(data: &PartitionData) -> Vec<(i64, String)> {
    let Some(records) = &data.records else {
        return Vec::new();
    };
    let batches = batch::read(records).expect("the broker sends good batches");
    let records = batches.into_iter().flat_map(|batch| batch.records);
    records
        .map(|record| {
            let value = record.value.unwrap_or_default();
            (record.offset, String::from_utf8_lossy(&value).into_owned())
        })
        .collect()
}

/// A batch of values without keys.
pub fn batch_of(values: &[&str]) -> WireBatch {
    let record = |value: &&str| WireRecord {
        offset: 0,
        timestamp: 1_767_225_600_000,
        key: None,
        value: Some(Bytes::copy_from_slice(value.as_bytes())),
        headers: Vec::new(),
    };
    WireBatch::of(values.iter().map(record).collect())
}

pub fn name(topic: &str) -> TopicName {
    TopicName(StrBytes::from_string(topic.to_owned()))
}
