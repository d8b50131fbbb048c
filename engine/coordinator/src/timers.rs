//! Deadlines of one coordinator, in order.

use std::collections::BTreeSet;
use std::sync::Arc;

/// What a deadline is for. A timer that fires for something that is no more does nothing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Timer {
    /// A rebalance has lasted long enough. The number tells one rebalance from the next.
    Join(Arc<str>, u64),
    /// Members of this generation have had long enough to sync.
    Sync(Arc<str>, i32),
    /// A member may have been silent for too long.
    Session(Arc<str>, Arc<str>),
    /// A member that was given an id has not joined with it.
    Promised(Arc<str>, Arc<str>),
    /// Offsets may have expired.
    Expire,
}

/// The deadlines.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    set: BTreeSet<(u64, Timer)>,
}

impl Timers {
    /// Fires `timer` at `at_ms` of monotonic time.
    pub(crate) fn arm(&mut self, at_ms: u64, timer: Timer) {
        self.set.insert((at_ms, timer));
    }

    /// The earliest deadline.
    pub(crate) fn next(&self) -> Option<u64> {
        self.set.first().map(|(at_ms, _)| *at_ms)
    }

    /// Takes off the earliest timer that is due.
    pub(crate) fn due(&mut self, now_ms: u64) -> Option<Timer> {
        if self.next()? > now_ms {
            return None;
        }
        self.set.pop_first().map(|(_, timer)| timer)
    }
}
