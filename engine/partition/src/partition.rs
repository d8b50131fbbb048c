//! The state of one partition and how it comes to life and ends.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use highwater_log::{Log, LogConfig};
use highwater_runtime::Runtime;
use highwater_runtime::task::oneshot;
use highwater_types::{LeaderEpoch, Offset, TopicId, TopicPartition};

use crate::tail::{TailBudget, TailCache};
use crate::waiter::Waiters;
use crate::{AckError, Offsets};

/// What a partition acts on; changed at run time by [`Partition::reconfigure`].
#[derive(Clone, Debug)]
pub struct PartitionConfig {
    /// What the log acts on.
    pub log: LogConfig,
    /// Acknowledge and show records once synced (`durability=fsync`), or once in the page cache
    /// of every in-sync replica (`durability=replicated`).
    pub fsync: bool,
    /// The memory for producers' own batches, shared by all partitions of a broker.
    pub tails: Arc<TailBudget>,
}

/// What a partition does at present.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// Serves reads and appends.
    Online,
    /// A write or sync failed: appends are refused until it recovered from disk.
    Offline(String),
    /// Its topic was deleted; nothing is served any more.
    Deleted,
}

/// One partition of one topic, led by this broker. Shared by all cores.
pub struct Partition<R: Runtime> {
    name: TopicPartition,
    topic_id: TopicId,
    pub(crate) runtime: R,
    pub(crate) kv: Option<R::Kv>,
    state: Mutex<State<R>>,
}

/// Everything behind the partition's lock.
pub(crate) struct State<R: Runtime> {
    pub(crate) log: Log<R>,
    pub(crate) config: PartitionConfig,
    pub(crate) status: Status,
    pub(crate) epoch: LeaderEpoch,
    pub(crate) offsets: Offsets,
    /// Batches that wait for the high watermark, in order of their ends.
    pub(crate) acks: VecDeque<(Offset, oneshot::Sender<Result<(), AckError>>)>,
    pub(crate) waiters: Waiters,
    pub(crate) tail: TailCache,
    /// A task is syncing; it goes on until nothing is left to sync.
    pub(crate) syncing: bool,
    /// Who waits for the syncing task to end.
    pub(crate) sync_waiters: Vec<oneshot::Sender<()>>,
    /// What recovery found must be synced up to here before anything is served: an earlier run may
    /// have served it, and nobody may see a high watermark below one that was seen before.
    pub(crate) unproven: Option<Offset>,
    /// Bytes appended since the partition was led.
    pub(crate) appended_bytes: u64,
    /// What `appended_bytes` was when the high watermark was the log end.
    pub(crate) committed_bytes: u64,
}

impl<R: Runtime> fmt::Debug for Partition<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Partition({})", self.name)
    }
}

impl<R: Runtime> Partition<R> {
    /// Leads `log` in `epoch`. Where acknowledged means synced, what recovery could not prove to
    /// be on the platter is committed once it was synced again; that begins here.
    pub fn lead(
        runtime: &R,
        kv: Option<&R::Kv>,
        log: Log<R>,
        config: PartitionConfig,
        epoch: LeaderEpoch,
    ) -> Arc<Self> {
        let mut offsets = Offsets::at(log.start(), log.end());
        if config.fsync {
            offsets.high_watermark = log.synced().max(log.start());
            offsets.last_stable = offsets.high_watermark;
        }
        offsets.check();
        let needs_sync = log.needs_sync();
        let unproven = (offsets.high_watermark < offsets.end).then_some(offsets.end);
        let (name, topic_id) = (log.name().clone(), log.topic_id());
        let state = State {
            status: Status::Online,
            epoch,
            offsets,
            acks: VecDeque::new(),
            waiters: Waiters::default(),
            tail: TailCache::new(&config.tails),
            syncing: false,
            sync_waiters: Vec::new(),
            unproven,
            appended_bytes: 0,
            committed_bytes: 0,
            config,
            log,
        };
        let (runtime, kv) = (runtime.clone(), kv.cloned());
        let partition = Arc::new(Self {
            name,
            topic_id,
            runtime,
            kv,
            state: Mutex::new(state),
        });
        if needs_sync {
            partition.flush();
        }
        partition
    }

    /// The topic's name and the partition's number.
    pub fn name(&self) -> &TopicPartition {
        &self.name
    }

    /// The topic's identity.
    pub fn topic_id(&self) -> TopicId {
        self.topic_id
    }

    /// The watermarks, all from one moment.
    pub fn offsets(&self) -> Offsets {
        self.lock().offsets
    }

    /// The epoch in which this broker leads the partition.
    pub fn epoch(&self) -> LeaderEpoch {
        self.lock().epoch
    }

    /// Whether recovery found records that must be synced again before anything is served.
    pub fn is_unproven(&self) -> bool {
        self.lock().unproven.is_some()
    }

    /// What the partition does at present.
    pub fn status(&self) -> Status {
        self.lock().status.clone()
    }

    /// Looks at the log under the lock: for descriptions and checkpoints.
    pub fn with_log<T>(&self, look: impl FnOnce(&Log<R>) -> T) -> T {
        look(&self.lock().log)
    }

    /// Acts on changed settings from now on.
    pub fn reconfigure(self: &Arc<Self>, config: PartitionConfig) {
        let mut state = self.lock();
        state.log.reconfigure(config.log.clone());
        let commits_at_once = state.config.fsync && !config.fsync;
        state.config = config;
        if commits_at_once {
            let end = state.log.end();
            let appended_bytes = state.appended_bytes;
            self.commit_to(&mut state, end, appended_bytes);
        }
    }

    /// Ends the partition: whoever waits is told, nothing is served any more.
    pub fn delete(&self) {
        let mut state = self.lock();
        state.status = Status::Deleted;
        state.waiters.wake();
        for (_, ack) in state.acks.drain(..) {
            // The producer may have gone; then nobody needs the answer.
            let _ = ack.send(Err(AckError::Deleted));
        }
        state.tail.clear();
    }

    /// Makes everything durable for a clean stop; nothing may be appended any more.
    pub async fn close(self: &Arc<Self>) {
        self.sync_now().await;
        self.lock().log.close();
        self.sync_now().await;
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State<R>> {
        self.state
            .lock()
            .expect("a panic under this lock stops the broker")
    }
}
