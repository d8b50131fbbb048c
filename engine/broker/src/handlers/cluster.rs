//! DescribeCluster, DescribeLogDirs and ListPartitionReassignments.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use highwater_protocol::message::StrBytes;
use highwater_protocol::message::messages::describe_cluster_response::DescribeClusterBroker;
use highwater_protocol::message::messages::describe_log_dirs_response::{
    DescribeLogDirsPartition, DescribeLogDirsResult, DescribeLogDirsTopic,
};
use highwater_protocol::message::messages::{
    BrokerId, DescribeClusterRequest, DescribeClusterResponse, DescribeLogDirsRequest,
    DescribeLogDirsResponse, ListPartitionReassignmentsRequest, ListPartitionReassignmentsResponse,
    TopicName,
};
use highwater_runtime::{Disk, Runtime};

use crate::Broker;
use crate::context::Context;
use crate::error_code::ResponseError;
use crate::handlers::authorized;
use crate::handlers::metadata::cluster_id;
use crate::handlers::topics::text;

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

/// Tells the data folder's space and how many bytes each partition takes. Source: KIP-113.
pub(crate) async fn describe_log_dirs<R: Runtime>(
    broker: &Arc<Broker<R>>,
    context: &Context<'_>,
    request: DescribeLogDirsRequest,
) -> DescribeLogDirsResponse {
    let wanted = request.topics.map(|topics| {
        let mut wanted: BTreeMap<String, BTreeSet<i32>> = BTreeMap::new();
        for topic in topics {
            wanted
                .entry(topic.topic.to_string())
                .or_default()
                .extend(topic.partitions);
        }
        wanted
    });
    let catalog = broker.catalog();
    let mut used: u64 = 0;
    let mut topics = Vec::new();
    for topic in catalog.topics() {
        let chosen = wanted
            .as_ref()
            .map(|wanted| wanted.get(topic.name.as_ref()));
        let mut partitions = Vec::new();
        for (partition, index) in topic.partitions.iter().zip(0..) {
            let Some(partition) = partition else { continue };
            let size = partition.with_log(|log| log.size());
            used += size;
            if chosen.is_none_or(|chosen| chosen.is_some_and(|chosen| chosen.contains(&index))) {
                partitions.push(
                    DescribeLogDirsPartition::default()
                        .with_partition_index(index)
                        .with_partition_size(wire_bytes(size)),
                );
            }
        }
        if !partitions.is_empty() {
            topics.push(
                DescribeLogDirsTopic::default()
                    .with_name(TopicName(text(&topic.name)))
                    .with_partitions(partitions),
            );
        }
    }
    let result = DescribeLogDirsResult::default()
        .with_log_dir(StrBytes::from_string(broker.settings().data_dir.clone()))
        .with_topics(topics);
    let result = match broker.runtime().disk().free_bytes() {
        // Older answers have no field for either.
        Ok(free) if context.version() >= 4 => result
            .with_total_bytes(wire_bytes(used + free))
            .with_usable_bytes(wire_bytes(free)),
        Ok(_) => result,
        Err(_) => result.with_error_code(ResponseError::KafkaStorageError.code()),
    };
    DescribeLogDirsResponse::default().with_results(vec![result])
}

fn wire_bytes(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}
