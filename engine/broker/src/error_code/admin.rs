//! Wire codes of what metadata refuses.

use highwater_metadata::CommitError;
use highwater_metadata::state::{
    AlterConfigError, AssignmentError, CreatePartitionsError, CreateTopicError, DeleteTopicError,
    NameError, UnknownTopic,
};

use super::{ResponseError, WireCode};

impl<E: WireCode> WireCode for CommitError<E> {
    fn wire(&self) -> ResponseError {
        match self {
            Self::Refused(error) => error.wire(),
            Self::Full(_) | Self::Offline(_) => ResponseError::KafkaStorageError,
        }
    }
}

impl WireCode for std::convert::Infallible {
    fn wire(&self) -> ResponseError {
        match *self {}
    }
}

impl WireCode for NameError {
    fn wire(&self) -> ResponseError {
        match self {
            Self::Empty | Self::TooLong { .. } | Self::Dots { .. } | Self::Characters { .. } => {
                ResponseError::InvalidTopicException
            }
        }
    }
}

impl WireCode for CreateTopicError {
    fn wire(&self) -> ResponseError {
        match self {
            Self::Name(error) => error.wire(),
            Self::Exists { .. } => ResponseError::TopicAlreadyExists,
            Self::Collides { .. } => ResponseError::InvalidTopicException,
            Self::PartitionCount | Self::TooManyPartitions { .. } => {
                ResponseError::InvalidPartitions
            }
            Self::ClusterFull { .. } => ResponseError::PolicyViolation,
            Self::NoReplication | Self::ReplicationFactor { .. } => {
                ResponseError::InvalidReplicationFactor
            }
            Self::CountAndAssignment { .. } | Self::Reserved { .. } => {
                ResponseError::InvalidRequest
            }
            Self::Assignment(error) => error.wire(),
            // Beside a new topic every refused setting is 40, also one without a value.
            Self::Config(_) => ResponseError::InvalidConfig,
        }
    }
}

impl WireCode for AssignmentError {
    fn wire(&self) -> ResponseError {
        match self {
            Self::NotConsecutive
            | Self::NoReplica
            | Self::Twice { .. }
            | Self::UnknownBroker { .. }
            | Self::Uneven { .. }
            | Self::Count { .. } => ResponseError::InvalidReplicaAssignment,
        }
    }
}

impl WireCode for UnknownTopic {
    fn wire(&self) -> ResponseError {
        ResponseError::UnknownTopicOrPartition
    }
}

impl WireCode for DeleteTopicError {
    fn wire(&self) -> ResponseError {
        match self {
            Self::Unknown(error) => error.wire(),
            Self::Disabled => ResponseError::TopicDeletionDisabled,
            Self::Internal { .. } => ResponseError::InvalidRequest,
        }
    }
}

impl WireCode for CreatePartitionsError {
    fn wire(&self) -> ResponseError {
        match self {
            Self::Unknown(error) => error.wire(),
            Self::Same { .. } | Self::Fewer { .. } | Self::TooManyPartitions { .. } => {
                ResponseError::InvalidPartitions
            }
            Self::ClusterFull { .. } => ResponseError::PolicyViolation,
            Self::Internal { .. } => ResponseError::InvalidRequest,
            Self::ReplicationFactor { .. } => ResponseError::InvalidReplicationFactor,
            Self::Assignment(error) => error.wire(),
        }
    }
}

/// A refused setting of a topic.
pub(crate) fn topic_config(error: &AlterConfigError) -> ResponseError {
    match error {
        AlterConfigError::UnknownTopic(error) => error.wire(),
        AlterConfigError::Setting(_)
        | AlterConfigError::Compact { .. }
        | AlterConfigError::NotList { .. } => ResponseError::InvalidConfig,
        AlterConfigError::UnknownBroker { .. }
        | AlterConfigError::NullValue { .. }
        | AlterConfigError::Twice { .. }
        | AlterConfigError::AtStart { .. } => ResponseError::InvalidRequest,
    }
}

/// A refused setting of a broker: Kafka says 42 where a topic gets 40 (section 4, item 45).
pub(crate) fn broker_config(error: &AlterConfigError) -> ResponseError {
    match error {
        AlterConfigError::Setting(_)
        | AlterConfigError::Compact { .. }
        | AlterConfigError::NotList { .. } => ResponseError::InvalidRequest,
        other => topic_config(other),
    }
}
