//! The signals that end a broker.

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::{Failure, exit};

/// Ends the process with a message when the disk fails below a mapped file: the kernel then has no
/// bytes to give and no other way to say so.
pub(super) fn explain_failing_maps() {
    extern "C" fn explain(_signal: libc::c_int) {
        const MESSAGE: &[u8] = b"highwater: the disk failed, or a file of the data folder was \
            cut, while it was read through a memory map. The broker ends now; what it \
            acknowledged is as it was. Look at the kernel's log, then start again: the start \
            names a damaged file.\n";
        // SAFETY: both calls are allowed in a signal handler; the message lives for ever.
        unsafe {
            libc::write(libc::STDERR_FILENO, MESSAGE.as_ptr().cast(), MESSAGE.len());
            libc::_exit(i32::from(exit::DAMAGED));
        }
    }
    let handler = explain as extern "C" fn(libc::c_int);
    // SAFETY: the handler calls only what a signal handler may call, and never returns.
    unsafe { libc::signal(libc::SIGBUS, handler as libc::sighandler_t) };
}

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
