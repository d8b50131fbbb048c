//! Commands and records of the state machine.

use highwater_types::{BrokerId, LeaderEpoch, TopicId};

use super::*;
use crate::settings::SettingsLimits;

const BROKERS: &[BrokerId] = &[BrokerId(1), BrokerId(2), BrokerId(3)];

fn rules() -> Rules<'static> {
    Rules {
        limits: Limits {
            topic_partitions_max: 100,
            partitions_max: 150,
        },
        settings: SettingsLimits::default(),
        brokers: BROKERS,
        partitions_default: 2,
        replication_default: 1,
        offsets_topic_partitions: 5,
    }
}

fn create(state: &mut MetadataState, new: &NewTopic) -> Result<(), CreateTopicError> {
    let id = TopicId([u8::try_from(state.topic_count()).expect("few") + 1; 16]);
    let record = state.create_topic(new, id, &rules())?;
    state.apply(&record).expect("it fits");
    Ok(())
}

fn with_topic(name: &str) -> MetadataState {
    let mut state = MetadataState::default();
    create(&mut state, &NewTopic::named(name)).expect("a good topic");
    state
}

fn refusal(new: NewTopic) -> String {
    let mut state = with_topic("a.b");
    let before = state.clone();
    let error = create(&mut state, &new).expect_err("refused");
    assert_eq!(state, before, "a refused command changes nothing");
    error.to_string()
}

fn op(key: &str, kind: ConfigOpKind, value: &str) -> ConfigOp {
    ConfigOp {
        key: key.to_owned(),
        kind,
        value: Some(value.to_owned()),
    }
}

#[test]
fn a_new_topic_has_defaults_spread_over_the_brokers() {
    let mut state = MetadataState::default();
    let new = NewTopic {
        partitions: 4,
        replication: 2,
        ..NewTopic::named("t")
    };
    create(&mut state, &new).expect("a good topic");
    let topic = state.topic("t").expect("it is there");
    let leaders: Vec<u32> = topic
        .partitions
        .iter()
        .filter_map(|one| one.leader)
        .map(|one| one.0)
        .collect();
    assert_eq!(leaders, [1, 2, 3, 1]);
    assert!(topic.partitions.iter().all(|one| one.replicas.len() == 2));
    assert!(
        topic
            .partitions
            .iter()
            .all(|one| one.leader_epoch == LeaderEpoch(0))
    );
    create(&mut state, &NewTopic::named("u")).expect("a good topic");
    assert_eq!(state.topic("u").expect("it is there").partitions.len(), 2);
    assert_eq!(state.partition_count(), 6);
}

#[test]
fn bad_topics_are_refused_with_their_reason() {
    let named = NewTopic::named;
    let assigned = |assignments: &[(i32, &[i32])]| NewTopic {
        assignments: assignments
            .iter()
            .map(|(partition, brokers)| Assignment {
                partition: *partition,
                brokers: brokers.to_vec(),
            })
            .collect(),
        ..named("t")
    };
    let configured = |key: &str, value: Option<&str>| NewTopic {
        configs: vec![(key.to_owned(), value.map(str::to_owned))],
        ..named("t")
    };
    for (new, part) in [
        (named(""), "empty string"),
        (named("."), "not allowed"),
        (named(".."), "not allowed"),
        (named(&"x".repeat(250)), "longer than 249"),
        (named("a/b"), "characters other than"),
        (named("é"), "characters other than"),
        (named("a.b"), "already exists"),
        (named("a_b"), "collides with existing topic: a.b"),
        (
            NewTopic {
                partitions: 0,
                ..named("t")
            },
            "larger than 0",
        ),
        (
            NewTopic {
                partitions: -2,
                ..named("t")
            },
            "larger than 0",
        ),
        (
            NewTopic {
                partitions: 101,
                ..named("t")
            },
            "101 partitions are more than the 100",
        ),
        (
            NewTopic {
                partitions: i32::MAX,
                ..named("t")
            },
            "more than the 100",
        ),
        (
            NewTopic {
                replication: 4,
                ..named("t")
            },
            "there are 3 broker(s)",
        ),
        (
            NewTopic {
                replication: 0,
                ..named("t")
            },
            "Replication factor must be larger than 0",
        ),
        (
            NewTopic {
                partitions: 1,
                ..assigned(&[(0, &[1])])
            },
            "numPartitions was not set to -1",
        ),
        (
            NewTopic {
                replication: 1,
                ..assigned(&[(0, &[1])])
            },
            "replication factor was not set",
        ),
        (assigned(&[(1, &[1])]), "consecutive 0-based"),
        (assigned(&[(0, &[1]), (0, &[1])]), "consecutive 0-based"),
        (assigned(&[(0, &[])]), "empty replica list"),
        (assigned(&[(0, &[1, 1])]), "broker 1 more than once"),
        (assigned(&[(0, &[9])]), "broker 9"),
        (assigned(&[(0, &[1]), (1, &[1, 2])]), "not consistent"),
        (
            configured("retention.mss", Some("1")),
            "did you mean \"retention.ms\"?",
        ),
        (configured("retention.ms", Some("x")), "whole number"),
        (configured("retention.ms", None), "Null value not supported"),
        (
            configured("cleanup.policy", Some("compact")),
            "compaction does not act",
        ),
    ] {
        let text = refusal(new);
        assert!(text.contains(part), "{text:?} does not say {part:?}");
    }
}

#[test]
fn the_cluster_is_full_at_its_limit() {
    let mut state = with_topic("a");
    create(
        &mut state,
        &NewTopic {
            partitions: 100,
            ..NewTopic::named("b")
        },
    )
    .expect("it fits");
    let new = NewTopic {
        partitions: 60,
        ..NewTopic::named("c")
    };
    let error = create(&mut state, &new).expect_err("full");
    assert_eq!(
        error,
        CreateTopicError::ClusterFull {
            count: 60,
            total: 162,
            max: 150
        }
    );
}

#[test]
fn a_name_is_free_again_after_deletion_and_its_id_is_new() {
    let mut state = with_topic("a.b");
    let old = state.topic("a.b").expect("it is there").id;
    let record = state.delete_topic(old).expect("it is there");
    state.apply(&record).expect("it fits");
    assert_eq!(state, MetadataState::default(), "nothing of it stays");
    assert!(state.delete_topic(old).is_err());
    create(&mut state, &NewTopic::named("a_b")).expect("nothing collides any more");
}

#[test]
fn partitions_are_added_and_never_taken() {
    let mut state = with_topic("t");
    let asked = |state: &MetadataState, count, assignments: Option<&[Vec<i32>]>| {
        state
            .create_partitions("t", count, assignments, &rules())
            .map_err(|error| error.to_string())
    };
    for (count, assignments, part) in [
        (2, None, "already has 2"),
        (1, None, "would not be an increase"),
        (-1, None, "would not be an increase"),
        (101, None, "more than the 100"),
        (3, Some(&[][..]), "add 1 additional partition(s), but 0"),
        (3, Some(&[vec![1, 2]][..]), "not consistent"),
        (3, Some(&[vec![7]][..]), "broker 7"),
    ] {
        let text = asked(&state, count, assignments).expect_err("refused");
        assert!(text.contains(part), "{text:?} does not say {part:?}");
    }
    let record = asked(&state, 3, Some(&[vec![3]])).expect("right");
    state.apply(&record).expect("it fits");
    let topic = state.topic("t").expect("it is there");
    assert_eq!(topic.partitions[2].leader, Some(BrokerId(3)));
    assert!(
        state.apply(&record).is_err(),
        "a second time there is a gap"
    );
}

#[test]
fn settings_change_one_by_one_and_as_a_whole() {
    let mut state = with_topic("t");
    let limits = SettingsLimits::default();
    let change = |state: &mut MetadataState, ops: &[ConfigOp]| {
        let record = state
            .alter_topic_configs("t", ops, limits)
            .map_err(|error| error.to_string())?;
        state.apply(&record).expect("it fits");
        Ok::<_, String>(state.topic("t").expect("it is there").configs.clone())
    };
    let set = |key, value| op(key, ConfigOpKind::Set, value);
    let after = change(
        &mut state,
        &[
            set("retention.ms", " 5 "),
            set("max_segment_size", "1048576"),
        ],
    );
    let pairs = |pairs: &[(&str, &str)]| -> Configs {
        pairs
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect()
    };
    assert_eq!(
        after,
        Ok(pairs(&[
            ("retention.ms", "5"),
            ("segment.bytes", "1048576")
        ]))
    );
    let delete = ConfigOp {
        value: None,
        ..op("retention.ms", ConfigOpKind::Delete, "")
    };
    assert_eq!(
        change(&mut state, &[delete]),
        Ok(pairs(&[("segment.bytes", "1048576")]))
    );
    let append = op("cleanup.policy", ConfigOpKind::Append, "delete");
    let after = change(&mut state, &[append]).expect("a list");
    assert_eq!(
        after.get("cleanup.policy").map(String::as_str),
        Some("delete")
    );
    for (ops, part) in [
        (
            vec![op("cleanup.policy", ConfigOpKind::Append, "compact")],
            "compaction does not act",
        ),
        (
            vec![op("retention.ms", ConfigOpKind::Append, "1")],
            "Can't APPEND to key retention.ms",
        ),
        (
            vec![
                set("segment.bytes", "2000000"),
                set("max_segment_size", "2000000"),
            ],
            "duplicate",
        ),
        (vec![ConfigOp::set("retention.ms", None)], "Null value"),
    ] {
        let text = change(&mut state, &ops).expect_err("refused");
        assert!(text.contains(part), "{text:?} does not say {part:?}");
    }
    let whole = [("retention.bytes".to_owned(), Some("7".to_owned()))];
    let record = state
        .replace_topic_configs("t", &whole, limits)
        .expect("right");
    state.apply(&record).expect("it fits");
    let configs = &state.topic("t").expect("it is there").configs;
    assert_eq!(*configs, pairs(&[("retention.bytes", "7")]));
}

#[test]
fn broker_settings_change_for_all_and_for_one() {
    let mut state = MetadataState::default();
    let statics = crate::settings::StaticSettings::default();
    let set = |key, value| op(key, ConfigOpKind::Set, value);
    let ops = [set("num.partitions", "3")];
    let record = state
        .alter_broker_configs(None, &ops, &statics)
        .expect("right");
    state.apply(&record).expect("it fits");
    let ops = [set("num.partitions", "5")];
    let record = state
        .alter_broker_configs(Some(BrokerId(2)), &ops, &statics)
        .expect("right");
    state.apply(&record).expect("it fits");
    let count = |broker| {
        state
            .layers(BrokerId(broker), &statics)
            .broker_settings()
            .partitions_default
    };
    assert_eq!((count(1), count(2)), (3, 5));
    let refused = |key, value| {
        let ops = [set(key, value)];
        state
            .alter_broker_configs(None, &ops, &statics)
            .expect_err("refused")
            .to_string()
    };
    assert!(refused("listeners", "a:1").contains("Cannot update these configs dynamically"));
    assert!(refused("nope.nope.nope", "1").contains("Unknown broker setting"));
    assert!(refused("group.min.session.timeout.ms", "2000000").contains("must not be larger"));
}

#[test]
fn the_topic_of_committed_offsets_is_internal_and_keeps_everything() {
    let state = with_topic(OFFSETS_TOPIC);
    let topic = state.topic(OFFSETS_TOPIC).expect("it is there");
    assert!(topic.internal);
    assert_eq!(topic.partitions.len(), 5);
    assert_eq!(
        topic.configs.get("cleanup.policy").map(String::as_str),
        Some("compact")
    );
}

#[test]
fn producer_ids_are_never_given_twice() {
    let mut state = MetadataState::default();
    let first = state.allocate_producer_ids();
    state.apply(&first).expect("it fits");
    let second = state.allocate_producer_ids();
    assert_eq!(
        second,
        MetadataRecord::ProducerIdsAllocated {
            first: 1000,
            end: 2000
        }
    );
    assert!(state.apply(&first).is_err());
}

#[test]
fn a_new_leadership_raises_both_epochs() {
    let mut state = with_topic("t");
    let id = state.topic("t").expect("it is there").id;
    let record = state.bump_leader_epoch(id, 1).expect("it is there");
    state.apply(&record).expect("it fits");
    let partition = &state.topic_by_id(id).expect("it is there").partitions[1];
    assert_eq!(
        (partition.leader_epoch, partition.partition_epoch),
        (LeaderEpoch(1), 1)
    );
    assert!(state.apply(&record).is_err(), "an epoch never goes back");
    assert!(
        state.bump_leader_epoch(id, 2).is_err(),
        "there is no such partition"
    );
}
