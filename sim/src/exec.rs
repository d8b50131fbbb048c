//! madsim, and nothing of it anywhere else: virtual time, tasks, machines that can be killed.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use highwater_sim_disk::Pace;
use madsim::runtime::{Handle, NodeHandle};

/// Runs `world` under the schedule that `seed` picks. Call it on a fresh thread: what a thread
/// keeps for itself must not leak from one seed into the next.
///
/// # Panics
/// When a task panics, when virtual time passes `limit`, or when every task waits for ever.
pub fn run<F: Future>(seed: u64, limit: Duration, world: F) -> F::Output {
    let mut runtime =
        madsim::runtime::Runtime::with_seed_and_config(seed, madsim::Config::default());
    runtime.set_time_limit(limit);
    runtime.block_on(world)
}

/// Virtual time since the world began.
pub fn now() -> Duration {
    madsim::time::TimeHandle::current().elapsed()
}

/// Ready after `duration` of virtual time; never before one millisecond.
pub fn sleep(duration: Duration) -> impl Future<Output = ()> + 'static {
    madsim::time::sleep(duration)
}

/// Runs `task` on the machine of the caller.
pub fn spawn(task: impl Future<Output = ()> + 'static) {
    drop(madsim::task::spawn_local(task));
}

/// Virtual time for the devices.
pub struct VirtualTime;

impl Pace for VirtualTime {
    fn now(&self) -> Duration {
        now()
    }

    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()>>> {
        if duration.is_zero() {
            return Box::pin(std::future::ready(()));
        }
        Box::pin(sleep(duration))
    }
}

/// A machine whose process runs `init` at each start.
pub struct Machine {
    node: NodeHandle,
}

impl Machine {
    /// Builds the machine and starts its process.
    pub fn start<F: Future<Output = ()> + 'static>(
        name: &str,
        init: impl Fn() -> F + Send + Sync + 'static,
    ) -> Self {
        Self {
            node: Handle::current()
                .create_node()
                .name(name)
                .init(init)
                .build(),
        }
    }

    /// Ends the process: no task of it runs on.
    pub fn kill(&self) {
        Handle::current().kill(self.node.id());
    }

    /// Starts the process anew. It must have been killed or have ended.
    pub fn restart(&self) {
        self.kill();
        Handle::current().restart(self.node.id());
    }
}
