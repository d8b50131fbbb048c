//! ListOffsets (kafka rules 98 and 99) and OffsetForLeaderEpoch (rules 31 and 32).

use std::collections::BTreeMap;
use std::sync::Arc;

use highwater_partition::{Isolation, Partition};
use highwater_protocol::message::messages::list_offsets_request::ListOffsetsPartition;
use highwater_protocol::message::messages::list_offsets_response::{
    ListOffsetsPartitionResponse, ListOffsetsTopicResponse,
};
use highwater_protocol::message::messages::offset_for_leader_epoch_request::OffsetForLeaderPartition;
use highwater_protocol::message::messages::offset_for_leader_epoch_response::{
    EpochEndOffset, OffsetForLeaderTopicResult,
};
use highwater_protocol::message::messages::{
    ListOffsetsRequest, ListOffsetsResponse, OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
};
use highwater_runtime::Runtime;
use highwater_types::LeaderEpoch;

use crate::Broker;
use crate::context::Context;
use crate::error_code::{ResponseError, WireCode};

const LATEST: i64 = -1;
const EARLIEST: i64 = -2;
const MAX_TIMESTAMP: i64 = -3;
const EARLIEST_LOCAL: i64 = -4;
const LAST_TIERED: i64 = -5;
const PENDING_UPLOAD: i64 = -6;

/// The lowest version that may ask for a special timestamp; `None` when there is no such one.
fn special_since(timestamp: i64) -> Option<i16> {
    match timestamp {
        LATEST | EARLIEST => Some(1),
        MAX_TIMESTAMP => Some(7),
        EARLIEST_LOCAL => Some(8),
        LAST_TIERED => Some(9),
        PENDING_UPLOAD => Some(11),
        _ => None,
    }
}

/// Finds offsets by time or by place.
pub(crate) async fn list<R: Runtime>(
    broker: &Arc<Broker<R>>,
    context: &Context<'_>,
    request: ListOffsetsRequest,
) -> ListOffsetsResponse {
    let isolation = match request.isolation_level {
        1 => Isolation::Committed,
        _ => Isolation::Uncommitted,
    };
    let mut counts: BTreeMap<(&str, i32), usize> = BTreeMap::new();
    for topic in &request.topics {
        for partition in &topic.partitions {
            *counts
                .entry((&topic.name, partition.partition_index))
                .or_default() += 1;
        }
    }
    let topics = request.topics.iter().map(|topic| {
        let mut answered = Vec::new();
        let mut partitions = Vec::with_capacity(topic.partitions.len());
        for asked in &topic.partitions {
            let index = asked.partition_index;
            let twice = counts
                .get(&(&*topic.name, index))
                .is_some_and(|count| *count > 1);
            if twice {
                // The same partition twice: one entry with an error (section 4 item 23).
                if !answered.contains(&index) {
                    answered.push(index);
                    partitions.push(refused(index, ResponseError::InvalidRequest));
                }
                continue;
            }
            let found = match broker.partition_by_name(&topic.name, index) {
                Ok(partition) => find(&partition, asked, isolation, context.version()),
                Err(error) => refused(index, error),
            };
            partitions.push(found);
        }
        ListOffsetsTopicResponse::default()
            .with_name(topic.name.clone())
            .with_partitions(partitions)
    });
    ListOffsetsResponse::default().with_topics(topics.collect())
}

fn refused(index: i32, error: ResponseError) -> ListOffsetsPartitionResponse {
    ListOffsetsPartitionResponse::default()
        .with_partition_index(index)
        .with_error_code(error.code())
        .with_timestamp(-1)
        .with_offset(-1)
}

fn find<R: Runtime>(
    partition: &Partition<R>,
    asked: &ListOffsetsPartition,
    isolation: Isolation,
    version: i16,
) -> ListOffsetsPartitionResponse {
    let index = asked.partition_index;
    let fence = LeaderEpoch::from_wire(asked.current_leader_epoch);
    let answer = |timestamp: i64, offset: i64, epoch: Option<LeaderEpoch>| {
        let response = ListOffsetsPartitionResponse::default()
            .with_partition_index(index)
            .with_timestamp(timestamp)
            .with_offset(offset);
        match epoch {
            Some(epoch) if version >= 4 => response.with_leader_epoch(epoch.wire()),
            Some(_) | None => response,
        }
    };
    if asked.timestamp < 0 && special_since(asked.timestamp).is_none_or(|since| version < since) {
        return refused(index, ResponseError::UnsupportedVersion);
    }
    let (offsets, epoch) = match partition.watermarks(fence) {
        Ok(found) => found,
        Err(error) => return refused(index, error.wire()),
    };
    let found = match asked.timestamp {
        LATEST => return answer(-1, isolation.limit(&offsets).wire(), Some(epoch)),
        EARLIEST | EARLIEST_LOCAL => {
            return answer(-1, offsets.start.wire(), partition.epoch_at(offsets.start));
        }
        LAST_TIERED | PENDING_UPLOAD => return answer(-1, -1, None),
        MAX_TIMESTAMP => partition.find_max_time(isolation, fence),
        timestamp => partition.find_time(timestamp, isolation, fence),
    };
    match found {
        Ok(Some(found)) => answer(found.timestamp, found.offset.wire(), Some(found.epoch)),
        Ok(None) => answer(-1, -1, None),
        Err(error) => refused(index, error.wire()),
    }
}

/// Says where leader epochs end, so that a client finds out whether its position still exists.
pub(crate) async fn for_leader_epoch<R: Runtime>(
    broker: &Arc<Broker<R>>,
    _context: &Context<'_>,
    request: OffsetForLeaderEpochRequest,
) -> OffsetForLeaderEpochResponse {
    let topics = request.topics.iter().map(|topic| {
        let partitions = topic.partitions.iter().map(|asked| {
            match broker.partition_by_name(&topic.topic, asked.partition) {
                Ok(partition) => epoch_end(&partition, asked),
                Err(error) => EpochEndOffset::default()
                    .with_partition(asked.partition)
                    .with_error_code(error.code()),
            }
        });
        OffsetForLeaderTopicResult::default()
            .with_topic(topic.topic.clone())
            .with_partitions(partitions.collect())
    });
    OffsetForLeaderEpochResponse::default().with_topics(topics.collect())
}

fn epoch_end<R: Runtime>(
    partition: &Partition<R>,
    asked: &OffsetForLeaderPartition,
) -> EpochEndOffset {
    let answer = EpochEndOffset::default().with_partition(asked.partition);
    let fence = LeaderEpoch::from_wire(asked.current_leader_epoch);
    if let Err(error) = partition.watermarks(fence) {
        return answer.with_error_code(error.code());
    }
    let Some(epoch) = LeaderEpoch::from_wire(asked.leader_epoch) else {
        return answer;
    };
    match partition.epoch_end(epoch, fence) {
        Ok(Some(end)) => answer
            .with_leader_epoch(end.epoch.wire())
            .with_end_offset(end.end_offset.wire()),
        Ok(None) => answer,
        Err(error) => answer.with_error_code(error.code()),
    }
}
