//! Layouts of the requests about groups and their offsets.

use kafka_protocol::messages::join_group_request::JoinGroupRequestProtocol;
use kafka_protocol::messages::leave_group_request::MemberIdentity;
use kafka_protocol::messages::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use kafka_protocol::messages::offset_delete_request::{
    OffsetDeleteRequestPartition, OffsetDeleteRequestTopic,
};
use kafka_protocol::messages::offset_fetch_request::{
    OffsetFetchRequestGroup, OffsetFetchRequestTopic, OffsetFetchRequestTopics,
};
use kafka_protocol::messages::sync_group_request::SyncGroupRequestAssignment;

use super::super::schema::{
    BOOL, I8, I32, I32S, I64, ID, Kind, STRINGS, Struct, always, array, plain, since, until,
};

pub(super) static OFFSET_COMMIT: Struct = plain(&[
    always(Kind::String),
    always(I32),
    always(Kind::String),
    since(7, Kind::String),
    until(4, I64),
    always(array::<OffsetCommitRequestTopic>(&Kind::Struct(
        &OFFSET_COMMIT_TOPIC,
    ))),
]);
static OFFSET_COMMIT_TOPIC: Struct = plain(&[
    until(9, Kind::String),
    since(10, ID),
    always(array::<OffsetCommitRequestPartition>(&Kind::Struct(
        &OFFSET_COMMIT_PARTITION,
    ))),
]);
static OFFSET_COMMIT_PARTITION: Struct = plain(&[
    always(I32),
    always(I64),
    since(6, I32),
    always(Kind::String),
]);

pub(super) static OFFSET_FETCH: Struct = plain(&[
    until(7, Kind::String),
    until(
        7,
        array::<OffsetFetchRequestTopic>(&Kind::Struct(&OFFSET_FETCH_TOPIC)),
    ),
    since(
        8,
        array::<OffsetFetchRequestGroup>(&Kind::Struct(&OFFSET_FETCH_GROUP)),
    ),
    since(7, BOOL),
]);
static OFFSET_FETCH_TOPIC: Struct = plain(&[always(Kind::String), always(I32S)]);
static OFFSET_FETCH_GROUP: Struct = plain(&[
    always(Kind::String),
    since(9, Kind::String),
    since(9, I32),
    always(array::<OffsetFetchRequestTopics>(&Kind::Struct(
        &OFFSET_FETCH_GROUP_TOPIC,
    ))),
]);
static OFFSET_FETCH_GROUP_TOPIC: Struct =
    plain(&[until(9, Kind::String), since(10, ID), always(I32S)]);

pub(super) static OFFSET_DELETE: Struct = plain(&[
    always(Kind::String),
    always(array::<OffsetDeleteRequestTopic>(&Kind::Struct(
        &OFFSET_DELETE_TOPIC,
    ))),
]);
static OFFSET_DELETE_TOPIC: Struct = plain(&[
    always(Kind::String),
    always(array::<OffsetDeleteRequestPartition>(&Kind::Struct(
        &OFFSET_DELETE_PARTITION,
    ))),
]);
static OFFSET_DELETE_PARTITION: Struct = plain(&[always(I32)]);

pub(super) static FIND_COORDINATOR: Struct =
    plain(&[until(3, Kind::String), since(1, I8), since(4, STRINGS)]);

pub(super) static JOIN_GROUP: Struct = plain(&[
    always(Kind::String),
    always(I32),
    since(1, I32),
    always(Kind::String),
    since(5, Kind::String),
    always(Kind::String),
    always(array::<JoinGroupRequestProtocol>(&Kind::Struct(
        &NAMED_BYTES,
    ))),
    since(8, Kind::String),
]);
static NAMED_BYTES: Struct = plain(&[always(Kind::String), always(Kind::Bytes)]);

pub(super) static SYNC_GROUP: Struct = plain(&[
    always(Kind::String),
    always(I32),
    always(Kind::String),
    since(3, Kind::String),
    since(5, Kind::String),
    since(5, Kind::String),
    always(array::<SyncGroupRequestAssignment>(&Kind::Struct(
        &NAMED_BYTES,
    ))),
]);

pub(super) static HEARTBEAT: Struct = plain(&[
    always(Kind::String),
    always(I32),
    always(Kind::String),
    since(3, Kind::String),
]);

pub(super) static LEAVE_GROUP: Struct = plain(&[
    always(Kind::String),
    until(2, Kind::String),
    since(3, array::<MemberIdentity>(&Kind::Struct(&MEMBER))),
]);
static MEMBER: Struct = plain(&[
    always(Kind::String),
    always(Kind::String),
    since(5, Kind::String),
]);

pub(super) static DESCRIBE_GROUPS: Struct = plain(&[always(STRINGS), since(3, BOOL)]);

pub(super) static LIST_GROUPS: Struct = plain(&[since(4, STRINGS), since(5, STRINGS)]);

pub(super) static DELETE_GROUPS: Struct = plain(&[always(STRINGS)]);
