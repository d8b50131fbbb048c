//! The production bundle: one per process, a clone for each core.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::future::Future;
use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use highwater_runtime::{KvError, Runtime};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

use crate::disk::RealDisk;
use crate::kv::{self, RealKv};
use crate::net::RealNet;

/// The production world. Clones share it and may go to other cores.
///
/// Tasks need a core: call the engine inside [`on_core`].
#[derive(Clone)]
pub struct RealRuntime {
    shared: Arc<Shared>,
}

struct Shared {
    net: RealNet,
    disk: RealDisk,
    started: Instant,
    incarnation: u64,
    streams: Mutex<BTreeMap<&'static str, ChaCha8Rng>>,
}

impl RealRuntime {
    /// A world over the data folder `disk`.
    ///
    /// # Errors
    /// When the system gives no random bytes; nothing can be started then.
    pub fn new(disk: RealDisk) -> io::Result<Self> {
        let incarnation = u64::from_ne_bytes(os_random()?);
        let shared = Shared {
            net: RealNet,
            disk,
            started: Instant::now(),
            incarnation,
            streams: Mutex::new(BTreeMap::new()),
        };
        Ok(Self {
            shared: Arc::new(shared),
        })
    }
}

/// Runs `main` to its end on this thread, as one core: its spawned tasks run here too, and are
/// dropped when `main` ends.
///
/// # Errors
/// When the system refuses the descriptors that an event loop needs.
pub fn on_core<T>(main: impl Future<Output = T>) -> io::Result<T> {
    let tokio = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let tasks = tokio::task::LocalSet::new();
    Ok(tasks.block_on(&tokio, main))
}

/// How many cores to run: what the machine, and this process's limits, give.
#[must_use]
pub fn core_count() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Random bytes from the operating system.
fn os_random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}

impl Runtime for RealRuntime {
    type Net = RealNet;
    type Disk = RealDisk;
    type Kv = RealKv;

    fn net(&self) -> &RealNet {
        &self.shared.net
    }

    fn disk(&self) -> &RealDisk {
        &self.shared.disk
    }

    fn open_kv(&self, folder: &str) -> Result<RealKv, KvError> {
        kv::open(&self.shared.disk, folder)
    }

    fn destroy_kv(&self, folder: &str) -> Result<(), KvError> {
        kv::destroy(&self.shared.disk, folder)
    }

    fn mono(&self) -> Duration {
        self.shared.started.elapsed()
    }

    fn wall_ms(&self) -> i64 {
        match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(since) => i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
            Err(before) => -i64::try_from(before.duration().as_millis()).unwrap_or(i64::MAX),
        }
    }

    fn draw(&self, stream: &'static str) -> u64 {
        let mut streams = self
            .shared
            .streams
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let stream = streams.entry(stream).or_insert_with(|| {
            ChaCha8Rng::from_seed(os_random().expect("the system gave random bytes at start"))
        });
        stream.next_u64()
    }

    fn sleep(&self, duration: Duration) -> impl Future<Output = ()> + 'static {
        tokio::time::sleep(duration)
    }

    fn spawn(&self, _name: &'static str, task: impl Future<Output = ()> + 'static) {
        tokio::task::spawn_local(task);
    }

    fn incarnation(&self) -> u64 {
        self.shared.incarnation
    }

    fn log(&self, line: fmt::Arguments<'_>) {
        // Standard output belongs to what a command answers.
        let _ = writeln!(
            io::stderr(),
            "{} {line}",
            crate::time::rfc3339(self.wall_ms())
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_starts_differ_in_their_incarnation() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let start = || {
            let disk = RealDisk::open(folder.path()).expect("the folder is free");
            RealRuntime::new(disk).expect("random bytes").incarnation()
        };
        assert_ne!(start(), start());
    }
}
