//! Names in folders: durable after `sync_dir` only.

use std::collections::BTreeSet;

use highwater_runtime::{Disk, DiskErrorKind, File};

use super::now;
use crate::{SimDisk, Tear};

/// The names in the data folder after a power loss.
fn names_after_power_loss(disk: &SimDisk) -> Vec<String> {
    disk.power_loss_with(Tear {
        unit: 1,
        keep_percent: 50,
    });
    disk.reboot()
        .list("")
        .expect("list")
        .into_iter()
        .map(|entry| entry.name)
        .collect()
}

/// Every outcome over many seeds of `act`.
fn outcomes(act: impl Fn(&SimDisk)) -> BTreeSet<String> {
    let outcome = |seed| {
        let disk = SimDisk::new(seed);
        act(&disk);
        names_after_power_loss(&disk).join(" ")
    };
    (0..100).map(outcome).collect()
}

fn set<const N: usize>(names: [&str; N]) -> BTreeSet<String> {
    names.into_iter().map(str::to_owned).collect()
}

#[test]
fn a_created_name_is_there_or_absent_until_synced() {
    let create = |disk: &SimDisk| drop(disk.create("a").expect("create"));
    assert_eq!(outcomes(create), set(["", "a"]));
    let synced = |disk: &SimDisk| {
        create(disk);
        now(disk.sync_dir("")).expect("sync_dir");
    };
    assert_eq!(outcomes(synced), set(["a"]));
}

#[test]
fn syncing_a_file_does_not_sync_its_name() {
    let act = |disk: &SimDisk| {
        let file = disk.create("a").expect("create");
        file.append(&[b"x"]).expect("append");
        now(file.sync()).expect("sync");
    };
    assert_eq!(outcomes(act), set(["", "a"]));
}

#[test]
fn a_renamed_file_has_the_old_the_new_or_both_names_until_synced() {
    let rename = |disk: &SimDisk| {
        disk.create("a").expect("create");
        now(disk.sync_dir("")).expect("sync_dir");
        disk.rename("a", "b").expect("rename");
    };
    assert_eq!(outcomes(rename), set(["a", "a b", "b"]));
}

#[test]
fn a_renamed_folder_has_exactly_one_name() {
    let rename = |disk: &SimDisk| {
        disk.create_dir("a").expect("create_dir");
        disk.create("a/x").expect("create");
        now(disk.sync_dir("a")).expect("sync_dir");
        now(disk.sync_dir("")).expect("sync_dir");
        disk.rename("a", "b").expect("rename");
    };
    assert_eq!(outcomes(rename), set(["a", "b"]));
}

#[test]
fn a_removed_name_may_come_back_with_its_content_until_synced() {
    let back = (0..50).any(|seed| {
        let disk = SimDisk::new(seed);
        now(disk.publish("a", "old".into())).expect("publish");
        disk.remove("a").expect("remove");
        disk.power_loss();
        match disk.reboot().read("a") {
            Ok(content) => {
                assert_eq!(content, "old");
                true
            }
            Err(missing) => {
                assert_eq!(missing.kind, DiskErrorKind::NotFound);
                false
            }
        }
    });
    assert!(back);
}

#[test]
fn a_removed_and_synced_name_stays_away() {
    let act = |disk: &SimDisk| {
        now(disk.publish("a", "old".into())).expect("publish");
        disk.remove("a").expect("remove");
        now(disk.sync_dir("")).expect("sync_dir");
    };
    assert_eq!(outcomes(act), set([""]));
}

#[test]
fn a_file_moved_between_folders_is_never_lost_when_one_of_them_was_synced() {
    for synced in ["from", "to"] {
        for seed in 0..100 {
            let disk = SimDisk::new(seed);
            disk.create_dir("from").expect("create_dir");
            disk.create_dir("to").expect("create_dir");
            now(disk.sync_dir("")).expect("sync_dir");
            now(disk.publish("from/a", "x".into())).expect("publish");
            disk.rename("from/a", "to/a").expect("rename");
            now(disk.sync_dir(synced)).expect("sync_dir");
            disk.power_loss_with(Tear {
                unit: 1,
                keep_percent: 0,
            });
            let next = disk.reboot();
            let places = [next.read("from/a"), next.read("to/a")];
            assert!(places.contains(&Ok("x".into())), "seed {seed}: {places:?}");
        }
    }
}

#[test]
fn publish_leaves_the_old_or_the_new_content_whole_at_every_step() {
    for seed in 0..200 {
        let disk = SimDisk::new(seed);
        now(disk.publish("a", "old content".into())).expect("publish");
        // The second step of publish waits for a sync of the file, the third for one of the folder.
        let gate = crate::TestRuntime::with_sync_time(seed, std::time::Duration::from_millis(5));
        let slow = gate.clone();
        let disk = highwater_runtime::Runtime::disk(&gate).clone();
        gate.block_on(disk.publish("a", "old content".into()))
            .expect("publish");
        let publish = disk.publish("a", "new content!".into());
        highwater_runtime::Runtime::spawn(&slow, "publish", async move {
            let _ = publish.await;
        });
        gate.advance(std::time::Duration::from_millis(seed % 12));
        let next = gate.power_loss(Tear {
            unit: 1,
            keep_percent: 50,
        });
        let content = highwater_runtime::Runtime::disk(&next)
            .read("a")
            .expect("one of them");
        assert!(
            content == "old content" || content == "new content!",
            "seed {seed}: {content:?}"
        );
    }
}

#[test]
fn remove_dir_takes_everything_and_a_crash_may_leave_part() {
    let mut kept = BTreeSet::new();
    for seed in 0..100 {
        let disk = SimDisk::new(seed);
        disk.create_dir("d").expect("create_dir");
        for name in ["d/a", "d/b"] {
            disk.create(name).expect("create");
        }
        now(disk.sync_dir("d")).expect("sync_dir");
        now(disk.sync_dir("")).expect("sync_dir");
        disk.remove_dir("d").expect("remove_dir");
        assert_eq!(disk.list("").expect("list"), []);
        disk.power_loss_with(Tear {
            unit: 1,
            keep_percent: 50,
        });
        kept.insert(disk.reboot().list("d").map_or(9, |entries| entries.len()));
    }
    assert!(
        kept.contains(&9) && kept.contains(&2) && kept.contains(&1),
        "{kept:?}"
    );
}

#[test]
fn names_follow_the_rules_of_a_file_system() {
    let disk = SimDisk::new(1);
    let kind = |result: Result<(), highwater_runtime::DiskError>| result.expect_err("refused").kind;
    assert_eq!(kind(disk.create("no/a").map(drop)), DiskErrorKind::NotFound);
    assert_eq!(kind(disk.open("a").map(drop)), DiskErrorKind::NotFound);
    disk.create("a").expect("create");
    assert_eq!(kind(disk.create("a").map(drop)), DiskErrorKind::Exists);
    assert_eq!(kind(disk.create_dir("a")), DiskErrorKind::Exists);
    disk.create_dir("d").expect("create_dir");
    disk.create_dir("d").expect("there already");
    assert_eq!(kind(disk.remove("d")), DiskErrorKind::NotFound);
    assert_eq!(kind(disk.remove_dir("a")), DiskErrorKind::NotFound);
    disk.create("d/b")
        .expect("create")
        .append(&[b"12"])
        .expect("append");
    disk.rename("d/b", "a").expect("replaces a file");
    let listed = disk.list("").expect("list");
    let entry = |name: &str, is_dir, len| highwater_runtime::DirEntry {
        name: name.to_owned(),
        is_dir,
        len,
    };
    assert_eq!(listed, [entry("a", false, 2), entry("d", true, 0)]);
}

#[test]
fn a_failed_sync_of_a_folder_leaves_any_mix_of_names() {
    let act = |disk: &SimDisk| {
        disk.set_faults(|faults| faults.sync_dir_fail_permille = 1_000);
        disk.create("a").expect("create");
        now(disk.sync_dir("")).expect_err("told to fail");
    };
    assert_eq!(outcomes(act), set(["", "a"]));
}
