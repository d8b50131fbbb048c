//! A broker and the client commands: what is written is read, also after a stop and a kill.

mod harness;

use harness::{Broker, run, run_with_input, stdout_of, succeeded};
use serde_json::Value;

fn produce(broker: &Broker, topic: &str, more: &[&str], input: &str) -> Value {
    let mut args = vec!["produce", topic, "-b", &broker.addr, "-o", "json"];
    args.extend(more);
    let written = succeeded(&args, run_with_input(&args, input));
    serde_json::from_str(&written).expect("it is JSON")
}

fn consume(broker: &Broker, topic: &str, more: &[&str]) -> String {
    let mut args = vec!["consume", topic, "-b", &broker.addr, "-o", "start", "-e"];
    args.extend(more);
    stdout_of(&args)
}

#[test]
fn what_is_written_is_read_after_a_clean_stop() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let broker = Broker::start(folder.path(), &[]);
    let written = produce(&broker, "greetings", &[], "hello\nworld\n");
    assert_eq!(written["records"], 2);
    assert_eq!(consume(&broker, "greetings", &[]), "hello\nworld\n");
    let (code, said) = broker.stop();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("Stopped cleanly in "), "{said}");
    assert!(
        !folder.path().join("ready.json").exists(),
        "the ready file outlives the broker"
    );

    let broker = Broker::start(folder.path(), &[]);
    assert_eq!(consume(&broker, "greetings", &[]), "hello\nworld\n");
    let (_, said) = broker.stop();
    assert!(said.contains("the last run stopped cleanly"), "{said}");
}

#[test]
fn what_is_written_is_read_after_a_kill() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut expected = String::new();
    for round in 0..3 {
        let broker = Broker::start(folder.path(), &[]);
        let lines: String = (0..500).map(|n| format!("{round}-{n}\n")).collect();
        produce(&broker, "greetings", &["-z", "lz4"], &lines);
        expected.push_str(&lines);
        assert_eq!(
            consume(&broker, "greetings", &[]),
            expected,
            "round {round}"
        );
        let said = broker.kill();
        assert!(
            round == 0 || said.contains("did not stop cleanly"),
            "{said}"
        );
    }
}

#[test]
fn jsonl_carries_records_from_topic_to_topic_as_they_are() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let broker = Broker::start(folder.path(), &[]);
    let input = "{\"key\":null,\"value\":\"\"}\n\
         {\"key_base64\":\"/w==\",\"value\":null,\"timestamp\":5,\
          \"headers\":[{\"key\":\"a\",\"value\":null},{\"key\":\"a\",\"value\":\"x\"}]}\n";
    produce(&broker, "one", &["-i", "jsonl"], input);
    let first = consume(&broker, "one", &["-o", "jsonl"]);
    produce(&broker, "two", &["-i", "jsonl"], &first);
    let second = consume(&broker, "two", &["-o", "jsonl"]);
    assert_eq!(second.replace("\"two\"", "\"one\""), first);
    assert!(
        first.contains("\"headers\":[{\"key\":\"a\",\"value\":null},"),
        "{first}"
    );
}

#[test]
fn topics_are_made_described_and_removed() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let broker = Broker::start(folder.path(), &[]);
    let b = broker.addr.as_str();
    stdout_of(&[
        "topic",
        "create",
        "orders",
        "-p",
        "3",
        "-c",
        "retention.ms=60000",
        "-b",
        b,
    ]);
    produce(&broker, "orders", &["-k", "a"], "1\n2\n3\n");
    let described = stdout_of(&["topic", "describe", "orders", "-b", b, "-o", "json"]);
    let described: Value = serde_json::from_str(&described).expect("it is JSON");
    let partitions = described[0]["partitions"].as_array().expect("an array");
    let ends: i64 = partitions
        .iter()
        .filter_map(|one| one["end_offset"].as_i64())
        .sum();
    assert_eq!((partitions.len(), ends), (3, 3));
    let configs = described[0]["configs"].as_array().expect("an array");
    let retention = configs
        .iter()
        .find(|config| config["name"] == "retention.ms");
    assert_eq!(retention.expect("it is described")["value"], "60000");

    assert_eq!(
        run(&["topic", "create", "orders", "-b", b]).status.code(),
        Some(1)
    );
    stdout_of(&["topic", "create", "orders", "--if-not-exists", "-b", b]);
    assert_eq!(
        run(&["topic", "delete", "orders", "-b", b]).status.code(),
        Some(2)
    );
    stdout_of(&["topic", "delete", "orders", "--yes", "-b", b]);
    let listed = stdout_of(&["topic", "list", "-b", b, "-o", "json"]);
    assert_eq!(listed, "[]\n");
}

#[test]
fn consume_begins_where_it_is_told() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let broker = Broker::start(folder.path(), &[]);
    let input: String = (0..5)
        .map(|n| format!("{{\"value\":\"{n}\",\"timestamp\":{}}}\n", 1000 * n))
        .collect();
    produce(&broker, "t", &["-i", "jsonl"], &input);
    for (place, expected) in [
        ("start", "01234"),
        ("3", "34"),
        ("-2", "34"),
        ("@1500", "234"),
        ("@9999", ""),
    ] {
        let args = [
            "consume",
            "t",
            "-b",
            &broker.addr,
            "-o",
            place,
            "-e",
            "-f",
            "%v",
        ];
        assert_eq!(stdout_of(&args), expected, "-o {place}");
    }
    let args = [
        "consume",
        "t",
        "-b",
        &broker.addr,
        "-o",
        "start",
        "-n",
        "2",
        "-f",
        "%p/%o=%v ",
    ];
    assert_eq!(stdout_of(&args), "0/0=0 0/1=1 ");
    let (code, message) = harness::failure_of(&["consume", "t", "-b", &broker.addr, "-o", "99"]);
    assert_eq!(code, Some(1));
    assert!(
        message.contains("OFFSET_OUT_OF_RANGE") && message.contains("[0, 5)"),
        "{message}"
    );
}

#[test]
fn an_ephemeral_folder_is_gone_after_the_stop() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let ready = harness::text(&folder.path().join("ready.json"));
    let mut command = harness::highwater(&[
        "start",
        "--ephemeral",
        "--kafka",
        "127.0.0.1:0",
        "--ready-file",
        &ready,
    ]);
    let mut child = command
        .env("TMPDIR", folder.path())
        .spawn()
        .expect("the binary starts");
    while !std::path::Path::new(&ready).exists() {
        assert!(
            child.try_wait().expect("our child").is_none(),
            "the broker ended"
        );
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let kept = || std::fs::read_dir(folder.path()).expect("a folder").count();
    assert_eq!(kept(), 2, "the ready file and the data folder");
    let pid = libc::pid_t::try_from(child.id()).expect("a process number");
    // SAFETY: a plain call; the process is our child and not waited for yet.
    assert_eq!(unsafe { libc::kill(pid, libc::SIGTERM) }, 0);
    assert!(child.wait().expect("our child").success());
    assert_eq!(kept(), 0);
}

#[test]
fn the_log_of_a_stopped_broker_is_dumped_and_verified() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let broker = Broker::start(folder.path(), &[]);
    produce(
        &broker,
        "orders",
        &["-k", "key", "-H", "h=1"],
        "first\nsecond\n",
    );
    assert_eq!(broker.stop().0, Some(0));
    let partition = folder.path().join("data/orders-0");
    let partition = harness::text(&partition);

    let dumped = stdout_of(&["log", "dump", &partition, "--records"]);
    assert!(dumped.contains("orders-0  segment 0  active"), "{dumped}");
    assert!(
        dumped.contains("\"key\"  \"second\"  1 headers"),
        "{dumped}"
    );
    let verified = stdout_of(&["log", "verify", &harness::text(&folder.path().join("data"))]);
    assert!(
        verified.contains("good") && !verified.contains("DAMAGED"),
        "{verified}"
    );

    let file = folder.path().join("data/orders-0/0.msg");
    let mut bytes = std::fs::read(&file).expect("it is there");
    let at = bytes
        .windows(5)
        .position(|part| part == b"first")
        .expect("it holds the record");
    bytes[at] ^= 1;
    std::fs::write(&file, bytes).expect("it can be written");
    let (code, message) = harness::failure_of(&["log", "verify", &partition]);
    assert_eq!(code, Some(6), "{message}");
    assert!(
        message.contains("0.msg: corrupt record at byte"),
        "{message}"
    );
}
