//! A clean end: everything durable, a checkpoint of every log, the marker last.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use highwater_log::LogCheckpoint;
use highwater_partition::Partition;
use highwater_runtime::{DiskError, Runtime};
use highwater_types::TopicId;

use crate::Broker;

impl<R: Runtime> Broker<R> {
    /// Stops serving, makes everything durable and marks the folder clean, so that the next
    /// start scans nothing. Connections still open are not answered any more.
    ///
    /// # Errors
    /// The marker was not written: nothing acknowledged is lost, but the next start recovers.
    pub async fn stop(self: &Arc<Self>) -> Result<(), DiskError> {
        self.stopping.store(true, Ordering::Release);
        self.groups.close();
        let _turn = self.metadata.changes().await;
        let catalog = self.catalog();
        catalog.partitions().for_each(Partition::flush);
        let mut checkpoints = Vec::new();
        for partition in catalog.partitions() {
            checkpoints.push(self.closed(partition).await);
        }
        if let Some(kv) = &self.kv {
            // A key store that does not sync is rebuilt from the log.
            let _ = highwater_runtime::Kv::sync(kv).await;
        }
        self.data_dir.close(checkpoints).await
    }

    /// Says up to where every log is durable, so that recovery scans no more than what came after.
    pub(crate) async fn write_checkpoint(&self) {
        let catalog = self.catalog();
        let checkpoints = catalog.partitions().map(|partition| {
            let checkpoint = partition.with_log(|log| log.checkpoint());
            (partition.topic_id(), partition.name().partition, checkpoint)
        });
        let checkpoints: Vec<_> = checkpoints.collect();
        if let Err(error) = self.data_dir.publish_checkpoint(checkpoints).await {
            self.runtime.log(format_args!(
                "recovery will scan more than it need: {error}"
            ));
        }
    }

    async fn closed(&self, partition: &Arc<Partition<R>>) -> (TopicId, u32, LogCheckpoint) {
        partition.close().await;
        let checkpoint = partition.with_log(|log| log.checkpoint());
        (partition.topic_id(), partition.name().partition, checkpoint)
    }
}
