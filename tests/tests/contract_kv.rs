//! The contract of `Kv` on both worlds.

use std::fs;

use highwater_runtime::{Kv, KvError, KvOp, Runtime};
use highwater_sim_disk::Tear;
use highwater_tests::contract::{Draws, Real, Sim, World, kv};

#[test]
fn random_steps_on_the_simulated_store() {
    (0..60).for_each(|seed| kv::random_steps::<Sim>(seed, 300, |world, _| world.crash()));
}

#[test]
fn random_steps_on_the_simulated_store_with_power_losses() {
    let lose = |world: Sim, draws: &mut Draws| {
        let unit = draws.of(&[1, 7, 64, 512, 4096]);
        Sim(world.0.power_loss(Tear {
            unit,
            keep_percent: 50,
        }))
    };
    (0..60).for_each(|seed| kv::random_steps::<Sim>(seed, 300, lose));
}

#[test]
fn random_steps_on_rocksdb() {
    (0..8).for_each(|seed| kv::random_steps::<Real>(seed, 300, |world, _| world.crash()));
}

/// Opens, damages by `damage`, and says what the next open answers, and the one after `destroy`.
fn open_damaged<W: World>(world: W, damage: impl Fn(&W)) -> Option<KvError> {
    let kv = world.runtime().open_kv("index").expect("an empty folder");
    let put = KvOp::Put {
        key: "k".into(),
        value: "v".into(),
    };
    kv.write(&[put]).expect("healthy");
    world.run(kv.sync()).expect("healthy");
    drop(kv);
    damage(&world);
    let refused = world.runtime().open_kv("index").err();
    world
        .runtime()
        .destroy_kv("index")
        .expect("it can be removed");
    let fresh = world.runtime().open_kv("index").expect("an empty folder");
    assert_eq!(fresh.get(b"k"), Ok(None));
    refused
}

#[test]
fn a_damaged_simulated_store_says_so_and_can_be_made_anew() {
    let refused = open_damaged(Sim::start(1), |world| world.0.disk().corrupt_kv("index"));
    assert!(
        matches!(refused, Some(KvError::Corrupt { .. })),
        "{refused:?}"
    );
}

#[test]
fn a_damaged_rocksdb_says_so_and_can_be_made_anew() {
    for victim in ["CURRENT", "MANIFEST", ".sst"] {
        let refused = open_damaged(Real::start(1), |world| {
            for entry in fs::read_dir(world.folder().join("index")).expect("it is a folder") {
                let path = entry.expect("an entry").path();
                if path.to_string_lossy().contains(victim) {
                    fs::write(path, b"not what RocksDB wrote").expect("it can be written");
                }
            }
        });
        assert!(
            matches!(refused, Some(KvError::Corrupt { .. })),
            "{victim}: {refused:?}"
        );
    }
}

#[test]
fn a_rocksdb_with_a_missing_table_says_so() {
    let refused = open_damaged(Real::start(1), |world| {
        for entry in fs::read_dir(world.folder().join("index")).expect("it is a folder") {
            let path = entry.expect("an entry").path();
            if path.to_string_lossy().ends_with(".sst") {
                fs::remove_file(path).expect("it can be removed");
            }
        }
    });
    assert!(
        matches!(refused, Some(KvError::Corrupt { .. })),
        "{refused:?}"
    );
}
