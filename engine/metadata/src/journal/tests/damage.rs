//! Random damage: no bytes in the metadata folder end the process.

use highwater_runtime::{File, Runtime};
use highwater_sim_disk::TestRuntime;

use super::super::{FOLDER, SNAPSHOT, frame, journal_path};
use super::{Disk, FileKind, every_record};
use crate::settings::StaticSettings;
use crate::{Metadata, MetadataOptions};

const ROUNDS: u64 = 1_500;

/// A folder with these files.
fn world_with(seed: u64, files: &[(&str, &[u8])]) -> TestRuntime {
    let world = TestRuntime::new(seed);
    world.disk().create_dir(FOLDER).expect("an empty disk");
    for (path, content) in files {
        let file = world.disk().create(path).expect("an empty disk");
        file.append(&[content]).expect("an empty disk");
    }
    world
}

/// Opens what is there, and looks at everything when that works.
fn open_and_look(world: &TestRuntime) {
    let (statics, options) = (StaticSettings::default(), MetadataOptions::default());
    let opened = world.block_on(Metadata::open(world.clone(), statics, options));
    if let Ok((metadata, _)) = opened {
        for topic in metadata.state().topics() {
            let _ = metadata.topic_settings(topic);
            for one in &topic.partitions {
                assert!(one.leader_epoch.wire() >= 0);
            }
        }
        let _ = metadata.broker_settings();
        world
            .block_on(metadata.next_producer_id())
            .expect("the disk is good");
    }
}

/// Flips, overwrites, cuts or repeats some bytes.
fn damage(world: &TestRuntime, bytes: &mut Vec<u8>) {
    for _ in 0..=world.draw("damage") % 3 {
        let at = world.draw("damage") as usize % bytes.len();
        match world.draw("damage") % 4 {
            0 => bytes[at] ^= 1 << (world.draw("damage") % 8),
            1 => bytes[at] = [0, 1, 0x7f, 0xff][world.draw("damage") as usize % 4],
            2 => bytes.truncate(at.max(1)),
            _ => bytes.extend_from_within(at..),
        }
    }
}

#[test]
fn damaged_files_are_refused_or_cut_and_nothing_panics() {
    let records = every_record();
    let mut journal = frame::header(FileKind::Journal, 3);
    for (index, record) in (3..).zip(&records[1..]) {
        journal.extend(frame::encode(
            index,
            index - 1,
            std::slice::from_ref(record),
        ));
    }
    let mut snapshot = frame::header(FileKind::Snapshot, 2);
    snapshot.extend(frame::encode(2, 2, &records[..1]));
    for seed in 0..ROUNDS {
        let draws = TestRuntime::new(seed);
        let (mut journal, mut snapshot) = (journal.clone(), snapshot.clone());
        damage(
            &draws,
            if draws.draw("which") % 4 == 0 {
                &mut snapshot
            } else {
                &mut journal
            },
        );
        open_and_look(&world_with(
            seed,
            &[(&journal_path(3), &journal), (SNAPSHOT, &snapshot)],
        ));
    }
}

/// As if another program had written them: checksums are right, contents are not.
#[test]
fn wrong_contents_with_right_checksums_are_refused_and_nothing_panics() {
    for seed in 0..ROUNDS {
        let draws = TestRuntime::new(seed);
        let records = every_record();
        let count = 1 + draws.draw("count") as usize % (records.len() - 1);
        let mut whole = frame::encode(1, 0, &records[..count]);
        let mut payload = whole.split_off(28);
        damage(&draws, &mut payload);
        whole.extend(&payload);
        whole[4..8].copy_from_slice(&(payload.len() as u32).to_be_bytes());
        let crc = crc32c::crc32c_append(crc32c::crc32c(&whole[4..8]), &whole[12..]);
        whole[8..12].copy_from_slice(&crc.to_be_bytes());
        let mut journal = frame::header(FileKind::Journal, 1);
        journal.extend(whole);
        open_and_look(&world_with(seed, &[(&journal_path(1), &journal)]));
    }
}
