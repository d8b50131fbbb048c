//! Wire codes of what a group coordinator refuses.

use highwater_coordinator::GroupError;

use super::{ResponseError, WireCode};

impl WireCode for GroupError {
    fn wire(&self) -> ResponseError {
        match self {
            Self::InvalidGroupId => ResponseError::InvalidGroupId,
            Self::InvalidSessionTimeout => ResponseError::InvalidSessionTimeout,
            Self::InconsistentProtocol => ResponseError::InconsistentGroupProtocol,
            Self::MemberTooLarge => ResponseError::InvalidRequest,
            Self::GroupFull => ResponseError::GroupMaxSizeReached,
            Self::MemberIdRequired => ResponseError::MemberIdRequired,
            Self::UnknownMember => ResponseError::UnknownMemberId,
            Self::IllegalGeneration => ResponseError::IllegalGeneration,
            Self::RebalanceInProgress => ResponseError::RebalanceInProgress,
            Self::FencedInstance => ResponseError::FencedInstanceId,
            Self::MetadataTooLarge => ResponseError::OffsetMetadataTooLarge,
            Self::GroupNotFound => ResponseError::GroupIdNotFound,
            Self::GroupNotEmpty => ResponseError::NonEmptyGroup,
            Self::SubscribedToTopic => ResponseError::GroupSubscribedToTopic,
            // Retriable: the client comes again, here or elsewhere.
            Self::NotWritten => ResponseError::CoordinatorNotAvailable,
            Self::Moved => ResponseError::NotCoordinator,
        }
    }
}
