//! The body of a Produce request, decoded in one pass; its records share the frame's memory.
//!
//! Own code because it is the hottest request, and because records of any negative length are
//! null here and an error in the message crate.

use bytes::Bytes;
use kafka_protocol::messages::produce_request::{PartitionProduceData, TopicProduceData};
use kafka_protocol::messages::{ProduceRequest, TransactionalId};

use super::api::{self, ApiKey};
use super::error::{Malformed, MalformedReason};
use super::guard;
use super::reader::Reader;

/// Decodes the body of a Produce request of a served version.
pub(super) fn decode(version: i16, body: &Bytes) -> Result<ProduceRequest, Malformed> {
    guard::check(ApiKey::Produce, version, body)?;
    let compact = api::of(ApiKey::Produce).is_flexible(version);
    let mut reader = Reader::new(body);
    let mut request = ProduceRequest::default();
    request.transactional_id = reader.string(compact)?.map(TransactionalId::from);
    request.acks = reader.i16()?;
    request.timeout_ms = reader.i32()?;
    let count = count(&mut reader, compact)?;
    request.topic_data.reserve_exact(count);
    for _ in 0..count {
        let topic = topic(&mut reader, version, compact)?;
        request.topic_data.push(topic);
    }
    if compact {
        reader.skip_tags()?;
    }
    Ok(request)
}

fn topic(
    reader: &mut Reader<'_>,
    version: i16,
    compact: bool,
) -> Result<TopicProduceData, Malformed> {
    let mut topic = TopicProduceData::default();
    if version >= 13 {
        topic.topic_id = uuid::Uuid::from_bytes(reader.id()?);
    } else {
        topic.name = reader.name(compact)?.into();
    }
    let count = count(reader, compact)?;
    topic.partition_data.reserve_exact(count);
    for _ in 0..count {
        let mut partition = PartitionProduceData::default();
        partition.index = reader.i32()?;
        partition.records = reader.records(compact)?;
        if compact {
            reader.skip_tags()?;
        }
        topic.partition_data.push(partition);
    }
    if compact {
        reader.skip_tags()?;
    }
    Ok(topic)
}

/// The count of an array that is never null.
fn count(reader: &mut Reader<'_>, compact: bool) -> Result<usize, Malformed> {
    let at = reader.at();
    reader.count(compact)?.ok_or(Malformed {
        at,
        reason: MalformedReason::Refused,
    })
}
