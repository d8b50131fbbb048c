//! Layouts of the requests about records, offsets and what is where.

use kafka_protocol::messages::delete_records_request::{
    DeleteRecordsPartition, DeleteRecordsTopic,
};
use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic, ForgottenTopic};
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::offset_for_leader_epoch_request::{
    OffsetForLeaderPartition, OffsetForLeaderTopic,
};
use kafka_protocol::messages::produce_request::{PartitionProduceData, TopicProduceData};

use super::super::schema::{
    BOOL, I8, I16, I32, I32S, I64, ID, Kind, Struct, Tag, always, array, between, plain, since,
    until,
};

pub(super) static API_VERSIONS: Struct = plain(&[since(3, Kind::String), since(3, Kind::String)]);

pub(super) static PRODUCE: Struct = plain(&[
    always(Kind::String),
    always(I16),
    always(I32),
    always(array::<TopicProduceData>(&Kind::Struct(&PRODUCE_TOPIC))),
]);
static PRODUCE_TOPIC: Struct = plain(&[
    until(12, Kind::String),
    since(13, ID),
    always(array::<PartitionProduceData>(&Kind::Struct(
        &PRODUCE_PARTITION,
    ))),
]);
static PRODUCE_PARTITION: Struct = plain(&[always(I32), always(Kind::Records)]);

pub(super) static FETCH: Struct = Struct {
    fields: &[
        until(14, I32),
        always(I32),
        always(I32),
        always(I32),
        always(I8),
        since(7, I32),
        since(7, I32),
        always(array::<FetchTopic>(&Kind::Struct(&FETCH_TOPIC))),
        since(7, array::<ForgottenTopic>(&Kind::Struct(&FORGOTTEN_TOPIC))),
        since(11, Kind::String),
    ],
    tags: &[
        Tag {
            number: 0,
            since: 12,
            kind: Kind::String,
        },
        Tag {
            number: 1,
            since: 15,
            kind: Kind::Struct(&REPLICA_STATE),
        },
    ],
};
static REPLICA_STATE: Struct = plain(&[since(15, I32), since(15, I64)]);
static FETCH_TOPIC: Struct = plain(&[
    until(12, Kind::String),
    since(13, ID),
    always(array::<FetchPartition>(&Kind::Struct(&FETCH_PARTITION))),
]);
static FETCH_PARTITION: Struct = Struct {
    fields: &[
        always(I32),
        since(9, I32),
        always(I64),
        since(12, I32),
        since(5, I64),
        always(I32),
    ],
    tags: &[
        Tag {
            number: 0,
            since: 17,
            kind: ID,
        },
        Tag {
            number: 1,
            since: 18,
            kind: I64,
        },
    ],
};
static FORGOTTEN_TOPIC: Struct =
    plain(&[between(7, 12, Kind::String), since(13, ID), since(7, I32S)]);

pub(super) static LIST_OFFSETS: Struct = plain(&[
    always(I32),
    since(2, I8),
    always(array::<ListOffsetsTopic>(&Kind::Struct(
        &LIST_OFFSETS_TOPIC,
    ))),
    since(10, I32),
]);
static LIST_OFFSETS_TOPIC: Struct = plain(&[
    always(Kind::String),
    always(array::<ListOffsetsPartition>(&Kind::Struct(
        &LIST_OFFSETS_PARTITION,
    ))),
]);
static LIST_OFFSETS_PARTITION: Struct = plain(&[always(I32), since(4, I32), always(I64)]);

pub(super) static METADATA: Struct = plain(&[
    always(array::<MetadataRequestTopic>(&Kind::Struct(
        &METADATA_TOPIC,
    ))),
    since(4, BOOL),
    between(8, 10, BOOL),
    since(8, BOOL),
]);
static METADATA_TOPIC: Struct = plain(&[since(10, ID), always(Kind::String)]);

pub(super) static DELETE_RECORDS: Struct = plain(&[
    always(array::<DeleteRecordsTopic>(&Kind::Struct(
        &DELETE_RECORDS_TOPIC,
    ))),
    always(I32),
]);
static DELETE_RECORDS_TOPIC: Struct = plain(&[
    always(Kind::String),
    always(array::<DeleteRecordsPartition>(&Kind::Struct(
        &DELETE_RECORDS_PARTITION,
    ))),
]);
static DELETE_RECORDS_PARTITION: Struct = plain(&[always(I32), always(I64)]);

pub(super) static INIT_PRODUCER_ID: Struct = plain(&[
    always(Kind::String),
    always(I32),
    since(3, I64),
    since(3, I16),
]);

pub(super) static OFFSET_FOR_LEADER_EPOCH: Struct = plain(&[
    since(3, I32),
    always(array::<OffsetForLeaderTopic>(&Kind::Struct(&EPOCH_TOPIC))),
]);
static EPOCH_TOPIC: Struct = plain(&[
    always(Kind::String),
    always(array::<OffsetForLeaderPartition>(&Kind::Struct(
        &EPOCH_PARTITION,
    ))),
]);
static EPOCH_PARTITION: Struct = plain(&[always(I32), always(I32), always(I32)]);
