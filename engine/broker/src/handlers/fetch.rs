//! Fetch: reads, long polls and incremental sessions (kafka rules 60 to 70).

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use highwater_partition::{Isolation, Offsets, Partition, ReadBudget, Readable, TailBatch, Waiter};
use highwater_protocol::batch::{self, HEADER_BYTES};
use highwater_protocol::message::messages::fetch_response::{
    FetchableTopicResponse, PartitionData,
};
use highwater_protocol::message::messages::{BrokerId, FetchRequest, FetchResponse, TopicName};
use highwater_protocol::message::{StrBytes, fetch};
use highwater_record::{Corrupt, StoredBatch};
use highwater_runtime::Runtime;
use highwater_runtime::task::within;
use highwater_types::{LeaderEpoch, Offset, Position, TopicId};

use crate::Broker;
use crate::context::Context;
use crate::dispatch::Reply;
use crate::error_code::{ResponseError, WireCode};
use crate::session::{Asked, Begin, Key, Sent, SessionError};

/// Answers when enough can be read, something is wrong, or the client's wait is over.
pub(crate) async fn handle<R: Runtime>(
    broker: &Arc<Broker<R>>,
    context: &Context<'_>,
    request: FetchRequest,
) -> Reply {
    let runtime = broker.runtime();
    let version = context.version();
    let asked = asked_of(&request, version);
    let forgotten = forgotten_of(&request, version);
    let at = (request.session_id, request.session_epoch);
    let begin = {
        let draw = runtime.draw("fetch-session");
        broker
            .sessions()
            .begin(at, &asked, &forgotten, runtime.mono(), draw)
    };
    let begin = match begin {
        Ok(begin) => begin,
        Err(error) => return refuse(broker, context, &request, error),
    };
    let plan = match plan(broker, begin, asked) {
        Ok(plan) => plan,
        Err(error) => return refuse(broker, context, &request, error),
    };
    let fetch = Fetch {
        broker,
        version,
        plan: plan
            .into_iter()
            .map(|(key, asked)| Planned::resolve(broker, key, asked))
            .collect(),
        isolation: match request.isolation_level {
            1 => Isolation::Committed,
            _ => Isolation::Uncommitted,
        },
        bytes_min: usize::try_from(request.min_bytes).unwrap_or(0),
        bytes_max: usize::try_from(request.max_bytes)
            .unwrap_or(0)
            .min(usize::try_from(broker.settings().fetch_bytes_max).unwrap_or(usize::MAX)),
        is_follower: request.replica_id.0 >= 0 || request.replica_state.replica_id.0 >= 0,
    };
    let wait = Duration::from_millis(u64::try_from(request.max_wait_ms).unwrap_or(0));
    let found = fetch.read_or_wait(wait).await;
    match fetch.answer(begin, found) {
        Ok((response, records)) => {
            let id = context.header.correlation_id;
            match fetch::encode(id, version, &response, &records) {
                Ok(parts) => Reply::Now(parts),
                Err(error) => {
                    broker.log_bug(&error);
                    Reply::Close
                }
            }
        }
        Err(error) => refuse(broker, context, &request, error),
    }
}

/// The answer to a session that cannot be used. Versions before 7 know none.
fn refuse<R: Runtime>(
    broker: &Arc<Broker<R>>,
    context: &Context<'_>,
    request: &FetchRequest,
    error: SessionError,
) -> Reply {
    let keeps_id = error == SessionError::WrongEpoch;
    let response = FetchResponse::default()
        .with_error_code(error.code())
        .with_session_id(if keeps_id { request.session_id } else { 0 });
    crate::dispatch::encoded(broker, context.header, &response)
}

fn key(version: i16, topic: &TopicName, id: uuid::Uuid, partition: i32) -> Key {
    if version >= 13 {
        Key {
            id: TopicId::from_uuid(id),
            name: "".into(),
            partition,
        }
    } else {
        Key {
            id: TopicId::NONE,
            name: topic.as_str().into(),
            partition,
        }
    }
}

fn asked_of(request: &FetchRequest, version: i16) -> Vec<(Key, Asked)> {
    let topics = request.topics.iter();
    topics
        .flat_map(|topic| {
            topic.partitions.iter().map(move |partition| {
                let asked = Asked {
                    fetch_offset: partition.fetch_offset,
                    max_bytes: partition.partition_max_bytes,
                    current_epoch: partition.current_leader_epoch,
                    last_fetched_epoch: partition.last_fetched_epoch,
                };
                (
                    key(version, &topic.topic, topic.topic_id, partition.partition),
                    asked,
                )
            })
        })
        .collect()
}

fn forgotten_of(request: &FetchRequest, version: i16) -> Vec<Key> {
    let topics = request.forgotten_topics_data.iter();
    topics
        .flat_map(|topic| {
            let partitions = topic.partitions.iter();
            partitions.map(move |partition| key(version, &topic.topic, topic.topic_id, *partition))
        })
        .collect()
}

/// What is to be read: the whole session, or what the request lists.
fn plan<R: Runtime>(
    broker: &Arc<Broker<R>>,
    begin: Begin,
    asked: Vec<(Key, Asked)>,
) -> Result<Vec<(Key, Asked)>, SessionError> {
    match broker.sessions().session(begin)? {
        Some(session) => Ok(session
            .partitions()
            .map(|(key, asked)| (key.clone(), *asked))
            .collect()),
        None => Ok(asked),
    }
}

/// One partition to read.
struct Planned<R: Runtime> {
    key: Key,
    asked: Asked,
    partition: Result<Arc<Partition<R>>, ResponseError>,
}

impl<R: Runtime> Planned<R> {
    fn resolve(broker: &Arc<Broker<R>>, key: Key, asked: Asked) -> Self {
        let partition = if key.name.is_empty() {
            broker.partition_by_id(key.id, key.partition)
        } else {
            broker.partition_by_name(&key.name, key.partition)
        };
        Self {
            key,
            asked,
            partition,
        }
    }
}

/// What one partition gave.
struct Found {
    /// The watermarks that limited the read; `None` with an error.
    offsets: Option<Offsets>,
    error: Option<ResponseError>,
    diverging: Option<(LeaderEpoch, Offset)>,
    readable: Option<Readable>,
    /// Bytes read, as they are stored.
    len: usize,
}

impl Found {
    fn failed(error: ResponseError) -> Self {
        Self {
            offsets: None,
            error: Some(error),
            diverging: None,
            readable: None,
            len: 0,
        }
    }
}

struct Fetch<'a, R: Runtime> {
    broker: &'a Arc<Broker<R>>,
    version: i16,
    plan: Vec<Planned<R>>,
    isolation: Isolation,
    bytes_min: usize,
    bytes_max: usize,
    is_follower: bool,
}

impl<R: Runtime> Fetch<'_, R> {
    /// Reads; parks while there is too little and `wait` is not over (rule 62).
    async fn read_or_wait(&self, wait: Duration) -> Vec<Found> {
        let runtime = self.broker.runtime();
        let deadline = runtime.mono() + wait;
        loop {
            let found = self.read();
            let bytes: usize = found.iter().map(|found| found.len).sum();
            let urgent = found
                .iter()
                .any(|one| one.error.is_some() || one.diverging.is_some());
            let left = deadline.saturating_sub(runtime.mono());
            if bytes >= self.bytes_min || urgent || found.is_empty() || left.is_zero() {
                return found;
            }
            let waiter = Waiter::new((self.bytes_min - bytes) as u64);
            let parked: Vec<_> = self
                .plan
                .iter()
                .zip(&found)
                .filter_map(|(planned, found)| {
                    let partition = planned.partition.as_ref().ok()?;
                    let seen = self.isolation.limit(found.offsets.as_ref()?);
                    Some(partition.park(&waiter, self.isolation, seen))
                })
                .collect();
            drop(found);
            // Whether woken or not, the partitions say what there is.
            let _ = within(runtime, left, waiter.woken()).await;
            drop(parked);
        }
    }

    /// Reads every partition once, within the request's budget (rule 63).
    fn read(&self) -> Vec<Found> {
        let mut left = self.bytes_max;
        let mut none_yet = true;
        let plan = self.plan.iter();
        plan.map(|planned| {
            let found = self.read_one(planned, left, none_yet);
            left = left.saturating_sub(found.len);
            none_yet &= found.len == 0;
            found
        })
        .collect()
    }

    fn read_one(&self, planned: &Planned<R>, left: usize, at_least_one: bool) -> Found {
        let partition = match &planned.partition {
            Ok(partition) => partition,
            Err(error) => return Found::failed(*error),
        };
        if self.is_follower {
            return Found::failed(ResponseError::NotLeaderOrFollower);
        }
        let asked = &planned.asked;
        let fence = LeaderEpoch::from_wire(asked.current_epoch);
        let Some(from) = Offset::from_wire(asked.fetch_offset) else {
            return Found::failed(ResponseError::OffsetOutOfRange);
        };
        match diverging(partition, asked, from) {
            Ok(None) => {}
            Ok(Some(diverging)) => {
                let offsets = Some(partition.offsets());
                let diverging = Some(diverging);
                return Found {
                    offsets,
                    error: None,
                    diverging,
                    readable: None,
                    len: 0,
                };
            }
            Err(error) => return Found::failed(error),
        }
        let max_bytes = usize::try_from(asked.max_bytes).unwrap_or(0).min(left);
        // Compressed as the producer sent it only for clients that know every codec.
        let tail = self.version >= 10;
        let budget = ReadBudget {
            max_bytes,
            at_least_one,
            tail,
        };
        match partition.read(from, budget, self.isolation, fence) {
            Ok(readable) => {
                let (offsets, len) = match &readable {
                    Readable::Stored { bytes, offsets } => (*offsets, bytes.len()),
                    Readable::Tail { batches, offsets } => {
                        (*offsets, batches.iter().map(|batch| batch.wire.len()).sum())
                    }
                };
                let offsets = Some(offsets);
                Found {
                    offsets,
                    error: None,
                    diverging: None,
                    readable: Some(readable),
                    len,
                }
            }
            Err(error) => Found::failed(error.wire()),
        }
    }

    /// Puts together what the client is told; the session remembers it (rule 68).
    fn answer(
        &self,
        begin: Begin,
        found: Vec<Found>,
    ) -> Result<(FetchResponse, Vec<Vec<Bytes>>), SessionError> {
        let told = self.tell_session(begin, &found)?;
        let session_id = if self.version >= 7 { begin.id() } else { 0 };
        let mut response = FetchResponse::default().with_session_id(session_id);
        let mut records = Vec::new();
        for ((planned, found), told) in self.plan.iter().zip(found).zip(told) {
            if told {
                let (data, bytes) = self.partition_data(planned, found);
                push(&mut response, &planned.key, data);
                records.push(bytes);
            }
        }
        Ok((response, records))
    }

    /// Which partitions the client is told of: all, or in a session those with news.
    fn tell_session(&self, begin: Begin, found: &[Found]) -> Result<Vec<bool>, SessionError> {
        let mut sessions = self.broker.sessions();
        let Some(session) = sessions.session(begin)? else {
            return Ok(vec![true; found.len()]);
        };
        let only_news = matches!(begin, Begin::Continued { .. });
        let told = self.plan.iter().zip(found).map(|(planned, found)| {
            let sent = found.offsets.map(|offsets| Sent {
                high_watermark: offsets.high_watermark.wire(),
                log_start: offsets.start.wire(),
            });
            let news = found.len > 0
                || found.error.is_some()
                || found.diverging.is_some()
                || sent.is_none_or(|sent| session.is_news(&planned.key, sent));
            if news || !only_news {
                let sent = sent.filter(|_| found.error.is_none());
                session.told(&planned.key, sent, found.len > 0);
            }
            news || !only_news
        });
        Ok(told.collect())
    }

    fn partition_data(&self, planned: &Planned<R>, found: Found) -> (PartitionData, Vec<Bytes>) {
        let mut data = PartitionData::default()
            .with_partition_index(planned.key.partition)
            .with_high_watermark(-1)
            .with_last_stable_offset(-1)
            .with_log_start_offset(-1);
        data.aborted_transactions = match self.isolation {
            Isolation::Committed if found.error.is_none() => Some(Vec::new()),
            Isolation::Committed | Isolation::Uncommitted => None,
        };
        if let Some(offsets) = found.offsets {
            data.high_watermark = offsets.high_watermark.wire();
            data.last_stable_offset = offsets.last_stable.wire();
            data.log_start_offset = offsets.start.wire();
        }
        if let Some(error) = found.error {
            data.error_code = error.code();
            let moved = matches!(
                error,
                ResponseError::FencedLeaderEpoch | ResponseError::NotLeaderOrFollower
            );
            if let (true, Ok(partition)) = (moved && self.version >= 12, &planned.partition) {
                data.current_leader.leader_id = BrokerId(self.broker.node_id());
                data.current_leader.leader_epoch = partition.epoch().wire();
            }
        }
        if let Some((epoch, end)) = found.diverging {
            data.diverging_epoch.epoch = epoch.wire();
            data.diverging_epoch.end_offset = end.wire();
        }
        let from = Offset::from_wire(planned.asked.fetch_offset).unwrap_or(Offset::ZERO);
        match found
            .readable
            .map(|readable| wire(readable, from, planned.asked.max_bytes))
        {
            None => (data, Vec::new()),
            Some(Ok(bytes)) => (data, bytes),
            Some(Err(error)) => {
                let place = format!("{} partition {}", planned.key.name, planned.key.partition);
                self.broker.log_corrupt(&place, &error);
                data.error_code = ResponseError::KafkaStorageError.code();
                (data, Vec::new())
            }
        }
    }
}

/// Where the client's log and ours part, if it says how its log ends (rule 34).
fn diverging<R: Runtime>(
    partition: &Partition<R>,
    asked: &Asked,
    from: Offset,
) -> Result<Option<(LeaderEpoch, Offset)>, ResponseError> {
    let Some(last) = LeaderEpoch::from_wire(asked.last_fetched_epoch) else {
        return Ok(None);
    };
    let fence = LeaderEpoch::from_wire(asked.current_epoch);
    let end = partition
        .epoch_end(last, fence)
        .map_err(|error| error.wire())?;
    let Some(end) = end else {
        return Err(ResponseError::OffsetOutOfRange);
    };
    let parts = end.epoch < last || end.end_offset < from;
    Ok(parts.then_some((end.epoch, end.end_offset)))
}

/// The records as a client reads them: v2 batches.
fn wire(readable: Readable, from: Offset, max_bytes: i32) -> Result<Vec<Bytes>, Corrupt> {
    match readable {
        Readable::Stored { bytes, .. } if bytes.is_empty() => Ok(Vec::new()),
        Readable::Stored { bytes, .. } => {
            let max_bytes = usize::try_from(max_bytes).unwrap_or(0);
            reframed(&bytes, from, max_bytes).map(|bytes| vec![bytes])
        }
        Readable::Tail { batches, .. } => Ok(batches.iter().flat_map(original_parts).collect()),
    }
}

/// Stored batches as v2 batches, until `max_bytes` are written; at least one.
fn reframed(stored: &[u8], from: Offset, max_bytes: usize) -> Result<Bytes, Corrupt> {
    let mut out = BytesMut::with_capacity(stored.len());
    let mut at = 0;
    while let Some(batch) = StoredBatch::parse(&stored[at..], Position(at as u64))? {
        let left = max_bytes.saturating_sub(out.len());
        if left == 0 && !out.is_empty() {
            break;
        }
        if !batch::encode(&batch, from, left, &mut out)?.is_whole {
            break;
        }
        at += batch.bytes.len();
    }
    Ok(out.freeze())
}

/// A producer's own batch in its place in the log: a patched copy of its header, and the rest as
/// it came.
fn original_parts(kept: &TailBatch) -> [Bytes; 2] {
    let mut header = BytesMut::from(&kept.wire[..HEADER_BYTES]);
    batch::original::patch(&mut header, kept.base_offset, kept.epoch);
    [header.freeze(), kept.wire.slice(HEADER_BYTES..)]
}

/// Adds a partition's answer under its topic, which may be the last one already.
fn push(response: &mut FetchResponse, key: &Key, data: PartitionData) {
    let same = |topic: &FetchableTopicResponse| {
        *topic.topic.0 == *key.name && topic.topic_id == key.id.uuid()
    };
    match response.responses.last_mut() {
        Some(topic) if same(topic) => topic.partitions.push(data),
        Some(_) | None => response.responses.push(
            FetchableTopicResponse::default()
                .with_topic(TopicName(StrBytes::from_string(key.name.to_string())))
                .with_topic_id(key.id.uuid())
                .with_partitions(vec![data]),
        ),
    }
}
