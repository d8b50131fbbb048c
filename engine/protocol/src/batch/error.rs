//! Why a batch from the wire is refused.

use super::Codec;

/// Why a batch is refused as a whole; nothing of it is stored.
///
/// Each variant names the wire error that `broker/error_code.rs` answers. Numbers in brackets are
/// those of `kafka.md`: rules 1-4, and section 4, items 5-16.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BatchError {
    /// No batch at all: INVALID_RECORD (item 13).
    #[error("no batch")]
    Empty,
    /// The bytes end inside the batch: INVALID_RECORD (item 13).
    #[error("the batch claims {claimed} bytes and {present} are there")]
    Truncated {
        /// Bytes that the batch claims, or a header's when it is shorter.
        claimed: usize,
        /// Bytes that are there.
        present: usize,
    },
    /// A length that no batch has: CORRUPT_MESSAGE (item 13).
    #[error("a batch length of {0} is too short")]
    Length(i32),
    /// A message set of magic 0 or 1: INVALID_RECORD (item 13).
    #[error("magic {0} is no longer accepted")]
    OldMagic(i8),
    /// A magic that Kafka does not know: CORRUPT_MESSAGE (item 12).
    #[error("magic {0} is not known")]
    UnknownMagic(i8),
    /// A second batch for the same partition: INVALID_RECORD (rule 1).
    #[error("a produce request carries one batch a partition")]
    SecondBatch,
    /// A base offset other than 0: INVALID_RECORD (rule 2, item 12).
    #[error("base offset {0} in a produced batch")]
    BaseOffset(i64),
    /// More bytes than `max.message.bytes`: MESSAGE_TOO_LARGE (rule 3).
    #[error("{bytes} bytes are more than max.message.bytes ({max})")]
    TooLarge {
        /// Bytes of the batch.
        bytes: usize,
        /// The topic's `max.message.bytes`.
        max: usize,
    },
    /// The CRC differs: CORRUPT_MESSAGE (rule 2).
    #[error("the batch's CRC is {computed:08x}, not {claimed:08x}")]
    Crc {
        /// As the batch says.
        claimed: u32,
        /// As its bytes say.
        computed: u32,
    },
    /// A control batch from a client: INVALID_RECORD (rule 2).
    #[error("a client may not write control batches")]
    Control,
    /// A client that sets the delete horizon: INVALID_RECORD (item 11).
    #[error("a client may not set a delete horizon")]
    DeleteHorizon,
    /// A client that claims append time: INVALID_TIMESTAMP (rule 4, item 11).
    #[error("a client may not claim append time")]
    ClaimsAppendTime,
    /// No record, a negative count, or more records than the bytes can hold: INVALID_RECORD.
    #[error("{count} records in {bytes} bytes")]
    RecordCount {
        /// The count that the batch claims.
        count: i32,
        /// Bytes of its records.
        bytes: usize,
    },
    /// The last offset delta is not the record count minus one: INVALID_RECORD (rule 2).
    #[error("last offset delta {last} with {count} records")]
    LastOffsetDelta {
        /// The delta that the batch claims.
        last: i32,
        /// Its record count.
        count: i32,
    },
    /// A producer id without a sequence: INVALID_RECORD (rule 2).
    #[error("producer {producer_id} with base sequence {sequence}")]
    Sequence {
        /// The producer.
        producer_id: i64,
        /// Its negative base sequence.
        sequence: i32,
    },
    /// Codecs 5 to 7: INVALID_RECORD (item 9).
    #[error("codec {0} is not known")]
    UnknownCodec(u16),
    /// zstd in a request version that has none: UNSUPPORTED_COMPRESSION_TYPE (rule 1).
    #[error("zstd needs Produce version 7")]
    ZstdTooEarly,
    /// The compressed bytes do not unpack: INVALID_RECORD (item 9).
    #[error("the {codec} content does not unpack: {why}")]
    Inflate {
        /// The batch's codec.
        codec: Codec,
        /// What its library says.
        why: InflateError,
    },
    /// More bytes after unpacking than the limit: MESSAGE_TOO_LARGE (item 10).
    #[error("the batch unpacks to more than {max} bytes")]
    InflatedTooLarge {
        /// The limit.
        max: usize,
    },
    /// Bytes after the last record: INVALID_RECORD.
    #[error("{0} or more bytes after the last record")]
    AfterRecords(usize),
    /// A malformed record: INVALID_RECORD, with the record's index (rule 4).
    #[error("{0}")]
    Record(RecordError),
    /// Timestamps out of bounds: INVALID_TIMESTAMP, with the records' indexes (rule 4). At most
    /// [`BatchError::TIMESTAMPS_MAX`] are listed.
    #[error("{} of the batch's timestamps are out of bounds, first: {}", .0.len(), .0[0])]
    Timestamps(Vec<RecordError>),
}

impl BatchError {
    /// How many records with bad timestamps are listed.
    pub const TIMESTAMPS_MAX: usize = 100;

    /// The records that are to blame, by index in the batch.
    #[must_use]
    pub fn record_errors(&self) -> &[RecordError] {
        match self {
            Self::Record(error) => std::slice::from_ref(error),
            Self::Timestamps(errors) => errors,
            _ => &[],
        }
    }
}

/// A record that makes its batch refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("record {index}: {reason}")]
pub struct RecordError {
    /// Which record of the batch, from 0 on.
    pub index: u32,
    /// What is wrong with it.
    pub reason: RecordReason,
}

/// What is wrong with a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordReason {
    /// The bytes end inside the record.
    #[error("the batch ends inside it")]
    Truncated,
    /// A variable-length number of more than 5 or 10 bytes.
    #[error("a number is longer than its type allows")]
    Varint,
    /// A length that does not fit into the record.
    #[error("a length of {0} does not fit")]
    Length(i32),
    /// A header without a key.
    #[error("header {0} has a null key")]
    HeaderKey(u32),
    /// Bytes between the last header and the record's end.
    #[error("{0} bytes after its headers")]
    AfterHeaders(usize),
    /// An offset delta other than the record's index (item 5).
    #[error("its offset delta is {0}")]
    OffsetDelta(i32),
    /// A timestamp outside of the topic's bounds.
    #[error("timestamp {timestamp} is not within [{min}, {max}]")]
    Timestamp {
        /// The record's timestamp.
        timestamp: i64,
        /// The smallest that is accepted.
        min: i64,
        /// The largest that is accepted.
        max: i64,
    },
}

/// Why compressed bytes do not unpack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InflateError {
    /// The library found no valid content.
    #[error("not valid")]
    Invalid,
    /// It ends too early.
    #[error("ends too early")]
    Truncated,
}
