//! The layout of every request that we serve, read off the message crate's decoders.
//!
//! A test encodes random bodies by these tables and decodes them by the crate: both must end at
//! the same byte.

mod admin;
mod data;
mod groups;

use super::schema::Struct;
use crate::message::api::ApiKey;

/// The layout of API `key`, over all its versions.
///
/// # Panics
/// When `key` is not served: its header was refused before.
pub(super) fn of(key: ApiKey) -> &'static Struct {
    match key {
        ApiKey::Produce => &data::PRODUCE,
        ApiKey::Fetch => &data::FETCH,
        ApiKey::ListOffsets => &data::LIST_OFFSETS,
        ApiKey::Metadata => &data::METADATA,
        ApiKey::DeleteRecords => &data::DELETE_RECORDS,
        ApiKey::InitProducerId => &data::INIT_PRODUCER_ID,
        ApiKey::OffsetForLeaderEpoch => &data::OFFSET_FOR_LEADER_EPOCH,
        ApiKey::ApiVersions => &data::API_VERSIONS,
        ApiKey::OffsetCommit => &groups::OFFSET_COMMIT,
        ApiKey::OffsetFetch => &groups::OFFSET_FETCH,
        ApiKey::OffsetDelete => &groups::OFFSET_DELETE,
        ApiKey::FindCoordinator => &groups::FIND_COORDINATOR,
        ApiKey::JoinGroup => &groups::JOIN_GROUP,
        ApiKey::SyncGroup => &groups::SYNC_GROUP,
        ApiKey::Heartbeat => &groups::HEARTBEAT,
        ApiKey::LeaveGroup => &groups::LEAVE_GROUP,
        ApiKey::DescribeGroups => &groups::DESCRIBE_GROUPS,
        ApiKey::ListGroups => &groups::LIST_GROUPS,
        ApiKey::DeleteGroups => &groups::DELETE_GROUPS,
        ApiKey::CreateTopics => &admin::CREATE_TOPICS,
        ApiKey::DeleteTopics => &admin::DELETE_TOPICS,
        ApiKey::CreatePartitions => &admin::CREATE_PARTITIONS,
        ApiKey::DescribeConfigs => &admin::DESCRIBE_CONFIGS,
        ApiKey::AlterConfigs => &admin::ALTER_CONFIGS,
        ApiKey::IncrementalAlterConfigs => &admin::INCREMENTAL_ALTER_CONFIGS,
        ApiKey::DescribeLogDirs => &admin::DESCRIBE_LOG_DIRS,
        ApiKey::DescribeCluster => &admin::DESCRIBE_CLUSTER,
        ApiKey::DescribeTopicPartitions => &admin::DESCRIBE_TOPIC_PARTITIONS,
        ApiKey::ListPartitionReassignments => &admin::LIST_PARTITION_REASSIGNMENTS,
        other => unreachable!("{other:?} is not served"),
    }
}
