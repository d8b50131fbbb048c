//! The signals that end a broker.

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::Failure;

/// Waits for SIGTERM and SIGINT. Until it is made they end the process at once, which is safe.
pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    pub(super) fn new() -> Result<Self, Failure> {
        let listen = |kind| {
            signal(kind).map_err(|error| {
                Failure::failed(format!(
                    "the system gives no signals to this process: {error}"
                ))
            })
        };
        Ok(Self {
            terminate: listen(SignalKind::terminate())?,
            interrupt: listen(SignalKind::interrupt())?,
        })
    }

    /// The name of the next signal.
    pub(super) async fn wait(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}
