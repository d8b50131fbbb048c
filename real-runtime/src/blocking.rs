//! Threads for calls that wait for the device: syncs and publishes. Cores never wait for them.

use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

use highwater_runtime::task::oneshot;

/// Syncs that run beside each other; a disk gains nothing from more.
const THREADS_MAX: usize = 8;

/// A job needs little stack; idle threads should cost little memory.
const STACK_BYTES: usize = 256 * 1024;

type Job = Box<dyn FnOnce() + Send>;

/// A pool that starts threads as they are needed, at most eight. Clones share it.
#[derive(Clone)]
pub struct Blocking {
    owner: Arc<Owner>,
}

/// Ends the threads when the last clone of the pool goes, once the queue is empty.
struct Owner {
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    work: Condvar,
}

struct State {
    queue: VecDeque<Job>,
    threads: usize,
    idle: usize,
    closed: bool,
}

/// The pool ended before the job did, or the job panicked: the process is on its way out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobLost;

impl fmt::Display for JobLost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the thread that waited for the disk ended early")
    }
}

impl Default for Blocking {
    fn default() -> Self {
        Self::new()
    }
}

impl Blocking {
    /// A pool without threads yet.
    #[must_use]
    pub fn new() -> Self {
        let state = State {
            queue: VecDeque::new(),
            threads: 0,
            idle: 0,
            closed: false,
        };
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            work: Condvar::new(),
        });
        Self {
            owner: Arc::new(Owner { shared }),
        }
    }

    /// Queues `job` at once, in call order; the future answers its result. Dropping the future
    /// does not stop the job: a step on a file that was begun is finished.
    pub fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> impl Future<Output = Result<T, JobLost>> + 'static {
        let (answer, result) = oneshot::channel();
        self.queue(Box::new(move || {
            // The caller may have gone: then nobody wants the answer.
            let _ = answer.send(job());
        }));
        async move { result.await.map_err(|_| JobLost) }
    }

    fn queue(&self, job: Job) {
        let shared = &self.owner.shared;
        let mut state = shared.lock();
        state.queue.push_back(job);
        // Idle threads not yet woken count too, so compare with the whole queue.
        if state.idle < state.queue.len() && state.threads < THREADS_MAX {
            state.threads += 1;
            let (number, shared) = (state.threads, Arc::clone(shared));
            let started = thread::Builder::new()
                .name(format!("highwater-io-{number}"))
                .stack_size(STACK_BYTES)
                .spawn(move || shared.work());
            if let Err(error) = started {
                state.threads -= 1;
                assert!(
                    state.threads > 0,
                    "cannot start the first disk thread: {error}"
                );
            }
        }
        drop(state);
        shared.work.notify_one();
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.work.notify_all();
    }
}

impl Shared {
    /// A job that panicked left no half-made state here: jobs run outside the lock.
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self) {
        let mut state = self.lock();
        loop {
            if let Some(job) = state.queue.pop_front() {
                drop(state);
                job();
                state = self.lock();
            } else if state.closed {
                state.threads -= 1;
                return;
            } else {
                state.idle += 1;
                state = self
                    .work
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner);
                state.idle -= 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    #[tokio::test]
    async fn eight_jobs_run_beside_each_other() {
        let (pool, barrier) = (Blocking::new(), Arc::new(Barrier::new(THREADS_MAX)));
        let waits: Vec<_> = (0..THREADS_MAX)
            .map(|_| {
                let barrier = Arc::clone(&barrier);
                pool.run(move || barrier.wait().is_leader())
            })
            .collect();
        let mut leaders = 0;
        for wait in waits {
            leaders += usize::from(wait.await.expect("the job runs"));
        }
        assert_eq!(leaders, 1);
    }

    #[tokio::test]
    async fn a_job_runs_though_its_future_was_dropped() {
        let pool = Blocking::new();
        let (tell, told) = oneshot::channel();
        drop(pool.run(move || tell.send(7)));
        assert_eq!(told.await, Ok(7));
    }
}
