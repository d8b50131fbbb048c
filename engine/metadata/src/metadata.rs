//! The broker's way to metadata: snapshots to read, commands to change.

use std::fmt;
use std::sync::{Arc, Mutex};

use highwater_runtime::{Disk, DiskError, DiskErrorKind, Runtime};
use highwater_types::{BrokerId, ProducerId, TopicId};
use thiserror::Error;

use crate::changes::{ChangeQueue, Changes};
use crate::journal::{CommitError, Draft, FOLDER, Journal, RecoverError, Recovery};
use crate::settings::{BrokerSettings, Layers, SettingError, StaticSettings, TopicSettings};
use crate::settings::{broker_key, topic_key};
use crate::state::{
    AlterConfigError, ConfigOp, CreatePartitionsError, CreateTopicError, DeleteTopicError, Limits,
    MetadataRecord, MetadataState, NewTopic, Rules, Topic, UnknownTopic,
};

#[cfg(test)]
mod tests;

/// Records that a command made, in order, on disk and visible.
pub type Applied = Arc<[MetadataRecord]>;

/// How metadata is kept; [`Default`] is right for production.
#[derive(Clone, Copy, Debug)]
pub struct MetadataOptions {
    /// How much the cluster may hold.
    pub limits: Limits,
    /// The size of a journal at which a snapshot is made.
    pub journal_bytes_max: u64,
}

impl Default for MetadataOptions {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            journal_bytes_max: 4 << 20,
        }
    }
}

/// Why metadata does not open.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum OpenError {
    /// The folder cannot be used.
    #[error(transparent)]
    Recover(#[from] RecoverError),
    /// The disk refuses the first record.
    #[error("cannot start a new cluster: {0}")]
    First(CommitError<std::convert::Infallible>),
    /// A stored setting that this version does not know: start the version that wrote it.
    #[error("{place} has a stored setting that this version refuses: {error}")]
    Setting {
        /// Whose setting.
        place: String,
        /// What is wrong with it.
        error: SettingError,
    },
}

/// All metadata of a broker. Clones share it.
pub struct Metadata<R: Runtime> {
    shared: Arc<Shared<R>>,
}

impl<R: Runtime> Clone for Metadata<R> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
        }
    }
}

impl<R: Runtime> fmt::Debug for Metadata<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metadata")
            .field("broker", &self.shared.broker)
            .finish_non_exhaustive()
    }
}

struct Shared<R: Runtime> {
    runtime: R,
    journal: Journal<R>,
    statics: StaticSettings,
    limits: Limits,
    broker: BrokerId,
    changes: Arc<ChangeQueue>,
    /// Ids of this broker's block that nobody has yet: `[first, end)`.
    producer_ids: Mutex<(i64, i64)>,
}

impl<R: Runtime> Metadata<R> {
    /// Recovers the metadata of the data folder; a new folder becomes a new cluster.
    ///
    /// # Errors
    /// [`OpenError`], which names the file. The operator must act; nothing is lost.
    pub async fn open(
        runtime: R,
        statics: StaticSettings,
        options: MetadataOptions,
    ) -> Result<(Self, Recovery), OpenError> {
        let (journal, recovery) = Journal::open(runtime.clone(), options.journal_bytes_max).await?;
        check_stored_settings(&journal.state())?;
        if !journal.state().has_cluster_id() {
            let id = Arc::from(cluster_id(&runtime));
            let first = |draft: &mut Draft<'_>| {
                draft.add(MetadataRecord::Cluster { id });
                Ok(())
            };
            journal.commit(first).await.map_err(OpenError::First)?;
        }
        let broker = BrokerId(Layers::of_statics(&statics).broker_settings().node_id);
        let limits = options.limits;
        let producer_ids = Mutex::new((0, 0));
        let changes = Arc::new(ChangeQueue::default());
        journal.tell(Arc::clone(&changes));
        let shared = Shared {
            runtime,
            journal,
            statics,
            limits,
            broker,
            changes,
            producer_ids,
        };
        Ok((
            Self {
                shared: Arc::new(shared),
            },
            recovery,
        ))
    }

    /// Whether the data folder has metadata, of any kind.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn exists(runtime: &R) -> Result<bool, DiskError> {
        match runtime.disk().list(FOLDER) {
            Ok(entries) => Ok(!entries.is_empty()),
            Err(error) if error.kind == DiskErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Everything that is on disk. Cheap; do not keep it across a wait: a change must then copy.
    #[must_use]
    pub fn state(&self) -> Arc<MetadataState> {
        self.shared.journal.state()
    }

    /// The turn to act on committed changes, in commit order; waits while another has it.
    ///
    /// After a command returns, whoever then takes the turn and empties it has acted on the
    /// command's records, or another has. Act in a task that nobody drops half-way. What was
    /// recovered at the start is not among the changes: it is in [`Metadata::state`].
    pub async fn changes(&self) -> Changes<'_> {
        self.shared.changes.turn().await
    }

    /// This broker's number.
    #[must_use]
    pub fn broker(&self) -> BrokerId {
        self.shared.broker
    }

    /// What this broker was started with.
    #[must_use]
    pub fn statics(&self) -> &StaticSettings {
        &self.shared.statics
    }

    /// This broker's effective settings now.
    #[must_use]
    pub fn broker_settings(&self) -> BrokerSettings {
        self.state()
            .layers(self.broker(), self.statics())
            .broker_settings()
    }

    /// The effective settings of `topic` now.
    #[must_use]
    pub fn topic_settings(&self, topic: &Topic) -> TopicSettings {
        self.state()
            .layers(self.broker(), self.statics())
            .topic_settings(&topic.configs)
    }

    /// Makes topics, each on its own: one that is refused leaves the others. With `validate_only`
    /// nothing is made, and the answers say what would be.
    ///
    /// # Errors
    /// [`CommitError`]: no topic was made, or it is not known.
    pub async fn create_topics(
        &self,
        topics: &[NewTopic],
        validate_only: bool,
    ) -> Result<
        (Vec<Result<Arc<Topic>, CreateTopicError>>, Applied),
        CommitError<std::convert::Infallible>,
    > {
        let ids: Vec<TopicId> = topics.iter().map(|_| self.fresh_topic_id()).collect();
        let brokers = [self.broker()];
        let command = |draft: &mut Draft<'_>| {
            let settings = draft
                .state()
                .layers(self.broker(), self.statics())
                .broker_settings();
            let rules = self.rules(&settings, &brokers);
            let mut answers = Vec::with_capacity(topics.len());
            for (new, id) in topics.iter().zip(&ids) {
                let record = draft.state().create_topic(new, *id, &rules);
                answers.push(record.map(|record| {
                    let MetadataRecord::TopicCreated { topic } = &record else {
                        unreachable!("creating a topic gives no other record")
                    };
                    let topic = Arc::clone(topic);
                    draft.add(record);
                    topic
                }));
            }
            Ok(answers)
        };
        self.run(command, validate_only).await
    }

    /// Deletes topics by id, each on its own: one that is refused leaves the others.
    ///
    /// # Errors
    /// [`CommitError`]: no topic was deleted, or it is not known.
    pub async fn delete_topics(
        &self,
        ids: &[TopicId],
    ) -> Result<Vec<Result<(), DeleteTopicError>>, CommitError<std::convert::Infallible>> {
        let command = |draft: &mut Draft<'_>| {
            let layers = draft.state().layers(self.broker(), self.statics());
            if !layers.broker_settings().delete_topic {
                return Ok(vec![Err(DeleteTopicError::Disabled); ids.len()]);
            }
            let mut answers = Vec::with_capacity(ids.len());
            for id in ids {
                let record = draft.state().delete_topic(*id);
                answers.push(record.map(|record| draft.add(record)));
            }
            Ok(answers)
        };
        Ok(self.run(command, false).await?.0)
    }

    /// Brings the topic `name` to `count` partitions.
    ///
    /// # Errors
    /// [`CommitError`].
    pub async fn create_partitions(
        &self,
        name: &str,
        count: i32,
        assignments: Option<&[Vec<i32>]>,
        validate_only: bool,
    ) -> Result<Applied, CommitError<CreatePartitionsError>> {
        let brokers = [self.broker()];
        let command = |draft: &mut Draft<'_>| {
            let settings = draft
                .state()
                .layers(self.broker(), self.statics())
                .broker_settings();
            let rules = self.rules(&settings, &brokers);
            let record = draft
                .state()
                .create_partitions(name, count, assignments, &rules)?;
            draft.add(record);
            Ok(())
        };
        Ok(self.run(command, validate_only).await?.1)
    }

    /// Changes settings of the topic `name`. The caller tells the topic's partitions.
    ///
    /// # Errors
    /// [`CommitError`].
    pub async fn alter_topic_configs(
        &self,
        name: &str,
        change: ConfigsChange<'_>,
        validate_only: bool,
    ) -> Result<Applied, CommitError<AlterConfigError>> {
        let limits = self.statics().limits();
        let command = |draft: &mut Draft<'_>| {
            let record = match change {
                ConfigsChange::Ops(ops) => draft.state().alter_topic_configs(name, ops, limits)?,
                ConfigsChange::Replace(configs) => {
                    draft.state().replace_topic_configs(name, configs, limits)?
                }
            };
            draft.add(record);
            Ok(())
        };
        Ok(self.run(command, validate_only).await?.1)
    }

    /// Changes dynamic settings of one broker, or of all with `None`. The caller tells the live
    /// parts.
    ///
    /// # Errors
    /// [`CommitError`].
    pub async fn alter_broker_configs(
        &self,
        broker: Option<BrokerId>,
        change: ConfigsChange<'_>,
        validate_only: bool,
    ) -> Result<Applied, CommitError<AlterConfigError>> {
        let statics = self.statics();
        let command = |draft: &mut Draft<'_>| {
            if let Some(broker) = broker.filter(|broker| *broker != self.broker()) {
                return Err(AlterConfigError::UnknownBroker { broker });
            }
            let state = draft.state();
            let record = match change {
                ConfigsChange::Ops(ops) => state.alter_broker_configs(broker, ops, statics)?,
                ConfigsChange::Replace(configs) => {
                    state.replace_broker_configs(broker, configs, statics)?
                }
            };
            draft.add(record);
            Ok(())
        };
        Ok(self.run(command, validate_only).await?.1)
    }

    /// A producer id that nobody ever had.
    ///
    /// # Errors
    /// [`CommitError`] when the block is used up and no new one can be had.
    pub async fn next_producer_id(
        &self,
    ) -> Result<ProducerId, CommitError<std::convert::Infallible>> {
        if let Some(id) = self.take_from_block() {
            return Ok(id);
        }
        let command = |draft: &mut Draft<'_>| {
            let record = draft.state().allocate_producer_ids();
            draft.add(record);
            Ok(draft.state().next_producer_id().0)
        };
        let (end, records) = self.shared.journal.commit(command).await?;
        let [MetadataRecord::ProducerIdsAllocated { first, .. }] = records[..] else {
            unreachable!("allocating producer ids gives one record")
        };
        let mut block = self.lock_block();
        if block.0 == block.1 {
            // Two callers may have asked at once: the ids of the second block are then lost.
            *block = (first + 1, end);
        }
        Ok(ProducerId(first))
    }

    /// Starts a new leadership of a partition by the leader that it has.
    ///
    /// # Errors
    /// [`CommitError`].
    pub async fn bump_leader_epoch(
        &self,
        id: TopicId,
        partition: u32,
    ) -> Result<Applied, CommitError<UnknownTopic>> {
        let command = |draft: &mut Draft<'_>| {
            let record = draft.state().bump_leader_epoch(id, partition)?;
            draft.add(record);
            Ok(())
        };
        Ok(self.run(command, false).await?.1)
    }

    /// Notes that this broker started.
    ///
    /// # Errors
    /// [`CommitError`]; on a full disk the broker may go on without.
    pub async fn broker_started(&self) -> Result<Applied, CommitError<std::convert::Infallible>> {
        let (broker, incarnation) = (self.broker(), self.shared.runtime.incarnation());
        let command = |draft: &mut Draft<'_>| {
            draft.add(MetadataRecord::BrokerStarted {
                broker,
                incarnation,
            });
            Ok(())
        };
        Ok(self.run(command, false).await?.1)
    }

    async fn run<T, E>(
        &self,
        command: impl FnOnce(&mut Draft<'_>) -> Result<T, E>,
        validate_only: bool,
    ) -> Result<(T, Applied), CommitError<E>> {
        if validate_only {
            let answer = self
                .shared
                .journal
                .rehearse(command)
                .map_err(CommitError::Refused)?;
            return Ok((answer, Arc::from([])));
        }
        self.shared.journal.commit(command).await
    }

    fn rules<'a>(&self, settings: &BrokerSettings, brokers: &'a [BrokerId]) -> Rules<'a> {
        Rules {
            limits: self.shared.limits,
            settings: self.statics().limits(),
            brokers,
            partitions_default: settings.partitions_default,
            replication_default: settings.default_replication_factor,
            offsets_topic_partitions: settings.offsets_topic_partitions,
        }
    }

    /// An id that no topic ever had: random, and mixed with this start's number, so that equal
    /// random streams of two starts give different ids.
    fn fresh_topic_id(&self) -> TopicId {
        let runtime = &self.shared.runtime;
        let state = self.state();
        loop {
            let low = runtime.draw("metadata.topic-id");
            let high = runtime.draw("metadata.topic-id") ^ runtime.incarnation();
            let id = TopicId(((u128::from(high) << 64) | u128::from(low)).to_be_bytes());
            // As text, ids that start with '-' look like flags to command lines (KIP-516).
            let dashed = id.0[0] >> 2 == 62;
            if id != TopicId::NONE && !dashed && state.topic_by_id(id).is_none() {
                return id;
            }
        }
    }

    fn take_from_block(&self) -> Option<ProducerId> {
        let mut block = self.lock_block();
        let (next, end) = *block;
        (next < end).then(|| {
            block.0 += 1;
            ProducerId(next)
        })
    }

    fn lock_block(&self) -> std::sync::MutexGuard<'_, (i64, i64)> {
        self.shared
            .producer_ids
            .lock()
            .expect("no step under this lock panics")
    }
}

/// How settings are to change.
#[derive(Clone, Copy, Debug)]
pub enum ConfigsChange<'a> {
    /// One by one: IncrementalAlterConfigs.
    Ops(&'a [ConfigOp]),
    /// To exactly these: AlterConfigs.
    Replace(&'a [(String, Option<String>)]),
}

/// 22 characters of base64 for URLs, as Kafka names clusters. The first is a letter or a digit:
/// Kafka's tools take a leading dash for an option.
fn cluster_id<R: Runtime>(runtime: &R) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let high = runtime.draw("metadata.cluster-id") ^ runtime.incarnation();
    let bits = (u128::from(high) << 64) | u128::from(runtime.draw("metadata.cluster-id"));
    (0..22)
        .map(|nth| (nth, (bits >> (6 * nth)) as usize & 63))
        .map(|(nth, digit)| char::from(ALPHABET[if nth == 0 { digit % 62 } else { digit }]))
        .collect()
}

/// Everything stored was checked when it was set; another version may have set it.
fn check_stored_settings(state: &MetadataState) -> Result<(), OpenError> {
    for topic in state.topics() {
        Layers::check_stored(&topic.configs, topic_key).map_err(|error| OpenError::Setting {
            place: format!("topic {:?}", topic.name),
            error,
        })?;
    }
    for (place, configs) in state.all_broker_configs() {
        Layers::check_stored(configs, broker_key)
            .map_err(|error| OpenError::Setting { place, error })?;
    }
    Ok(())
}
