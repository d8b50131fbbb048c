//! What happened, event by event: hashed always, the last ones kept, all printed on request.

use std::collections::VecDeque;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

/// Events kept for the report of a failure.
const KEPT: usize = 4_000;

/// Something that happened.
#[derive(Clone, Debug, Hash, PartialEq, Eq)]
pub enum Event {
    /// A step of the broker's disk.
    Disk {
        /// The call.
        op: &'static str,
        /// The file or folder.
        path: Box<str>,
        /// A position.
        at: u64,
        /// A byte count.
        len: u64,
        /// Whether it succeeded.
        ok: bool,
    },
    /// A fault was injected or ended.
    Fault(Box<str>),
    /// The broker's process started, ended or said something.
    Broker(Box<str>),
    /// The engine marked something rare.
    Mark(&'static str),
    /// A client's request or its outcome.
    Client {
        /// Which client.
        client: Box<str>,
        /// What it did or learned.
        what: Box<str>,
    },
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disk {
                op,
                path,
                at,
                len,
                ok,
            } => {
                let outcome = if *ok { "" } else { " FAILED" };
                write!(f, "disk    {op} {path} at {at} len {len}{outcome}")
            }
            Self::Fault(what) => write!(f, "FAULT   {what}"),
            Self::Broker(what) => write!(f, "broker  {what}"),
            Self::Mark(event) => write!(f, "mark    {event}"),
            Self::Client { client, what } => write!(f, "{client:<7} {what}"),
        }
    }
}

/// One run's trace. Clones share it; it outlives a run that panics.
#[derive(Clone)]
pub struct Trace(Arc<Mutex<Inner>>);

struct Inner {
    hash: Fnv,
    count: u64,
    kept: VecDeque<(Duration, Event)>,
    print: bool,
}

impl Trace {
    /// An empty trace; `print` shows each event as it happens.
    pub fn new(print: bool) -> Self {
        let inner = Inner {
            hash: Fnv::default(),
            count: 0,
            kept: VecDeque::new(),
            print,
        };
        Self(Arc::new(Mutex::new(inner)))
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A panic elsewhere in the run must not hide the trace that leads to it.
        self.0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Adds what happened `at`.
    pub fn add(&self, at: Duration, event: Event) {
        let mut inner = self.lock();
        at.hash(&mut inner.hash);
        event.hash(&mut inner.hash);
        inner.count += 1;
        if inner.print {
            crate::report::line(&format!("{:>12.6} {event}", at.as_secs_f64()));
        }
        if inner.kept.len() == KEPT {
            inner.kept.pop_front();
        }
        inner.kept.push_back((at, event));
    }

    /// The hash over every event with its time; equal for equal runs.
    pub fn hash(&self) -> u64 {
        self.lock().hash.finish()
    }

    /// How many events there were.
    pub fn count(&self) -> u64 {
        self.lock().count
    }

    /// The last `count` events that are no plain disk steps, one line each.
    pub fn last(&self, count: usize) -> Vec<String> {
        let inner = self.lock();
        let told = inner
            .kept
            .iter()
            .filter(|(_, event)| !matches!(event, Event::Disk { ok: true, .. }));
        let mut lines: Vec<String> = told
            .rev()
            .take(count)
            .map(|(at, event)| format!("{:>12.6} {event}", at.as_secs_f64()))
            .collect();
        lines.reverse();
        lines
    }
}

/// FNV-1a: the same in every process, which std's hasher is not.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Fnv {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}
