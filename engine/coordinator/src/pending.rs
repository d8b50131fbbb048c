//! Appends on their way to the log, in its order, and what each changes once it is durable.
//!
//! The state that is shown is the state that a replay of the durable log would give: an append
//! changes it when it is durable, not before. Only who is in a group changes at once.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::{AppendId, Committed, GroupError, GroupValue, JoinAnswer, Record, Token};

/// What a durable append changes, and whom it answers.
#[derive(Debug)]
pub(crate) enum Change {
    /// Offsets are committed.
    Commit {
        token: Token,
        group: Arc<str>,
        offsets: Vec<(Arc<str>, u32, Committed)>,
        results: Vec<Result<(), GroupError>>,
    },
    /// The leader's assignment holds.
    Assign {
        group: Arc<str>,
        generation: i32,
        value: GroupValue,
    },
    /// A static member has a new id.
    Replace {
        group: Arc<str>,
        token: Token,
        answer: JoinAnswer,
        value: GroupValue,
    },
    /// A group has become empty.
    Empty { group: Arc<str>, value: GroupValue },
    /// A group is gone with its offsets.
    DeleteGroup {
        token: Option<Token>,
        group: Arc<str>,
    },
    /// Offsets are gone.
    DropOffsets {
        group: Arc<str>,
        keys: Vec<(Arc<str>, u32)>,
        answer: Option<(Token, Vec<Result<(), GroupError>>)>,
    },
    /// The whole state is at the end of the log.
    Rewrite,
}

impl Change {
    /// The group that it is about.
    pub(crate) fn group(&self) -> Option<&Arc<str>> {
        match self {
            Self::Commit { group, .. }
            | Self::Assign { group, .. }
            | Self::Replace { group, .. }
            | Self::Empty { group, .. }
            | Self::DeleteGroup { group, .. }
            | Self::DropOffsets { group, .. } => Some(group),
            Self::Rewrite => None,
        }
    }
}

/// One append on its way.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) id: AppendId,
    pub(crate) change: Change,
    pub(crate) records: Vec<Record>,
}

/// The appends on their way.
#[derive(Debug, Default)]
pub(crate) struct PendingLog {
    next: u64,
    queue: VecDeque<Pending>,
}

impl PendingLog {
    /// Takes in an append; answers its number.
    pub(crate) fn push(&mut self, change: Change, records: Vec<Record>) -> AppendId {
        let id = AppendId(self.next);
        self.next += 1;
        self.queue.push_back(Pending {
            id,
            change,
            records,
        });
        id
    }

    /// Takes off the oldest append if it is not newer than `up_to`.
    pub(crate) fn durable(&mut self, up_to: AppendId) -> Option<Pending> {
        self.queue.pop_front_if(|pending| pending.id <= up_to)
    }

    /// Takes out the append `id`; `None` when it is not on its way.
    pub(crate) fn refused(&mut self, id: AppendId) -> Option<Pending> {
        let at = self.queue.iter().rposition(|pending| pending.id == id)?;
        self.queue.remove(at)
    }

    /// Takes off all of them.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = Pending> {
        std::mem::take(&mut self.queue).into_iter()
    }

    /// All of them, the oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Pending> {
        self.queue.iter()
    }
}
