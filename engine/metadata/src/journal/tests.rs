//! The journal on a disk that loses power, fills up and fails.

mod damage;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use highwater_runtime::{Disk, DiskErrorKind, Runtime};
use highwater_sim_disk::{Tear, TestRuntime};
use highwater_types::{BrokerId, LeaderEpoch, TopicId};

use super::frame::{self, FileKind, HEADER_LEN};
use super::{CommitError, Draft, FOLDER, Journal, RecoverError, Recovery, journal_path};
use crate::settings::Configs;
use crate::state::{ConfigChange, MetadataRecord, MetadataState, PartitionState, Topic};

const LARGE: u64 = 1 << 20;

fn open(
    world: &TestRuntime,
    bytes_max: u64,
) -> Result<(Journal<TestRuntime>, Recovery), RecoverError> {
    world.block_on(Journal::open(world.clone(), bytes_max))
}

fn topic(number: u8) -> MetadataRecord {
    let configs = Configs::from([("retention.ms".to_owned(), number.to_string())]);
    let partitions = vec![PartitionState::new(vec![BrokerId(1)])];
    let (name, id) = (Arc::from(format!("t{number}")), TopicId([number; 16]));
    MetadataRecord::TopicCreated {
        topic: Arc::new(Topic {
            name,
            id,
            internal: false,
            configs,
            partitions,
        }),
    }
}

async fn create(journal: &Journal<TestRuntime>, number: u8) -> Result<(), CommitError<Infallible>> {
    let command = |draft: &mut Draft<'_>| {
        draft.add(topic(number));
        Ok(())
    };
    journal.commit(command).await.map(drop)
}

fn names(state: &MetadataState) -> Vec<String> {
    state.topics().map(|topic| topic.name.to_string()).collect()
}

/// One record of each kind.
fn every_record() -> Vec<MetadataRecord> {
    let id = TopicId([7; 16]);
    let changes = vec![
        ConfigChange {
            key: "a".to_owned(),
            value: Some("1".to_owned()),
        },
        ConfigChange {
            key: "b".to_owned(),
            value: None,
        },
    ];
    let changed = PartitionState {
        leader: None,
        leader_epoch: LeaderEpoch(3),
        partition_epoch: 4,
        replicas: vec![BrokerId(1), BrokerId(2)],
        in_sync: vec![BrokerId(2)],
    };
    vec![
        MetadataRecord::Cluster {
            id: Arc::from("cluster"),
        },
        topic(7),
        MetadataRecord::PartitionsAdded {
            id,
            first: 1,
            partitions: vec![changed.clone()],
        },
        MetadataRecord::PartitionChanged {
            id,
            partition: 0,
            state: PartitionState {
                leader_epoch: LeaderEpoch(9),
                partition_epoch: 9,
                ..changed
            },
        },
        MetadataRecord::TopicConfigured {
            id,
            changes: changes.clone(),
        },
        MetadataRecord::BrokerConfigured {
            broker: Some(BrokerId(2)),
            changes: changes.clone(),
        },
        MetadataRecord::BrokerConfigured {
            broker: None,
            changes,
        },
        MetadataRecord::ProducerIdsAllocated {
            first: 0,
            end: 1000,
        },
        MetadataRecord::BrokerStarted {
            broker: BrokerId(1),
            incarnation: 5,
        },
        MetadataRecord::TopicDeleted { id },
    ]
}

#[test]
fn bytes_of_a_header_and_a_frame_are_golden() {
    let hex = |bytes: &[u8]| {
        bytes
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<String>()
    };
    assert_eq!(
        hex(&frame::header(FileKind::Journal, 1)),
        "48574d4554414a0a0001000000000000000000010a6982aa"
    );
    let records = [MetadataRecord::BrokerStarted {
        broker: BrokerId(1),
        incarnation: 2,
    }];
    assert_eq!(
        hex(&frame::encode(3, 2, &records)),
        "48576d660000001172da643f000000000000000300000000000000020000000109000000010000000000000002"
    );
}

#[test]
fn every_record_comes_back_and_every_cut_and_flip_of_its_frame_is_seen() {
    let encoded = frame::encode(9, 8, &every_record());
    let (frame, len) = frame::decode(&encoded).expect("whole");
    assert_eq!((frame.index, frame.durable, len), (9, 8, encoded.len()));
    assert_eq!(frame.records, every_record());
    for cut in 0..encoded.len() {
        assert_eq!(frame::decode(&encoded[..cut]), None, "cut at byte {cut}");
    }
    for bit in 0..encoded.len() * 8 {
        let mut flipped = encoded.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(frame::decode(&flipped), None, "bit {bit} flipped");
    }
}

#[test]
fn a_snapshot_of_a_state_gives_the_state() {
    let mut state = MetadataState::default();
    for record in every_record().iter().take(9) {
        state.apply(record).expect("they fit");
    }
    let mut again = MetadataState::default();
    for record in state.records() {
        again.apply(&record).expect("they fit");
    }
    assert_eq!(again, state);
}

#[test]
fn what_was_committed_is_there_after_a_power_loss_that_keeps_nothing() {
    let world = TestRuntime::new(1);
    let (journal, recovery) = open(&world, LARGE).expect("an empty disk");
    assert!(recovery.fresh);
    world.block_on(async {
        create(&journal, 1).await.expect("committed");
        create(&journal, 2).await.expect("committed");
    });
    let world = world.power_loss(Tear {
        unit: 1,
        keep_percent: 0,
    });
    let (journal, recovery) = open(&world, LARGE).expect("recovered");
    assert_eq!(
        recovery,
        Recovery {
            fresh: false,
            commits: 2,
            cut: None
        }
    );
    assert_eq!(names(&journal.state()), ["t1", "t2"]);
}

#[test]
fn commits_that_wait_at_once_share_a_sync_and_readers_see_none_before_it() {
    let world = TestRuntime::with_sync_time(1, Duration::from_millis(10));
    let (journal, _) = open(&world, LARGE).expect("an empty disk");
    let before = world.mono();
    for number in 1..=50 {
        let journal = journal.clone();
        world.spawn("creator", async move {
            create(&journal, number).await.expect("committed")
        });
    }
    world.advance(Duration::from_millis(9));
    assert_eq!(journal.state().topic_count(), 0, "nothing is on disk yet");
    world.advance(Duration::from_millis(12));
    assert_eq!(journal.state().topic_count(), 50);
    assert!(
        world.mono() - before < Duration::from_millis(30),
        "two syncs at most"
    );
}

#[test]
fn a_cut_at_every_byte_of_the_last_commit_gives_the_commits_before_it() {
    let world = TestRuntime::new(1);
    let (journal, _) = open(&world, LARGE).expect("an empty disk");
    world.block_on(create(&journal, 1)).expect("committed");
    let before = world
        .disk()
        .read(&journal_path(1))
        .expect("it is there")
        .len();
    world.block_on(create(&journal, 2)).expect("committed");
    let whole = world.disk().read(&journal_path(1)).expect("it is there");
    for cut in before..whole.len() {
        let world = world_with_journal(&whole[..cut]);
        let (journal, recovery) = open(&world, LARGE).expect("a torn end is cut");
        assert_eq!(names(&journal.state()), ["t1"], "cut at byte {cut}");
        assert_eq!(recovery.cut.is_some(), cut > before, "cut at byte {cut}");
        world.block_on(create(&journal, 3)).expect("it goes on");
        let (journal, _) = open(&world.kill(), LARGE).expect("recovered again");
        assert_eq!(names(&journal.state()), ["t1", "t3"], "cut at byte {cut}");
    }
}

#[test]
fn a_cut_inside_the_header_is_a_journal_without_commits() {
    for cut in 0..HEADER_LEN {
        let world = world_with_journal(&frame::header(FileKind::Journal, 1)[..cut]);
        let (journal, _) = open(&world, LARGE).expect("made again");
        world.block_on(create(&journal, 1)).expect("it goes on");
    }
}

#[test]
fn a_flip_of_every_bit_is_damage_or_a_reported_cut_of_the_last_commit() {
    let world = TestRuntime::new(1);
    let (journal, _) = open(&world, LARGE).expect("an empty disk");
    for number in 1..=3 {
        world.block_on(create(&journal, number)).expect("committed");
    }
    let whole = world.disk().read(&journal_path(1)).expect("it is there");
    let frames = whole.len() - HEADER_LEN;
    let last_from = HEADER_LEN + frames / 3 * 2;
    for bit in 0..whole.len() * 8 {
        let mut flipped = whole.to_vec();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let world = world_with_journal(&flipped);
        match open(&world, LARGE) {
            Err(RecoverError::Damaged { path, .. }) => assert_eq!(path, journal_path(1)),
            Err(error) => panic!("bit {bit}: {error}"),
            Ok((journal, recovery)) => {
                assert!(
                    bit / 8 >= last_from,
                    "bit {bit} is in a commit that others stand on"
                );
                assert_eq!(names(&journal.state()), ["t1", "t2"], "bit {bit}");
                assert_eq!(
                    recovery.cut.expect("reported").at,
                    last_from as u64,
                    "bit {bit}"
                );
            }
        }
    }
}

fn world_with_journal(content: &[u8]) -> TestRuntime {
    let world = TestRuntime::new(2);
    world.disk().create_dir(FOLDER).expect("an empty disk");
    let file = world
        .disk()
        .create(&journal_path(1))
        .expect("an empty disk");
    highwater_runtime::File::append(&file, &[content]).expect("an empty disk");
    world
}

#[test]
fn a_newer_version_is_refused_by_name_and_left_alone() {
    let mut header = frame::header(FileKind::Journal, 1);
    header[9] = 2;
    let crc = crc32c::crc32c(&header[..20]);
    header[20..].copy_from_slice(&crc.to_be_bytes());
    let world = world_with_journal(&header);
    let error = open(&world, LARGE).err().expect("refused");
    assert_eq!(
        error.to_string(),
        "\"metadata/00000000000000000001.journal\" has format version 2; this version reads up to 1"
    );
    assert_eq!(
        world.disk().read(&journal_path(1)).expect("still there"),
        header
    );
}

#[test]
fn a_missing_journal_is_a_gap() {
    let world = TestRuntime::new(2);
    let disk = world.disk();
    disk.create_dir(FOLDER).expect("an empty disk");
    let file = disk.create(&journal_path(5)).expect("an empty disk");
    let (header, one) = (
        frame::header(FileKind::Journal, 5),
        frame::encode(5, 4, &[topic(1)]),
    );
    highwater_runtime::File::append(&file, &[&header, &one]).expect("an empty disk");
    let error = open(&world, LARGE).err().expect("refused");
    assert_eq!(
        error,
        RecoverError::Gap {
            folder: FOLDER,
            expected: 1,
            found: 5
        }
    );
}

#[test]
fn long_journals_become_snapshots_and_nothing_is_lost_on_the_way() {
    let world = TestRuntime::new(1);
    let (journal, _) = open(&world, 200).expect("an empty disk");
    for number in 1..=40 {
        world.block_on(create(&journal, number)).expect("committed");
    }
    world.advance(Duration::from_millis(1));
    let entries = world.disk().list(FOLDER).expect("it is there");
    assert!(
        entries.iter().any(|entry| entry.name == "snapshot"),
        "{entries:?}"
    );
    assert!(entries.len() <= 3, "old journals go: {entries:?}");
    let (journal, recovery) = open(&world.kill(), 200).expect("recovered");
    assert_eq!((recovery.commits, journal.state().topic_count()), (40, 40));
}

#[test]
fn a_full_disk_refuses_a_command_and_takes_it_later() {
    let world = TestRuntime::new(1);
    let (journal, _) = open(&world, LARGE).expect("an empty disk");
    world.block_on(create(&journal, 1)).expect("committed");
    world.disk().set_free(3);
    let refused = world.block_on(create(&journal, 2)).expect_err("full");
    assert!(matches!(&refused, CommitError::Full(error) if error.kind == DiskErrorKind::Full));
    let restarted = world.kill();
    let (journal, _) = open(&restarted, LARGE).expect("a start on the full disk works");
    assert_eq!(names(&journal.state()), ["t1"]);
    restarted.disk().set_free(LARGE);
    restarted.block_on(create(&journal, 2)).expect("committed");
    assert_eq!(names(&journal.state()), ["t1", "t2"]);
}

#[test]
fn after_a_failed_sync_every_command_fails_until_a_restart() {
    let world = TestRuntime::new(1);
    let (journal, _) = open(&world, LARGE).expect("an empty disk");
    world.block_on(create(&journal, 1)).expect("committed");
    world.disk().fail_syncs(1);
    for number in [2, 3] {
        let failed = world
            .block_on(create(&journal, number))
            .expect_err("the disk failed");
        assert!(matches!(failed, CommitError::Offline(_)), "{failed}");
    }
    assert_eq!(
        names(&journal.state()),
        ["t1"],
        "readers see what is on disk"
    );
    let world = world.power_loss(Tear {
        unit: 1,
        keep_percent: 0,
    });
    let (journal, _) = open(&world, LARGE).expect("recovered");
    assert_eq!(names(&journal.state()), ["t1"]);
    world.block_on(create(&journal, 2)).expect("committed");
}

/// Random commits with power losses that tear at every unit; a commit that was answered stays.
#[test]
fn no_answered_commit_is_lost_by_power_losses() {
    for seed in 0..300 {
        let mut world = TestRuntime::with_sync_time(seed, Duration::from_millis(3));
        let mut answered: Vec<String> = Vec::new();
        for life in 0..4_u8 {
            let opened = open(&world, 400);
            let (journal, _) = opened.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            let found = names(&journal.state());
            let lost: Vec<_> = answered
                .iter()
                .filter(|name| !found.contains(name))
                .collect();
            assert!(lost.is_empty(), "seed {seed}, life {life}: lost {lost:?}");
            let acks: std::rc::Rc<std::cell::RefCell<Vec<String>>> = Default::default();
            for nth in 0..20_u8 {
                let number = life * 20 + nth;
                let (journal, acks, clock) = (journal.clone(), acks.clone(), world.clone());
                let start = Duration::from_micros(world.draw("test") % 20_000);
                world.spawn("creator", async move {
                    clock.sleep(start).await;
                    if create(&journal, number).await.is_ok() {
                        acks.borrow_mut().push(format!("t{number}"));
                    }
                });
            }
            world.advance(Duration::from_micros(world.draw("test") % 25_000));
            answered.extend(acks.borrow().iter().cloned());
            let unit = [1, 7, 64, 512, 4096][world.draw("test") as usize % 5];
            let keep_percent = (world.draw("test") % 101) as u32;
            world = world.power_loss(Tear { unit, keep_percent });
        }
        assert_eq!(
            world.disk().take_violations(),
            Vec::<String>::new(),
            "seed {seed}"
        );
    }
}
