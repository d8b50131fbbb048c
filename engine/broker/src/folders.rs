//! Partition folders that a crash left behind or never made.

use highwater_log::{Log, LogConfig, LogError, OpenOptions};
use highwater_runtime::{Disk, DiskError, DiskErrorKind, Runtime};
use highwater_types::{TopicId, TopicPartition};

use crate::Broker;

impl<R: Runtime> Broker<R> {
    /// Makes the log of a partition that metadata knows and the disk does not.
    ///
    /// A folder of the name may be there: that of a deleted topic which a power loss brought back.
    /// Nothing of the new topic was acknowledged then, for that waits until the folder's name is
    /// durable; and the old topic is gone for good. So the folder is taken away.
    ///
    /// # Errors
    /// The disk refuses, or the folder belongs to a topic that lives: nothing was changed.
    pub(crate) async fn create_log(
        &self,
        name: &TopicPartition,
        topic_id: TopicId,
        config: LogConfig,
    ) -> Result<Log<R>, LogError> {
        let (runtime, kv, now_ms) = (&self.runtime, self.kv.as_ref(), self.runtime.wall_ms());
        let create = || Log::create(runtime, kv, name, topic_id, config.clone(), now_ms);
        match create() {
            Err(LogError::Disk(error)) if error.kind == DiskErrorKind::Exists => {}
            other => return other,
        }
        let (clean, checkpoint) = (false, None);
        let options = OpenOptions {
            topic_id,
            config: config.clone(),
            clean,
            checkpoint,
        };
        match Log::open(runtime, kv, name, options, now_ms) {
            Ok((log, _)) => Ok(log),
            Err(LogError::OtherTopic { found, .. }) if !self.knows(found) => {
                self.data_dir.delete_partition(name, found).await?;
                create()
            }
            Err(error) => Err(error),
        }
    }

    fn knows(&self, topic: TopicId) -> bool {
        self.metadata.state().topic_by_id(topic).is_some()
    }
}

/// A folder in the data folder that looks like a partition's, when there is one.
///
/// # Errors
/// The disk refuses.
pub(crate) fn any_partition_folder<R: Runtime>(runtime: &R) -> Result<Option<String>, DiskError> {
    let is_partition = |name: &str| {
        let number = name.rsplit_once('-').map(|(_, number)| number);
        number.is_some_and(|number| number.parse::<u32>().is_ok())
    };
    let mut entries = runtime.disk().list("")?.into_iter();
    Ok(entries
        .find(|entry| entry.is_dir && is_partition(&entry.name))
        .map(|entry| entry.name))
}
