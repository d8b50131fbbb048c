//! Metadata records take effect: partitions come to life, are reconfigured, and end.

use std::sync::Arc;

use highwater_log::LogConfig;
use highwater_metadata::settings::{Durability, TopicSettings};
use highwater_metadata::state::{MetadataRecord, Topic};
use highwater_partition::{Partition, PartitionConfig};
use highwater_runtime::{DiskError, Runtime};
use highwater_types::{TopicId, TopicPartition};

use crate::Broker;
use crate::catalog::{Catalog, TopicEntry};

impl<R: Runtime> Broker<R> {
    /// Makes committed records act, in commit order. New partitions are durable when it returns:
    /// after CreateTopics answered success, the topic serves. Each topic named by a record is
    /// compared with metadata and brought in line.
    ///
    /// A partition that cannot be made (a full disk) is logged and tried again at the next start;
    /// until then it answers with a storage error.
    pub(crate) async fn apply(&self, records: &[MetadataRecord]) {
        for record in records {
            match record {
                MetadataRecord::TopicCreated { topic } => self.reconcile(topic.id).await,
                MetadataRecord::TopicDeleted { id }
                | MetadataRecord::PartitionsAdded { id, .. }
                | MetadataRecord::TopicConfigured { id, .. } => self.reconcile(*id).await,
                MetadataRecord::BrokerConfigured { .. } => self.broker_configured(),
                MetadataRecord::PartitionChanged { .. }
                | MetadataRecord::Cluster { .. }
                | MetadataRecord::ProducerIdsAllocated { .. }
                | MetadataRecord::BrokerStarted { .. } => {}
            }
        }
    }

    async fn reconcile(&self, id: TopicId) {
        let Some(topic) = self.metadata.state().topic_by_id(id).cloned() else {
            return self.topic_deleted(id).await;
        };
        if let Some(entry) = self.catalog().with_id(id) {
            self.reconfigure(entry, self.metadata.topic_settings(&topic));
        }
        let known = self.catalog().with_id(id).cloned();
        let mut entry = match known {
            Some(entry) => TopicEntry::clone(&entry),
            None => TopicEntry {
                name: Arc::clone(&topic.name),
                id,
                internal: topic.internal,
                settings: self.metadata.topic_settings(&topic),
                partitions: Vec::new(),
            },
        };
        if entry.partitions.len() == topic.partitions.len() && !entry.partitions.is_empty() {
            return;
        }
        // A name that was created again: the old topic's folders must be out of the way.
        let older = self.catalog().named(&topic.name).map(|other| other.id);
        if let Some(older) = older.filter(|older| *older != id) {
            self.topic_deleted(older).await;
        }
        self.fill(&mut entry, &topic).await;
        self.change_catalog(|catalog| catalog.put(entry));
    }

    /// Makes the partitions that `entry` lacks, then their folders' names durable.
    async fn fill(&self, entry: &mut TopicEntry<R>, topic: &Topic) {
        let config = self.partition_config(&entry.settings);
        for (index, state) in topic.partitions.iter().enumerate().skip(entry.partitions.len()) {
            let index = u32::try_from(index).expect("partitions are counted in 32 bits");
            let name = TopicPartition { topic: Arc::clone(&topic.name), partition: index };
            let (runtime, kv) = (&self.runtime, self.kv.as_ref());
            let made = self.create_log(&name, topic.id, config.log.clone()).await;
            entry.partitions.push(match made {
                Ok(log) => {
                    let epoch = state.leader_epoch;
                    Some(Partition::lead(runtime, kv, log, config.clone(), epoch))
                }
                Err(error) => {
                    self.runtime.log(format_args!("cannot make partition {name}: {error}"));
                    None
                }
            });
        }
        // All syncs are under way before the first one is waited for.
        entry.partitions.iter().flatten().for_each(Partition::flush);
        for partition in entry.partitions.iter().flatten() {
            partition.sync_now().await;
        }
    }

    async fn topic_deleted(&self, id: TopicId) {
        let mut taken = None;
        self.change_catalog(|catalog| taken = catalog.take(id));
        let Some(entry) = taken else { return };
        self.groups.topic_deleted(id);
        for (index, partition) in entry.partitions.iter().enumerate() {
            if let Some(partition) = partition {
                partition.delete();
            }
            let index = u32::try_from(index).expect("partitions are counted in 32 bits");
            let name = TopicPartition { topic: Arc::clone(&entry.name), partition: index };
            if let Err(error) = self.data_dir.delete_partition(&name, id).await {
                self.log_leftover(&name, &error);
            }
        }
        if let Err(error) = self.data_dir.remove_deleted() {
            self.runtime.log(format_args!("files of deleted topics stay: {error}"));
        }
    }

    /// A folder that could not be removed is harmless: it belongs to a topic id that is gone.
    fn log_leftover(&self, name: &TopicPartition, error: &DiskError) {
        self.runtime.log(format_args!("folder of deleted {name} stays until a restart: {error}"));
    }

    /// Broker settings are the defaults of every topic too.
    fn broker_configured(&self) {
        let settings = self.metadata.broker_settings();
        *self.settings.lock().expect("no panic holds this lock") = Arc::new(settings);
        let state = self.metadata.state();
        for entry in self.catalog().topics() {
            if let Some(topic) = state.topic_by_id(entry.id) {
                self.reconfigure(entry, self.metadata.topic_settings(topic));
            }
        }
    }

    fn reconfigure(&self, entry: &Arc<TopicEntry<R>>, settings: TopicSettings) {
        if entry.settings == settings {
            return;
        }
        let config = self.partition_config(&settings);
        for partition in entry.partitions.iter().flatten() {
            partition.reconfigure(config.clone());
        }
        let entry = TopicEntry { settings, ..TopicEntry::clone(entry) };
        self.change_catalog(|catalog| catalog.put(entry));
    }

    pub(crate) fn partition_config(&self, settings: &TopicSettings) -> PartitionConfig {
        PartitionConfig {
            log: LogConfig {
                segment_bytes: settings.segment_bytes,
                segment_ms: settings.segment_ms,
                retention_ms: settings.retention_ms,
                retention_bytes: settings.retention_bytes,
                index_bytes: settings.index_interval_bytes,
                producer_expiry_ms: self.settings().producer_id_expiration_ms,
                file_delete_delay_ms: settings.file_delete_delay_ms,
            },
            fsync: settings.durability == Durability::Fsync,
            tails: Arc::clone(&self.tails),
        }
    }

    pub(crate) fn change_catalog(&self, change: impl FnOnce(&mut Catalog<R>)) {
        let mut catalog = self.catalog.lock().expect("no panic holds this lock");
        let mut changed = Catalog::clone(&catalog);
        change(&mut changed);
        *catalog = Arc::new(changed);
    }
}
