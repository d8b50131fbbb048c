//! The simulated world as the engine sees it.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use highwater_runtime::{KvError, Runtime};
use highwater_sim_disk::{SimDisk, SimKv, SimNet, chance, stream};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::RngCore;

use crate::exec;
use crate::trace::{Event, Trace};

/// 2026-01-01T00:00:00Z.
const WALL_MS: i64 = 1_767_225_600_000;

/// One process of the simulation. Clones share it.
#[derive(Clone)]
pub struct SimRuntime {
    process: Arc<Process>,
}

/// The machine's clock: how far off it is, and how fast it drifts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clock {
    /// Milliseconds that the wall clock is ahead.
    pub offset_ms: i64,
    /// How much faster than virtual time the machine's clocks run, in parts per million.
    pub drift_ppm: i64,
}

impl Clock {
    /// What the machine thinks that `duration` of virtual time is.
    fn seen(self, duration: Duration) -> Duration {
        let nanos = duration.as_nanos() as i128;
        let drifted = nanos + nanos * i128::from(self.drift_ppm) / 1_000_000;
        Duration::from_nanos(drifted as u64)
    }

    /// How much virtual time passes while the machine thinks that `duration` does; never less.
    fn real(self, duration: Duration) -> Duration {
        let nanos =
            duration.as_nanos() as i128 * 1_000_000 / i128::from(1_000_000 + self.drift_ppm);
        Duration::from_nanos(nanos as u64 + 2)
    }
}

/// Which unlikely turns the engine takes: each site is on in a quarter of the runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Buggify {
    /// The chance in a thousand that a site that is on fires at a pass. 0: none ever does.
    pub fire_permille: u32,
}

struct Process {
    seed: u64,
    disk: SimDisk,
    net: SimNet,
    started: Duration,
    clock: Clock,
    buggify: Buggify,
    trace: Trace,
    marks: Marks,
    draws: Mutex<BTreeMap<&'static str, ChaCha8Rng>>,
    sites: Mutex<BTreeMap<&'static str, Option<ChaCha8Rng>>>,
}

/// How often each rare event happened in a run. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Marks(Arc<Mutex<BTreeMap<&'static str, u64>>>);

impl Marks {
    /// One more of `event`.
    pub fn add(&self, event: &'static str) {
        *self
            .0
            .lock()
            .expect("counting never panics")
            .entry(event)
            .or_default() += 1;
    }

    /// All counts.
    pub fn counts(&self) -> BTreeMap<&'static str, u64> {
        self.0.lock().expect("counting never panics").clone()
    }
}

impl SimRuntime {
    /// The process that starts now on `disk`, which must be of a fresh incarnation.
    pub fn new(
        seed: u64,
        disk: SimDisk,
        net: SimNet,
        clock: Clock,
        buggify: Buggify,
        trace: Trace,
        marks: Marks,
    ) -> Self {
        let seed = seed.wrapping_add(disk.incarnation().wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let process = Process {
            seed,
            disk,
            net,
            started: exec::now(),
            clock,
            buggify,
            trace,
            marks,
            draws: Mutex::new(BTreeMap::new()),
            sites: Mutex::new(BTreeMap::new()),
        };
        Self {
            process: Arc::new(process),
        }
    }
}

impl Runtime for SimRuntime {
    type Net = SimNet;
    type Disk = SimDisk;
    type Kv = SimKv;

    fn net(&self) -> &SimNet {
        &self.process.net
    }

    fn disk(&self) -> &SimDisk {
        &self.process.disk
    }

    fn open_kv(&self, folder: &str) -> Result<SimKv, KvError> {
        SimKv::open(&self.process.disk, folder)
    }

    fn destroy_kv(&self, folder: &str) -> Result<(), KvError> {
        SimKv::destroy(&self.process.disk, folder)
    }

    fn mono(&self) -> Duration {
        self.process.clock.seen(exec::now() - self.process.started)
    }

    fn wall_ms(&self) -> i64 {
        let clock = self.process.clock;
        WALL_MS + clock.offset_ms + clock.seen(exec::now()).as_millis() as i64
    }

    fn draw(&self, name: &'static str) -> u64 {
        let mut draws = self.process.draws.lock().expect("drawing never panics");
        draws
            .entry(name)
            .or_insert_with(|| stream(self.process.seed, name))
            .next_u64()
    }

    fn sleep(&self, duration: Duration) -> impl Future<Output = ()> + 'static {
        exec::sleep(self.process.clock.real(duration))
    }

    fn spawn(&self, _name: &'static str, task: impl Future<Output = ()> + 'static) {
        exec::spawn(task);
    }

    fn log(&self, line: std::fmt::Arguments<'_>) {
        self.process
            .trace
            .add(exec::now(), Event::Broker(line.to_string().into()));
    }

    fn incarnation(&self) -> u64 {
        self.process.disk.incarnation()
    }

    fn buggify(&self, site: &'static str) -> bool {
        let fire = self.process.buggify.fire_permille;
        if fire == 0 {
            return false;
        }
        let mut sites = self.process.sites.lock().expect("drawing never panics");
        let rng = sites.entry(site).or_insert_with(|| {
            let mut rng = stream(self.process.seed, site);
            chance(&mut rng, 250).then_some(rng)
        });
        rng.as_mut().is_some_and(|rng| chance(rng, fire))
    }

    fn mark(&self, event: &'static str) {
        self.process.marks.add(event);
        self.process.trace.add(exec::now(), Event::Mark(event));
    }
}

impl std::fmt::Debug for SimRuntime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SimRuntime")
            .field("seed", &self.process.seed)
            .finish_non_exhaustive()
    }
}
