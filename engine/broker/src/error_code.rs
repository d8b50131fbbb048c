//! Engine errors meet Kafka's wire codes here and nowhere else.
//!
//! Every match is exhaustive on purpose: a new variant does not compile until it has a code.

mod admin;
mod groups;

use highwater_log::{AppendError, ProducerRefusal, ReadError};
use highwater_partition::{AckError, OffsetError, ProduceError};
use highwater_protocol::batch::BatchError;
pub(crate) use kafka_protocol::ResponseError;

pub(crate) use admin::{broker_config, topic_config};

use crate::session::SessionError;

/// A wire code for an engine's error.
pub(crate) trait WireCode {
    /// The code that tells a client what to do.
    fn wire(&self) -> ResponseError;

    /// The code as a number.
    fn code(&self) -> i16 {
        self.wire().code()
    }
}

/// Why a batch was refused, as a producer is told.
#[derive(Debug)]
pub(crate) struct Refused {
    /// The code that decides what the producer does.
    pub(crate) error: ResponseError,
    /// For a person.
    pub(crate) message: Option<String>,
    /// Bad records by their index in the batch.
    pub(crate) records: Vec<(i32, String)>,
}

impl Refused {
    pub(crate) fn new(error: ResponseError, message: String) -> Self {
        Self {
            error,
            message: Some(message),
            records: Vec::new(),
        }
    }
}

impl From<ResponseError> for Refused {
    fn from(error: ResponseError) -> Self {
        Self {
            error,
            message: None,
            records: Vec::new(),
        }
    }
}

impl From<BatchError> for Refused {
    fn from(error: BatchError) -> Self {
        let records = error.record_errors().iter();
        let records = records
            .map(|bad| (bad.index.cast_signed(), bad.reason.to_string()))
            .collect();
        Self {
            error: error.wire(),
            message: Some(error.to_string()),
            records,
        }
    }
}

impl From<ProduceError> for Refused {
    fn from(error: ProduceError) -> Self {
        Self::new(error.wire(), error.to_string())
    }
}

impl WireCode for SessionError {
    fn wire(&self) -> ResponseError {
        match self {
            Self::NotFound => ResponseError::FetchSessionIdNotFound,
            Self::WrongEpoch => ResponseError::InvalidFetchSessionEpoch,
            Self::MixedIds => ResponseError::FetchSessionTopicIdError,
        }
    }
}

impl WireCode for AckError {
    fn wire(&self) -> ResponseError {
        match self {
            Self::Storage(_) => ResponseError::KafkaStorageError,
            Self::Deleted => ResponseError::NotLeaderOrFollower,
        }
    }
}

impl WireCode for ProduceError {
    fn wire(&self) -> ResponseError {
        match self {
            Self::Log(error) => error.wire(),
            Self::Offline(_) | Self::DiskFull => ResponseError::KafkaStorageError,
        }
    }
}

impl WireCode for OffsetError {
    fn wire(&self) -> ResponseError {
        match self {
            Self::OutOfRange { .. } => ResponseError::OffsetOutOfRange,
            Self::Fenced { .. } => ResponseError::FencedLeaderEpoch,
            Self::UnknownEpoch { .. } => ResponseError::UnknownLeaderEpoch,
            Self::Log(error) => error.wire(),
            Self::Offline(_) => ResponseError::KafkaStorageError,
            Self::Deleted => ResponseError::UnknownTopicOrPartition,
        }
    }
}

impl WireCode for BatchError {
    fn wire(&self) -> ResponseError {
        match self {
            Self::Length(_) | Self::UnknownMagic(_) | Self::Crc { .. } => {
                ResponseError::CorruptMessage
            }
            Self::TooLarge { .. } | Self::InflatedTooLarge { .. } => ResponseError::MessageTooLarge,
            Self::ClaimsAppendTime | Self::Timestamps(_) => ResponseError::InvalidTimestamp,
            Self::ZstdTooEarly => ResponseError::UnsupportedCompressionType,
            Self::Empty
            | Self::Truncated { .. }
            | Self::OldMagic(_)
            | Self::SecondBatch
            | Self::BaseOffset(_)
            | Self::Control
            | Self::DeleteHorizon
            | Self::RecordCount { .. }
            | Self::LastOffsetDelta { .. }
            | Self::Sequence { .. }
            | Self::UnknownCodec(_)
            | Self::Inflate { .. }
            | Self::AfterRecords(_)
            | Self::Record(_) => ResponseError::InvalidRecord,
        }
    }
}

impl WireCode for AppendError {
    fn wire(&self) -> ResponseError {
        match self {
            Self::Full(_) | Self::Failed(_) => ResponseError::KafkaStorageError,
            Self::Producer(refusal) => refusal.wire(),
            Self::StaleEpoch { .. } => ResponseError::NotLeaderOrFollower,
        }
    }
}

impl WireCode for ReadError {
    fn wire(&self) -> ResponseError {
        match self {
            Self::OutOfRange { .. } => ResponseError::OffsetOutOfRange,
            Self::Corrupt { .. } | Self::Missing { .. } | Self::Disk(_) => {
                ResponseError::KafkaStorageError
            }
        }
    }
}

impl WireCode for ProducerRefusal {
    fn wire(&self) -> ResponseError {
        match self {
            Self::OutOfOrder { .. } => ResponseError::OutOfOrderSequenceNumber,
            Self::OldEpoch { .. } => ResponseError::InvalidProducerEpoch,
        }
    }
}
