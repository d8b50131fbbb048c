//! Making appended batches durable: one task a partition syncs until nothing is left, so that
//! all batches appended during a sync share the next one, and no append waits for a sync.

use std::sync::Arc;
use std::time::Duration;

use highwater_log::{Log, LogError, OpenOptions};
use highwater_runtime::task::oneshot;
use highwater_runtime::{DiskError, Runtime};

use crate::partition::State;
use crate::{AckError, Offsets, Partition, Status};

/// How long an offline partition waits before it first tries to recover from disk; doubled after
/// each attempt that failed, up to the second.
const RECOVERY_PAUSE: Duration = Duration::from_millis(500);
const RECOVERY_PAUSE_MAX: Duration = Duration::from_secs(8);

/// Why an offline partition stays so.
#[derive(Debug, thiserror::Error)]
enum ReopenError {
    #[error(transparent)]
    Log(#[from] LogError),
    /// Bytes behind the last honest sync may be missing on the platter for ever; they must be
    /// written to another file before anything may stand behind them.
    #[error("no space on the disk to move the unsynced records to a new file")]
    NoSpace,
}

impl<R: Runtime> Partition<R> {
    /// Sees to it that what was appended gets synced, now or in the next round.
    pub(crate) fn start_sync(self: &Arc<Self>, state: &mut State<R>) {
        if state.syncing {
            return;
        }
        state.syncing = true;
        let partition = Arc::clone(self);
        self.runtime.spawn("partition-sync", async move {
            partition.sync_until_clean().await
        });
    }

    /// Syncs what was appended so far, for topics that acknowledge earlier.
    pub fn flush(self: &Arc<Self>) {
        let mut state = self.lock();
        if state.status == Status::Online {
            self.start_sync(&mut state);
        }
    }

    /// Waits until everything appended so far is durable, or the disk failed.
    pub async fn sync_now(self: &Arc<Self>) {
        let ended = {
            let mut state = self.lock();
            if state.status == Status::Online {
                self.start_sync(&mut state);
            }
            if !state.syncing {
                return;
            }
            let (sender, ended) = oneshot::channel();
            state.sync_waiters.push(sender);
            ended
        };
        // A dropped sender says the same: the task that synced is gone.
        let _ = ended.await;
    }

    async fn sync_until_clean(self: Arc<Self>) {
        self.run_syncs().await;
        let waiters = std::mem::take(&mut self.lock().sync_waiters);
        for waiter in waiters {
            // Who gave up needs no answer.
            let _ = waiter.send(());
        }
    }

    /// Syncs until nothing is left to sync, or the disk failed.
    async fn run_syncs(self: &Arc<Self>) {
        loop {
            let (job, appended_bytes) = {
                let mut state = self.lock();
                let job = state.log.begin_sync();
                state.syncing = job.is_some();
                if job.is_none()
                    && state.status == Status::Online
                    && let Some(failure) = state.log.failure().cloned()
                {
                    self.disk_failed(&mut state, failure);
                }
                (job, state.appended_bytes)
            };
            let Some(job) = job else { return };
            let result = job.run().await;
            let mut state = self.lock();
            let finished = result.map(|done| state.log.finish_sync(done));
            match finished {
                Ok(()) if state.config.fsync && state.status == Status::Online => {
                    let synced = state.log.synced();
                    self.commit_to(&mut state, synced, appended_bytes);
                }
                Ok(()) => {}
                Err(failure) => {
                    state.syncing = false;
                    state.log.fail(failure.clone());
                    self.disk_failed(&mut state, failure);
                    return;
                }
            }
        }
    }

    /// After a failed write or sync nothing is retried on the same file: the partition goes
    /// offline, tells everybody who waits, and recovers from disk.
    pub(crate) fn disk_failed(self: &Arc<Self>, state: &mut State<R>, failure: DiskError) {
        let why = failure.to_string();
        self.runtime.mark("partition.offline");
        if state.status == Status::Deleted {
            return;
        }
        state.status = Status::Offline(why.clone());
        for (_, ack) in state.acks.drain(..) {
            // The producer may have gone; then nobody needs the answer.
            let _ = ack.send(Err(AckError::Storage(why.clone())));
        }
        state.waiters.wake();
        let partition = Arc::clone(self);
        self.runtime.spawn(
            "partition-recovery",
            async move { partition.recover().await },
        );
    }

    /// A start found unsynced records and no space to move them to a new file. They are served;
    /// nothing is appended behind them until they could be moved, for an earlier run may have
    /// seen their sync fail.
    pub fn await_space(self: &Arc<Self>) {
        self.runtime.mark("partition.awaits-space");
        let mut state = self.lock();
        state.status = Status::Offline(ReopenError::NoSpace.to_string());
        state.unproven = None;
        let end = state.offsets.end;
        state.offsets.committed(end);
        drop(state);
        let partition = Arc::clone(self);
        self.runtime.spawn(
            "partition-recovery",
            async move { partition.recover().await },
        );
    }

    /// Tries until the log is back: batches that are not durable are written to a new file.
    async fn recover(self: &Arc<Self>) {
        let mut pause = RECOVERY_PAUSE;
        loop {
            self.runtime.sleep(pause).await;
            pause = (pause * 2).min(RECOVERY_PAUSE_MAX);
            let mut state = self.lock();
            if !matches!(state.status, Status::Offline(_)) {
                return;
            }
            if state.syncing {
                continue;
            }
            match self.reopen(&mut state) {
                Ok(()) => {
                    self.runtime.mark("partition.recovered");
                    state.status = Status::Online;
                    state.tail.clear();
                    state.waiters.wake();
                    self.start_sync(&mut state);
                    return;
                }
                Err(error) => state.status = Status::Offline(error.to_string()),
            }
        }
    }

    /// Opens the log anew, from the last place that is certainly on the platter.
    fn reopen(&self, state: &mut State<R>) -> Result<(), ReopenError> {
        let options = OpenOptions {
            topic_id: self.topic_id(),
            config: state.config.log.clone(),
            clean: false,
            checkpoint: Some(state.log.checkpoint()),
        };
        let now_ms = self.runtime.wall_ms();
        let (log, report) = Log::open(
            &self.runtime,
            self.kv.as_ref(),
            self.name(),
            options,
            now_ms,
        )?;
        self.runtime.log(format_args!(
            "partition {} recovered: {report}",
            self.name()
        ));
        if report.rescue_skipped {
            return Err(ReopenError::NoSpace);
        }
        let (start, end) = (log.start(), log.end());
        state.log = log;
        let committed = state.offsets.high_watermark;
        if end < committed {
            let lost = committed.since(end);
            assert!(
                !state.config.fsync,
                "recovery cut synced records: end {end} is below high watermark {committed}"
            );
            self.runtime.log(format_args!(
                "partition {}: {lost} records that were acknowledged from memory are lost, \
                 from offset {end} on",
                self.name()
            ));
            state.offsets = Offsets::at(start, end);
            state.unproven = None;
        } else {
            state.offsets.end = end;
        }
        state.offsets.check();
        Ok(())
    }
}
