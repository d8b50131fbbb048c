//! Metadata records take effect: partitions come to life, are reconfigured, and end.

use std::collections::BTreeSet;
use std::sync::Arc;

use highwater_log::LogConfig;
use highwater_metadata::Applied;
use highwater_metadata::settings::{Durability, TopicSettings};
use highwater_metadata::state::{MetadataRecord, Topic};
use highwater_partition::{Partition, PartitionConfig};
use highwater_runtime::{DiskError, Runtime};
use highwater_types::{TopicId, TopicPartition};

use crate::Broker;
use crate::catalog::{Catalog, TopicEntry};

impl<R: Runtime> Broker<R> {
    /// Makes commits act. Each topic that a record names is compared with metadata and brought in
    /// line; many topics at once share their waits for the disk. New partitions are durable when
    /// it returns: after CreateTopics answered success, the topic serves.
    ///
    /// A partition that cannot be made (a full disk) is logged and tried again at the next start;
    /// until then it answers with a storage error.
    pub(crate) async fn apply(&self, commits: &[Applied]) {
        let mut changed: BTreeSet<TopicId> = BTreeSet::new();
        let mut settings_changed = false;
        for record in commits.iter().flat_map(|records| records.iter()) {
            match record {
                MetadataRecord::TopicCreated { topic } => drop(changed.insert(topic.id)),
                MetadataRecord::TopicDeleted { id }
                | MetadataRecord::PartitionsAdded { id, .. }
                | MetadataRecord::TopicConfigured { id, .. } => drop(changed.insert(*id)),
                MetadataRecord::BrokerConfigured { .. } => settings_changed = true,
                MetadataRecord::PartitionChanged { .. }
                | MetadataRecord::Cluster { .. }
                | MetadataRecord::ProducerIdsAllocated { .. }
                | MetadataRecord::BrokerStarted { .. } => {}
            }
        }
        if settings_changed {
            self.broker_configured();
        }
        let (live, gone) = self.live_and_gone(changed);
        self.delete_topics(gone).await;
        self.bring_in_line(live).await;
    }

    /// Parts topics that metadata knows from those that must go: the deleted ones, and an older
    /// one of a name that was created again.
    fn live_and_gone(&self, changed: BTreeSet<TopicId>) -> (Vec<Arc<Topic>>, BTreeSet<TopicId>) {
        let (state, catalog) = (self.metadata.state(), self.catalog());
        let (mut live, mut gone) = (Vec::new(), BTreeSet::new());
        for id in changed {
            match state.topic_by_id(id) {
                Some(topic) => {
                    let named = catalog.named(&topic.name).map(|other| other.id);
                    gone.extend(named.filter(|named| *named != id));
                    live.push(Arc::clone(topic));
                }
                None => drop(gone.insert(id)),
            }
        }
        (live, gone)
    }

    async fn bring_in_line(&self, topics: Vec<Arc<Topic>>) {
        let mut grown = Vec::new();
        for topic in topics {
            let settings = self.metadata.topic_settings(&topic);
            if let Some(entry) = self.catalog().with_id(topic.id) {
                self.reconfigure(vec![(Arc::clone(entry), settings.clone())]);
            }
            let mut entry = match self.catalog().with_id(topic.id) {
                Some(entry) => TopicEntry::clone(entry),
                None => TopicEntry {
                    name: Arc::clone(&topic.name),
                    id: topic.id,
                    internal: topic.internal,
                    settings,
                    partitions: Vec::new(),
                },
            };
            if entry.partitions.len() < topic.partitions.len() {
                self.fill(&mut entry, &topic).await;
                grown.push(entry);
            }
        }
        // All syncs are under way before the first one is waited for.
        let partitions = || {
            grown
                .iter()
                .flat_map(|entry| entry.partitions.iter().flatten())
        };
        partitions().for_each(Partition::flush);
        for partition in partitions() {
            partition.sync_now().await;
        }
        if !grown.is_empty() {
            self.change_catalog(|catalog| grown.into_iter().for_each(|entry| catalog.put(entry)));
        }
    }

    /// Makes the partitions that `entry` lacks. They are not durable yet.
    async fn fill(&self, entry: &mut TopicEntry<R>, topic: &Topic) {
        let config = self.partition_config(&entry.settings);
        for (index, state) in topic
            .partitions
            .iter()
            .enumerate()
            .skip(entry.partitions.len())
        {
            let name = partition_name(&topic.name, index);
            let (runtime, kv) = (&self.runtime, self.kv.as_ref());
            let made = self.create_log(&name, topic.id, config.log.clone()).await;
            entry.partitions.push(match made {
                Ok(log) => {
                    let epoch = state.leader_epoch;
                    Some(Partition::lead(runtime, kv, log, config.clone(), epoch))
                }
                Err(error) => {
                    self.runtime
                        .log(format_args!("cannot make partition {name}: {error}"));
                    None
                }
            });
        }
    }

    async fn delete_topics(&self, gone: BTreeSet<TopicId>) {
        let mut taken = Vec::new();
        if !gone.is_empty() {
            self.change_catalog(|catalog| {
                taken.extend(gone.iter().filter_map(|id| catalog.take(*id)));
            });
        }
        if taken.is_empty() {
            return;
        }
        let mut folders = Vec::new();
        for entry in &taken {
            self.groups.topic_deleted(entry.id);
            entry
                .partitions
                .iter()
                .flatten()
                .for_each(|partition| partition.delete());
            let count = entry.partitions.len();
            folders.extend((0..count).map(|index| (partition_name(&entry.name, index), entry.id)));
        }
        for (name, error) in self.data_dir.delete_partitions(&folders).await {
            self.log_leftover(&name, &error);
        }
        if let Err(error) = self.data_dir.remove_deleted() {
            self.runtime
                .log(format_args!("files of deleted topics stay: {error}"));
        }
    }

    /// A folder that could not be removed is harmless: it belongs to a topic id that is gone.
    fn log_leftover(&self, name: &TopicPartition, error: &DiskError) {
        self.runtime.log(format_args!(
            "folder of deleted {name} stays until a restart: {error}"
        ));
    }

    /// Broker settings are the defaults of every topic too.
    fn broker_configured(&self) {
        let settings = self.metadata.broker_settings();
        *self.settings.lock().expect("no panic holds this lock") = Arc::new(settings);
        let state = self.metadata.state();
        let catalog = self.catalog();
        let entries = catalog.topics().filter_map(|entry| {
            let topic = state.topic_by_id(entry.id)?;
            Some((Arc::clone(entry), self.metadata.topic_settings(topic)))
        });
        self.reconfigure(entries.collect());
    }

    /// Gives live partitions their topics' new settings.
    fn reconfigure(&self, topics: Vec<(Arc<TopicEntry<R>>, TopicSettings)>) {
        let mut changed = Vec::new();
        for (entry, settings) in topics {
            // A broker's setting may act on partitions without being a topic's.
            let config = self.partition_config(&settings);
            for partition in entry.partitions.iter().flatten() {
                partition.reconfigure(config.clone());
            }
            if entry.settings != settings {
                changed.push(TopicEntry {
                    settings,
                    ..TopicEntry::clone(&entry)
                });
            }
        }
        if !changed.is_empty() {
            self.change_catalog(|catalog| changed.into_iter().for_each(|entry| catalog.put(entry)));
        }
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

fn partition_name(topic: &Arc<str>, index: usize) -> TopicPartition {
    let partition = u32::try_from(index).expect("partitions are counted in 32 bits");
    TopicPartition {
        topic: Arc::clone(topic),
        partition,
    }
}
