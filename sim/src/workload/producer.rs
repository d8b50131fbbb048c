//! A producer: pipelined batches; an idempotent one sends again what was not acknowledged.

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use highwater_sim_disk::{chance, stream};
use kafka_protocol::messages::produce_request::{PartitionProduceData, TopicProduceData};
use kafka_protocol::messages::{InitProducerIdRequest, ProduceRequest, ProducerId, TopicName};
use kafka_protocol::protocol::StrBytes;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::RngCore;

use super::records::{Stamp, encode};
use super::{ANSWER, Phase, Workload, is_retriable};
use crate::client::{Client, ClientError};
use crate::exec;
use crate::history::{Failure, Outcome, Place, Sent};
use crate::mutant::Mutant;
use crate::plan::ProducerPlan;

const NONE: i16 = 0;
const OUT_OF_ORDER_SEQUENCE_NUMBER: i16 = 45;
const DUPLICATE_SEQUENCE_NUMBER: i16 = 46;

/// A batch that is not acknowledged yet.
struct Batch {
    /// Its first record's index in the history.
    index: usize,
    count: usize,
    bytes: Bytes,
    under_way: bool,
}

/// What is to be sent to one partition.
#[derive(Default)]
struct Lane {
    next_number: u64,
    next_sequence: i32,
    batches: VecDeque<Batch>,
}

/// One producer.
pub(super) struct Producer {
    workload: Rc<Workload>,
    name: String,
    number: u16,
    plan: ProducerPlan,
    rng: ChaCha8Rng,
    /// Given by the broker; kept over reconnects and restarts.
    id: Option<(i64, i16)>,
    lanes: BTreeMap<Place, Lane>,
}

impl Producer {
    pub fn new(workload: Rc<Workload>, number: u16, plan: ProducerPlan) -> Self {
        let name = format!("prod{number}");
        let mut rng = stream(workload.plan.seed, &name);
        let all = workload.places();
        let first = all[(rng.next_u64() % all.len() as u64) as usize];
        // One durability a producer: what a power loss takes from one topic must not make it
        // begin anew in another that lost nothing.
        let durability = workload.durability(first);
        let mut places = all;
        places.retain(|place| workload.durability(*place) == durability);
        places.retain(|place| *place == first || chance(&mut rng, 700));
        let lanes = places
            .into_iter()
            .map(|place| (place, Lane::default()))
            .collect();
        Self {
            workload,
            name,
            number,
            plan,
            rng,
            id: None,
            lanes,
        }
    }

    /// Works until the faults are over and, if idempotent, everything is acknowledged.
    pub async fn run(mut self) {
        while !self.is_done() {
            let mut client = match self.workload.connect(&self.name).await {
                Ok(client) => client,
                Err(error) => {
                    self.lost(&error).await;
                    continue;
                }
            };
            while !self.is_done() {
                if let Err(error) = self.round(&mut client).await {
                    self.lost(&error).await;
                    break;
                }
            }
        }
    }

    fn is_done(&self) -> bool {
        match self.workload.phase.get() {
            Phase::Faults => false,
            Phase::Drain => self.lanes.values().all(|lane| lane.batches.is_empty()),
            Phase::Done => true,
        }
    }

    /// The connection is gone: what was under way is unknown.
    async fn lost(&mut self, error: &ClientError) {
        self.workload.note(&self.name, error);
        for lane in self.lanes.values_mut() {
            lane.batches
                .iter_mut()
                .for_each(|batch| batch.under_way = false);
            if !self.plan.idempotent {
                lane.batches.clear();
            }
        }
        self.pause(Duration::from_millis(200)).await;
    }

    async fn pause(&mut self, most: Duration) {
        let us = self.rng.next_u64() % (most.as_micros() as u64 + 1);
        exec::sleep(Duration::from_micros(us)).await;
    }

    /// Fills the lanes, sends everything that waits, takes every answer.
    async fn round(&mut self, client: &mut Client) -> Result<(), ClientError> {
        if self.plan.idempotent && self.id.is_none() {
            return self.init_id(client).await;
        }
        let places: Vec<Place> = self.lanes.keys().copied().collect();
        let mut expected = VecDeque::new();
        for turn in 0..self.plan.window {
            let mut parts = Vec::new();
            for place in &places {
                if self.workload.phase.get() == Phase::Faults && chance(&mut self.rng, 700) {
                    self.fill(*place);
                }
                let batches = self
                    .lanes
                    .get_mut(place)
                    .expect("listed")
                    .batches
                    .iter_mut();
                let mut waiting = batches.enumerate().filter(|(_, batch)| !batch.under_way);
                if let Some((at, batch)) = waiting.next() {
                    batch.under_way = true;
                    parts.push((*place, at, batch.bytes.clone()));
                }
            }
            if !parts.is_empty() {
                let request = produce_request(&parts);
                let correlation = client.send(self.plan.version, &request, ANSWER).await?;
                let indexes: Vec<(Place, usize)> = parts
                    .iter()
                    .map(|(place, at, _)| (*place, self.lanes[place].batches[*at].index))
                    .collect();
                expected.push_back((correlation, indexes));
            }
            if turn == 0 && expected.is_empty() {
                break;
            }
        }
        let mut refused = false;
        for (correlation, indexes) in expected {
            let response = client
                .receive::<ProduceRequest>(self.plan.version, correlation, ANSWER)
                .await?;
            for (place, index) in indexes {
                if self.lanes[&place]
                    .batches
                    .iter()
                    .all(|batch| batch.index != index)
                {
                    continue;
                }
                let answer = response
                    .responses
                    .iter()
                    .filter(|topic| topic.name.as_str() == place.topic_name())
                    .flat_map(|topic| &topic.partition_responses)
                    .find(|part| part.index == place.partition)
                    .map(|part| (part.error_code, part.base_offset));
                let Some((code, base_offset)) = answer else {
                    let why = format!("Produce left out {place}");
                    return Err(ClientError::Malformed(why));
                };
                refused |= !self.answered(place, index, code, base_offset);
            }
        }
        let pause = if refused {
            Duration::from_millis(400)
        } else {
            self.plan.pause_max
        };
        self.pause(pause).await;
        Ok(())
    }

    /// Adds a batch of new records to a lane that has room.
    fn fill(&mut self, place: Place) {
        let lane = self.lanes.get_mut(&place).expect("the caller listed it");
        if lane.batches.len() >= self.plan.window {
            return;
        }
        let count = 1 + self.rng.next_u64() % self.plan.batch_max;
        let mut history = self.workload.history.borrow_mut();
        let mut records = Vec::new();
        let mut index = usize::MAX;
        // A batch larger than a segment is refused, as Kafka does.
        let room = self.workload.plan.topics[usize::from(place.topic)].segment_bytes as usize / 3;
        let mut bytes = 0;
        for _ in 0..count {
            if bytes > room {
                break;
            }
            let padding = (self.rng.next_u64() % (self.plan.value_max + 1)) as usize;
            let unique = format!("{}.{place}.{}:", self.number, lane.next_number);
            let mut value = unique.into_bytes();
            value.resize(
                value.len() + padding.min(room / 2),
                b'a' + (self.rng.next_u64() % 26) as u8,
            );
            let sent = Sent {
                producer: self.number,
                idempotent: self.plan.idempotent,
                number: lane.next_number,
                key: chance(&mut self.rng, 500).then(|| Bytes::from(format!("k{padding}"))),
                value: value.into(),
                timestamp: 1_767_225_600_000 + exec::now().as_millis() as i64,
                header: chance(&mut self.rng, 200).then(|| Bytes::from_static(b"\xff\x00")),
                outcome: Outcome::Unknown,
                offset: None,
            };
            lane.next_number += 1;
            bytes += sent.value.len() + 100;
            let at = history.send(place, sent.clone());
            index = index.min(at);
            records.push(sent);
        }
        let stamp = match self.id {
            _ if self.workload.plan.mutant == Some(Mutant::NoDedup) => Stamp::NONE,
            Some((producer_id, producer_epoch)) => Stamp {
                producer_id,
                producer_epoch,
                sequence: lane.next_sequence,
            },
            None => Stamp::NONE,
        };
        lane.next_sequence += records.len() as i32;
        let bytes = encode(&records, stamp);
        lane.batches.push_back(Batch {
            index,
            count: records.len(),
            bytes,
            under_way: false,
        });
    }

    /// Takes the answer to the batch whose first record is `index`. Says whether it was a yes.
    fn answered(&mut self, place: Place, index: usize, code: i16, base_offset: i64) -> bool {
        let lane = self.lanes.get_mut(&place).expect("the batch came from it");
        let at = lane.batches.iter().position(|batch| batch.index == index);
        let at = at.expect("a batch is answered once a round");
        let count = lane.batches[at].count;
        let off = self.workload.plan.mutant == Some(Mutant::OffsetOff) && index % 97 == 96;
        let base_offset = base_offset + i64::from(off);
        if code == NONE || code == DUPLICATE_SEQUENCE_NUMBER {
            let mut history = self.workload.history.borrow_mut();
            for record in 0..count {
                let offset = (base_offset >= 0).then_some(base_offset + record as i64);
                history.ack(place, index + record, offset, exec::now());
            }
            drop(history);
            lane.batches.remove(at);
            let what = format!("acked {place} {index}+{count} at {base_offset} code {code}");
            self.workload.tell(&self.name, what);
            return true;
        }
        self.workload.tell(
            &self.name,
            format!("refused {place} {index}+{count}: error {code}"),
        );
        let place_of = || format!("{}, {place}, record {index}, error {code}", self.name);
        if code == OUT_OF_ORDER_SEQUENCE_NUMBER {
            if at == 0 && self.plan.idempotent {
                if self.workload.may_lose(place) {
                    self.begin_anew();
                    return false;
                }
                let failure = Failure::safety(
                    "a producer's next batch after its last acknowledged one is in order",
                    place_of(),
                );
                self.workload.fail(failure);
            }
        } else if !is_retriable(code) {
            let failure = Failure::safety("a produce request gets an error that fits", place_of());
            self.workload.fail(failure);
        }
        if self.plan.idempotent {
            lane.batches[at].under_way = false;
        } else {
            lane.batches.remove(at);
        }
        false
    }

    /// The broker lost acknowledged records, as it may here: what waits is given up, and what
    /// follows has a new producer id.
    fn begin_anew(&mut self) {
        self.workload.tell(&self.name, "begins anew".to_owned());
        self.id = None;
        for lane in self.lanes.values_mut() {
            lane.batches.clear();
            lane.next_sequence = 0;
        }
    }

    async fn init_id(&mut self, client: &mut Client) -> Result<(), ClientError> {
        let request = InitProducerIdRequest::default()
            .with_transactional_id(None)
            .with_transaction_timeout_ms(i32::MAX)
            .with_producer_id(ProducerId(-1))
            .with_producer_epoch(-1);
        let response = client.call(4, &request, ANSWER).await?;
        if response.error_code == NONE {
            self.id = Some((response.producer_id.0, response.producer_epoch));
            self.workload.tell(
                &self.name,
                format!("is producer {}", response.producer_id.0),
            );
        } else {
            self.workload.tell(
                &self.name,
                format!("no producer id: {}", response.error_code),
            );
            self.pause(Duration::from_millis(200)).await;
        }
        Ok(())
    }
}

fn produce_request(parts: &[(Place, usize, Bytes)]) -> ProduceRequest {
    let mut topics: BTreeMap<u16, Vec<PartitionProduceData>> = BTreeMap::new();
    for (place, _, bytes) in parts {
        let data = PartitionProduceData::default()
            .with_index(place.partition)
            .with_records(Some(bytes.clone()));
        topics.entry(place.topic).or_default().push(data);
    }
    let topics = topics.into_iter().map(|(topic, data)| {
        let name = TopicName(StrBytes::from_string(
            Place {
                topic,
                partition: 0,
            }
            .topic_name(),
        ));
        TopicProduceData::default()
            .with_name(name)
            .with_partition_data(data)
    });
    ProduceRequest::default()
        .with_acks(-1)
        .with_timeout_ms(5_000)
        .with_topic_data(topics.collect())
}
