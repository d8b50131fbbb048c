//! One thread a core: each serves its own connections until the broker ends.

use std::sync::Arc;
use std::thread::{self, JoinHandle};

use highwater_broker::Broker;
use tokio::sync::watch;

use super::Failure;
use crate::net::RealListener;
use crate::runtime::{self, RealRuntime};

/// What the cores should do.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    /// Accept and serve.
    Serving,
    /// Serve what is connected.
    Draining,
    /// End.
    Ended,
}

/// The cores of a broker. This thread is the first.
pub(super) struct Cores {
    phase: watch::Sender<Phase>,
    threads: Vec<JoinHandle<()>>,
}

impl Cores {
    /// Serves `listeners` on every core.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub(super) fn start(
        broker: &Arc<Broker<RealRuntime>>,
        runtime: &RealRuntime,
        listeners: Vec<RealListener>,
    ) -> Result<Self, Failure> {
        let (phase, seen) = watch::channel(Phase::Serving);
        let count = runtime::core_count();
        let mut shares: Vec<Vec<RealListener>> = (0..count).map(|_| Vec::new()).collect();
        for listener in listeners {
            for (core, share) in shares.iter_mut().zip(listener.split(count)) {
                core.push(share);
            }
        }
        let mut shares = shares.into_iter();
        let own = shares.next().unwrap_or_default();
        serve_all(broker, runtime, own, &seen);
        let mut threads = Vec::new();
        for (index, share) in shares.enumerate() {
            let (broker, runtime, mut seen) = (Arc::clone(broker), runtime.clone(), seen.clone());
            let core = move || {
                let main = async {
                    serve_all(&broker, &runtime, share, &seen);
                    // An error means that the first core is gone: so are we.
                    let _ = seen.wait_for(|phase| *phase == Phase::Ended).await;
                };
                runtime::on_core(main).expect("the system gives every core an event loop");
            };
            let name = format!("highwater-core-{}", index + 1);
            let started = thread::Builder::new().name(name).spawn(core);
            threads.push(started.map_err(|error| {
                Failure::failed(format!("the system gives no thread for a core: {error}"))
            })?);
        }
        Ok(Self { phase, threads })
    }

    /// New connections are refused from here on; the others are served.
    pub(super) fn accept_no_more(&self) {
        self.phase.send_replace(Phase::Draining);
    }

    /// Ends every other core, with its connections.
    pub(super) fn end(self) {
        self.phase.send_replace(Phase::Ended);
        for thread in self.threads {
            // A panic there has ended the process before it could come here.
            let _ = thread.join();
        }
    }
}

/// Spawns the service of `listeners` on this core.
fn serve_all(
    broker: &Arc<Broker<RealRuntime>>,
    runtime: &RealRuntime,
    listeners: Vec<RealListener>,
    seen: &watch::Receiver<Phase>,
) {
    use highwater_runtime::Runtime;
    for listener in listeners {
        let (broker, own, mut seen) = (Arc::clone(broker), runtime.clone(), seen.clone());
        runtime.spawn("accept", async move {
            tokio::select! {
                () = broker.serve(own, listener) => {}
                _ = seen.wait_for(|phase| *phase >= Phase::Draining) => {}
            }
        });
    }
}
