//! A single-threaded executor with a clock that jumps to the next timer when nothing is ready.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use crate::net::Pace;

type Task = Pin<Box<dyn Future<Output = ()>>>;

thread_local! {
    /// Tasks of the executors on this thread: `(executor, task) -> future`. Not `Send`, so they
    /// cannot live in the executor itself, which is.
    static TASKS: RefCell<BTreeMap<(u64, u64), Task>> = const { RefCell::new(BTreeMap::new()) };
}

/// The number of the future given to `block_on`.
const MAIN: u64 = 0;

/// Clock and ready queue. Clones share them.
#[derive(Clone)]
pub(crate) struct Executor {
    id: u64,
    inner: Arc<Mutex<Inner>>,
}

#[derive(Default)]
struct Inner {
    now: Duration,
    timers: BTreeMap<(Duration, u64), Waker>,
    ready: VecDeque<u64>,
    next: u64,
}

struct TaskWaker {
    task: u64,
    inner: Arc<Mutex<Inner>>,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        let mut inner = self.inner.lock().expect("no step of the executor panics");
        if !inner.ready.contains(&self.task) {
            inner.ready.push_back(self.task);
        }
    }
}

impl Executor {
    /// An executor whose clock stands at `now`.
    pub fn new(now: Duration) -> Self {
        static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
        let id = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let inner = Inner {
            now,
            next: MAIN + 1,
            ..Inner::default()
        };
        Self {
            id,
            inner: Arc::new(Mutex::new(inner)),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().expect("no step of the executor panics")
    }

    fn waker(&self, task: u64) -> Waker {
        Arc::new(TaskWaker {
            task,
            inner: self.inner.clone(),
        })
        .into()
    }

    /// Runs `task` on this thread whenever `block_on` runs here.
    pub fn spawn(&self, task: impl Future<Output = ()> + 'static) {
        let mut inner = self.lock();
        let id = inner.next;
        inner.next += 1;
        inner.ready.push_back(id);
        drop(inner);
        TASKS.with_borrow_mut(|tasks| tasks.insert((self.id, id), Box::pin(task)));
    }

    /// Runs everything until `main` is ready.
    ///
    /// # Panics
    /// When nothing can ever become ready: a deadlock.
    pub fn block_on<F: Future>(&self, main: F) -> F::Output {
        let mut main = pin!(main);
        let waker = self.waker(MAIN);
        self.lock().ready.push_back(MAIN);
        loop {
            let Some(task) = self.next_ready() else {
                panic!("nothing is ready and no timer runs: the future waits for ever")
            };
            if task == MAIN {
                if let Poll::Ready(value) = main.as_mut().poll(&mut Context::from_waker(&waker)) {
                    return value;
                }
                continue;
            }
            self.poll(task);
        }
    }

    /// Polls one spawned task, if it still runs.
    fn poll(&self, id: u64) {
        let key = (self.id, id);
        let Some(mut task) = TASKS.with_borrow_mut(|tasks| tasks.remove(&key)) else {
            return;
        };
        let waker = self.waker(id);
        if task
            .as_mut()
            .poll(&mut Context::from_waker(&waker))
            .is_pending()
        {
            TASKS.with_borrow_mut(|tasks| tasks.insert(key, task));
        }
    }

    /// The next ready task; moves the clock to the next timer when there is none.
    fn next_ready(&self) -> Option<u64> {
        loop {
            let mut inner = self.lock();
            if let Some(task) = inner.ready.pop_front() {
                return Some(task);
            }
            let ((at, _), timer) = inner.timers.pop_first()?;
            inner.now = inner.now.max(at);
            drop(inner);
            timer.wake();
        }
    }

    /// Drops every task, as the death of the process does.
    pub fn drop_tasks(&self) {
        loop {
            let range = (self.id, 0)..=(self.id, u64::MAX);
            let task = TASKS.with_borrow_mut(|tasks| {
                let key = *tasks.range(range).next()?.0;
                tasks.remove(&key)
            });
            match task {
                Some(task) => drop(task),
                None => return,
            }
        }
    }
}

impl Pace for Executor {
    fn now(&self) -> Duration {
        self.lock().now
    }

    fn sleep(&self, duration: Duration) -> Task {
        Box::pin(Sleep {
            executor: self.clone(),
            until: self.now() + duration,
            timer: None,
        })
    }
}

/// Ready at `until`; its timer goes with it.
struct Sleep {
    executor: Executor,
    until: Duration,
    timer: Option<(Duration, u64)>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        let mut inner = this.executor.lock();
        if let Some(timer) = this.timer.take() {
            inner.timers.remove(&timer);
        }
        if inner.now >= this.until {
            return Poll::Ready(());
        }
        let timer = (this.until, inner.next);
        inner.next += 1;
        inner.timers.insert(timer, cx.waker().clone());
        this.timer = Some(timer);
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some(timer) = self.timer {
            self.executor.lock().timers.remove(&timer);
        }
    }
}
