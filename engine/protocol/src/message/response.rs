//! Answers as frames: length, header, body.

use bytes::{BufMut, Bytes, BytesMut};
use kafka_protocol::messages::ApiVersionsResponse;
use kafka_protocol::messages::api_versions_response::ApiVersion;
use kafka_protocol::protocol::Encodable;

use super::api::{self, ApiKey};
use super::{FRAME_LEN_BYTES, MessageError};

/// An answer's body, of the API that a request asked.
pub trait Response {
    /// Bytes of the body in `version`.
    ///
    /// # Errors
    /// Why it does not encode.
    fn body_len(&self, version: i16) -> Result<usize, String>;

    /// Appends the body in `version`.
    ///
    /// # Errors
    /// Why it does not encode.
    fn put_body(&self, version: i16, out: &mut BytesMut) -> Result<(), String>;
}

macro_rules! responses {
    ($($body:ident),* $(,)?) => {
        $(
            impl Response for kafka_protocol::messages::$body {
                fn body_len(&self, version: i16) -> Result<usize, String> {
                    self.compute_size(version).map_err(|why| why.to_string())
                }

                fn put_body(&self, version: i16, out: &mut BytesMut) -> Result<(), String> {
                    self.encode(out, version).map_err(|why| why.to_string())
                }
            }
        )*
    };
}

responses! {
    ProduceResponse, FetchResponse, MetadataResponse, OffsetCommitResponse,
    OffsetFetchResponse, FindCoordinatorResponse,
    JoinGroupResponse, HeartbeatResponse, LeaveGroupResponse, SyncGroupResponse,
    DescribeGroupsResponse, ListGroupsResponse, ApiVersionsResponse, CreateTopicsResponse,
    DeleteTopicsResponse, DeleteRecordsResponse, InitProducerIdResponse,
    OffsetForLeaderEpochResponse, DescribeConfigsResponse, AlterConfigsResponse,
    DescribeLogDirsResponse, CreatePartitionsResponse, DeleteGroupsResponse,
    IncrementalAlterConfigsResponse, ListPartitionReassignmentsResponse, OffsetDeleteResponse,
    DescribeClusterResponse, DescribeTopicPartitionsResponse,
}

impl Response for kafka_protocol::messages::ListOffsetsResponse {
    fn body_len(&self, version: i16) -> Result<usize, String> {
        self.compute_size(version.min(10))
            .map_err(|why| why.to_string())
    }

    fn put_body(&self, version: i16, out: &mut BytesMut) -> Result<(), String> {
        self.encode(out, version.min(10))
            .map_err(|why| why.to_string())
    }
}

/// The frame that answers request `correlation_id` of API `key` in `version`.
///
/// # Errors
/// [`MessageError::Unencodable`] when a field is set that `version` cannot carry. Nothing can be
/// answered then: close the connection and report the bug.
pub fn encode_response(
    correlation_id: i32,
    key: ApiKey,
    version: i16,
    response: &impl Response,
) -> Result<Bytes, MessageError> {
    let refuse = |why| MessageError::Unencodable { key, version, why };
    let has_tags = api::of(key).response_header_has_tags(version);
    let body_len = response.body_len(version).map_err(refuse)?;
    let frame_len = FRAME_LEN_BYTES + usize::from(has_tags) + body_len;
    let frame_len_wire =
        i32::try_from(frame_len).map_err(|_| refuse(format!("{frame_len} bytes")))?;
    let mut out = BytesMut::with_capacity(FRAME_LEN_BYTES + frame_len);
    out.put_i32(frame_len_wire);
    put_header(correlation_id, has_tags, &mut out);
    response.put_body(version, &mut out).map_err(refuse)?;
    assert_eq!(
        out.len(),
        FRAME_LEN_BYTES + frame_len,
        "{key:?} version {version}: wrong length"
    );
    Ok(out.freeze())
}

/// Appends a response header.
pub(super) fn put_header(correlation_id: i32, has_tags: bool, out: &mut BytesMut) {
    out.put_i32(correlation_id);
    if has_tags {
        out.put_u8(0);
    }
}

/// The frame that tells a newer client our ApiVersions range: it asks again in a version of it.
///
/// Source: `kafka.md` rule 125: the v0 layout, error 35, and one entry.
#[must_use]
pub fn encode_api_versions_too_new(correlation_id: i32) -> Bytes {
    let api = api::of(ApiKey::ApiVersions);
    let entry = ApiVersion::default()
        .with_api_key(api.key as i16)
        .with_min_version(api.advertised_min)
        .with_max_version(api.served_max);
    let response = ApiVersionsResponse::default()
        .with_error_code(UNSUPPORTED_VERSION)
        .with_api_keys(vec![entry]);
    encode_response(correlation_id, ApiKey::ApiVersions, 0, &response)
        .expect("version 0 carries an error and entries")
}

/// Kafka's UNSUPPORTED_VERSION, the one wire code that a frame alone decides.
const UNSUPPORTED_VERSION: i16 = 35;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newer_api_versions_gets_our_range_in_the_layout_of_version_0() {
        let frame = encode_api_versions_too_new(9);
        let expected: &[u8] = &[
            0, 0, 0, 16, 0, 0, 0, 9, 0, 35, 0, 0, 0, 1, 0, 18, 0, 0, 0, 4,
        ];
        assert_eq!(&frame[..], expected);
    }

    #[test]
    fn a_field_that_the_version_lacks_is_an_error_and_no_panic() {
        let response = ApiVersionsResponse::default()
            .with_error_code(0)
            .with_throttle_time_ms(5);
        assert!(encode_response(1, ApiKey::ApiVersions, 0, &response).is_ok());
        let response = kafka_protocol::messages::MetadataResponse::default()
            .with_cluster_authorized_operations(3);
        let got = encode_response(1, ApiKey::Metadata, 1, &response);
        assert!(
            matches!(got, Err(MessageError::Unencodable { .. })),
            "{got:?}"
        );
    }
}
