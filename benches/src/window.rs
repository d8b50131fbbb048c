//! A measured window: counters and the broker's use at its start and end.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::LoadError;
use crate::report::Report;
use crate::usage::Usage;

/// Looks at the load this often for its end.
const TICK: Duration = Duration::from_millis(5);

/// What the connections of a load did so far, and what they are told.
#[derive(Debug, Default)]
pub struct Progress {
    /// Requests answered.
    pub requests: AtomicU64,
    /// Records acknowledged or received.
    pub records: AtomicU64,
    /// Bytes of values acknowledged, or of batches received.
    pub bytes: AtomicU64,
    /// Latencies count now: the warm-up is over.
    pub measuring: AtomicBool,
    /// No further request may be sent.
    pub stop: AtomicBool,
    /// Threads that have ended.
    pub ended: AtomicU64,
}

impl Progress {
    /// Counts one answered request.
    pub fn count(&self, records: u64, bytes: u64) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.records.fetch_add(records, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Whether no further request may be sent.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// How long a load runs.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// Before the window.
    pub warmup: Duration,
    /// The window.
    pub measured: Duration,
    /// The broker's process, if it runs on this machine.
    pub broker: Option<u32>,
}

/// What happened in the window.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// Its length in seconds.
    pub seconds: f64,
    /// Requests answered in it.
    pub requests: u64,
    /// Records acknowledged or received in it.
    pub records: u64,
    /// Bytes acknowledged or received in it.
    pub bytes: u64,
    /// CPU seconds of the broker in it.
    pub cpu_seconds: Option<f64>,
    /// The broker at the end of the window.
    pub usage: Option<Usage>,
}

struct Moment {
    at: Instant,
    requests: u64,
    records: u64,
    bytes: u64,
    usage: Option<Usage>,
}

fn now(progress: &Progress, broker: Option<u32>) -> Result<Moment, LoadError> {
    Ok(Moment {
        usage: broker.map(Usage::of).transpose()?,
        at: Instant::now(),
        requests: progress.requests.load(Ordering::Relaxed),
        records: progress.records.load(Ordering::Relaxed),
        bytes: progress.bytes.load(Ordering::Relaxed),
    })
}

/// Waits through the warm-up and the window, then tells the load to stop. A load whose `threads`
/// threads end by themselves ends the window.
///
/// # Errors
/// [`LoadError::Io`] when the broker's process is gone.
pub fn watch(progress: &Progress, span: Span, threads: u64) -> Result<Window, LoadError> {
    let ended = || progress.ended.load(Ordering::Relaxed) >= threads;
    let sleep_until = |end: Instant| {
        while !ended() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            std::thread::sleep(left.min(TICK));
        }
    };
    sleep_until(Instant::now() + span.warmup);
    let first = now(progress, span.broker)?;
    progress.measuring.store(true, Ordering::Relaxed);
    sleep_until(first.at + span.measured);
    let last = now(progress, span.broker)?;
    progress.stop.store(true, Ordering::Relaxed);
    let cpu = |first: Usage, last: Usage| last.cpu_seconds - first.cpu_seconds;
    Ok(Window {
        seconds: (last.at - first.at).as_secs_f64(),
        requests: last.requests - first.requests,
        records: last.records - first.records,
        bytes: last.bytes - first.bytes,
        cpu_seconds: first
            .usage
            .zip(last.usage)
            .map(|(first, last)| cpu(first, last)),
        usage: last.usage,
    })
}

impl Window {
    /// Adds the rates, and the broker's CPU per GB and per million records.
    pub fn report(&self, report: &mut Report) {
        let Self {
            seconds,
            requests,
            records,
            bytes,
            ..
        } = *self;
        report
            .number("seconds", seconds, "s")
            .count("requests", requests)
            .count("records", records)
            .count("bytes", bytes)
            .number("requests_s", requests as f64 / seconds, "requests/s")
            .number("records_s", records as f64 / seconds, "records/s")
            .number("mb_s", bytes as f64 / 1e6 / seconds, "MB/s");
        if let Some(cpu) = self.cpu_seconds {
            report
                .number("broker_cpu_s", cpu, "s")
                .number("broker_cpu_s_gb", cpu / (bytes as f64 / 1e9), "CPU s/GB")
                .number(
                    "broker_cpu_s_mrec",
                    cpu / (records as f64 / 1e6),
                    "CPU s/M records",
                )
                .number(
                    "broker_cpu_s_mreq",
                    cpu / (requests as f64 / 1e6),
                    "CPU s/M requests",
                );
        }
        if let Some(usage) = self.usage {
            report
                .number("broker_rss_mib", usage.rss_mib, "MiB")
                .number("broker_anon_mib", usage.anon_mib, "MiB");
        }
    }
}
