//! The one sweeper of a broker: everything that happens because time passes.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use highwater_partition::Partition;
use highwater_runtime::{Disk, Runtime};

use crate::Broker;

/// The sweeper looks around this often; each duty has its own interval on top.
const TICK: Duration = Duration::from_millis(250);

/// Below this much free space nothing is appended any more: what is left serves checkpoints,
/// metadata and deletion.
const FREE_BYTES_MIN: u64 = 64 << 20;

/// Above this much free space appends are taken again; the gap keeps it from flapping.
const FREE_BYTES_RESUME: u64 = 96 << 20;

/// How often segments are looked at that must roll because of their age.
const ROLL_INTERVAL: Duration = Duration::from_secs(1);

/// A tail that nobody used for this long gives its memory back.
const TAIL_INTERVAL: Duration = Duration::from_secs(5);

/// When a duty was done last.
#[derive(Default)]
struct Done {
    retention: Duration,
    roll: Duration,
    flush: Duration,
    checkpoint: Duration,
    tails: Duration,
}

impl<R: Runtime> Broker<R> {
    /// Runs until the broker stops.
    pub(crate) async fn sweep(self: Arc<Self>) {
        let start = self.runtime.mono();
        let mut done = Done {
            retention: start,
            roll: start,
            flush: start,
            checkpoint: start,
            tails: start,
        };
        while !self.stopping.load(Ordering::Acquire) {
            self.runtime.sleep(TICK).await;
            self.look_at_disk();
            let settings = self.settings();
            let now = self.runtime.mono();
            let due = |last: &mut Duration, interval: Duration| {
                let due = now.saturating_sub(*last) >= interval;
                if due {
                    *last = now;
                }
                due
            };
            let retention = Duration::from_millis(settings.retention_check_interval_ms);
            let now_ms = self.runtime.wall_ms();
            // Old timestamps must not make records vanish sooner than the interval says: whoever
            // copies an old topic reads what it wrote first.
            // A full disk does not wait for it.
            let full = self.disk_full.load(Ordering::Relaxed);
            if due(
                &mut done.retention,
                if full {
                    retention.min(ROLL_INTERVAL)
                } else {
                    retention
                },
            ) {
                self.catalog()
                    .partitions()
                    .for_each(|partition| partition.sweep(now_ms));
            }
            if due(&mut done.roll, ROLL_INTERVAL) {
                self.catalog()
                    .partitions()
                    .for_each(|partition| partition.roll_by_time(now_ms));
            }
            if due(&mut done.tails, TAIL_INTERVAL) {
                self.catalog()
                    .partitions()
                    .for_each(|partition| partition.release_tail());
            }
            if due(
                &mut done.flush,
                Duration::from_millis(settings.flush_interval_ms),
            ) {
                self.catalog().partitions().for_each(Partition::flush);
            }
            if due(
                &mut done.checkpoint,
                Duration::from_millis(settings.checkpoint_interval_ms),
            ) {
                self.write_checkpoint().await;
            }
        }
    }

    /// Appends stop while the disk is nearly full and go on when space was freed.
    pub(crate) fn look_at_disk(&self) {
        // A disk that does not say is found out by the append itself.
        let Ok(free) = self.runtime.disk().free_bytes() else {
            return;
        };
        let was = self.disk_full.load(Ordering::Relaxed);
        let is = if was {
            free < FREE_BYTES_RESUME
        } else {
            free < FREE_BYTES_MIN
        };
        if is != was {
            self.disk_full.store(is, Ordering::Relaxed);
            let state = if is {
                "produce is refused"
            } else {
                "produce is taken again"
            };
            self.runtime
                .log(format_args!("{} MiB free on the disk: {state}", free >> 20));
        }
    }
}
