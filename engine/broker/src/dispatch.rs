//! A frame becomes a request, a request meets its handler, and its answer becomes bytes.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use highwater_protocol::message::{
    MessageError, Request, RequestHeader, decode_request, encode_api_versions_too_new,
    encode_response,
};
use highwater_runtime::Runtime;

use crate::Broker;
use crate::context::Context;
use crate::handlers;

/// What the connection does about a request.
pub(crate) enum Reply {
    /// Sends these parts.
    Now(Vec<Bytes>),
    /// Sends what this gives, in its turn, and may read the next request meanwhile.
    Later(Pin<Box<dyn Future<Output = Reply>>>),
    /// Sends nothing (acks=0).
    Silent,
    /// Closes: the client could not parse any answer.
    Close,
}

/// Decodes `frame` and runs it.
pub(crate) async fn dispatch<R: Runtime>(
    broker: &Arc<Broker<R>>,
    peer: SocketAddr,
    frame: Bytes,
) -> Reply {
    match decode_request(&frame) {
        Ok((header, request)) => answer(broker, peer, header, request).await,
        Err(MessageError::ApiVersionsTooNew { correlation_id, .. }) => {
            Reply::Now(vec![encode_api_versions_too_new(correlation_id)])
        }
        Err(error) => {
            broker.log_rejected(peer, &error);
            Reply::Close
        }
    }
}

/// Runs the handler of `request` and encodes what it answers.
macro_rules! answer_by {
    ($broker:ident, $context:ident, $handler:path, $body:ident) => {{
        let response = $handler($broker, &$context, $body).await;
        encoded($broker, $context.header, &response)
    }};
}

async fn answer<R: Runtime>(
    broker: &Arc<Broker<R>>,
    peer: SocketAddr,
    header: RequestHeader,
    request: Request,
) -> Reply {
    use handlers as h;
    let context = Context {
        peer,
        header: &header,
    };
    match request {
        Request::Produce(body) => h::produce::handle(broker, &context, body),
        Request::Fetch(body) => h::fetch::handle(broker, &context, body).await,
        Request::ListOffsets(body) => answer_by!(broker, context, h::offsets::list, body),
        Request::OffsetForLeaderEpoch(body) => {
            answer_by!(broker, context, h::offsets::for_leader_epoch, body)
        }
        Request::DeleteRecords(body) => answer_by!(broker, context, h::records::delete, body),
        Request::Metadata(body) => answer_by!(broker, context, h::metadata::handle, body),
        Request::DescribeTopicPartitions(body) => {
            answer_by!(broker, context, h::metadata::describe_partitions, body)
        }
        Request::CreateTopics(body) => answer_by!(broker, context, h::topics::create, body),
        Request::DeleteTopics(body) => answer_by!(broker, context, h::topics::delete, body),
        Request::CreatePartitions(body) => {
            answer_by!(broker, context, h::topics::create_partitions, body)
        }
        Request::DescribeConfigs(body) => answer_by!(broker, context, h::configs::describe, body),
        Request::IncrementalAlterConfigs(body) => {
            answer_by!(broker, context, h::configs::alter_incrementally, body)
        }
        Request::AlterConfigs(body) => answer_by!(broker, context, h::configs::alter, body),
        Request::DescribeCluster(body) => answer_by!(broker, context, h::cluster::describe, body),
        Request::DescribeLogDirs(body) => {
            answer_by!(broker, context, h::cluster::describe_log_dirs, body)
        }
        Request::ListPartitionReassignments(body) => {
            answer_by!(broker, context, h::cluster::list_reassignments, body)
        }
        Request::ApiVersions(body) => answer_by!(broker, context, h::versions::handle, body),
        Request::InitProducerId(body) => answer_by!(broker, context, h::producers::init, body),
        Request::FindCoordinator(body) => answer_by!(broker, context, h::groups::find, body),
        Request::JoinGroup(body) => answer_by!(broker, context, h::groups::members::join, body),
        Request::SyncGroup(body) => answer_by!(broker, context, h::groups::members::sync, body),
        Request::Heartbeat(body) => {
            answer_by!(broker, context, h::groups::members::heartbeat, body)
        }
        Request::LeaveGroup(body) => answer_by!(broker, context, h::groups::members::leave, body),
        Request::OffsetCommit(body) => {
            answer_by!(broker, context, h::groups::offsets::commit, body)
        }
        Request::OffsetFetch(body) => answer_by!(broker, context, h::groups::fetch::fetch, body),
        Request::OffsetDelete(body) => {
            answer_by!(broker, context, h::groups::offsets::delete, body)
        }
        Request::ListGroups(body) => answer_by!(broker, context, h::groups::admin::list, body),
        Request::DescribeGroups(body) => {
            answer_by!(broker, context, h::groups::admin::describe, body)
        }
        Request::DeleteGroups(body) => answer_by!(broker, context, h::groups::admin::delete, body),
    }
}

/// The answer as bytes.
pub(crate) fn encoded<R: Runtime>(
    broker: &Broker<R>,
    header: &RequestHeader,
    response: &impl highwater_protocol::message::Response,
) -> Reply {
    match encode_response(header.correlation_id, header.key, header.version, response) {
        Ok(frame) => Reply::Now(vec![frame]),
        Err(error) => {
            broker.log_bug(&error);
            Reply::Close
        }
    }
}
