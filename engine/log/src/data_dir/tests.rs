//! The data folder: whose it is, what it refuses, what a crash leaves.

use highwater_runtime::{Disk, File};
use highwater_sim_disk::{Tear, TestRuntime};
use highwater_types::{LeaderEpoch, Offset, SegmentNo};

use super::*;

fn options() -> DataDirOptions {
    DataDirOptions {
        node_id: BrokerId(1),
        cluster_id: None,
        ignored: vec!["LOCK".to_owned()],
    }
}

fn open(rt: &TestRuntime) -> Result<DataDir<TestRuntime>, DataDirError> {
    rt.block_on(DataDir::open(rt, options()))
}

fn entry(synced: u64) -> LogCheckpoint {
    LogCheckpoint {
        clean: true,
        segment: SegmentNo(3),
        position: 99,
        synced: Offset(synced),
        log_start: Offset(1),
        next_segment: SegmentNo(4),
        max_timestamp: -1,
        first_timestamp: 7,
        producers_empty: true,
        epoch_newest: Some(LeaderEpoch(2)),
    }
}

const NOTHING_KEPT: Tear = Tear {
    unit: 512,
    keep_percent: 0,
};

#[test]
fn an_empty_folder_becomes_a_data_folder_and_keeps_its_cluster() {
    let rt = TestRuntime::new(1);
    rt.disk().create("LOCK").expect("an empty disk");
    let dir = open(&rt).expect("an empty folder");
    assert!(dir.is_new() && !dir.was_clean());
    assert_eq!(dir.cluster_id().len(), 22);
    let rt = rt.power_loss(NOTHING_KEPT);
    let again = open(&rt).expect("ours");
    assert!(!again.is_new());
    assert_eq!(again.cluster_id(), dir.cluster_id());
}

#[test]
fn a_folder_of_somebody_else_is_refused_and_nothing_changes() {
    let rt = TestRuntime::new(1);
    rt.disk().create("thesis.tex").expect("an empty disk");
    let error = open(&rt).err();
    assert_eq!(
        error,
        Some(DataDirError::Foreign {
            found: "thesis.tex".to_owned()
        })
    );
    assert_eq!(rt.disk().list("").expect("the disk answers").len(), 1);
}

#[test]
fn another_node_another_cluster_a_newer_format_and_damage_are_refused_by_the_files_name() {
    let rt = TestRuntime::new(1);
    let dir = open(&rt).expect("an empty folder");
    let file = || META.to_owned();
    let other = DataDirOptions {
        node_id: BrokerId(2),
        ..options()
    };
    let error = rt.block_on(DataDir::open(&rt, other)).err();
    let (found, expected) = (BrokerId(1), BrokerId(2));
    assert_eq!(
        error,
        Some(DataDirError::OtherNode {
            file: file(),
            found,
            expected
        })
    );
    let other = DataDirOptions {
        cluster_id: Some("x".to_owned()),
        ..options()
    };
    let error = rt.block_on(DataDir::open(&rt, other)).err();
    let (found, expected) = (dir.cluster_id().to_owned(), "x".to_owned());
    assert_eq!(
        error,
        Some(DataDirError::OtherCluster {
            file: file(),
            found,
            expected
        })
    );
    rt.disk().corrupt(META, 7, 2);
    assert_eq!(
        open(&rt).err(),
        Some(DataDirError::Damaged { file: file() })
    );
    let newer = coding_of(9);
    rt.block_on(rt.disk().publish(META, newer)).expect("space");
    assert_eq!(
        open(&rt).err(),
        Some(DataDirError::Newer {
            file: file(),
            version: 9
        })
    );
}

fn coding_of(version: u8) -> Bytes {
    crate::coding::finish(crate::coding::begin(*b"HWDD", version))
}

#[test]
fn the_clean_marker_is_there_once_after_a_clean_stop() {
    let rt = TestRuntime::new(1);
    let dir = open(&rt).expect("an empty folder");
    let topic_id = TopicId([4; 16]);
    rt.block_on(dir.close([(topic_id, 0, entry(50))]))
        .expect("space");
    let rt = rt.power_loss(NOTHING_KEPT);
    let dir = open(&rt).expect("ours");
    assert!(dir.was_clean());
    assert_eq!(dir.checkpoint_of(topic_id, 0), Some(entry(50)));
    assert_eq!(dir.checkpoint_of(topic_id, 1), None);
    let rt = rt.power_loss(NOTHING_KEPT);
    let dir = open(&rt).expect("ours");
    assert!(
        !dir.was_clean(),
        "a run that crashes while it loads was not clean"
    );
    assert_eq!(dir.checkpoint_of(topic_id, 0), Some(entry(50)));
}

#[test]
fn a_checkpoint_file_survives_whole_or_is_known_to_be_damaged() {
    let rt = TestRuntime::new(1);
    let dir = open(&rt).expect("an empty folder");
    let topic_id = TopicId([4; 16]);
    for synced in 0..3 {
        rt.block_on(dir.publish_checkpoint([(topic_id, 0, entry(synced))]))
            .expect("space");
    }
    let len = rt.disk().read(CHECKPOINT).expect("published").len() as u64;
    for bit in 0..len * 8 {
        rt.disk().corrupt(CHECKPOINT, bit / 8, (bit % 8) as u8);
        let dir = open(&rt).expect("a cache is no reason to refuse");
        assert!(dir.checkpoint_was_damaged(), "bit {bit}");
        assert_eq!(dir.checkpoint_of(topic_id, 0), None);
        rt.disk().corrupt(CHECKPOINT, bit / 8, (bit % 8) as u8);
    }
    assert_eq!(
        open(&rt).expect("ours").checkpoint_of(topic_id, 0),
        Some(entry(2))
    );
}

#[test]
fn a_deleted_partition_frees_its_name_and_its_files_go_later() {
    let rt = TestRuntime::new(1);
    let dir = open(&rt).expect("an empty folder");
    let name = TopicPartition {
        topic: "a-b".into(),
        partition: 10,
    };
    let topic_id = TopicId([0xab; 16]);
    for _ in 0..2 {
        rt.disk().create_dir("a-b-10").expect("space");
        let file = rt.disk().create("a-b-10/0.msg").expect("a new folder");
        file.append(&[b"x"]).expect("space");
        assert_eq!(dir.partitions(), Ok(vec![name.clone()]));
        rt.block_on(dir.delete_partition(&name, topic_id))
            .expect("space");
        assert_eq!(dir.partitions(), Ok(vec![]));
    }
    let rt = rt.kill();
    let dir = open(&rt).expect("ours");
    assert_eq!(dir.remove_deleted(), Ok(1));
    assert_eq!(dir.remove_deleted(), Ok(0));
    rt.block_on(dir.delete_partition(&name, topic_id))
        .expect("it is gone already");
}

#[test]
fn only_names_of_partitions_are_partitions() {
    assert_eq!(
        parse_folder("a-0").map(|name| name.to_string()),
        Some("a-0".to_owned())
    );
    for name in [
        "a",
        "-0",
        "a-",
        "a-01",
        "a-x",
        "~00-1",
        "a b-1",
        "a-4294967296",
    ] {
        assert_eq!(parse_folder(name), None, "{name}");
    }
}
