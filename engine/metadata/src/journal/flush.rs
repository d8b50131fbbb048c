//! The task behind the journal: syncs, closes a journal that is long, makes snapshots.

use std::sync::Arc;

use bytes::Bytes;
use highwater_runtime::{Disk, DiskError, File, Runtime};

use super::frame::{self, FileKind};
use super::{Journal, SNAPSHOT, create_journal, journal_path};

impl<R: Runtime> Journal<R> {
    /// Starts the syncing task unless it runs. A task of its own, so that a caller who goes away
    /// takes no sync with it.
    pub(super) fn start_flushing(&self) {
        let mut inner = self.lock();
        if inner.syncing || inner.failed.is_some() {
            return;
        }
        inner.syncing = true;
        drop(inner);
        self.runtime.spawn("metadata-flush", self.clone().flush());
    }

    /// Syncs until everything appended is on disk, or the disk fails.
    async fn flush(self) {
        while let Some((file, target)) = self.next_sync() {
            let outcome = file.sync().await;
            if self.note_sync(outcome, target) {
                self.roll().await;
            }
        }
    }

    /// Takes in how a sync up to commit `target` ended; answers whether to roll now.
    fn note_sync(&self, outcome: Result<(), DiskError>, target: u64) -> bool {
        let mut inner = self.lock();
        if let Err(error) = outcome {
            inner.failed = Some(error);
            inner.wake();
            return false;
        }
        inner.became_durable(target);
        // A journal is closed when all of it is on disk: appends wait until then.
        inner.holding = inner.file.len() >= inner.roll_at;
        inner.holding && inner.durable == inner.appended
    }

    /// What to sync next and up to which commit; `None` ends the task.
    fn next_sync(&self) -> Option<(<R::Disk as Disk>::File, u64)> {
        let mut inner = self.lock();
        if inner.durable == inner.appended || inner.failed.is_some() {
            inner.syncing = false;
            return None;
        }
        Some((inner.file.clone(), inner.appended))
    }

    /// Goes on in a new journal. When the disk refuses one, the old one grows on.
    async fn roll(&self) {
        let next = self.lock().durable + 1;
        let made = create_journal(self.runtime.disk(), next).await;
        if made.is_err() {
            // Perhaps it was made and not synced. It holds no commit: a start removes it.
            let _ = self.runtime.disk().remove(&journal_path(next));
        }
        let mut inner = self.lock();
        match made {
            Ok((file, path)) => {
                let closed = std::mem::replace(&mut inner.path, path);
                inner.closed.push(closed);
                inner.file = file;
                inner.roll_at = self.journal_bytes_max;
            }
            Err(_) => inner.roll_at = inner.file.len().saturating_mul(2),
        }
        inner.holding = false;
        inner.wake();
        let snapshot = !inner.closed.is_empty() && !inner.snapshotting;
        inner.snapshotting |= snapshot;
        drop(inner);
        if snapshot {
            let journal = self.clone();
            self.runtime.spawn("metadata-snapshot", async move {
                // Without a snapshot the closed journals stay: a start reads more, nothing is lost.
                let _ = journal.snapshot().await;
                journal.lock().snapshotting = false;
            });
        }
    }

    /// Publishes the state that is on disk and removes the journals that it covers.
    async fn snapshot(&self) -> Result<(), DiskError> {
        let (state, index, covered) = {
            let inner = self.lock();
            (
                Arc::clone(&inner.visible),
                inner.durable,
                inner.closed.clone(),
            )
        };
        let mut content = frame::header(FileKind::Snapshot, index);
        content.extend(frame::encode(index, index, &state.records()));
        drop(state);
        let disk = self.runtime.disk();
        disk.publish(SNAPSHOT, Bytes::from(content)).await?;
        self.lock().closed.retain(|path| !covered.contains(path));
        for path in covered {
            // One that stays is removed by the next start.
            let _ = disk.remove(&path);
        }
        Ok(())
    }
}
