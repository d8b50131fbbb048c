//! DescribeCluster, DescribeLogDirs and ListPartitionReassignments.

use std::sync::Arc;

use highwater_protocol::message::StrBytes;
use highwater_protocol::message::messages::describe_cluster_response::DescribeClusterBroker;
use highwater_protocol::message::messages::{
    BrokerId, DescribeClusterRequest, DescribeClusterResponse, ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
};
use highwater_runtime::Runtime;

use crate::Broker;
use crate::context::Context;
use crate::error_code::ResponseError;
use crate::handlers::authorized;
use crate::handlers::metadata::cluster_id;

/// Kafka's numbers of what serves at an address. Source: KIP-919.
const BROKERS: i8 = 1;
const CONTROLLERS: i8 = 2;

/// Tells the cluster's id and its brokers.
pub(crate) async fn describe<R: Runtime>(
    broker: &Arc<Broker<R>>,
    _context: &Context<'_>,
    request: DescribeClusterRequest,
) -> DescribeClusterResponse {
    let refused = |error: ResponseError, message: String| {
        DescribeClusterResponse::default()
            .with_error_code(error.code())
            .with_error_message(Some(StrBytes::from_string(message)))
            .with_endpoint_type(BROKERS)
    };
    match request.endpoint_type {
        BROKERS => {}
        CONTROLLERS => {
            let message = "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER";
            return refused(ResponseError::MismatchedEndpointType, message.to_owned());
        }
        other => {
            let message = format!("Unsupported endpoint type {other}");
            return refused(ResponseError::UnsupportedEndpointType, message);
        }
    }
    let id = BrokerId(broker.node_id());
    let (host, port) = broker.advertised();
    let node = DescribeClusterBroker::default()
        .with_broker_id(id)
        .with_host(StrBytes::from_string(host))
        .with_port(i32::from(port));
    let operations = match request.include_cluster_authorized_operations {
        true => authorized::CLUSTER,
        false => authorized::NOT_ASKED,
    };
    DescribeClusterResponse::default()
        .with_endpoint_type(BROKERS)
        .with_cluster_id(cluster_id(&broker.metadata().state()))
        .with_controller_id(id)
        .with_brokers(vec![node])
        .with_cluster_authorized_operations(operations)
}

/// Nothing moves between the brokers of a cluster of one.
pub(crate) async fn list_reassignments<R: Runtime>(
    _broker: &Arc<Broker<R>>,
    _context: &Context<'_>,
    _request: ListPartitionReassignmentsRequest,
) -> ListPartitionReassignmentsResponse {
    ListPartitionReassignmentsResponse::default().with_error_message(None)
}
