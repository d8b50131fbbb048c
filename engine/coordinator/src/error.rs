//! Why a coordinator refuses, and what the client does then.

/// A refusal. The broker gives each its wire code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GroupError {
    /// An empty or missing group id. The client must be configured.
    #[error("the group id is not valid")]
    InvalidGroupId,
    /// A session timeout outside the allowed range. The client must be configured.
    #[error("the session timeout is outside the allowed range")]
    InvalidSessionTimeout,
    /// No protocol that every member supports. The client must be configured.
    #[error("no protocol is supported by every member")]
    InconsistentProtocol,
    /// A member tells the leader more than it may. The client must be configured.
    #[error("the member's metadata is too long")]
    MemberTooLarge,
    /// The group has as many members as it may have.
    #[error("the group is full")]
    GroupFull,
    /// A first join: join again with the id in the answer.
    #[error("join again with the given member id")]
    MemberIdRequired,
    /// The member is none of the group: join again as a new one.
    #[error("the group has no such member")]
    UnknownMember,
    /// The member's generation is over: join again.
    #[error("the generation is not the current one")]
    IllegalGeneration,
    /// The group rebalances: join again.
    #[error("the group rebalances")]
    RebalanceInProgress,
    /// Another process took over this instance id: stop.
    #[error("another member has taken over the instance id")]
    FencedInstance,
    /// The metadata beside a committed offset is too long.
    #[error("the metadata of the offset is too long")]
    MetadataTooLarge,
    /// There is no such group.
    #[error("there is no such group")]
    GroupNotFound,
    /// The group has members: it cannot be deleted.
    #[error("the group is not empty")]
    GroupNotEmpty,
    /// The group reads the topic: its offsets cannot be deleted.
    #[error("the group is subscribed to the topic")]
    SubscribedToTopic,
    /// The record of this change could not be written: try again.
    #[error("the change could not be written")]
    NotWritten,
    /// The coordinator is gone from here: find it again.
    #[error("the coordinator is not here")]
    Moved,
}
