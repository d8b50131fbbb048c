//! The key store: batches, order, and prefixes after a crash.

use bytes::Bytes;
use highwater_runtime::{Disk, Kv, KvError, KvOp};

use super::now;
use crate::{SimDisk, SimKv, Tear};

fn put(key: impl Into<Bytes>, value: impl Into<Bytes>) -> KvOp {
    KvOp::Put {
        key: key.into(),
        value: value.into(),
    }
}

#[test]
fn floor_and_scan_answer_in_order_and_within_bounds() {
    let kv = SimKv::open(&SimDisk::new(1), "kv").expect("open");
    kv.write(&[put("a", "1"), put("c", "3"), put("e", "5")])
        .expect("write");
    let found = |low: &str, key: &str| {
        kv.floor(low.as_bytes(), key.as_bytes())
            .expect("floor")
            .map(|(key, _)| key)
    };
    assert_eq!(found("a", "d"), Some("c".into()));
    assert_eq!(found("a", "c"), Some("c".into()));
    assert_eq!(found("d", "d"), None);
    assert_eq!(found("e", "a"), None);
    let entries = kv.scan(b"a", b"e", 9).expect("scan");
    assert_eq!(
        entries.iter().map(|(k, _)| &k[..]).collect::<Vec<_>>(),
        [b"a", b"c"]
    );
    assert_eq!(kv.scan(b"", b"z", 1).expect("scan").len(), 1);
    kv.write(&[KvOp::DeleteRange {
        from: "b".into(),
        to: "e".into(),
    }])
    .expect("write");
    assert_eq!(kv.get(b"c"), Ok(None));
    assert_eq!(kv.get(b"e"), Ok(Some("5".into())));
}

/// What a store of counted batches holds: how many, and that each is whole.
fn whole_batches(kv: &SimKv) -> usize {
    let mut count = 0;
    while let Some(value) = kv.get(format!("a{count}").as_bytes()).expect("get") {
        let twin = kv.get(format!("b{count}").as_bytes()).expect("get");
        assert_eq!(twin, Some(value), "batch {count} is half there");
        count += 1;
    }
    let rest = kv.scan(b"", b"~", 10_000).expect("scan").len();
    assert_eq!(rest, 2 * count, "a batch after batch {count} is there");
    count
}

#[test]
fn a_crash_keeps_a_prefix_of_whole_batches_and_everything_synced() {
    let mut lossy = 0;
    for seed in 0..200_u64 {
        let disk = SimDisk::new(seed);
        let kv = SimKv::open(&disk, "kv").expect("open");
        for batch in 0..20 {
            let value = format!("value {batch}");
            kv.write(&[
                put(format!("a{batch}"), value.clone()),
                put(format!("b{batch}"), value),
            ])
            .expect("write");
            if batch == 9 {
                now(kv.sync()).expect("sync");
            }
        }
        if seed % 2 == 0 {
            disk.kill();
        } else {
            disk.power_loss_with(Tear {
                unit: 7,
                keep_percent: 50,
            });
        }
        let kept = whole_batches(&SimKv::open(&disk.reboot(), "kv").expect("open"));
        assert!(
            kept >= 10,
            "seed {seed}: a synced batch is gone, {kept} left"
        );
        lossy += u32::from(kept < 20);
    }
    assert!(lossy > 50, "crashes lost something {lossy} times only");
}

#[test]
fn a_store_without_any_sync_opens_after_every_crash() {
    for seed in 0..100 {
        let disk = SimDisk::new(seed);
        let kv = SimKv::open(&disk, "kv").expect("open");
        for batch in 0..8 {
            kv.write(&[put(format!("a{batch}"), "x"), put(format!("b{batch}"), "x")])
                .expect("write");
        }
        disk.power_loss_with(Tear {
            unit: 1,
            keep_percent: 50,
        });
        whole_batches(&SimKv::open(&disk.reboot(), "kv").expect("open"));
    }
}

#[test]
fn a_damaged_store_says_so_until_it_is_destroyed() {
    let disk = SimDisk::new(1);
    let kv = SimKv::open(&disk, "kv").expect("open");
    kv.write(&[put("a", "1")]).expect("write");
    drop(kv);
    disk.corrupt_kv("kv");
    assert!(matches!(
        SimKv::open(&disk, "kv"),
        Err(KvError::Corrupt { .. })
    ));
    SimKv::destroy(&disk, "kv").expect("destroy");
    SimKv::destroy(&disk, "kv").expect("nothing to do");
    assert_eq!(SimKv::open(&disk, "kv").expect("open").get(b"a"), Ok(None));
}

#[test]
fn a_full_disk_ends_writing_and_reading_goes_on() {
    let disk = SimDisk::new(1);
    let kv = SimKv::open(&disk, "kv").expect("open");
    kv.write(&[put("a", "1")]).expect("write");
    disk.set_free(0);
    while kv.write(&[put("b", "2")]).is_ok() {}
    now(kv.sync()).expect_err("it takes no writes any more");
    assert!(kv.write(&[put("b", "2")]).is_err());
    assert_eq!(kv.get(b"a"), Ok(Some("1".into())));
    assert!(disk.list("kv").is_ok());
}
