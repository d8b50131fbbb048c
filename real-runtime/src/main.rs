//! The binary `highwater`: parses the command line and turns failures into exit codes.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::io::Write;
use std::process::ExitCode;
use std::{io, panic, process, thread};

use clap::Parser;
use highwater::command::{self, Cli};

fn main() -> ExitCode {
    panic::set_hook(Box::new(report_bug));
    let cli = Cli::parse();
    if !cli.is_start() {
        end_quietly_with_a_closed_pipe();
    }
    match command::run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            let _ = writeln!(io::stderr(), "highwater: {failure}");
            ExitCode::from(failure.code)
        }
    }
}

/// A panic is a bug: the process ends before it can write anything wrong.
fn report_bug(facts: &panic::PanicHookInfo<'_>) {
    let what = facts.payload_as_str().unwrap_or("no message");
    let place = facts
        .location()
        .map(ToString::to_string)
        .unwrap_or_default();
    let thread = thread::current().name().unwrap_or("unnamed").to_owned();
    let version = env!("CARGO_PKG_VERSION");
    let _ = writeln!(
        io::stderr(),
        "highwater {version}: a bug, please report these lines.\n  {what}\n  at {place}, thread {thread}\n\
         The process ends now, so that nothing wrong is written; the next start recovers, and \
         nothing acknowledged is lost."
    );
    let trace = Backtrace::capture();
    if trace.status() == BacktraceStatus::Captured {
        let _ = writeln!(io::stderr(), "{trace}");
    }
    process::abort();
}

/// `highwater consume t | head` ends when `head` does, without a message. The broker keeps
/// Rust's own rule: a write to a closed connection is an error and no signal.
fn end_quietly_with_a_closed_pipe() {
    // SAFETY: no other thread runs yet, and the default action needs no handler.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
}
