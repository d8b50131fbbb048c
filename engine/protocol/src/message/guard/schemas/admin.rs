//! Layouts of the requests that make, change and describe topics, configs and the cluster.

use kafka_protocol::messages::alter_configs_request as alter;
use kafka_protocol::messages::create_partitions_request::{
    CreatePartitionsAssignment, CreatePartitionsTopic,
};
use kafka_protocol::messages::create_topics_request::{
    CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfig,
};
use kafka_protocol::messages::delete_topics_request::DeleteTopicState;
use kafka_protocol::messages::describe_configs_request::DescribeConfigsResource;
use kafka_protocol::messages::describe_log_dirs_request::DescribableLogDirTopic;
use kafka_protocol::messages::describe_topic_partitions_request::TopicRequest;
use kafka_protocol::messages::incremental_alter_configs_request as incremental;
use kafka_protocol::messages::list_partition_reassignments_request::ListPartitionReassignmentsTopics;

use super::super::schema::{
    BOOL, I8, I16, I32, I32S, ID, Kind, STRINGS, Struct, always, array, plain, since, until,
};

pub(super) static CREATE_TOPICS: Struct = plain(&[
    always(array::<CreatableTopic>(&Kind::Struct(&CREATABLE_TOPIC))),
    always(I32),
    always(BOOL),
]);
static CREATABLE_TOPIC: Struct = plain(&[
    always(Kind::String),
    always(I32),
    always(I16),
    always(array::<CreatableReplicaAssignment>(&Kind::Struct(
        &REPLICA_ASSIGNMENT,
    ))),
    always(array::<CreatableTopicConfig>(&Kind::Struct(&NAMED_VALUE))),
]);
static REPLICA_ASSIGNMENT: Struct = plain(&[always(I32), always(I32S)]);
static NAMED_VALUE: Struct = plain(&[always(Kind::String), always(Kind::String)]);

pub(super) static DELETE_TOPICS: Struct = plain(&[
    since(6, array::<DeleteTopicState>(&Kind::Struct(&DELETE_TOPIC))),
    until(5, STRINGS),
    always(I32),
]);
static DELETE_TOPIC: Struct = plain(&[always(Kind::String), always(ID)]);

pub(super) static CREATE_PARTITIONS: Struct = plain(&[
    always(array::<CreatePartitionsTopic>(&Kind::Struct(
        &PARTITIONS_TOPIC,
    ))),
    always(I32),
    always(BOOL),
]);
static PARTITIONS_TOPIC: Struct = plain(&[
    always(Kind::String),
    always(I32),
    always(array::<CreatePartitionsAssignment>(&Kind::Struct(
        &PARTITIONS_ASSIGNMENT,
    ))),
]);
static PARTITIONS_ASSIGNMENT: Struct = plain(&[always(I32S)]);

pub(super) static DESCRIBE_CONFIGS: Struct = plain(&[
    always(array::<DescribeConfigsResource>(&Kind::Struct(
        &DESCRIBE_CONFIGS_RESOURCE,
    ))),
    always(BOOL),
    since(3, BOOL),
]);
static DESCRIBE_CONFIGS_RESOURCE: Struct =
    plain(&[always(I8), always(Kind::String), always(STRINGS)]);

pub(super) static ALTER_CONFIGS: Struct = plain(&[
    always(array::<alter::AlterConfigsResource>(&Kind::Struct(
        &ALTER_RESOURCE,
    ))),
    always(BOOL),
]);
static ALTER_RESOURCE: Struct = plain(&[
    always(I8),
    always(Kind::String),
    always(array::<alter::AlterableConfig>(&Kind::Struct(&NAMED_VALUE))),
]);

pub(super) static INCREMENTAL_ALTER_CONFIGS: Struct = plain(&[
    always(array::<incremental::AlterConfigsResource>(&Kind::Struct(
        &INCREMENTAL_RESOURCE,
    ))),
    always(BOOL),
]);
static INCREMENTAL_RESOURCE: Struct = plain(&[
    always(I8),
    always(Kind::String),
    always(array::<incremental::AlterableConfig>(&Kind::Struct(
        &INCREMENTAL_CONFIG,
    ))),
]);
static INCREMENTAL_CONFIG: Struct =
    plain(&[always(Kind::String), always(I8), always(Kind::String)]);

pub(super) static DESCRIBE_LOG_DIRS: Struct = plain(&[always(array::<DescribableLogDirTopic>(
    &Kind::Struct(&NAMED_PARTITIONS),
))]);
static NAMED_PARTITIONS: Struct = plain(&[always(Kind::String), always(I32S)]);

pub(super) static DESCRIBE_CLUSTER: Struct = plain(&[always(BOOL), since(1, I8), since(2, BOOL)]);

pub(super) static DESCRIBE_TOPIC_PARTITIONS: Struct = plain(&[
    always(array::<TopicRequest>(&Kind::Struct(&NAMED))),
    always(I32),
    always(Kind::Optional(&CURSOR)),
]);
static NAMED: Struct = plain(&[always(Kind::String)]);
static CURSOR: Struct = plain(&[always(Kind::String), always(I32)]);

pub(super) static LIST_PARTITION_REASSIGNMENTS: Struct = plain(&[
    always(I32),
    always(array::<ListPartitionReassignmentsTopics>(&Kind::Struct(
        &NAMED_PARTITIONS,
    ))),
]);
