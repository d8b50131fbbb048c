//! InitProducerId: numbers for idempotent producers.

use std::sync::Arc;

use highwater_protocol::message::messages::{
    InitProducerIdRequest, InitProducerIdResponse, ProducerId,
};
use highwater_runtime::Runtime;

use crate::Broker;
use crate::context::Context;
use crate::error_code::{ResponseError, WireCode};
use crate::handlers::groups::NO_TRANSACTIONS;

/// Kafka's "no producer id".
const NO_ID: i64 = -1;
/// Kafka's "no producer epoch".
const NO_EPOCH: i16 = -1;

/// Gives out an id that nobody ever had, with epoch 0 (rule 71).
///
/// A transactional id is refused for good: there are no transactions here.
pub(crate) async fn init<R: Runtime>(
    broker: &Arc<Broker<R>>,
    _context: &Context<'_>,
    request: InitProducerIdRequest,
) -> InitProducerIdResponse {
    let refused = |error: ResponseError| {
        InitProducerIdResponse::default()
            .with_error_code(error.code())
            .with_producer_id(ProducerId(NO_ID))
            .with_producer_epoch(NO_EPOCH)
    };
    // Both or none (rule 82); a producer without a transactional id gets a new one all the same.
    if (request.producer_id.0 == NO_ID) != (request.producer_epoch == NO_EPOCH) {
        return refused(ResponseError::InvalidRequest);
    }
    match &request.transactional_id {
        Some(id) if id.0.is_empty() => return refused(ResponseError::InvalidRequest),
        Some(_) => return refused(NO_TRANSACTIONS),
        None => {}
    }
    match broker.metadata().next_producer_id().await {
        Ok(id) => InitProducerIdResponse::default()
            .with_producer_id(ProducerId(id.0))
            .with_producer_epoch(0),
        Err(error) => refused(error.wire()),
    }
}
