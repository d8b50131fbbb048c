//! Time passes: segments are rolled and expire, also where nobody writes any more.

use std::sync::Arc;

use highwater_runtime::Runtime;

use crate::{Partition, Status};

impl<R: Runtime> Partition<R> {
    /// Gives back the tail's memory if nobody used it since the last call.
    pub fn release_tail(&self) {
        self.lock().tail.release_idle();
    }

    /// Rolls a segment whose time has come. Called by the broker's one sweeper.
    pub fn roll_by_time(self: &Arc<Self>, now_ms: i64) {
        let mut state = self.lock();
        if state.status != Status::Online {
            return;
        }
        if state.log.due(now_ms).is_none_or(|due_ms| due_ms > now_ms) {
            return;
        }
        // A full disk keeps the segment open until retention has freed space.
        let rolled = state.log.roll_if_idle(now_ms);
        match state.log.failure().cloned() {
            Some(failure) => self.disk_failed(&mut state, failure),
            None if rolled.is_ok_and(|rolled| rolled) => self.start_sync(&mut state),
            None => {}
        }
    }

    /// Rolls by time and deletes what retention lets go. Called by the broker's one sweeper.
    pub fn sweep(self: &Arc<Self>, now_ms: i64) {
        let mut state = self.lock();
        if state.status != Status::Online {
            return;
        }
        if state.log.due(now_ms).is_none_or(|due_ms| due_ms > now_ms) {
            return;
        }
        let limit = state.offsets.high_watermark;
        // A full disk keeps the segment open; retention then frees space first.
        let _ = state.log.roll_if_idle(now_ms);
        state.log.retain(limit, now_ms);
        state.log.release_idle();
        let start = state.log.start();
        if start > state.offsets.start {
            self.runtime.mark("retention.deleted");
            state.offsets.trimmed(start);
            state.tail.trim(start);
        }
        match state.log.failure().cloned() {
            Some(failure) => self.disk_failed(&mut state, failure),
            None => self.start_sync(&mut state),
        }
    }
}
