//! How long a simulated device takes: an exponential tail, and stalls that hit all its files.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use highwater_sim_disk::{DiskOp, Latency, stream};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::RngCore;

use crate::exec;

/// The device's mood. Clones share it.
#[derive(Clone)]
pub struct Device(Arc<Mutex<State>>);

struct State {
    rng: ChaCha8Rng,
    /// The mean of a sync.
    mean: Duration,
    /// Nothing completes before.
    stalled_until: Duration,
}

impl Device {
    /// A device of the run `seed` whose syncs take `mean` on average.
    pub fn new(seed: u64, mean: Duration) -> Self {
        let rng = stream(seed, "disk.latency");
        Self(Arc::new(Mutex::new(State {
            rng,
            mean,
            stalled_until: Duration::ZERO,
        })))
    }

    /// Changes the mean time of a sync.
    pub fn set_mean(&self, mean: Duration) {
        self.0.lock().expect("no step panics").mean = mean;
    }

    /// Nothing completes for `duration` from now.
    pub fn stall(&self, duration: Duration) {
        self.0.lock().expect("no step panics").stalled_until = exec::now() + duration;
    }

    /// Nothing is stalled any more.
    pub fn heal(&self, mean: Duration) {
        let mut state = self.0.lock().expect("no step panics");
        state.stalled_until = Duration::ZERO;
        state.mean = mean;
    }

    /// The hook for a disk.
    pub fn latency(&self) -> Latency {
        let device = self.clone();
        Arc::new(move |op: DiskOp| {
            let device = device.clone();
            Box::pin(async move {
                exec::sleep(device.time(op)).await;
                loop {
                    let until = device.0.lock().expect("no step panics").stalled_until;
                    let Some(rest) = until.checked_sub(exec::now()) else {
                        return;
                    };
                    if rest.is_zero() {
                        return;
                    }
                    exec::sleep(rest).await;
                }
            })
        })
    }

    /// Draws how long `op` takes.
    fn time(&self, op: DiskOp) -> Duration {
        let mut state = self.0.lock().expect("no step panics");
        let bytes = match op {
            DiskOp::Sync { bytes } => bytes,
            DiskOp::SyncDir => 0,
        };
        // -ln(u) with u in (0, 1]; deterministic: the same operations in the same order.
        let unit = (state.rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        let factor = -(1.0 - unit).ln();
        state.mean.mul_f64(factor.min(20.0)) + Duration::from_nanos(bytes * 5)
    }
}
