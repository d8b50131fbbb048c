//! A request: one variant an API, decoded from one frame.

use bytes::Bytes;
use kafka_protocol::messages as m;
use kafka_protocol::protocol::Decodable;

use super::api::ApiKey;
use super::error::{Malformed, MalformedReason, MessageError};
use super::{RequestHeader, guard, offsets, produce};

macro_rules! requests {
    ($($name:ident($body:ident)),* $(,)?) => {
        /// What a client asks.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Request {
            $(
                #[doc = concat!("The body of a ", stringify!($name), " request.")]
                $name(m::$body),
            )*
        }

        impl Request {
            /// Which API this is.
            #[must_use]
            pub fn key(&self) -> ApiKey {
                match self {
                    $(Self::$name(_) => ApiKey::$name,)*
                }
            }

            /// Decodes by the message crate; the guard must have walked `body`.
            pub(super) fn decode_guarded(key: ApiKey, version: i16, body: &mut Bytes) -> Option<Self> {
                Some(match key {
                    $(ApiKey::$name => Self::$name(m::$body::decode(body, version).ok()?),)*
                    _ => return None,
                })
            }
        }
    };
}

requests! {
    Produce(ProduceRequest),
    Fetch(FetchRequest),
    ListOffsets(ListOffsetsRequest),
    Metadata(MetadataRequest),
    OffsetCommit(OffsetCommitRequest),
    OffsetFetch(OffsetFetchRequest),
    FindCoordinator(FindCoordinatorRequest),
    JoinGroup(JoinGroupRequest),
    Heartbeat(HeartbeatRequest),
    LeaveGroup(LeaveGroupRequest),
    SyncGroup(SyncGroupRequest),
    DescribeGroups(DescribeGroupsRequest),
    ListGroups(ListGroupsRequest),
    ApiVersions(ApiVersionsRequest),
    CreateTopics(CreateTopicsRequest),
    DeleteTopics(DeleteTopicsRequest),
    DeleteRecords(DeleteRecordsRequest),
    InitProducerId(InitProducerIdRequest),
    OffsetForLeaderEpoch(OffsetForLeaderEpochRequest),
    DescribeConfigs(DescribeConfigsRequest),
    AlterConfigs(AlterConfigsRequest),
    DescribeLogDirs(DescribeLogDirsRequest),
    CreatePartitions(CreatePartitionsRequest),
    DeleteGroups(DeleteGroupsRequest),
    IncrementalAlterConfigs(IncrementalAlterConfigsRequest),
    ListPartitionReassignments(ListPartitionReassignmentsRequest),
    OffsetDelete(OffsetDeleteRequest),
    DescribeCluster(DescribeClusterRequest),
    DescribeTopicPartitions(DescribeTopicPartitionsRequest),
}

/// Decodes the frame of one request, without the length in front of it.
///
/// Strings and records in the result share the frame's memory: who keeps one for longer than
/// the request must copy it. Bytes after the body are ignored (`kafka.md` section 4, item 43).
///
/// # Errors
/// [`MessageError`]: what to do stands there.
pub fn decode_request(frame: &Bytes) -> Result<(RequestHeader, Request), MessageError> {
    let (header, header_len) = RequestHeader::decode(frame)?;
    let body = frame.slice(header_len..);
    let (key, version) = (header.key, header.version);
    let request = decode_body(key, version, body).map_err(|malformed| MessageError::Body {
        key,
        version,
        malformed,
    })?;
    Ok((header, request))
}

fn decode_body(key: ApiKey, version: i16, body: Bytes) -> Result<Request, Malformed> {
    match (key, version) {
        (ApiKey::Produce, _) => return produce::decode(version, &body).map(Request::Produce),
        (ApiKey::OffsetCommit, 10) => {
            return offsets::decode_commit_v10(&body).map(Request::OffsetCommit);
        }
        (ApiKey::OffsetFetch, 10) => {
            return offsets::decode_fetch_v10(&body).map(Request::OffsetFetch);
        }
        _ => {}
    }
    guard::check(key, version, &body)?;
    // ListOffsets 11 has the layout of 10; it only allows one more special timestamp.
    let layout = if key == ApiKey::ListOffsets {
        version.min(10)
    } else {
        version
    };
    Request::decode_guarded(key, layout, &mut body.clone()).ok_or(Malformed {
        at: 0,
        reason: MalformedReason::Refused,
    })
}
