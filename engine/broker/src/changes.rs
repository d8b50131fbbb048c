//! Changes of metadata on their way to partitions, in the order in which they were committed.

use std::sync::Arc;

use highwater_metadata::Applied;
use highwater_runtime::Runtime;
use highwater_runtime::task::oneshot;

use crate::Broker;

impl<R: Runtime> Broker<R> {
    /// Returns when every change that was committed before the call acts.
    ///
    /// The work is a task of its own: a client that goes away must not leave a topic half made.
    pub(crate) async fn act_on_changes(self: &Arc<Self>) {
        let (done, acted) = oneshot::channel();
        let broker = Arc::clone(self);
        self.runtime.spawn("metadata-changes", async move {
            let mut changes = broker.metadata.changes().await;
            loop {
                let commits: Vec<Applied> = std::iter::from_fn(|| changes.next_commit()).collect();
                if commits.is_empty() {
                    break;
                }
                broker.apply(&commits).await;
            }
            drop(changes);
            // The caller may be gone: the changes act all the same.
            let _ = done.send(());
        });
        // The sender is dropped only with the whole process.
        let _ = acted.await;
    }
}
