//! Produce: batches are appended in the order in which they came; their syncs are shared.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use highwater_metadata::settings::{TimestampType, TopicSettings};
use highwater_partition::{Ack, AckError, Acks, Appended};
use highwater_protocol::batch::{self, Limits, Timestamps};
use highwater_protocol::message::messages::produce_request::TopicProduceData;
use highwater_protocol::message::messages::produce_response::{
    BatchIndexAndErrorMessage, PartitionProduceResponse, TopicProduceResponse,
};
use highwater_protocol::message::messages::{BrokerId, ProduceRequest, ProduceResponse};
use highwater_protocol::message::{RequestHeader, StrBytes};
use highwater_runtime::Runtime;
use highwater_runtime::task::{oneshot, within};
use highwater_types::TopicId;

use crate::Broker;
use crate::catalog::{Catalog, TopicEntry};
use crate::context::Context;
use crate::dispatch::{Reply, encoded};
use crate::error_code::{Refused, ResponseError, WireCode};

/// A producer's batch of this size or less is copied for the tail: it must not keep alive the
/// whole buffer that it arrived in.
const COPY_BYTES_MAX: usize = 16 << 10;

/// A partition's answer that is still open: where it stands, and what decides it.
struct Open {
    topic: usize,
    partition: usize,
    ack: oneshot::Receiver<Result<(), AckError>>,
}

/// Appends every batch before this returns; only acknowledgements are left to wait for.
pub(crate) fn handle<R: Runtime>(
    broker: &Arc<Broker<R>>,
    context: &Context<'_>,
    request: ProduceRequest,
) -> Reply {
    let produce = Produce {
        broker,
        catalog: broker.catalog(),
        version: context.version(),
        acks: match request.acks {
            0 => Ok(Acks::None),
            1 => Ok(Acks::Leader),
            -1 => Ok(Acks::All),
            _ => Err(ResponseError::InvalidRequiredAcks),
        },
        transactional: request.transactional_id.is_some(),
    };
    let mut open = Vec::new();
    let topics = request.topic_data.into_iter().enumerate();
    let answers: Vec<_> = topics
        .map(|(at, topic)| produce.topic(at, topic, &mut open))
        .collect();
    if request.acks == 0 {
        // Nothing can be said: a closed connection tells of an error (rule 48).
        let failed = |answer: &TopicProduceResponse| {
            answer
                .partition_responses
                .iter()
                .any(|partition| partition.error_code != 0)
        };
        return if answers.iter().any(failed) {
            Reply::Close
        } else {
            Reply::Silent
        };
    }
    let response = ProduceResponse::default().with_responses(answers);
    if open.is_empty() {
        return encoded(broker, context.header, &response);
    }
    let wait = Duration::from_millis(u64::try_from(request.timeout_ms).unwrap_or(0));
    let (broker, header) = (Arc::clone(broker), context.header.clone());
    Reply::Later(Box::pin(async move {
        settle(&broker, &header, response, open, wait).await
    }))
}

/// Waits until every open answer is decided or the client's time is over (rule 50).
async fn settle<R: Runtime>(
    broker: &Broker<R>,
    header: &RequestHeader,
    mut response: ProduceResponse,
    open: Vec<Open>,
    wait: Duration,
) -> Reply {
    let runtime = broker.runtime();
    let deadline = runtime.mono() + wait;
    for Open {
        topic,
        partition,
        ack,
    } in open
    {
        let left = deadline.saturating_sub(runtime.mono());
        let (error, message) = match within(runtime, left, ack).await {
            Some(Ok(Ok(()))) => continue,
            Some(Ok(Err(error))) => (error.wire(), error.to_string()),
            // The broker stops: the producer retries elsewhere or later.
            Some(Err(oneshot::Canceled)) => (
                ResponseError::NotLeaderOrFollower,
                "the broker is stopping".to_owned(),
            ),
            None => (
                ResponseError::RequestTimedOut,
                "no acknowledgement in time".to_owned(),
            ),
        };
        let index = response.responses[topic].partition_responses[partition].index;
        response.responses[topic].partition_responses[partition] =
            refused(header.version, index, Refused::new(error, message));
    }
    encoded(broker, header, &response)
}

struct Produce<'a, R: Runtime> {
    broker: &'a Arc<Broker<R>>,
    catalog: Arc<Catalog<R>>,
    version: i16,
    acks: Result<Acks, ResponseError>,
    transactional: bool,
}

impl<R: Runtime> Produce<'_, R> {
    fn topic(
        &self,
        at: usize,
        topic: TopicProduceData,
        open: &mut Vec<Open>,
    ) -> TopicProduceResponse {
        let by_id = self.version >= 13;
        let entry = if by_id {
            let found = self.catalog.with_id(TopicId::from_uuid(topic.topic_id));
            found.ok_or(ResponseError::UnknownTopicId)
        } else {
            self.catalog
                .named(&topic.name)
                .ok_or(ResponseError::UnknownTopicOrPartition)
        };
        let mut partitions = Vec::with_capacity(topic.partition_data.len());
        for data in topic.partition_data {
            let appended = match entry {
                Ok(entry) => self.append(entry, data.index, data.records),
                Err(error) => Err(Refused::from(error)),
            };
            partitions.push(match appended {
                Ok(appended) => {
                    let answer = accepted(self.version, data.index, &appended);
                    if let Ack::Wait(ack) = appended.ack {
                        open.push(Open {
                            topic: at,
                            partition: partitions.len(),
                            ack,
                        });
                    }
                    answer
                }
                Err(why) => {
                    let leader = why.error == ResponseError::NotLeaderOrFollower;
                    let mut answer = refused(self.version, data.index, why);
                    if leader && self.version >= 10 {
                        answer.current_leader.leader_id = BrokerId(self.broker.node_id());
                    }
                    answer
                }
            });
        }
        let answer = TopicProduceResponse::default().with_partition_responses(partitions);
        if by_id {
            answer.with_topic_id(topic.topic_id)
        } else {
            answer.with_name(topic.name)
        }
    }

    /// Decodes one batch outside the partition's lock and appends it.
    fn append(
        &self,
        topic: &TopicEntry<R>,
        index: i32,
        records: Option<Bytes>,
    ) -> Result<Appended, Refused> {
        let acks = self.acks?;
        if self.transactional {
            // Nothing gives out transactions here, so none can be open (rule 84).
            return Err(ResponseError::InvalidTxnState.into());
        }
        if topic.internal {
            return Err(ResponseError::InvalidTopicException.into());
        }
        let partition = usize::try_from(index)
            .ok()
            .and_then(|index| topic.partitions.get(index))
            .ok_or(ResponseError::UnknownTopicOrPartition)?;
        let partition = partition.as_ref().ok_or(ResponseError::KafkaStorageError)?;
        let wire = records.ok_or_else(|| {
            Refused::new(
                ResponseError::InvalidRecord,
                "the request has no batch".to_owned(),
            )
        })?;
        if self.broker.disk_is_full() {
            let why = "the disk is nearly full: free space or delete records".to_owned();
            return Err(Refused::new(ResponseError::KafkaStorageError, why));
        }
        let segment_bytes = topic.settings.segment_bytes;
        if wire.len() as u64 > segment_bytes {
            let why = format!(
                "{} bytes are more than segment.bytes ({segment_bytes})",
                wire.len()
            );
            return Err(Refused::new(ResponseError::RecordListTooLarge, why));
        }
        let now_ms = self.broker.runtime().wall_ms();
        let limits = limits(self.version, &topic.settings, now_ms);
        let mut scratch = self.broker.scratch.take();
        let decoded = batch::decode(&wire, &limits, &mut scratch);
        self.broker.scratch.put(scratch);
        let mut decoded = decoded?;
        if limits.timestamps == Timestamps::Append {
            decoded.batch.stamp_append_time(now_ms);
        }
        let original = (decoded.is_original && self.broker.keeps_tails()).then(|| {
            let wire = wire.slice(..decoded.wire_len);
            if wire.len() <= COPY_BYTES_MAX {
                Bytes::copy_from_slice(&wire)
            } else {
                wire
            }
        });
        Ok(partition.append(&mut decoded.batch, original, acks, now_ms)?)
    }
}

fn limits(version: i16, settings: &TopicSettings, now_ms: i64) -> Limits {
    let bytes = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
    let ms = |ms: u64| i64::try_from(ms).unwrap_or(i64::MAX);
    let (before, after) = (
        settings.timestamp_before_max_ms,
        settings.timestamp_after_max_ms,
    );
    Limits {
        batch_bytes_max: bytes(settings.batch_bytes_max),
        inflated_bytes_max: bytes(settings.inflated_batch_bytes_max),
        timestamps: match settings.timestamp_type {
            TimestampType::CreateTime => Timestamps::create(now_ms, ms(before), ms(after)),
            TimestampType::LogAppendTime => Timestamps::Append,
        },
        zstd: version >= 7,
    }
}

fn accepted(version: i16, index: i32, appended: &Appended) -> PartitionProduceResponse {
    let answer = PartitionProduceResponse::default()
        .with_index(index)
        .with_base_offset(appended.base_offset.wire())
        .with_log_append_time_ms(appended.append_time.unwrap_or(-1));
    if version >= 5 {
        answer.with_log_start_offset(appended.log_start.wire())
    } else {
        answer
    }
}

fn refused(version: i16, index: i32, why: Refused) -> PartitionProduceResponse {
    let mut answer = PartitionProduceResponse::default()
        .with_index(index)
        .with_error_code(why.error.code())
        .with_base_offset(-1)
        .with_log_append_time_ms(-1);
    if version >= 8 {
        answer.error_message = why.message.map(StrBytes::from_string);
        answer.record_errors = why
            .records
            .into_iter()
            .map(|(at, message)| {
                BatchIndexAndErrorMessage::default()
                    .with_batch_index(at)
                    .with_batch_index_error_message(Some(StrBytes::from_string(message)))
            })
            .collect();
    }
    answer
}
