//! The small parts of a log's state.

use highwater_types::{LeaderEpoch, Offset, SegmentNo};

/// What is known of the active segment beyond its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Active {
    /// The largest timestamp in it; -1 for none.
    pub(crate) max_timestamp: i64,
    /// The largest timestamp of its first batch; -1 for none.
    pub(crate) first_timestamp: i64,
    /// When its first batch came, by the broker's wall clock; `None` while it has none.
    pub(crate) first_append_ms: Option<i64>,
    /// The log end at which the size was looked at last (design, roll gate a).
    pub(crate) roll_checked: Offset,
    /// The next index entry for the key store is due at this position.
    pub(crate) kv_due: u64,
    /// A mark of the last batch of the log; binds producer snapshots to it.
    pub(crate) last_print: u32,
}

impl Active {
    /// An active segment without batches that starts at `start`.
    pub(crate) fn empty(start: Offset) -> Self {
        Self {
            max_timestamp: -1,
            first_timestamp: -1,
            first_append_ms: None,
            roll_checked: start,
            kv_due: 0,
            last_print: 0,
        }
    }
}

/// A place up to which everything is on the platter, with what was known there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SyncPoint {
    pub(crate) segment: SegmentNo,
    pub(crate) position: u64,
    pub(crate) offset: Offset,
    pub(crate) max_timestamp: i64,
    pub(crate) first_timestamp: i64,
    pub(crate) producers_empty: bool,
    pub(crate) epoch_newest: Option<LeaderEpoch>,
}

/// A deleted segment whose file is still there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Doomed {
    pub(crate) path: String,
    /// The log start that must be durable first.
    pub(crate) end: Offset,
    /// How many sync jobs must have succeeded first: what producers wrote in it is in a snapshot
    /// that is not durable before.
    pub(crate) syncs: u64,
    pub(crate) due_ms: i64,
}
