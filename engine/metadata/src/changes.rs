//! Committed records on their way to the live parts of a broker, in commit order.
//!
//! Commits of several connections end in any order as seen by those who wait for them. What acts
//! on records (making and removing partitions) must see them as they were committed: whoever
//! takes the turn takes everything that waits, in order, and the others wait for it to end.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};

use highwater_runtime::task::oneshot;

use crate::metadata::Applied;

/// The queue of records that nobody acted on yet, and whose turn it is.
#[derive(Default)]
pub(crate) struct ChangeQueue {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    waiting: VecDeque<Applied>,
    taken: bool,
    waiters: VecDeque<oneshot::Sender<()>>,
}

impl ChangeQueue {
    pub(crate) fn push(&self, records: Applied) {
        self.lock().waiting.push_back(records);
    }

    /// Waits for the turn.
    pub(crate) async fn turn(&self) -> Changes<'_> {
        while let Some(free) = self.try_take() {
            // A dropped sender wakes as well: the turn is looked at again.
            let _ = free.await;
        }
        Changes { queue: self }
    }

    /// Takes the turn, or answers what wakes when it may be free.
    fn try_take(&self) -> Option<oneshot::Receiver<()>> {
        let mut inner = self.lock();
        if !inner.taken {
            inner.taken = true;
            return None;
        }
        let (sender, receiver) = oneshot::channel();
        inner.waiters.push_back(sender);
        Some(receiver)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().expect("no step under this lock panics")
    }
}

/// The turn to act on changes; dropping it passes it on.
pub struct Changes<'a> {
    queue: &'a ChangeQueue,
}

impl Changes<'_> {
    /// The next commit that nobody acted on.
    #[must_use]
    pub fn next_commit(&mut self) -> Option<Applied> {
        self.queue.lock().waiting.pop_front()
    }
}

impl Drop for Changes<'_> {
    fn drop(&mut self) {
        let mut inner = self.queue.lock();
        inner.taken = false;
        // One that went away does not take the turn: wake the next one too.
        while let Some(waiter) = inner.waiters.pop_front() {
            if waiter.send(()).is_ok() {
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;
    use std::sync::Arc;

    use highwater_runtime::Runtime;
    use highwater_sim_disk::TestRuntime;

    use super::*;

    #[test]
    fn a_turn_that_waits_sees_what_the_one_before_left() {
        let world = TestRuntime::new(1);
        let queue: Rc<ChangeQueue> = Rc::default();
        let seen: Rc<RefCell<Vec<&str>>> = Rc::default();
        world.block_on(async {
            let first = queue.turn().await;
            for name in ["second", "third"] {
                let (queue, seen) = (queue.clone(), seen.clone());
                world.spawn("waiter", async move {
                    let mut turn = queue.turn().await;
                    if turn.next_commit().is_some() {
                        seen.borrow_mut().push(name);
                    }
                });
            }
            queue.push(Arc::from([]));
            world.sleep(std::time::Duration::from_millis(1)).await;
            assert!(seen.borrow().is_empty(), "the turn is taken");
            drop(first);
            world.sleep(std::time::Duration::from_millis(1)).await;
        });
        assert_eq!(*seen.borrow(), ["second"]);
    }
}
