//! The binary as a user runs it: arguments in, output and exit code out.

#![allow(dead_code, reason = "each test file uses a part")]

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How long a start may take on a loaded machine.
const START_LIMIT: Duration = Duration::from_secs(60);

/// The binary, without the settings of whoever runs the tests.
pub fn highwater(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_highwater"));
    command
        .args(args)
        .env_remove("RUST_BACKTRACE")
        .stdin(Stdio::null());
    command
}

/// Runs a command to its end.
pub fn run(args: &[&str]) -> Output {
    highwater(args).output().expect("the binary starts")
}

/// Runs a command with `input` as its standard input.
pub fn run_with_input(args: &[&str], input: &str) -> Output {
    let mut command = highwater(args);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary starts");
    let mut stdin = child.stdin.take().expect("it is a pipe");
    stdin
        .write_all(input.as_bytes())
        .expect("it reads its input");
    drop(stdin);
    child.wait_with_output().expect("it ends")
}

/// Standard output of a command that must succeed.
pub fn stdout_of(args: &[&str]) -> String {
    succeeded(args, run(args))
}

/// Standard output of `output`, which must be a success.
pub fn succeeded(args: &[&str], output: Output) -> String {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?} failed: {stderr}");
    String::from_utf8(output.stdout).expect("it writes text")
}

/// Exit code and standard error of a command.
pub fn failure_of(args: &[&str]) -> (Option<i32>, String) {
    let output = run(args);
    (
        output.status.code(),
        String::from_utf8(output.stderr).expect("it writes text"),
    )
}

/// A running broker; it is killed when dropped.
pub struct Broker {
    child: Child,
    /// Where it serves Kafka clients.
    pub addr: String,
}

impl Broker {
    /// Starts a broker with its data in `folder`, on a port that the system picks.
    pub fn start(folder: &Path, more: &[&str]) -> Self {
        let ready = folder.join("ready.json");
        // A killed broker leaves its file; wait for this one's.
        let _ = fs::remove_file(&ready);
        let (data, ready_arg) = (text(&folder.join("data")), text(&ready));
        let mut args = vec![
            "start",
            "--data-dir",
            &data,
            "--kafka",
            "127.0.0.1:0",
            "--ready-file",
            &ready_arg,
        ];
        args.extend(more);
        let mut command = highwater(&args);
        command.stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = command.spawn().expect("the binary starts");
        let began = Instant::now();
        let content = loop {
            if let Ok(content) = fs::read_to_string(&ready) {
                break content;
            }
            let ended = child.try_wait().expect("it is our child");
            assert!(ended.is_none(), "the broker ended: {ended:?}");
            assert!(
                began.elapsed() < START_LIMIT,
                "the broker is not ready in time"
            );
            thread::sleep(Duration::from_millis(10));
        };
        let facts: serde_json::Value = serde_json::from_str(&content).expect("it is JSON");
        assert_eq!(
            facts["pid"],
            child.id(),
            "the ready file names another process"
        );
        let addr = facts["kafka"].as_str().expect("an address").to_owned();
        Self { child, addr }
    }

    /// The broker's process number.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Kills it, as a crash does; answers what it wrote.
    pub fn kill(mut self) -> String {
        self.child.kill().expect("it is our child");
        self.wait().1
    }

    /// Asks it to stop; answers its exit code and what it wrote.
    pub fn stop(mut self) -> (Option<i32>, String) {
        let pid = libc::pid_t::try_from(self.child.id()).expect("a process number");
        // SAFETY: a plain call; the process is our child and not waited for yet.
        assert_eq!(unsafe { libc::kill(pid, libc::SIGTERM) }, 0);
        self.wait()
    }

    fn wait(&mut self) -> (Option<i32>, String) {
        use std::io::Read;
        let mut written = String::new();
        let mut stdout = self.child.stdout.take().expect("it is a pipe");
        stdout.read_to_string(&mut written).expect("it writes text");
        let status = self.child.wait().expect("it is our child");
        (status.code(), written)
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        // After a stop there is nothing left to end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// `path` as an argument.
pub fn text(path: &Path) -> String {
    path.to_str()
        .expect("a temporary folder has a plain name")
        .to_owned()
}
