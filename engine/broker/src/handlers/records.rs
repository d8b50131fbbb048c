//! DeleteRecords (kafka rule 92).

use std::sync::Arc;

use highwater_partition::OffsetError;
use highwater_protocol::message::messages::delete_records_response::{
    DeleteRecordsPartitionResult, DeleteRecordsTopicResult,
};
use highwater_protocol::message::messages::{DeleteRecordsRequest, DeleteRecordsResponse};
use highwater_runtime::Runtime;
use highwater_types::Offset;

use crate::Broker;
use crate::context::Context;
use crate::error_code::{ResponseError, WireCode};

/// Asks for the records before the high watermark.
const HIGH_WATERMARK: i64 = -1;

/// Deletes records before an offset and answers where the log starts then.
pub(crate) async fn delete<R: Runtime>(
    broker: &Arc<Broker<R>>,
    _context: &Context<'_>,
    request: DeleteRecordsRequest,
) -> DeleteRecordsResponse {
    let mut topics = Vec::with_capacity(request.topics.len());
    for topic in &request.topics {
        let mut partitions = Vec::with_capacity(topic.partitions.len());
        for asked in &topic.partitions {
            let index = asked.partition_index;
            let (low_watermark, error) =
                match delete_one(broker, &topic.name, index, asked.offset).await {
                    Ok(low) => (low.wire(), 0),
                    Err(error) => (-1, error.code()),
                };
            partitions.push(
                DeleteRecordsPartitionResult::default()
                    .with_partition_index(index)
                    .with_low_watermark(low_watermark)
                    .with_error_code(error),
            );
        }
        topics.push(
            DeleteRecordsTopicResult::default()
                .with_name(topic.name.clone())
                .with_partitions(partitions),
        );
    }
    DeleteRecordsResponse::default().with_topics(topics)
}

async fn delete_one<R: Runtime>(
    broker: &Arc<Broker<R>>,
    topic: &str,
    index: i32,
    offset: i64,
) -> Result<Offset, ResponseError> {
    let partition = broker.partition_by_name(topic, index)?;
    if broker.is_internal(topic) {
        return Err(ResponseError::InvalidTopicException);
    }
    let to = match (offset, Offset::from_wire(offset)) {
        (HIGH_WATERMARK, _) => None,
        (_, Some(offset)) => Some(offset),
        (_, None) => return Err(ResponseError::OffsetOutOfRange),
    };
    partition
        .trim(to)
        .await
        .map_err(|error: OffsetError| error.wire())
}
