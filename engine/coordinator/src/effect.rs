//! What a coordinator wants done: answers to send and records to append, in order.

use std::sync::Arc;

use bytes::Bytes;

use crate::{AppendId, GroupError, Record, Token};

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Sends the answer to the request of this token.
    Answer(Token, Answer),
    /// Appends the records behind all that were appended before, at once. Then
    /// [`crate::Event::Durable`] when they are, or [`crate::Event::Refused`] before any event of
    /// another kind when they were not written.
    Append(AppendId, Vec<Record>),
    /// Everything in the log before the first record of this append may go.
    Trim(AppendId),
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// To [`crate::Event::Join`].
    Join(JoinAnswer),
    /// To [`crate::Event::Sync`].
    Sync(Result<SyncAnswer, GroupError>),
    /// To [`crate::Event::Heartbeat`].
    Heartbeat(Result<(), GroupError>),
    /// To [`crate::Event::Leave`]: one result a member, in order.
    Leave(Vec<Result<(), GroupError>>),
    /// To [`crate::Event::Commit`]: one result an offset, in order.
    Commit(Vec<Result<(), GroupError>>),
    /// To [`crate::Event::DeleteGroup`].
    DeleteGroup(Result<(), GroupError>),
    /// To [`crate::Event::DeleteOffsets`]: one result a partition, in order.
    DeleteOffsets(Result<Vec<Result<(), GroupError>>, GroupError>),
}

/// What a join became.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinAnswer {
    /// The error, if it was refused.
    pub error: Option<GroupError>,
    /// The member's id from now on; empty when it has none.
    pub member_id: Arc<str>,
    /// The generation; -1 when refused.
    pub generation: i32,
    /// The kind of group.
    pub protocol_type: Option<Arc<str>>,
    /// The chosen assignor.
    pub protocol_name: Option<Arc<str>>,
    /// The id of the member that assigns.
    pub leader: Arc<str>,
    /// Whether the leader need not assign: it restarted, and nothing changed.
    pub skip_assignment: bool,
    /// For the leader: every member with its metadata.
    pub members: Vec<JoinedMember>,
}

impl JoinAnswer {
    /// A refusal.
    #[must_use]
    pub fn refused(error: GroupError, member_id: Arc<str>) -> Self {
        Self {
            error: Some(error),
            member_id,
            generation: -1,
            protocol_type: None,
            protocol_name: None,
            leader: Arc::from(""),
            skip_assignment: false,
            members: Vec::new(),
        }
    }
}

/// A member as the leader sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinedMember {
    /// The member's id.
    pub member_id: Arc<str>,
    /// The static member's name, if it is one.
    pub instance_id: Option<Arc<str>>,
    /// Its metadata for the chosen assignor.
    pub metadata: Bytes,
}

/// A member's share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncAnswer {
    /// The kind of group.
    pub protocol_type: Option<Arc<str>>,
    /// The chosen assignor.
    pub protocol_name: Option<Arc<str>>,
    /// What the leader gave to this member.
    pub assignment: Bytes,
}
