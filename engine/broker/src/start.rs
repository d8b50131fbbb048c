//! From a data folder to a broker that serves: identity, metadata, logs, in that order.

use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Mutex};

use highwater_log::RecoveryReport;
use highwater_log::{DataDir, DataDirError, DataDirOptions, Log, LogError, OpenOptions};
use highwater_metadata::settings::Layers;
use highwater_metadata::{Metadata, MetadataOptions, OpenError, Topic};
use highwater_partition::{Partition, TailBudget};
use highwater_runtime::{DiskError, DiskErrorKind, KvError, Runtime};
use highwater_types::{BrokerId, TopicPartition};

use crate::catalog::{Catalog, TopicEntry};
use crate::folders::any_partition_folder;
use crate::groups::Groups;
use crate::scratch::ScratchPool;
use crate::session::SessionCache;
use crate::{Broker, BrokerConfig};

/// The folder of the key store in the data folder.
const KV_FOLDER: &str = "index";

/// The file by which a process holds the data folder; the real world makes it before the engine
/// looks.
const LOCK_FILE: &str = "LOCK";

/// Why a broker did not start. Nothing in the data folder was changed for the worse.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The data folder cannot be used: the text names the file and the way out.
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    /// The metadata cannot be read: the text names the file.
    #[error(transparent)]
    Metadata(#[from] OpenError),
    /// Partitions are there and the metadata that names them is not.
    #[error(
        "the data folder holds partitions, such as {folder:?}, and its folder \"metadata\" is missing or empty: restore it from a backup, or move the partitions away to start a new cluster"
    )]
    MetadataMissing {
        /// One of the partitions' folders.
        folder: String,
    },
    /// The disk refuses.
    #[error(transparent)]
    Disk(#[from] DiskError),
}

/// What a start found, for the operator.
#[derive(Debug, Default)]
pub struct StartReport {
    /// The data folder was made by this start.
    pub is_new: bool,
    /// The last run stopped cleanly: nothing was scanned.
    pub was_clean: bool,
    /// Topics and partitions that are served.
    pub topics: usize,
    /// Partitions that are served.
    pub partitions: usize,
    /// Bytes that were scanned.
    pub scanned_bytes: u64,
    /// Torn bytes that were cut; none of them was acknowledged at `durability=fsync`.
    pub cut_bytes: u64,
    /// Partitions whose recovery an operator should read of.
    pub notable: Vec<(TopicPartition, RecoveryReport)>,
    /// Partitions that could not be opened, and why.
    pub offline: Vec<(TopicPartition, String)>,
    /// The key store was damaged or refused; indexes are rebuilt from the log as they are needed.
    pub index_rebuilt: Option<String>,
}

impl<R: Runtime> Broker<R> {
    /// Opens the data folder of `runtime` and recovers what is in it. Serves nothing yet: bind a
    /// listener, then call [`Broker::serve`] on every core.
    ///
    /// # Errors
    /// [`StartError`]; the operator must act.
    pub async fn start(
        runtime: R,
        config: BrokerConfig,
    ) -> Result<(Arc<Self>, StartReport), StartError> {
        let mut report = StartReport::default();
        let node_id = Layers::of_statics(&config.settings)
            .broker_settings()
            .node_id;
        let options = DataDirOptions {
            node_id: BrokerId(node_id),
            cluster_id: None,
            ignored: vec![LOCK_FILE.to_owned()],
        };
        let data_dir = DataDir::open(&runtime, options).await?;
        report.is_new = data_dir.is_new();
        report.was_clean = data_dir.was_clean();
        let kv = open_kv(&runtime, &mut report);
        let options = MetadataOptions::default();
        let partition_folder = any_partition_folder(&runtime)?;
        if let (Some(folder), false) = (partition_folder, Metadata::exists(&runtime)?) {
            return Err(StartError::MetadataMissing { folder });
        }
        let (metadata, recovery) =
            Metadata::open(runtime.clone(), config.settings.clone(), options).await?;
        if let Some(cut) = recovery.cut {
            let (path, at, bytes) = (cut.path, cut.at, cut.bytes);
            runtime.log(format_args!("{path}: {bytes} torn bytes cut at byte {at}; no change that was acknowledged is lost"));
            report.cut_bytes += bytes;
        }
        let settings = metadata.broker_settings();
        let slots = usize::try_from(settings.fetch_session_slots).unwrap_or(usize::MAX);
        let broker = Arc::new(Self {
            kv,
            data_dir,
            metadata,
            settings: Mutex::new(Arc::new(settings)),
            catalog: Mutex::new(Arc::new(Catalog::default())),
            sessions: Mutex::new(SessionCache::new(slots)),
            groups: Groups::default(),
            advertised: Mutex::new(config.advertised.clone()),
            tails: TailBudget::new(config.tail_bytes),
            scratch: ScratchPool::default(),
            connections: AtomicUsize::new(0),
            disk_full: AtomicBool::new(false),
            stopping: AtomicBool::new(false),
            runtime,
        });
        broker.look_at_disk();
        broker.open_topics(&mut report).await;
        broker.groups.open(&broker);
        if let Err(error) = broker.data_dir.remove_deleted() {
            broker
                .runtime
                .log(format_args!("files of deleted topics stay: {error}"));
        }
        let sweeper = Arc::clone(&broker);
        broker
            .runtime
            .spawn("sweeper", async move { sweeper.sweep().await });
        Ok((broker, report))
    }

    /// Tells clients to connect to `host` and `port` from now on.
    pub fn advertise(&self, host: String, port: u16) {
        *self.advertised.lock().expect("no panic holds this lock") = (host, port);
    }

    /// Opens every partition that metadata knows and this broker leads.
    async fn open_topics(&self, report: &mut StartReport) {
        let state = self.metadata.state();
        let mut catalog = Catalog::default();
        let mut made = Vec::new();
        for topic in state.topics() {
            let settings = self.metadata.topic_settings(topic);
            let mut entry = TopicEntry {
                name: Arc::clone(&topic.name),
                id: topic.id,
                internal: topic.internal,
                settings,
                partitions: Vec::with_capacity(topic.partitions.len()),
            };
            for index in 0..topic.partitions.len() {
                let partition = self.open_partition(topic, &entry, index, report).await;
                made.extend(partition.clone());
                entry.partitions.push(partition);
            }
            report.topics += 1;
            catalog.put(entry);
        }
        // All syncs began when the partitions were led. Only what counts as acknowledged once it is
        // synced waits for its own: a thousand logs of the other kind would hold up the start.
        for partition in &made {
            if partition.is_unproven() {
                partition.sync_now().await;
            }
        }
        report.partitions = made.len();
        *self.catalog.lock().expect("no panic holds this lock") = Arc::new(catalog);
    }

    async fn open_partition(
        &self,
        topic: &Topic,
        entry: &TopicEntry<R>,
        index: usize,
        report: &mut StartReport,
    ) -> Option<Arc<Partition<R>>> {
        let number = u32::try_from(index).expect("partitions are counted in 32 bits");
        let name = TopicPartition {
            topic: Arc::clone(&topic.name),
            partition: number,
        };
        let config = self.partition_config(&entry.settings);
        let options = OpenOptions {
            topic_id: topic.id,
            config: config.log.clone(),
            clean: self.data_dir.was_clean(),
            checkpoint: self.data_dir.checkpoint_of(topic.id, number),
        };
        let (runtime, kv) = (&self.runtime, self.kv.as_ref());
        let now_ms = runtime.wall_ms();
        let mut awaits_space = false;
        let opened = match Log::open(runtime, kv, &name, options, now_ms) {
            Ok((log, recovery)) => {
                awaits_space = recovery.rescue_skipped;
                report.scanned_bytes += recovery.scanned_bytes;
                report.cut_bytes += recovery.cut_bytes;
                if recovery.is_notable() {
                    report.notable.push((name.clone(), recovery));
                }
                Ok(log)
            }
            // The topic was committed and its folder was not made: a crash came between.
            Err(LogError::Disk(error)) if error.kind == DiskErrorKind::NotFound => {
                self.create_log(&name, topic.id, config.log.clone()).await
            }
            // And the folder of a deleted topic of the same name came back.
            Err(LogError::OtherTopic { .. }) => {
                self.create_log(&name, topic.id, config.log.clone()).await
            }
            Err(error) => Err(error),
        };
        match opened {
            Ok(log) => {
                let epoch = topic.partitions[index].leader_epoch;
                let partition = Partition::lead(runtime, kv, log, config, epoch);
                if awaits_space {
                    partition.await_space();
                }
                Some(partition)
            }
            Err(error) => {
                report.offline.push((name, error.to_string()));
                None
            }
        }
    }
}

/// Opens the key store, anew when it is damaged. Without one every index is rebuilt by scans.
fn open_kv<R: Runtime>(runtime: &R, report: &mut StartReport) -> Option<R::Kv> {
    let opened = match runtime.open_kv(KV_FOLDER) {
        Err(error @ KvError::Corrupt { .. }) => {
            report.index_rebuilt = Some(error.to_string());
            runtime
                .destroy_kv(KV_FOLDER)
                .and_then(|()| runtime.open_kv(KV_FOLDER))
        }
        other => other,
    };
    match opened {
        Ok(kv) => Some(kv),
        Err(error) => {
            report.index_rebuilt = Some(error.to_string());
            None
        }
    }
}
