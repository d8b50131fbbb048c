//! A consumer: reads its partitions from the start, forever forward.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use highwater_sim_disk::{chance, stream};
use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic};
use kafka_protocol::messages::{BrokerId, FetchRequest, TopicName};
use kafka_protocol::protocol::StrBytes;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::RngCore;

use super::records::decode;
use super::{ANSWER, Phase, Workload, is_retriable};
use crate::client::{Client, ClientError};
use crate::exec;
use crate::history::{Failure, Place};
use crate::plan::Durability;

/// Where a consumer stands in one partition.
#[derive(Clone, Copy, Debug, Default)]
struct Cursor {
    next: i64,
    high_watermark: i64,
}

/// One consumer.
pub(super) struct Consumer {
    workload: Rc<Workload>,
    name: String,
    rng: ChaCha8Rng,
    cursors: BTreeMap<Place, Cursor>,
    bytes_max: i32,
}

impl Consumer {
    pub fn new(workload: Rc<Workload>, number: u16) -> Self {
        let name = format!("cons{number}");
        let mut rng = stream(workload.plan.seed, &name);
        let cursors = workload
            .places()
            .into_iter()
            .map(|place| (place, Cursor::default()))
            .collect();
        let bytes_max = [1, 1_000, 20_000, 1_000_000][(rng.next_u64() % 4) as usize];
        Self {
            workload,
            name,
            rng,
            cursors,
            bytes_max,
        }
    }

    /// Reads until the faults are over.
    pub async fn run(mut self) {
        while self.workload.phase.get() == Phase::Faults {
            let mut client = match self.workload.connect(&self.name).await {
                Ok(client) => client,
                Err(error) => {
                    self.lost(&error).await;
                    continue;
                }
            };
            while self.workload.phase.get() == Phase::Faults {
                if let Err(error) = self.round(&mut client).await {
                    self.lost(&error).await;
                    break;
                }
            }
        }
    }

    async fn lost(&mut self, error: &ClientError) {
        self.workload.note(&self.name, error);
        exec::sleep(Duration::from_millis(20 + self.rng.next_u64() % 300)).await;
    }

    async fn round(&mut self, client: &mut Client) -> Result<(), ClientError> {
        let version = self.workload.plan.fetch_version;
        let places: Vec<Place> = self
            .cursors
            .keys()
            .copied()
            .filter(|_| chance(&mut self.rng, 800))
            .collect();
        if places.is_empty() {
            exec::sleep(Duration::from_millis(5)).await;
            return Ok(());
        }
        let parts: Vec<(Place, i64)> = places
            .iter()
            .map(|place| (*place, self.cursors[place].next))
            .collect();
        let request = fetch_request(&parts, self.bytes_max, 300);
        let response = client.call(version, &request, ANSWER).await?;
        let mut failed = false;
        for topic in &response.responses {
            for part in &topic.partitions {
                let place = parts.iter().map(|(place, _)| *place).find(|place| {
                    topic.topic.as_str() == place.topic_name()
                        && part.partition_index == place.partition
                });
                let Some(place) = place else {
                    let why = format!("Fetch answered {}-{}", &*topic.topic, part.partition_index);
                    return Err(ClientError::Malformed(why));
                };
                if part.error_code != 0 {
                    self.refused(place, part.error_code);
                    failed = true;
                    continue;
                }
                let records = part.records.clone().unwrap_or_default();
                self.got(place, part.high_watermark, records)?;
            }
        }
        let pause = if failed {
            100
        } else {
            self.rng.next_u64() % 30
        };
        exec::sleep(Duration::from_millis(pause)).await;
        Ok(())
    }

    fn refused(&mut self, place: Place, code: i16) {
        let cursor = self.cursors[&place];
        self.workload.tell(
            &self.name,
            format!("refused {place} at {}: {code}", cursor.next),
        );
        if code == 1 && self.workload.durability(place) == Durability::Replicated {
            // A power loss took records that this consumer has read: begin anew.
            self.cursors.insert(place, Cursor::default());
            return;
        }
        let wrong = match code {
            1 => "an offset that was below the high watermark stays readable",
            code if is_retriable(code) => return,
            _ => "a fetch request gets an error that fits",
        };
        let place = format!(
            "{}, {place} at offset {}, error {code}",
            self.name, cursor.next
        );
        self.workload.fail(Failure::safety(wrong, place));
    }

    fn got(
        &mut self,
        place: Place,
        high_watermark: i64,
        records: bytes::Bytes,
    ) -> Result<(), ClientError> {
        let durable = self.workload.durability(place) == Durability::Fsync;
        let cursor = self.cursors.get_mut(&place).expect("one of ours");
        let name = &self.name;
        if durable && high_watermark < cursor.high_watermark {
            let before = cursor.high_watermark;
            self.workload.fail(Failure::safety(
                "the high watermark that a consumer sees never goes back",
                format!("{name}, {place}: {high_watermark} after {before}"),
            ));
        }
        cursor.high_watermark = high_watermark;
        let reads = decode(records).map_err(|why| {
            ClientError::Malformed(format!("{place} at offset {}: {why}", cursor.next))
        })?;
        let mut count = 0;
        for read in reads {
            // A fetch inside a batch is answered from the start of the batch.
            if read.offset < cursor.next {
                continue;
            }
            if read.offset != cursor.next || (durable && read.offset >= high_watermark) {
                self.workload.fail(Failure::safety(
                    "a consumer reads every offset below the high watermark once, in order",
                    format!(
                        "{name}, {place}: offset {} came where {} was due, high watermark {}",
                        read.offset, cursor.next, high_watermark
                    ),
                ));
            }
            cursor.next = read.offset + 1;
            count += 1;
            self.workload.history.borrow_mut().saw(place, durable, read);
        }
        if count > 0 {
            let next = cursor.next;
            let what = format!("read {place} {count} to {next}, high watermark {high_watermark}");
            self.workload.tell(&self.name, what);
        }
        Ok(())
    }
}

/// A fetch without a session.
pub(super) fn fetch_request(parts: &[(Place, i64)], bytes_max: i32, wait_ms: i32) -> FetchRequest {
    let mut topics: BTreeMap<u16, Vec<FetchPartition>> = BTreeMap::new();
    for (place, offset) in parts {
        let part = FetchPartition::default()
            .with_partition(place.partition)
            .with_current_leader_epoch(-1)
            .with_fetch_offset(*offset)
            .with_log_start_offset(-1)
            .with_partition_max_bytes(bytes_max);
        topics.entry(place.topic).or_default().push(part);
    }
    let topics = topics.into_iter().map(|(topic, parts)| {
        let name = TopicName(StrBytes::from_string(
            Place {
                topic,
                partition: 0,
            }
            .topic_name(),
        ));
        FetchTopic::default()
            .with_topic(name)
            .with_partitions(parts)
    });
    FetchRequest::default()
        .with_replica_id(BrokerId(-1))
        .with_max_wait_ms(wait_ms)
        .with_min_bytes(1)
        .with_max_bytes(bytes_max.saturating_mul(4))
        .with_session_id(0)
        .with_session_epoch(-1)
        .with_topics(topics.collect())
}
