//! Files: page cache, platter, and what a power loss leaves.

use highwater_runtime::{Disk, DiskErrorKind, File};

use super::now;
use crate::{SimDisk, Tear};

/// Makes a file whose name is durable.
fn durable_file(disk: &SimDisk, path: &str) -> crate::SimFile {
    let file = disk.create(path).expect("create");
    now(disk.sync_dir("")).expect("sync_dir");
    file
}

#[test]
fn synced_bytes_survive_every_power_loss() {
    for seed in 0..200 {
        for unit in [1, 7, 64, 512, 4096] {
            let disk = SimDisk::new(seed);
            let file = durable_file(&disk, "a");
            file.append(&[&[1; 700]]).expect("append");
            now(file.sync()).expect("sync");
            file.append(&[&[2; 900]]).expect("append");
            disk.power_loss_with(Tear {
                unit,
                keep_percent: 50,
            });
            let content = disk.reboot().read("a").expect("the name was synced");
            assert!(content.len() >= 700, "seed {seed}: {} bytes", content.len());
            assert!(
                content[..700].iter().all(|byte| *byte == 1),
                "seed {seed}, unit {unit}"
            );
            assert!(
                content[700..].iter().all(|byte| [0, 2].contains(byte)),
                "seed {seed}"
            );
        }
    }
}

#[test]
fn a_kill_keeps_the_page_cache() {
    let disk = SimDisk::new(1);
    disk.create("a")
        .expect("create")
        .append(&[b"never ", b"synced"])
        .expect("append");
    disk.kill();
    assert_eq!(disk.reboot().read("a").expect("kept"), "never synced");
}

#[test]
fn un_synced_bytes_are_torn_at_units_and_lengths_go_stale_or_zero_filled() {
    let (mut zeros, mut stale, mut whole, mut none, mut holes) = (0, 0, 0, 0, 0);
    for seed in 0..300 {
        let disk = SimDisk::new(seed);
        let file = durable_file(&disk, "a");
        file.append(&[&[7; 256]]).expect("append");
        disk.power_loss_with(Tear {
            unit: 64,
            keep_percent: 50,
        });
        let content = disk.reboot().read("a").expect("named");
        for unit in content.chunks(64) {
            assert!(
                unit.iter().all(|b| *b == unit[0]),
                "seed {seed}: torn inside a unit"
            );
        }
        none += u32::from(content.is_empty());
        whole += u32::from(content[..] == [7; 256]);
        stale += u32::from(!content.is_empty() && content.len() < 256);
        zeros += u32::from(content.last() == Some(&0));
        let first_zero = content
            .iter()
            .position(|b| *b == 0)
            .unwrap_or(content.len());
        holes += u32::from(content[first_zero..].contains(&7));
    }
    for (what, count) in [
        ("zeros", zeros),
        ("stale", stale),
        ("whole", whole),
        ("none", none),
        ("holes", holes),
    ] {
        assert!(count > 0, "{what} never happened");
    }
}

#[test]
fn keep_0_loses_everything_un_synced_and_keep_100_nothing_but_some_lengths() {
    for seed in 0..50 {
        let disk = SimDisk::new(seed);
        disk.set_faults(|faults| faults.write_back_permille = 0);
        let file = durable_file(&disk, "a");
        file.append(&[&[7; 256]]).expect("append");
        disk.power_loss_with(Tear {
            unit: 1,
            keep_percent: 0,
        });
        let content = disk.reboot().read("a").expect("named");
        assert!(content.iter().all(|byte| *byte == 0), "seed {seed}");
    }
}

#[test]
fn write_back_may_keep_bytes_that_nobody_synced() {
    let kept = (0..50).any(|seed| {
        let disk = SimDisk::new(seed);
        disk.set_faults(|faults| faults.write_back_permille = 1_000);
        let file = durable_file(&disk, "a");
        for _ in 0..20 {
            file.append(&[&[7; 100]]).expect("append");
        }
        disk.power_loss_with(Tear {
            unit: 64,
            keep_percent: 0,
        });
        disk.reboot().read("a").expect("named").contains(&7)
    });
    assert!(kept);
}

#[test]
fn a_sync_covers_what_was_there_when_it_was_called() {
    for seed in 0..50 {
        let disk = SimDisk::new(seed);
        disk.set_faults(|faults| faults.write_back_permille = 0);
        let file = durable_file(&disk, "a");
        file.append(&[b"first"]).expect("append");
        let sync = file.sync();
        file.append(&[b"second"]).expect("append");
        now(sync).expect("sync");
        disk.power_loss_with(Tear {
            unit: 1,
            keep_percent: 0,
        });
        let content = disk.reboot().read("a").expect("named");
        assert_eq!(&content[..5], b"first", "seed {seed}");
        assert!(content[5..].iter().all(|byte| *byte == 0), "seed {seed}");
    }
}

#[test]
fn an_older_sync_that_ends_later_takes_nothing_back() {
    for seed in 0..50 {
        let disk = SimDisk::new(seed);
        let file = durable_file(&disk, "a");
        file.append(&[b"first"]).expect("append");
        let slow = file.sync();
        file.append(&[b"second"]).expect("append");
        now(file.sync()).expect("sync");
        now(slow).expect("sync");
        disk.power_loss_with(Tear {
            unit: 1,
            keep_percent: 0,
        });
        assert_eq!(
            disk.reboot().read("a").expect("named"),
            "firstsecond",
            "seed {seed}"
        );
    }
}

#[test]
fn a_synced_cut_survives_and_an_un_synced_one_may_not() {
    let mut lengths = std::collections::BTreeSet::new();
    for seed in 0..100 {
        let disk = SimDisk::new(seed);
        let file = durable_file(&disk, "a");
        file.append(&[b"0123456789"]).expect("append");
        now(file.sync()).expect("sync");
        file.truncate(4).expect("cut");
        if seed % 2 == 0 {
            now(file.sync()).expect("sync");
        }
        disk.power_loss_with(Tear {
            unit: 1,
            keep_percent: 50,
        });
        let content = disk.reboot().read("a").expect("named");
        assert_eq!(content[..4], b"0123456789"[..4], "seed {seed}");
        if seed % 2 == 0 {
            assert_eq!(content.len(), 4, "seed {seed}");
        } else {
            lengths.insert(content.len());
        }
    }
    assert!(lengths.contains(&4) && lengths.contains(&10), "{lengths:?}");
}

#[test]
fn bytes_appended_after_a_cut_are_durable_once_synced() {
    for seed in 0..50 {
        let disk = SimDisk::new(seed);
        let file = durable_file(&disk, "a");
        file.append(&[b"0123456789"]).expect("append");
        now(file.sync()).expect("sync");
        file.truncate(4).expect("cut");
        file.append(&[b"abc"]).expect("append");
        now(file.sync()).expect("sync");
        disk.power_loss_with(Tear {
            unit: 1,
            keep_percent: 0,
        });
        assert_eq!(
            disk.reboot().read("a").expect("named"),
            "0123abc",
            "seed {seed}"
        );
    }
}

#[test]
fn dead_handles_fail_and_change_nothing() {
    let disk = SimDisk::new(1);
    let file = durable_file(&disk, "a");
    file.append(&[b"x"]).expect("append");
    let sync = file.sync();
    disk.kill();
    let next = disk.reboot();
    let is_failed = |kind: DiskErrorKind| matches!(kind, DiskErrorKind::Failed(_));
    assert!(is_failed(file.append(&[b"y"]).expect_err("dead").kind));
    assert!(is_failed(file.truncate(0).expect_err("dead").kind));
    assert!(is_failed(now(sync).expect_err("dead").kind));
    assert!(is_failed(disk.remove("a").expect_err("dead").kind));
    assert!(is_failed(
        now(disk.publish("a", "z".into())).expect_err("dead").kind
    ));
    drop((file, disk));
    assert_eq!(next.read("a").expect("untouched"), "x");
}

#[test]
fn a_cut_under_a_live_view_is_a_violation_and_beside_it_is_not() {
    let disk = SimDisk::new(1);
    let file = disk.create("a").expect("create");
    file.append(&[b"0123456789"]).expect("append");
    let view = file.view(2, 4).expect("view");
    file.truncate(6).expect("cut");
    assert_eq!(disk.take_violations(), Vec::<String>::new());
    file.truncate(5).expect("cut");
    assert_eq!(disk.take_violations().len(), 1);
    assert_eq!(view, "2345");
    drop(view);
    file.truncate(0).expect("cut");
    assert_eq!(disk.take_violations(), Vec::<String>::new());
}

#[test]
fn a_removed_file_stays_readable_through_its_handle() {
    let disk = SimDisk::new(1);
    let file = durable_file(&disk, "a");
    file.append(&[b"still here"]).expect("append");
    let view = file.view(0, 5).expect("view");
    disk.remove("a").expect("remove");
    now(disk.sync_dir("")).expect("sync_dir");
    let mut content = [0; 10];
    assert_eq!(file.read_at(0, &mut content), Ok(10));
    assert_eq!(
        (&content[..], &view[..]),
        (&b"still here"[..], &b"still"[..])
    );
}

#[test]
fn a_clone_of_a_view_keeps_the_range_watched() {
    let disk = SimDisk::new(1);
    let file = disk.create("a").expect("create");
    file.append(&[b"0123456789"]).expect("append");
    let slice = file.view(0, 10).expect("view").slice(8..);
    file.truncate(9).expect("cut");
    assert_eq!(disk.take_violations().len(), 1);
    drop(slice);
}
