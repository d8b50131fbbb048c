//! Version 10 of the OffsetCommit and OffsetFetch requests, which the message crate lacks.
//!
//! They are version 9 with the topic's id in place of its name. Source: KIP-848, KIP-1217.

use bytes::Bytes;
use kafka_protocol::messages::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use kafka_protocol::messages::offset_fetch_request::{
    OffsetFetchRequestGroup, OffsetFetchRequestTopics,
};
use kafka_protocol::messages::{OffsetCommitRequest, OffsetFetchRequest};

use super::api::ApiKey;
use super::error::{Malformed, MalformedReason};
use super::guard;
use super::reader::Reader;

/// Decodes the body of an OffsetCommit request of version 10.
pub(super) fn decode_commit_v10(body: &Bytes) -> Result<OffsetCommitRequest, Malformed> {
    guard::check(ApiKey::OffsetCommit, 10, body)?;
    let mut reader = Reader::new(body);
    let mut request = OffsetCommitRequest::default();
    request.group_id = reader.name(true)?.into();
    request.generation_id_or_member_epoch = reader.i32()?;
    request.member_id = reader.name(true)?;
    request.group_instance_id = reader.string(true)?;
    request.topics = array(&mut reader, |reader| {
        let mut topic = OffsetCommitRequestTopic::default();
        topic.topic_id = uuid::Uuid::from_bytes(reader.id()?);
        topic.partitions = array(reader, |reader| {
            let mut partition = OffsetCommitRequestPartition::default();
            partition.partition_index = reader.i32()?;
            partition.committed_offset = reader.i64()?;
            partition.committed_leader_epoch = reader.i32()?;
            partition.committed_metadata = reader.string(true)?;
            reader.skip_tags()?;
            Ok(partition)
        })?
        .ok_or_else(|| reader.refuse(MalformedReason::Refused))?;
        reader.skip_tags()?;
        Ok(topic)
    })?
    .ok_or_else(|| reader.refuse(MalformedReason::Refused))?;
    reader.skip_tags()?;
    Ok(request)
}

/// Decodes the body of an OffsetFetch request of version 10.
pub(super) fn decode_fetch_v10(body: &Bytes) -> Result<OffsetFetchRequest, Malformed> {
    guard::check(ApiKey::OffsetFetch, 10, body)?;
    let mut reader = Reader::new(body);
    let mut request = OffsetFetchRequest::default();
    request.groups = array(&mut reader, |reader| {
        let mut group = OffsetFetchRequestGroup::default();
        group.group_id = reader.name(true)?.into();
        group.member_id = reader.string(true)?;
        group.member_epoch = reader.i32()?;
        group.topics = array(reader, |reader| {
            let mut topic = OffsetFetchRequestTopics::default();
            topic.topic_id = uuid::Uuid::from_bytes(reader.id()?);
            topic.partition_indexes = array(reader, Reader::i32)?
                .ok_or_else(|| reader.refuse(MalformedReason::Refused))?;
            reader.skip_tags()?;
            Ok(topic)
        })?;
        reader.skip_tags()?;
        Ok(group)
    })?
    .ok_or_else(|| reader.refuse(MalformedReason::Refused))?;
    request.require_stable = reader.u8()? != 0;
    reader.skip_tags()?;
    Ok(request)
}

/// A compact array; the guard has bounded its count.
fn array<'a, T>(
    reader: &mut Reader<'a>,
    mut element: impl FnMut(&mut Reader<'a>) -> Result<T, Malformed>,
) -> Result<Option<Vec<T>>, Malformed> {
    let Some(count) = reader.count(true)? else {
        return Ok(None);
    };
    let mut elements = Vec::with_capacity(count);
    for _ in 0..count {
        elements.push(element(reader)?);
    }
    Ok(Some(elements))
}
