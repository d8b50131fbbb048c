//! The two worlds: this machine, and the simulated devices.

use std::future::Future;

use highwater::{RealDisk, RealRuntime, runtime};
use highwater_sim_disk::TestRuntime;
use tempfile::TempDir;

use super::World;

/// A process on this machine, in a temporary folder. A crash drops everything without a sync,
/// which leaves what a kill leaves: the page cache.
pub struct Real {
    folder: TempDir,
    runtime: RealRuntime,
}

impl Real {
    /// Where the data folder is.
    #[must_use]
    pub fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    fn on(folder: TempDir) -> Self {
        let disk = RealDisk::open(folder.path()).expect("nobody else uses the folder");
        Self {
            folder,
            runtime: RealRuntime::new(disk).expect("the system gives random bytes"),
        }
    }
}

impl World for Real {
    type Runtime = RealRuntime;

    fn start(_seed: u64) -> Self {
        Self::on(tempfile::tempdir().expect("a temporary folder"))
    }

    fn runtime(&self) -> &RealRuntime {
        &self.runtime
    }

    fn run<T>(&self, main: impl Future<Output = T>) -> T {
        runtime::on_core(main).expect("the system gives an event loop")
    }

    fn crash(self) -> Self {
        let Self { folder, runtime } = self;
        drop(runtime);
        Self::on(folder)
    }
}

/// A process on simulated devices, with virtual time.
pub struct Sim(pub TestRuntime);

impl World for Sim {
    type Runtime = TestRuntime;

    fn start(seed: u64) -> Self {
        Self(TestRuntime::new(seed))
    }

    fn runtime(&self) -> &TestRuntime {
        &self.0
    }

    fn run<T>(&self, main: impl Future<Output = T>) -> T {
        self.0.block_on(main)
    }

    fn crash(self) -> Self {
        Self(self.0.kill())
    }
}
