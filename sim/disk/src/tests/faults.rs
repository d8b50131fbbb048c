//! Faults on request: failed syncs, full disks, read errors, bit flips.

use highwater_runtime::{Disk, DiskErrorKind, File};

use super::now;
use crate::{SimDisk, Tear};

#[test]
fn a_failed_sync_shows_the_new_bytes_keeps_the_old_and_the_next_sync_lies() {
    for seed in 0..50 {
        let disk = SimDisk::new(seed);
        disk.set_faults(|faults| faults.write_back_permille = 0);
        let file = disk.create("a").expect("create");
        now(disk.sync_dir("")).expect("sync_dir");
        file.append(&[&[7; 100]]).expect("append");
        disk.fail_syncs(1);
        let refused = now(file.sync()).expect_err("told to fail");
        assert!(
            matches!(refused.kind, DiskErrorKind::Failed(_)),
            "{refused}"
        );
        assert_eq!(disk.read("a").expect("cached")[..], [7; 100]);
        now(file.sync()).expect("the kernel reports an error once");
        disk.power_loss_with(Tear {
            unit: 512,
            keep_percent: 100,
        });
        let content = disk.reboot().read("a").expect("named");
        assert!(
            content.iter().all(|byte| *byte == 0),
            "seed {seed}: {content:?}"
        );
    }
}

#[test]
fn rewritten_bytes_after_a_failed_sync_become_durable() {
    let disk = SimDisk::new(3);
    let file = disk.create("a").expect("create");
    now(disk.sync_dir("")).expect("sync_dir");
    file.append(&[b"abc"]).expect("append");
    disk.fail_syncs(1);
    now(file.sync()).expect_err("told to fail");
    file.truncate(0).expect("cut");
    file.append(&[b"abc"]).expect("append");
    now(file.sync()).expect("sync");
    disk.power_loss_with(Tear {
        unit: 1,
        keep_percent: 0,
    });
    assert_eq!(disk.reboot().read("a").expect("named"), "abc");
}

#[test]
fn a_full_disk_refuses_an_append_whole_and_frees_with_the_file() {
    let disk = SimDisk::new(1);
    let file = disk.create("a").expect("create");
    file.append(&[&[1; 60]]).expect("append");
    disk.set_free(10);
    assert_eq!(
        file.append(&[&[2; 6], &[3; 5]]).expect_err("full").kind,
        DiskErrorKind::Full
    );
    assert_eq!((file.len(), disk.free_bytes()), (60, Ok(10)));
    file.append(&[&[2; 10]]).expect("fits exactly");
    disk.remove("a").expect("remove");
    assert_eq!(disk.free_bytes(), Ok(0), "an open file holds its space");
    drop(file);
    assert_eq!(disk.free_bytes(), Ok(70));
}

#[test]
fn publish_on_a_full_disk_keeps_the_old_content_and_leaves_nothing_beside_it() {
    let disk = SimDisk::new(1);
    now(disk.publish("a", "old".into())).expect("publish");
    disk.set_free(2);
    let refused = now(disk.publish("a", "newer".into())).expect_err("full");
    assert_eq!((refused.op, refused.kind), ("publish", DiskErrorKind::Full));
    assert_eq!(disk.read("a").expect("kept"), "old");
    assert_eq!(disk.list("").expect("list").len(), 1);
}

#[test]
fn a_read_only_disk_refuses_every_change_and_still_reads() {
    let disk = SimDisk::new(1);
    let file = disk.create("a").expect("create");
    file.append(&[b"x"]).expect("append");
    disk.set_faults(|faults| faults.read_only = true);
    let kinds = [
        file.append(&[b"y"]).expect_err("append").kind,
        file.truncate(0).expect_err("truncate").kind,
        disk.create("b").map(drop).expect_err("create").kind,
        disk.create_dir("d").expect_err("create_dir").kind,
        disk.remove("a").expect_err("remove").kind,
        disk.rename("a", "b").expect_err("rename").kind,
        now(disk.publish("a", "z".into()))
            .expect_err("publish")
            .kind,
    ];
    assert!(
        kinds.iter().all(|kind| *kind == DiskErrorKind::ReadOnly),
        "{kinds:?}"
    );
    assert_eq!(disk.read("a").expect("read"), "x");
}

#[test]
fn reads_and_appends_fail_as_often_as_asked() {
    let disk = SimDisk::new(1);
    let file = disk.create("a").expect("create");
    file.append(&[b"x"]).expect("append");
    disk.fail_reads(2);
    assert!(file.view(0, 1).is_err() && file.read_at(0, &mut [0]).is_err());
    assert!(file.view(0, 1).is_ok());
    disk.fail_appends(1);
    assert!(file.append(&[b"yyyy"]).is_err());
    assert!(
        (1..=5).contains(&file.len()),
        "part of a failed append may be there"
    );
    assert!(file.append(&[b"z"]).is_ok());
}

#[test]
fn a_flipped_bit_is_read_and_survives_power_loss() {
    let disk = SimDisk::new(1);
    now(disk.publish("a", "abc".into())).expect("publish");
    assert!(disk.corrupt("a", 1, 0));
    assert!(!disk.corrupt("a", 3, 0) && !disk.corrupt("b", 0, 0));
    assert_eq!(disk.read("a").expect("read"), "acc");
    disk.power_loss();
    assert_eq!(disk.reboot().read("a").expect("read"), "acc");
}

#[test]
fn an_append_after_seal_is_a_violation() {
    let disk = SimDisk::new(1);
    let file = disk.create("a").expect("create");
    file.seal().expect("seal");
    file.append(&[b"x"]).expect("append");
    assert_eq!(disk.take_violations().len(), 1);
}

#[test]
fn the_same_seed_makes_the_same_disk() {
    let run = |seed| {
        let disk = SimDisk::new(seed);
        let file = disk.create("a").expect("create");
        now(disk.sync_dir("")).expect("sync_dir");
        for part in 0..50_u8 {
            file.append(&[&[part; 33]]).expect("append");
        }
        disk.power_loss_with(Tear {
            unit: 7,
            keep_percent: 50,
        });
        disk.reboot().read("a").expect("named")
    };
    assert_eq!(run(5), run(5));
    assert_ne!(run(5), run(6));
}
