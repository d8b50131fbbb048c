//! The data folder as a whole: whose it is, what the last run left, and which partitions are in it.
//!
//! ```text
//! highwater.meta    whose folder this is: format version, node, cluster
//! checkpoint        per partition, up to where its log is on the platter; replaced atomically
//! clean-shutdown    written last by a clean stop, removed before anything is loaded
//! {topic}-{n}/      a partition            ~{topic id}-{n}/   a deleted one, being removed
//! ```
//!
//! Specified in `docs/format/log.md`.

mod checkpoint_file;
mod identity;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use highwater_runtime::{Disk, DiskError, DiskErrorKind, Runtime};
use highwater_types::{BrokerId, TopicId, TopicPartition};

use crate::LogCheckpoint;

const META: &str = "highwater.meta";
const CHECKPOINT: &str = "checkpoint";
const MARKER: &str = "clean-shutdown";
/// What a deleted partition's folder begins with; no topic name has this character.
const DELETED: char = '~';

/// How to open a data folder.
#[derive(Clone, Debug)]
pub struct DataDirOptions {
    /// This broker's number: the folder must belong to it.
    pub node_id: BrokerId,
    /// The cluster that the folder must belong to; `None` takes any, and makes a new id for a
    /// new folder.
    pub cluster_id: Option<String>,
    /// Names that may be in a folder that is not a data folder yet, such as a lock file. Names
    /// that begin with a dot and `lost+found` always may.
    pub ignored: Vec<String>,
}

/// A data folder cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DataDirError {
    /// The disk refuses: the operator must act.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// There are files in it and none says that it is ours: choose an empty folder.
    #[error("the data folder has {found:?} in it and no file \"highwater.meta\": it is not ours")]
    Foreign {
        /// One of the files.
        found: String,
    },
    /// A newer release wrote it: start that one.
    #[error("file {file:?} has format version {version}, which this release does not know")]
    Newer {
        /// The file.
        file: String,
        /// Its version.
        version: u8,
    },
    /// The file that says whose folder it is cannot be read: restore it from a copy.
    #[error("file {file:?} is damaged")]
    Damaged {
        /// The file.
        file: String,
    },
    /// It belongs to another broker.
    #[error("file {file:?} says node {found}, this is node {expected}")]
    OtherNode {
        /// The file.
        file: String,
        /// Whose it is.
        found: BrokerId,
        /// This broker.
        expected: BrokerId,
    },
    /// It belongs to another cluster.
    #[error("file {file:?} says cluster {found:?}, this is cluster {expected:?}")]
    OtherCluster {
        /// The file.
        file: String,
        /// Whose it is.
        found: String,
        /// This cluster.
        expected: String,
    },
}

/// One data folder, open. Clones share it.
#[derive(Clone)]
pub struct DataDir<R: Runtime> {
    disk: R::Disk,
    node_id: BrokerId,
    cluster_id: Arc<str>,
    clean: bool,
    created: bool,
    checkpoint_damaged: bool,
    checkpoints: Arc<BTreeMap<(TopicId, u32), LogCheckpoint>>,
    published: Arc<Mutex<Bytes>>,
}

impl<R: Runtime> DataDir<R> {
    /// Opens the folder, making it a data folder when it is empty. The clean-shutdown marker is
    /// read and durably removed: whatever this run does, only its own clean stop makes it anew.
    ///
    /// # Errors
    /// See [`DataDirError`]; nothing was changed.
    pub async fn open(rt: &R, options: DataDirOptions) -> Result<Self, DataDirError> {
        let disk = rt.disk().clone();
        let entries = disk.list("")?;
        let (identity, created) = identity::load_or_make(rt, &options, &entries).await?;
        let clean = entries.iter().any(|entry| entry.name == MARKER);
        let (checkpoints, checkpoint_damaged) = read_checkpoints(&disk)?;
        if clean {
            match disk.remove(MARKER) {
                Err(error) if error.kind != DiskErrorKind::NotFound => return Err(error.into()),
                _ => disk.sync_dir("").await?,
            }
        }
        Ok(Self {
            disk,
            node_id: identity.node_id,
            cluster_id: identity.cluster_id.into(),
            clean,
            created,
            checkpoint_damaged,
            checkpoints: Arc::new(checkpoints),
            published: Arc::default(),
        })
    }

    /// The cluster that the folder belongs to.
    #[must_use]
    pub fn cluster_id(&self) -> &str {
        &self.cluster_id
    }

    /// The broker that the folder belongs to.
    #[must_use]
    pub fn node_id(&self) -> BrokerId {
        self.node_id
    }

    /// Whether this run made the folder.
    #[must_use]
    pub fn is_new(&self) -> bool {
        self.created
    }

    /// Whether the last run stopped cleanly.
    #[must_use]
    pub fn was_clean(&self) -> bool {
        self.clean
    }

    /// Whether the checkpoint file was there and could not be read: logs are scanned in full.
    #[must_use]
    pub fn checkpoint_was_damaged(&self) -> bool {
        self.checkpoint_damaged
    }

    /// What the last run's checkpoint file says of a partition.
    #[must_use]
    pub fn checkpoint_of(&self, topic_id: TopicId, partition: u32) -> Option<LogCheckpoint> {
        self.checkpoints.get(&(topic_id, partition)).copied()
    }

    /// The partitions that have a folder, by name. A folder may be empty or hold another topic.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn partitions(&self) -> Result<Vec<TopicPartition>, DiskError> {
        let folders = self.disk.list("")?.into_iter().filter(|entry| entry.is_dir);
        Ok(folders
            .filter_map(|entry| parse_folder(&entry.name))
            .collect())
    }

    /// Replaces the checkpoint file by `logs`. Nothing is written when nothing changed.
    ///
    /// # Errors
    /// The disk refuses: the old file is there still, and recovery scans more.
    pub async fn publish_checkpoint(
        &self,
        logs: impl IntoIterator<Item = (TopicId, u32, LogCheckpoint)>,
    ) -> Result<(), DiskError> {
        let content = checkpoint_file::encode(logs);
        if *self.lock_published() == content {
            return Ok(());
        }
        self.disk.publish(CHECKPOINT, content.clone()).await?;
        *self.lock_published() = content;
        Ok(())
    }

    /// The last step of a clean stop, after every log is closed and synced: `logs` are their
    /// checkpoints. A run that never finished loading must not call it.
    ///
    /// # Errors
    /// The disk refuses: the next start recovers.
    pub async fn close(
        &self,
        logs: impl IntoIterator<Item = (TopicId, u32, LogCheckpoint)>,
    ) -> Result<(), DiskError> {
        self.publish_checkpoint(logs).await?;
        self.disk
            .publish(MARKER, Bytes::from_static(b"clean\n"))
            .await
    }

    /// Takes the folder of a deleted partition out of the way, durably, so that its name can be
    /// used again. Its files go with [`DataDir::remove_deleted`].
    ///
    /// # Errors
    /// The disk refuses: the folder may still be there under its name.
    pub async fn delete_partition(
        &self,
        name: &TopicPartition,
        topic_id: TopicId,
    ) -> Result<(), DiskError> {
        let to = format!("{DELETED}{topic_id}-{}", name.partition);
        // A power loss may bring back what an earlier deletion moved.
        remove_folder(&self.disk, &to)?;
        match self.disk.rename(&name.to_string(), &to) {
            Err(error) if error.kind != DiskErrorKind::NotFound => Err(error),
            _ => self.disk.sync_dir("").await,
        }
    }

    /// As [`DataDir::delete_partition`] for many, which share one sync; answers those that failed.
    pub async fn delete_partitions(
        &self,
        partitions: &[(TopicPartition, TopicId)],
    ) -> Vec<(TopicPartition, DiskError)> {
        let mut failed = Vec::new();
        for (name, topic_id) in partitions {
            let to = format!("{DELETED}{topic_id}-{}", name.partition);
            let moved = remove_folder(&self.disk, &to)
                .and_then(|()| self.disk.rename(&name.to_string(), &to));
            match moved {
                Err(error) if error.kind != DiskErrorKind::NotFound => {
                    failed.push((name.clone(), error));
                }
                _ => {}
            }
        }
        if let Err(error) = self.disk.sync_dir("").await {
            failed.extend(
                partitions
                    .iter()
                    .map(|(name, _)| (name.clone(), error.clone())),
            );
        }
        failed
    }

    /// Removes the files of deleted partitions, also of earlier runs; answers how many there were.
    ///
    /// # Errors
    /// The disk refuses: the rest goes next time.
    pub fn remove_deleted(&self) -> Result<usize, DiskError> {
        let mut count = 0;
        for entry in self.disk.list("")? {
            if entry.is_dir && entry.name.starts_with(DELETED) {
                remove_folder(&self.disk, &entry.name)?;
                count += 1;
            }
        }
        Ok(count)
    }

    fn lock_published(&self) -> std::sync::MutexGuard<'_, Bytes> {
        self.published
            .lock()
            .expect("no step on the published bytes panics")
    }
}

fn remove_folder<D: Disk>(disk: &D, path: &str) -> Result<(), DiskError> {
    match disk.remove_dir(path) {
        Err(error) if error.kind != DiskErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// The checkpoints by partition, and whether the file was damaged. A missing one is empty.
#[allow(clippy::type_complexity, reason = "one caller, right above")]
fn read_checkpoints<D: Disk>(
    disk: &D,
) -> Result<(BTreeMap<(TopicId, u32), LogCheckpoint>, bool), DataDirError> {
    match disk.read(CHECKPOINT) {
        Ok(content) => match checkpoint_file::decode(&content) {
            checkpoint_file::Read::Good(checkpoints) => Ok((checkpoints, false)),
            checkpoint_file::Read::Newer(version) => Err(DataDirError::Newer {
                file: CHECKPOINT.to_owned(),
                version,
            }),
            checkpoint_file::Read::Damaged => Ok((BTreeMap::new(), true)),
        },
        Err(error) if error.kind == DiskErrorKind::NotFound => Ok((BTreeMap::new(), false)),
        // It is a cache of what a scan finds: bytes that cannot be read are bytes that are lost.
        Err(DiskError {
            kind: DiskErrorKind::Failed(_),
            ..
        }) => Ok((BTreeMap::new(), true)),
        Err(error) => Err(error.into()),
    }
}

/// The partition of a folder's name, such as `orders-3`.
fn parse_folder(name: &str) -> Option<TopicPartition> {
    let (topic, digits) = name.rsplit_once('-')?;
    let partition: u32 = digits.parse().ok()?;
    let is_topic = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let is_plain = partition.to_string() == digits && topic.bytes().all(is_topic);
    (is_plain && !topic.is_empty()).then(|| TopicPartition {
        topic: topic.into(),
        partition,
    })
}
