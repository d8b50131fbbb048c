//! Requests about groups: who coordinates, who is in, what was committed, what there is.
//!
//! Source: kafka.md rules 100-106, section 4 items 39 and 40.

pub(crate) mod admin;
pub(crate) mod fetch;
pub(crate) mod members;
pub(crate) mod offsets;

use std::sync::Arc;

use highwater_coordinator::{Answer, Identity};
use highwater_protocol::message::StrBytes;
use highwater_protocol::message::messages::find_coordinator_response::Coordinator;
use highwater_protocol::message::messages::{
    BrokerId, FindCoordinatorRequest, FindCoordinatorResponse,
};
use highwater_runtime::Runtime;

use crate::Broker;
use crate::context::Context;
use crate::error_code::ResponseError;

/// The key is a group's name.
const GROUP: i8 = 0;
/// The key is a transactional id.
const TRANSACTION: i8 = 1;

/// Says who coordinates groups: this broker, all of them.
pub(crate) async fn find<R: Runtime>(
    broker: &Arc<Broker<R>>,
    context: &Context<'_>,
    request: FindCoordinatorRequest,
) -> FindCoordinatorResponse {
    if context.version() >= 4 {
        let mut coordinators = Vec::with_capacity(request.coordinator_keys.len());
        for key in request.coordinator_keys {
            let found = coordinator(broker, request.key_type, &key).await;
            let answer = Coordinator::default()
                .with_key(key)
                .with_error_message(None);
            coordinators.push(match found {
                Ok((host, port)) => answer
                    .with_node_id(BrokerId(broker.node_id()))
                    .with_host(StrBytes::from_string(host))
                    .with_port(port),
                Err((error, why)) => answer
                    .with_node_id(BrokerId(-1))
                    .with_port(-1)
                    .with_error_code(error.code())
                    .with_error_message(Some(StrBytes::from_static_str(why))),
            });
        }
        return FindCoordinatorResponse::default().with_coordinators(coordinators);
    }
    let found = coordinator(broker, request.key_type, &request.key).await;
    let answer = FindCoordinatorResponse::default().with_error_message(None);
    match found {
        Ok((host, port)) => answer
            .with_node_id(BrokerId(broker.node_id()))
            .with_host(StrBytes::from_string(host))
            .with_port(port),
        Err((error, why)) => answer
            .with_node_id(BrokerId(-1))
            .with_port(-1)
            .with_error_code(error.code())
            .with_error_message(Some(StrBytes::from_static_str(why))),
    }
}

/// What a producer with a transactional id is told: the one error that ends its search for a
/// coordinator in every client. Any other makes librdkafka look for one until it times out.
pub(crate) const NO_TRANSACTIONS: ResponseError = ResponseError::TransactionalIdAuthorizationFailed;

/// Where the coordinator of `key` is.
async fn coordinator<R: Runtime>(
    broker: &Arc<Broker<R>>,
    key_type: i8,
    key: &str,
) -> Result<(String, i32), (ResponseError, &'static str)> {
    match key_type {
        GROUP => {}
        TRANSACTION => return Err((NO_TRANSACTIONS, "this broker has no transactions")),
        _ => {
            return Err((
                ResponseError::InvalidRequest,
                "this broker coordinates groups only",
            ));
        }
    }
    // What a member asks next needs the topic; making it now saves it a round of retries.
    match broker.groups.slot_to_write(broker, key).await {
        Ok(_) => {
            let (host, port) = broker.advertised();
            Ok((host, i32::from(port)))
        }
        Err(error) => Err((error, "the topic of committed offsets is not served")),
    }
}

/// An engine's text for a message.
pub(crate) fn wire(text: &Arc<str>) -> StrBytes {
    StrBytes::from_string(text.to_string())
}

/// A message's text for the engine, which keeps it for longer than the message.
pub(crate) fn own(text: &StrBytes) -> Arc<str> {
    Arc::from(text.as_str())
}

/// Who a member says it is.
fn identity(member_id: &StrBytes, instance_id: Option<&StrBytes>) -> Identity {
    Identity {
        member_id: own(member_id),
        instance_id: instance_id.map(own),
    }
}

/// An answer of another kind than was asked for is a bug of the coordinator.
#[track_caller]
fn wrong(answer: &Answer) -> ! {
    panic!("a coordinator answered {answer:?} to another request")
}
