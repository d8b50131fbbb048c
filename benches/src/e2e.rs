//! End-to-end latency in an open loop: messages leave on a schedule, whatever comes back.
//!
//! Each message carries the moment at which it was due, and its latency counts from there: a
//! broker that stalls is charged for every message that it made late, not only for the one that
//! was on the wire. How late the generator itself sent is reported beside it; the figures mean
//! something only while that stays small.
//!
//! Three threads and blocking sockets: on two cores an event loop would add its own hops.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::LoadError;
use crate::batch;
use crate::client::Client;
use crate::cluster::{LATEST, Led, offsets};
use crate::codec::Codec;
use crate::histogram::Histogram;
use crate::usage::Usage;
use crate::wire::{self, FetchLimits, Place};

/// A message is lost, as far as this load can tell, when it is this late.
const LATE_LIMIT: Duration = Duration::from_secs(30);

/// Bytes of a value that say when it was due; the rest is filling.
const DUE_BYTES: usize = 8;

/// What to send.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The topic.
    pub topic: String,
    /// Its partitions, on one broker; messages go to them in turn.
    pub led: Vec<Led>,
    /// Messages a second.
    pub rate: f64,
    /// Before the window.
    pub warmup: Duration,
    /// The window.
    pub measured: Duration,
    /// Bytes of a value, at least 8.
    pub record_bytes: usize,
    /// 1 or -1 (all).
    pub acks: i16,
    /// The broker's process, if it runs on this machine.
    pub broker: Option<u32>,
}

/// What was seen in the window.
#[derive(Debug, Default)]
pub struct Outcome {
    /// From the moment at which a message was due to its arrival at the consumer.
    pub arrivals: Histogram,
    /// From the moment at which a message was due to its acknowledgement.
    pub acks: Histogram,
    /// From the moment at which a message was due to the moment at which it was sent.
    pub lateness: Histogram,
    /// CPU seconds of the broker, warm-up included, for one message.
    pub cpu_seconds_per_message: Option<f64>,
}

/// Runs the load to its end.
///
/// # Errors
/// The first failure of a connection; [`LoadError::TooLate`] when a message does not arrive.
pub fn run(plan: &Plan) -> Result<Outcome, LoadError> {
    let leader = plan.led.first().map(|led| led.leader);
    let leader = leader.ok_or_else(|| LoadError::Usage("the topic has no partition".to_owned()))?;
    if plan.led.iter().any(|led| led.leader != leader) || plan.record_bytes < DUE_BYTES {
        let what = "end to end needs partitions on one broker and values of 8 bytes or more";
        return Err(LoadError::Usage(what.to_owned()));
    }
    let from = offsets(&plan.led, &plan.topic, LATEST)?;
    let total = (plan.rate * (plan.warmup + plan.measured).as_secs_f64()).round() as u64;
    let sender = Client::connect(leader)?;
    let acks = sender.share()?;
    let consumer = Client::connect(leader)?;
    let load = Load {
        plan,
        total,
        start: Instant::now() + Duration::from_millis(100),
    };
    let failed = AtomicBool::new(false);
    let before = plan.broker.map(Usage::of).transpose()?;
    let (lateness, acks, arrivals) = std::thread::scope(|threads| {
        let sending = threads.spawn(|| load.send(sender, &failed));
        let acking = threads.spawn(|| load.await_acks(acks, &failed));
        let consuming = threads.spawn(|| load.consume(consumer, &from, &failed));
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
            thread.join().expect("a load's thread does not panic")
        };
        (join(sending), join(acking), join(consuming))
    });
    let outcome = Outcome {
        arrivals: arrivals?,
        acks: acks?,
        lateness: lateness?,
        cpu_seconds_per_message: None,
    };
    let after = plan.broker.map(Usage::of).transpose()?;
    let used = before
        .zip(after)
        .map(|(before, after)| after.cpu_seconds - before.cpu_seconds);
    Ok(Outcome {
        cpu_seconds_per_message: used.map(|used| used / total as f64),
        ..outcome
    })
}

struct Load<'a> {
    plan: &'a Plan,
    total: u64,
    start: Instant,
}

impl Load<'_> {
    /// Since `start`, for message `number`.
    fn due(&self, number: u64) -> Duration {
        Duration::from_secs_f64(number as f64 / self.plan.rate)
    }

    fn since(&self, due: Duration) -> Duration {
        self.start.elapsed().saturating_sub(due)
    }

    fn counts(&self, due: Duration) -> bool {
        due >= self.plan.warmup
    }

    fn send(&self, mut client: Client, failed: &AtomicBool) -> Result<Histogram, LoadError> {
        no_timer_slack();
        let mut lateness = Histogram::default();
        let mut value = vec![b'.'; self.plan.record_bytes];
        for number in 0..self.total {
            let due = self.due(number);
            value[..DUE_BYTES].copy_from_slice(&(due.as_nanos() as u64).to_be_bytes());
            let partition = self.plan.led[number as usize % self.plan.led.len()].partition;
            let batch = batch::encode(&[&value], Codec::None)?;
            let mut frame =
                wire::produce_frame(&self.plan.topic, partition, self.plan.acks, &batch);
            wire::set_correlation(&mut frame, number as i32);
            let at = self.start + due;
            std::thread::sleep(at.saturating_duration_since(Instant::now()));
            if failed.load(Ordering::Relaxed) {
                break;
            }
            if self.counts(due) {
                lateness.record(self.since(due));
            }
            note(client.send(&frame), failed)?;
        }
        Ok(lateness)
    }

    fn await_acks(&self, mut client: Client, failed: &AtomicBool) -> Result<Histogram, LoadError> {
        let mut acks = Histogram::default();
        let mut answer = Vec::new();
        for number in 0..self.total {
            note(client.receive(&mut answer), failed)?;
            note(wire::read_produced(&answer).map(drop), failed)?;
            let due = self.due(number);
            if self.counts(due) {
                acks.record(self.since(due));
            }
        }
        Ok(acks)
    }

    fn consume(
        &self,
        mut client: Client,
        from: &BTreeMap<i32, i64>,
        failed: &AtomicBool,
    ) -> Result<Histogram, LoadError> {
        let limits = FetchLimits {
            max_wait_ms: 500,
            min_bytes: 1,
            max_bytes: 50 << 20,
            partition_max_bytes: 1 << 20,
        };
        let place = |(partition, offset): (&i32, &i64)| Place {
            partition: *partition,
            offset: *offset,
        };
        let mut places: Vec<_> = from.iter().map(place).collect();
        let (mut arrivals, mut answer, mut seen) = (Histogram::default(), Vec::new(), 0);
        let deadline = self.start + self.due(self.total) + LATE_LIMIT;
        while seen < self.total {
            if Instant::now() > deadline {
                failed.store(true, Ordering::Relaxed);
                let seconds = LATE_LIMIT.as_secs();
                return Err(LoadError::TooLate {
                    during: "the last messages",
                    seconds,
                });
            }
            let frame = wire::fetch_frame(&self.plan.topic, &places, limits);
            note(client.send(&frame), failed)?;
            note(client.receive(&mut answer), failed)?;
            let now = self.start.elapsed();
            let taken = wire::read_fetched(&answer, |partition, records| {
                let place = places.iter_mut().find(|place| place.partition == partition);
                let Some(place) = place else { return };
                for batch in batch::batches(records) {
                    place.offset = batch.next_offset();
                    batch.each_value(|value| {
                        seen += 1;
                        let Some(due) = value.first_chunk::<DUE_BYTES>() else {
                            return;
                        };
                        let due = Duration::from_nanos(u64::from_be_bytes(*due));
                        if self.counts(due) {
                            arrivals.record(now.saturating_sub(due));
                        }
                    });
                }
            });
            note(taken, failed)?;
        }
        Ok(arrivals)
    }
}

/// Tells the other threads of a failure.
fn note<T>(result: Result<T, LoadError>, failed: &AtomicBool) -> Result<T, LoadError> {
    if result.is_err() {
        failed.store(true, Ordering::Relaxed);
    }
    result
}

/// Lets this thread's sleeps end on time: Linux groups timers within 50 us otherwise.
fn no_timer_slack() {
    // SAFETY: PR_SET_TIMERSLACK takes a number and changes this thread's timers only.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong);
    }
}
