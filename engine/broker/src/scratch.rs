//! Decompression contexts, lent to whoever unpacks a batch: making one costs more than a batch.

use std::sync::Mutex;

use highwater_protocol::batch::Scratch;

/// Contexts kept for later; more are made when all are lent and dropped when too many come back.
const KEPT_MAX: usize = 8;

/// The contexts of a broker.
#[derive(Default)]
pub(crate) struct ScratchPool {
    free: Mutex<Vec<Scratch>>,
}

impl ScratchPool {
    /// A context, new or used.
    pub(crate) fn take(&self) -> Scratch {
        self.free
            .lock()
            .expect("no panic holds this lock")
            .pop()
            .unwrap_or_default()
    }

    /// Gives a context back.
    pub(crate) fn put(&self, scratch: Scratch) {
        let mut free = self.free.lock().expect("no panic holds this lock");
        if free.len() < KEPT_MAX {
            free.push(scratch);
        }
    }
}
