//! The bundle of everything that touches the world.

use std::fmt;
use std::future::Future;
use std::time::Duration;

use crate::{Disk, Kv, KvError, Net};

/// The world, as one type parameter. Cloning is cheap; clones share all state.
///
/// A clone may be moved to another core; [`Runtime::spawn`] then spawns there.
pub trait Runtime: Clone + Send + Sync + 'static {
    /// How bytes travel between processes.
    type Net: Net;
    /// Where bytes stay: one data folder.
    type Disk: Disk;
    /// Ordered keys beside the log: rebuildable indexes only.
    type Kv: Kv;

    /// The network.
    fn net(&self) -> &Self::Net;

    /// The data folder.
    fn disk(&self) -> &Self::Disk;

    /// Opens the key store in `folder` of the data folder, making it when missing.
    ///
    /// # Errors
    /// [`KvError::Corrupt`]: call [`Runtime::destroy_kv`] and open again; what was in it is
    /// rebuilt from the log. [`KvError::Disk`]: the disk refuses; the operator must act.
    fn open_kv(&self, folder: &str) -> Result<Self::Kv, KvError>;

    /// Removes the key store in `folder`, if there is one. None may be open on it.
    ///
    /// # Errors
    /// [`KvError::Disk`] when the folder cannot be removed.
    fn destroy_kv(&self, folder: &str) -> Result<(), KvError>;

    /// Time since this process started; never steps back. For timeouts and leases.
    fn mono(&self) -> Duration;

    /// Milliseconds since 1970, UTC; steps when somebody sets the clock. For timestamps only.
    fn wall_ms(&self) -> i64;

    /// A random number from the stream `stream`: draws from one stream never move another.
    fn draw(&self, stream: &'static str) -> u64;

    /// Ready after `duration` of [`Runtime::mono`] time. Never early.
    fn sleep(&self, duration: Duration) -> impl Future<Output = ()> + 'static;

    /// Runs `task` on this core until it ends or the process does.
    fn spawn(&self, name: &'static str, task: impl Future<Output = ()> + 'static);

    /// A number that differs between any two starts of a broker on one data folder.
    fn incarnation(&self) -> u64;

    /// Writes one line for the operator: what happened, why, and what to do. Worlds without an
    /// operator drop it.
    fn log(&self, line: fmt::Arguments<'_>) {
        let _ = line;
    }

    /// Whether to take an unlikely turn here. Always false in production.
    #[inline(always)]
    fn buggify(&self, _site: &'static str) -> bool {
        false
    }

    /// Says that something rare happened. Costs nothing in production.
    #[inline(always)]
    fn mark(&self, _event: &'static str) {}
}
