//! The smallest world: for unit tests of the engine, without madsim.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use highwater_runtime::{KvError, Runtime};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::RngCore;

use crate::disk::SimDisk;
use crate::executor::Executor;
use crate::faults::{DiskOp, Latency, Tear};
use crate::kv::SimKv;
use crate::net::{Pace, SimNet};
use crate::rng::stream;

/// 2026-01-01T00:00:00Z.
const WALL_MS: i64 = 1_767_225_600_000;

/// A process in memory. `block_on` runs its tasks; its clock jumps to the next timer whenever
/// nothing is ready, so that no test waits.
#[derive(Clone)]
pub struct TestRuntime {
    seed: u64,
    executor: Executor,
    started: Duration,
    disk: SimDisk,
    net: SimNet,
    shared: Arc<Mutex<Shared>>,
}

struct Shared {
    draws: BTreeMap<&'static str, ChaCha8Rng>,
    marks: BTreeMap<&'static str, u64>,
    wall_step_ms: i64,
}

impl TestRuntime {
    /// A world whose disk answers at once.
    pub fn new(seed: u64) -> Self {
        let executor = Executor::new(Duration::ZERO);
        Self::with(seed, executor, SimDisk::new(seed))
    }

    /// A world whose every sync takes `sync`.
    pub fn with_sync_time(seed: u64, sync: Duration) -> Self {
        let executor = Executor::new(Duration::ZERO);
        let clock = executor.clone();
        let latency: Latency = Arc::new(move |_: DiskOp| clock.sleep(sync));
        Self::with(seed, executor, SimDisk::with_latency(seed, latency))
    }

    fn with(seed: u64, executor: Executor, disk: SimDisk) -> Self {
        let net = SimNet::new(seed, Arc::new(executor.clone()));
        let shared = Shared {
            draws: BTreeMap::new(),
            marks: BTreeMap::new(),
            wall_step_ms: 0,
        };
        let started = executor.now();
        Self {
            seed,
            executor,
            started,
            disk,
            net,
            shared: Arc::new(Mutex::new(shared)),
        }
    }

    /// Runs `main` and every spawned task until `main` is ready.
    ///
    /// # Panics
    /// When nothing can ever become ready.
    pub fn block_on<F: Future>(&self, main: F) -> F::Output {
        self.executor.block_on(main)
    }

    /// Lets `duration` pass, running every task meanwhile.
    pub fn advance(&self, duration: Duration) {
        self.block_on(self.executor.sleep(duration));
    }

    /// Steps the wall clock.
    pub fn step_wall_ms(&self, by: i64) {
        self.lock().wall_step_ms += by;
    }

    /// How often the engine marked `event`.
    pub fn marked(&self, event: &str) -> u64 {
        self.lock().marks.get(event).copied().unwrap_or(0)
    }

    /// The process dies with its tasks; answers the next one on the same page cache.
    pub fn kill(&self) -> Self {
        self.disk.kill();
        self.restart()
    }

    /// Power is lost; answers the next process on what the platter kept.
    pub fn power_loss(&self, tear: Tear) -> Self {
        self.disk.power_loss_with(tear);
        self.restart()
    }

    fn restart(&self) -> Self {
        self.net.kill();
        self.executor.drop_tasks();
        let started = self.executor.now();
        Self {
            disk: self.disk.reboot(),
            started,
            ..self.clone()
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Shared> {
        self.shared
            .lock()
            .expect("no step of the test runtime panics while it holds the lock")
    }
}

impl Runtime for TestRuntime {
    type Net = SimNet;
    type Disk = SimDisk;
    type Kv = SimKv;

    fn net(&self) -> &SimNet {
        &self.net
    }

    fn disk(&self) -> &SimDisk {
        &self.disk
    }

    fn open_kv(&self, folder: &str) -> Result<SimKv, KvError> {
        SimKv::open(&self.disk, folder)
    }

    fn destroy_kv(&self, folder: &str) -> Result<(), KvError> {
        SimKv::destroy(&self.disk, folder)
    }

    fn mono(&self) -> Duration {
        self.executor.now() - self.started
    }

    fn wall_ms(&self) -> i64 {
        WALL_MS + self.executor.now().as_millis() as i64 + self.lock().wall_step_ms
    }

    fn draw(&self, name: &'static str) -> u64 {
        let seed = self.seed;
        self.lock()
            .draws
            .entry(name)
            .or_insert_with(|| stream(seed, name))
            .next_u64()
    }

    fn sleep(&self, duration: Duration) -> impl Future<Output = ()> + 'static {
        self.executor.sleep(duration)
    }

    fn spawn(&self, _name: &'static str, task: impl Future<Output = ()> + 'static) {
        self.executor.spawn(task);
    }

    fn incarnation(&self) -> u64 {
        self.disk.incarnation()
    }

    fn mark(&self, event: &'static str) {
        *self.lock().marks.entry(event).or_default() += 1;
    }
}

impl std::fmt::Debug for TestRuntime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TestRuntime")
            .field("seed", &self.seed)
            .finish_non_exhaustive()
    }
}
