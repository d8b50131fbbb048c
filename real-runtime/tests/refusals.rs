//! The messages of a start that cannot be: what happened, why, what to do.

mod harness;

use std::fs;
use std::net::TcpListener;

use harness::{Broker, failure_of, text};

/// Standard error of `start` with `args`, which must fail with `code`; `hidden` differ from run
/// to run and are replaced.
fn refusal(args: &[&str], code: i32, hidden: &[(&str, &str)]) -> String {
    let mut all = vec!["start"];
    all.extend(args);
    let (got, mut message) = failure_of(&all);
    for (value, name) in hidden {
        message = message.replace(value, name);
    }
    assert_eq!(got, Some(code), "{message}");
    message
}

#[test]
fn a_port_in_use_is_named() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let addr = taken.local_addr().expect("it is bound");
    let port = addr.port().to_string();
    let message = refusal(
        &["--ephemeral", "--kafka", &addr.to_string()],
        1,
        &[(&port, "PORT")],
    );
    insta::assert_snapshot!(message, @r#"
highwater: cannot serve Kafka clients on 127.0.0.1:PORT: the port is in use by another process. Stop that process (`ss -ltnp 'sport = :PORT'` names it), or choose another port with --kafka HOST:PORT (port 0 picks a free one).
"#);
}

#[test]
fn a_folder_that_may_not_be_written_is_named() {
    // Nobody may make folders there, not even root.
    let message = refusal(
        &["--kafka", "127.0.0.1:0", "--data-dir", "/sys/highwater"],
        1,
        &[
            ("Permission denied", "WHY"),
            ("Operation not permitted", "WHY"),
            ("Read-only file system", "WHY"),
        ],
    );
    insta::assert_snapshot!(message, @r#"
highwater: data folder /sys/highwater cannot be written: WHY. Give this user the right to write it, or choose another folder with --data-dir.
"#);
}

#[test]
fn a_locked_folder_is_named_with_the_process_that_has_it() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let broker = Broker::start(folder.path(), &[]);
    let (data, pid) = (text(&folder.path().join("data")), broker.pid().to_string());
    let args = ["--kafka", "127.0.0.1:0", "--data-dir", &data];
    let message = refusal(&args, 1, &[(&data, "FOLDER"), (&pid, "PID")]);
    insta::assert_snapshot!(message, @r#"
highwater: data folder FOLDER is locked by pid PID. Another broker uses it. Stop that broker, or choose another folder with --data-dir.
"#);
}

#[test]
fn a_wrong_key_is_named_with_its_place_and_the_nearest_one() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("highwater.toml");
    fs::write(&file, "num.partitions = 3\n\n[log]\nretenion.ms = 5\n").expect("it can be written");
    let file = text(&file);
    let args = [
        "--config",
        &file,
        "-c",
        "nun.partitions=3",
        "-c",
        "num.partitions=many",
    ];
    insta::assert_snapshot!(refusal(&args, 2, &[(&file, "FILE")]), @r#"
highwater: FILE:4: Unknown broker setting "log.retenion.ms"; did you mean "log.retention.ms"?
-c nun.partitions=3: Unknown broker setting "nun.partitions"; did you mean "num.partitions"?
-c num.partitions=many: Invalid value many for setting num.partitions: it must be a whole number from 1 to 2147483647
`highwater config default` lists every setting.
"#);
}

#[test]
fn a_folder_of_something_else_is_named() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("thesis.tex"), "years of work").expect("it can be written");
    let data = text(folder.path());
    let args = ["--kafka", "127.0.0.1:0", "--data-dir", &data];
    insta::assert_snapshot!(refusal(&args, 1, &[(&data, "FOLDER")]), @r#"
highwater: cannot start in FOLDER: the data folder has "thesis.tex" in it and no file "highwater.meta": it is not ours. Choose an empty folder, or a folder of Highwater, with --data-dir.
"#);
}

#[test]
fn no_broker_is_an_exit_code_of_its_own() {
    let free = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let addr = free.local_addr().expect("it is bound").to_string();
    drop(free);
    let (code, message) = failure_of(&["topic", "list", "--bootstrap", &addr]);
    assert_eq!(code, Some(3));
    insta::assert_snapshot!(message.replace(&addr, "ADDR"), @r#"
highwater: cannot connect to ADDR: connection refused. Is the broker running there? Start one with `highwater start`, or name another with --bootstrap HOST:PORT.
"#);
}
