//! The broker: what every connection of every core shares.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use highwater_log::DataDir;
use highwater_metadata::Metadata;
use highwater_metadata::settings::BrokerSettings;
use highwater_partition::{Partition, TailBudget};
use highwater_protocol::message::MessageError;
use highwater_runtime::{Listener, NetError, Runtime};
use highwater_types::TopicId;

use crate::catalog::Catalog;
use crate::connection;
use crate::error_code::ResponseError;
use crate::groups::Groups;
use crate::scratch::ScratchPool;
use crate::session::SessionCache;

/// How long to wait before accepting again when descriptors ran out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// One broker. Shared by all cores.
pub struct Broker<R: Runtime> {
    pub(crate) runtime: R,
    pub(crate) kv: Option<R::Kv>,
    pub(crate) data_dir: DataDir<R>,
    pub(crate) metadata: Metadata<R>,
    pub(crate) settings: Mutex<Arc<BrokerSettings>>,
    pub(crate) catalog: Mutex<Arc<Catalog<R>>>,
    pub(crate) sessions: Mutex<SessionCache>,
    pub(crate) groups: Groups<R>,
    pub(crate) advertised: Mutex<(String, u16)>,
    pub(crate) tails: Arc<TailBudget>,
    pub(crate) scratch: ScratchPool,
    pub(crate) connections: AtomicUsize,
    pub(crate) disk_full: AtomicBool,
    pub(crate) stopping: AtomicBool,
}

impl<R: Runtime> Broker<R> {
    /// The world.
    pub fn runtime(&self) -> &R {
        &self.runtime
    }

    /// The effective settings of this broker, at this moment.
    pub fn settings(&self) -> Arc<BrokerSettings> {
        Arc::clone(&self.settings.lock().expect("no panic holds this lock"))
    }

    /// The topics of this moment.
    pub fn catalog(&self) -> Arc<Catalog<R>> {
        Arc::clone(&self.catalog.lock().expect("no panic holds this lock"))
    }

    /// What the cluster is made of.
    pub fn metadata(&self) -> &Metadata<R> {
        &self.metadata
    }

    /// This broker's number.
    pub(crate) fn node_id(&self) -> i32 {
        i32::try_from(self.settings().node_id).expect("a node id is a positive 32-bit number")
    }

    /// Where clients are told to connect.
    pub fn advertised(&self) -> (String, u16) {
        self.advertised
            .lock()
            .expect("no panic holds this lock")
            .clone()
    }

    pub(crate) fn sessions(&self) -> MutexGuard<'_, SessionCache> {
        self.sessions.lock().expect("no panic holds this lock")
    }

    /// The live partition `index` of the topic called `name`.
    pub(crate) fn partition_by_name(
        &self,
        name: &str,
        index: i32,
    ) -> Result<Arc<Partition<R>>, ResponseError> {
        let catalog = self.catalog();
        let topic = catalog
            .named(name)
            .ok_or(ResponseError::UnknownTopicOrPartition)?;
        partition_of(&topic.partitions, index)
    }

    /// The live partition `index` of the topic with identity `id`.
    pub(crate) fn partition_by_id(
        &self,
        id: TopicId,
        index: i32,
    ) -> Result<Arc<Partition<R>>, ResponseError> {
        let catalog = self.catalog();
        let topic = catalog.with_id(id).ok_or(ResponseError::UnknownTopicId)?;
        partition_of(&topic.partitions, index)
    }

    /// Whether `topic` is one in which the broker keeps its own records.
    pub(crate) fn is_internal(&self, topic: &str) -> bool {
        self.catalog()
            .named(topic)
            .is_some_and(|topic| topic.internal)
    }

    /// Whether so little space is left that nothing may be appended.
    pub(crate) fn disk_is_full(&self) -> bool {
        self.disk_full.load(Ordering::Relaxed)
    }

    /// Whether producers' batches are kept for readers at the tail.
    pub(crate) fn keeps_tails(&self) -> bool {
        self.tails.keeps_any()
    }

    /// Serves the connections of `listener` on this core until the broker stops. `runtime` must
    /// be this core's.
    pub async fn serve<L: Listener>(self: Arc<Self>, runtime: R, mut listener: L) {
        while !self.stopping.load(Ordering::Acquire) {
            match listener.accept().await {
                Ok((reader, writer, peer)) => {
                    let broker = Arc::clone(&self);
                    let max =
                        usize::try_from(self.settings().connections_max).unwrap_or(usize::MAX);
                    if self.connections.fetch_add(1, Ordering::AcqRel) >= max {
                        // Dropping both halves closes it; the client tries again later.
                        self.connections.fetch_sub(1, Ordering::AcqRel);
                        continue;
                    }
                    runtime.spawn("connection", async move {
                        connection::serve(Arc::clone(&broker), reader, writer, peer).await;
                        broker.connections.fetch_sub(1, Ordering::AcqRel);
                    });
                }
                Err(NetError::Exhausted) => runtime.sleep(ACCEPT_PAUSE).await,
                Err(_) => return,
            }
        }
    }

    /// Clients connected at this moment.
    pub fn connection_count(&self) -> usize {
        self.connections.load(Ordering::Acquire)
    }

    /// Says that a client sent what is not served; its connection is closed.
    pub(crate) fn log_rejected(&self, peer: SocketAddr, error: &MessageError) {
        self.runtime
            .log(format_args!("connection from {peer} closed: {error}"));
    }

    /// Says that a handler built an answer that cannot be sent.
    pub(crate) fn log_bug(&self, error: &MessageError) {
        self.runtime
            .log(format_args!("bug, please report: {error}"));
    }

    /// Says that stored bytes are damaged.
    pub(crate) fn log_corrupt(&self, place: &str, error: &dyn std::error::Error) {
        self.runtime
            .log(format_args!("{place}: {error}; nothing of it is served"));
    }
}

fn partition_of<R: Runtime>(
    partitions: &[Option<Arc<Partition<R>>>],
    index: i32,
) -> Result<Arc<Partition<R>>, ResponseError> {
    let slot = usize::try_from(index)
        .ok()
        .and_then(|index| partitions.get(index));
    let slot = slot.ok_or(ResponseError::UnknownTopicOrPartition)?;
    slot.clone().ok_or(ResponseError::KafkaStorageError)
}
