//! Consumer groups of the classic protocol, and the offsets they commit.
//!
//! A [`Coordinator`] is a pure state machine over one partition of `__consumer_offsets`:
//! requests, durable appends and time go in as [`Event`]s, answers and records come out as
//! [`Effect`]s. Recovery is a [`Replay`] of the partition's records. The broker's shell appends,
//! awaits and answers; it decides nothing.

mod config;
mod coordinator;
mod describe;
mod effect;
mod error;
mod event;
mod group;
mod join;
mod member;
mod offsets;
mod pending;
mod record;
mod replay;
mod stay;
mod step;
mod subscription;
mod timers;

pub use config::{Config, Now};
pub use coordinator::Coordinator;
pub use describe::{DescribedMember, Description, Listed};
pub use effect::{Answer, Effect, JoinAnswer, JoinedMember, SyncAnswer};
pub use error::GroupError;
pub use event::{
    AppendId, Commit, CommitOffset, DeleteOffsets, Event, Heartbeat, Identity, Join, Leave,
    Protocol, Sync, Token,
};
pub use group::GroupState;
pub use record::{Committed, GroupValue, Key, MemberValue, Record, RecordError};
pub use replay::Replay;

#[cfg(test)]
mod tests;
