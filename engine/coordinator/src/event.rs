//! What happens to a coordinator: requests, writes that ended, and time.

use std::sync::Arc;

use bytes::Bytes;
use highwater_types::TopicId;

/// Names a request that waits for its answer; the shell picks it, once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Token(pub u64);

/// Names an append, in the order of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AppendId(pub u64);

/// Something that happened.
#[derive(Clone, Debug)]
pub enum Event {
    /// A member wants to be in the group's next generation.
    Join(Token, Join),
    /// A member of the new generation asks for its assignment; the leader brings them all.
    Sync(Token, Sync),
    /// A member says that it lives.
    Heartbeat(Token, Heartbeat),
    /// Members leave.
    Leave(Token, Leave),
    /// Offsets to be kept.
    Commit(Token, Commit),
    /// A group to be deleted with its offsets.
    DeleteGroup(Token, Arc<str>),
    /// Offsets of a group to be deleted.
    DeleteOffsets(Token, DeleteOffsets),
    /// These topics are gone, so are their offsets.
    TopicsDeleted(Vec<TopicId>),
    /// Every append up to this one is durable.
    Durable(AppendId),
    /// An append was not written at all, for example because the disk is full.
    Refused(AppendId),
    /// The partition's log has grown: write the whole state again, so that the rest can go.
    Rewrite,
    /// Time passed: see [`crate::Coordinator::next_deadline`].
    Tick,
    /// The partition is gone from this broker, or its log has failed.
    Lost,
}

/// A JoinGroup request.
#[derive(Clone, Debug)]
pub struct Join {
    /// The group.
    pub group: Arc<str>,
    /// The member's id; empty for a first join.
    pub member_id: Arc<str>,
    /// The static member's name, if it is one.
    pub instance_id: Option<Arc<str>>,
    /// What the client calls itself.
    pub client_id: Arc<str>,
    /// Where it connects from.
    pub client_host: Arc<str>,
    /// How long it may be silent.
    pub session_timeout_ms: i32,
    /// How long it may take to join again; the session timeout when negative (version 0).
    pub rebalance_timeout_ms: i32,
    /// What kind of group it takes this for, such as `consumer`.
    pub protocol_type: Arc<str>,
    /// Assignors it supports with its metadata for each, the preferred one first.
    pub protocols: Vec<Protocol>,
    /// A first join is refused with a new id to join with (version 4).
    pub requires_member_id: bool,
    /// The client understands that a restarted leader need not assign (version 9).
    pub may_skip_assignment: bool,
    /// Randomness for a new member id.
    pub draw: u128,
}

impl Join {
    /// Bytes of what the member tells the leader, over all its protocols.
    pub(crate) fn bytes(&self) -> usize {
        let bytes = |own: &Protocol| own.name.len() + own.metadata.len();
        self.protocols.iter().map(bytes).sum()
    }
}

/// An assignor's name with a member's metadata for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Protocol {
    /// The assignor.
    pub name: Arc<str>,
    /// What the member tells the leader.
    pub metadata: Bytes,
}

/// Who a member says it is.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The member's id.
    pub member_id: Arc<str>,
    /// The static member's name, if it gave one.
    pub instance_id: Option<Arc<str>>,
}

/// A SyncGroup request.
#[derive(Clone, Debug)]
pub struct Sync {
    /// The group.
    pub group: Arc<str>,
    /// Who asks.
    pub member: Identity,
    /// The generation it joined.
    pub generation: i32,
    /// The kind of group, if it gave one.
    pub protocol_type: Option<Arc<str>>,
    /// The chosen assignor, if it gave one.
    pub protocol_name: Option<Arc<str>>,
    /// From the leader: what each member gets.
    pub assignments: Vec<(Arc<str>, Bytes)>,
}

/// A Heartbeat request.
#[derive(Clone, Debug)]
pub struct Heartbeat {
    /// The group.
    pub group: Arc<str>,
    /// Who lives.
    pub member: Identity,
    /// The generation it is in.
    pub generation: i32,
}

/// A LeaveGroup request.
#[derive(Clone, Debug)]
pub struct Leave {
    /// The group.
    pub group: Arc<str>,
    /// Who leaves; a static member may be named by its instance id alone.
    pub members: Vec<Identity>,
}

/// An OffsetCommit request, without the partitions that do not exist.
#[derive(Clone, Debug)]
pub struct Commit {
    /// The group.
    pub group: Arc<str>,
    /// Who commits; an empty id from outside the group protocol.
    pub member: Identity,
    /// The generation; negative from outside the group protocol.
    pub generation: i32,
    /// How long the offsets are kept after this commit, if the client says so (version 2-4).
    pub retention_ms: Option<u64>,
    /// The offsets.
    pub offsets: Vec<CommitOffset>,
}

/// One offset to be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitOffset {
    /// The topic's name.
    pub topic: Arc<str>,
    /// The topic's identity: a topic created again under this name does not inherit the offset.
    pub topic_id: TopicId,
    /// The partition.
    pub partition: u32,
    /// The next offset to be consumed.
    pub offset: i64,
    /// The leader epoch of the last consumed record; -1 when unknown.
    pub leader_epoch: i32,
    /// What the consumer wrote beside it.
    pub metadata: Arc<str>,
}

/// An OffsetDelete request, without the partitions that do not exist.
#[derive(Clone, Debug)]
pub struct DeleteOffsets {
    /// The group.
    pub group: Arc<str>,
    /// Topics and partitions.
    pub partitions: Vec<(Arc<str>, u32)>,
}
