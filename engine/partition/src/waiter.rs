//! Long polls: one waiter a request, however many partitions it reads, woken by notification.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

/// Counts the bytes that became readable for one parked request and wakes it when there are
/// enough, or when something else happened that it must answer.
#[derive(Debug)]
pub struct Waiter {
    bytes_needed: u64,
    bytes_gained: AtomicU64,
    woken: AtomicBool,
    waker: Mutex<Option<Waker>>,
}

impl Waiter {
    /// A waiter that wakes once `bytes_needed` more bytes can be read.
    #[must_use]
    pub fn new(bytes_needed: u64) -> Arc<Self> {
        Arc::new(Self {
            bytes_needed,
            bytes_gained: AtomicU64::new(0),
            woken: AtomicBool::new(false),
            waker: Mutex::new(None),
        })
    }

    /// Says that `bytes` more can be read.
    pub fn gained(&self, bytes: u64) {
        let before = self.bytes_gained.fetch_add(bytes, Ordering::AcqRel);
        if before.saturating_add(bytes) >= self.bytes_needed {
            self.wake();
        }
    }

    /// Wakes the request whatever it waits for: an error, a lost leadership, a deleted topic.
    pub fn wake(&self) {
        self.woken.store(true, Ordering::Release);
        let waker = self.waker.lock().expect("no panic holds this lock").take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Ready once woken; stays ready.
    #[must_use]
    pub fn woken(self: &Arc<Self>) -> Woken {
        Woken {
            waiter: Arc::clone(self),
        }
    }
}

/// The future of [`Waiter::woken`].
#[derive(Debug)]
pub struct Woken {
    waiter: Arc<Waiter>,
}

impl Future for Woken {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let waiter = &self.waiter;
        let mut slot = waiter.waker.lock().expect("no panic holds this lock");
        // Under the lock: a wake either sees this waker or was seen by this load.
        if waiter.woken.load(Ordering::Acquire) {
            return Poll::Ready(());
        }
        *slot = Some(cx.waker().clone());
        Poll::Pending
    }
}

/// The waiters of one partition, in no order.
#[derive(Debug, Default)]
pub(crate) struct Waiters {
    next_id: u64,
    parked: Vec<(u64, Arc<Waiter>)>,
}

impl Waiters {
    pub(crate) fn park(&mut self, waiter: &Arc<Waiter>) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.parked.push((id, Arc::clone(waiter)));
        id
    }

    pub(crate) fn leave(&mut self, id: u64) {
        if let Some(at) = self.parked.iter().position(|(parked, _)| *parked == id) {
            self.parked.swap_remove(at);
        }
        if self.parked.is_empty() {
            self.parked = Vec::new();
        }
    }

    pub(crate) fn gained(&self, bytes: u64) {
        self.parked
            .iter()
            .for_each(|(_, waiter)| waiter.gained(bytes));
    }

    pub(crate) fn wake(&self) {
        self.parked.iter().for_each(|(_, waiter)| waiter.wake());
    }
}
