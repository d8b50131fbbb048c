//! Snapshots of dumped logs: what rolls, cuts, tears and recoveries leave in the folder.

use highwater_runtime::{Disk, File};
use highwater_sim_disk::Tear;

use super::*;
use crate::{dump, verify};

const NOTHING_KEPT: Tear = Tear {
    unit: 512,
    keep_percent: 0,
};

fn dumped(rt: &TestRuntime) -> String {
    dump(rt.disk(), "orders-0").expect("the disk answers")
}

/// Two segments of three batches, synced.
fn two_segments(rt: &TestRuntime) -> TestLog {
    let mut log = create(rt);
    append(&mut log, &["a", "b"]);
    log.append(&mut batch_of(7, 0, 0, &["c"]), LeaderEpoch(0), NOW_MS)
        .expect("space");
    log.roll(NOW_MS + 5).expect("space");
    log.append(&mut batch_of(7, 0, 1, &["d", "e"]), LeaderEpoch(3), NOW_MS)
        .expect("space");
    sync(rt, &mut log);
    log
}

#[test]
fn a_rolled_log() {
    let rt = TestRuntime::new(1);
    drop(two_segments(&rt));
    insta::assert_snapshot!(dumped(&rt));
    assert_eq!(verify(rt.disk(), "orders-0"), Ok(vec![]));
}

#[test]
fn a_log_truncated_in_its_active_segment() {
    let rt = TestRuntime::new(1);
    let mut log = two_segments(&rt);
    log.truncate_to(Offset(4), NOW_MS).expect("the disk cuts");
    sync(&rt, &mut log);
    insta::assert_snapshot!(dumped(&rt));
}

#[test]
fn a_log_truncated_in_a_sealed_segment() {
    let rt = TestRuntime::new(1);
    let mut log = two_segments(&rt);
    log.truncate_to(Offset(2), NOW_MS).expect("the disk cuts");
    sync(&rt, &mut log);
    insta::assert_snapshot!(dumped(&rt));
}

#[test]
fn a_torn_log_before_and_after_its_recovery() {
    let rt = TestRuntime::new(1);
    let mut log = two_segments(&rt);
    let checkpoint = log.checkpoint();
    append(&mut log, &["f"]);
    append(&mut log, &["torn"]);
    drop(log);
    let rt = rt.kill();
    let file = rt
        .disk()
        .open("orders-0/1.msg")
        .expect("the active segment");
    file.truncate(file.len() - 9).expect("a cut");
    drop(file);
    let before = dumped(&rt);
    let findings = verify(rt.disk(), "orders-0").expect("the disk answers");
    let (mut log, report) = open(&rt, Some(checkpoint), false);
    let opened = dumped(&rt);
    sync(&rt, &mut log);
    let after = dumped(&rt);
    insta::assert_snapshot!(format!(
        "torn:\n{before}{findings:?}\n\nopened: {report}\n{opened}\nsynced:\n{after}"
    ));
    assert_eq!(verify(rt.disk(), "orders-0"), Ok(vec![]));
}

#[test]
fn a_log_recovered_after_a_power_loss() {
    let rt = TestRuntime::new(1);
    let mut log = two_segments(&rt);
    let checkpoint = log.checkpoint();
    append_until_rolled(&mut log, 1);
    drop(log);
    let rt = rt.power_loss(NOTHING_KEPT);
    let lost = dumped(&rt);
    let (mut log, report) = open(&rt, Some(checkpoint), false);
    append(&mut log, &["next"]);
    sync(&rt, &mut log);
    let after = dumped(&rt);
    insta::assert_snapshot!(format!("lost:\n{lost}\nopened: {report}\n{after}"));
}

#[test]
fn a_log_with_a_zero_tail() {
    let rt = TestRuntime::new(1);
    drop(two_segments(&rt));
    let file = rt
        .disk()
        .open("orders-0/1.msg")
        .expect("the active segment");
    file.append(&[&[0; 40]]).expect("space");
    insta::assert_snapshot!(dumped(&rt));
}

#[test]
fn a_log_with_damage_in_every_file() {
    let rt = TestRuntime::new(1);
    drop(two_segments(&rt));
    for (file, at) in [
        ("0.msg", 150),
        ("1.msg", 20),
        ("3.producers", 9),
        ("partition.meta", 9),
    ] {
        assert!(
            rt.disk().corrupt(&format!("orders-0/{file}"), at, 0),
            "{file}"
        );
    }
    let findings = verify(rt.disk(), "orders-0").expect("the disk answers");
    insta::assert_snapshot!(format!("{}\n{findings:#?}", dumped(&rt)));
}

#[test]
fn a_log_whose_records_were_deleted() {
    let rt = TestRuntime::new(1);
    let mut log = two_segments(&rt);
    log.delete_before(Offset(4)).expect("below the end");
    log.retain(log.end(), NOW_MS);
    sync(&rt, &mut log);
    log.retain(log.end(), NOW_MS);
    insta::assert_snapshot!(dumped(&rt));
}
