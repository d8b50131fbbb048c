//! What can be wrong with a frame, and what the connection does about it.

use super::ApiKey;

/// A frame that is not a request we serve, or an answer that does not fit its version.
///
/// Apart from [`MessageError::ApiVersionsTooNew`] there is no answer that the client could
/// parse: close the connection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    /// The length in front of a frame is 0, negative or over the limit. Close the connection.
    #[error("a frame claims {size} bytes; allowed are 1 to {max}")]
    FrameSize {
        /// The claimed size.
        size: i32,
        /// The largest size allowed.
        max: usize,
    },
    /// The frame's header is cut short or damaged. Close the connection.
    #[error("the request header is damaged at byte {}: {}", .0.at, .0.reason)]
    Header(Malformed),
    /// No such API here. Close the connection.
    #[error("api key {key} is not served")]
    UnknownApi {
        /// The asked key.
        key: i16,
    },
    /// The API is served, this version of it is not. Close the connection.
    #[error("{key:?} version {version} is not served")]
    UnsupportedVersion {
        /// The asked API.
        key: ApiKey,
        /// The asked version.
        version: i16,
    },
    /// ApiVersions newer than ours: answer with [`super::encode_api_versions_too_new`] and go on.
    #[error("ApiVersions version {version} is newer than ours")]
    ApiVersionsTooNew {
        /// The asked version.
        version: i16,
        /// The request's number, to be answered.
        correlation_id: i32,
    },
    /// The body contradicts itself or asks for too much memory. Close the connection.
    #[error("{key:?} version {version} is damaged at body byte {}: {}", .malformed.at, .malformed.reason)]
    Body {
        /// The asked API.
        key: ApiKey,
        /// The asked version.
        version: i16,
        /// Where and why.
        malformed: Malformed,
    },
    /// A handler set a field that this version cannot carry. Close the connection; report it.
    #[error("an answer to {key:?} version {version} does not encode: {why}")]
    Unencodable {
        /// The answered API.
        key: ApiKey,
        /// The answered version.
        version: i16,
        /// What the codec says.
        why: String,
    },
}

/// The first byte that cannot be part of a message, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// Byte offset in what was being read.
    pub at: usize,
    /// What is wrong there.
    pub reason: MalformedReason,
}

/// Why bytes are not a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MalformedReason {
    /// A field needs more bytes than are left.
    #[error("{needed} bytes needed, {left} left")]
    Truncated {
        /// Bytes that the field needs.
        needed: usize,
        /// Bytes left.
        left: usize,
    },
    /// A length or count below -1.
    #[error("a length of {0}")]
    NegativeLength(i32),
    /// A string longer than Kafka's 32,767 bytes.
    #[error("a string of {0} bytes")]
    StringTooLong(usize),
    /// A varint of more than 32 bits.
    #[error("a varint of more than 32 bits")]
    VarintTooLong,
    /// More elements than bytes.
    #[error("{count} elements in {left} bytes")]
    CountTooLarge {
        /// Claimed elements.
        count: usize,
        /// Bytes left for them.
        left: usize,
    },
    /// Decoding would take far more memory than the message has bytes.
    #[error("decoding would need {cost} bytes, {budget} are allowed")]
    TooCostly {
        /// Estimated bytes of memory.
        cost: usize,
        /// What a message of this length may use.
        budget: usize,
    },
    /// A tagged field whose content is not as long as its size says, or which this version lacks.
    #[error("tagged field {0} does not fit its size or version")]
    BadTag(u32),
    /// A string that is not UTF-8.
    #[error("a string is not UTF-8")]
    NotUtf8,
    /// A null where the message has none, or another breach that only the decoder sees.
    #[error("the decoder refuses it")]
    Refused,
}
