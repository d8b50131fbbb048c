//! The broker's way to metadata, over restarts.

use std::collections::BTreeSet;

use highwater_sim_disk::{Tear, TestRuntime};

use super::*;
use crate::state::ConfigOpKind;

fn open(world: &TestRuntime) -> Metadata<TestRuntime> {
    let statics = StaticSettings::default();
    let opened = world.block_on(Metadata::open(
        world.clone(),
        statics,
        MetadataOptions::default(),
    ));
    opened.expect("the folder is good").0
}

fn create(world: &TestRuntime, metadata: &Metadata<TestRuntime>, name: &str) -> Arc<Topic> {
    let topics = [NewTopic::named(name)];
    let (mut answers, _) = world
        .block_on(metadata.create_topics(&topics, false))
        .expect("on disk");
    answers.remove(0).expect("a good topic")
}

#[test]
fn the_cluster_id_is_made_once_and_has_22_characters() {
    let world = TestRuntime::new(1);
    let id = open(&world).state().cluster_id().clone();
    assert_eq!(id.len(), 22);
    let world = world.power_loss(Tear {
        unit: 1,
        keep_percent: 0,
    });
    assert_eq!(*open(&world).state().cluster_id(), id);
}

#[test]
fn producer_ids_are_unique_over_restarts() {
    let mut world = TestRuntime::new(1);
    let mut seen = BTreeSet::new();
    for _ in 0..3 {
        let metadata = open(&world);
        for _ in 0..1500 {
            let id = world
                .block_on(metadata.next_producer_id())
                .expect("on disk");
            assert!(seen.insert(id), "{id:?} a second time");
        }
        world = world.kill();
    }
}

#[test]
fn a_topic_made_again_has_another_id_also_when_randomness_repeats() {
    let (first, second) = (TestRuntime::new(1), TestRuntime::new(1).kill());
    let one = create(&first, &open(&first), "t").id;
    let other = create(&second, &open(&second), "t").id;
    assert_ne!(one, other);
}

#[test]
fn validate_only_answers_and_makes_nothing() {
    let world = TestRuntime::new(1);
    let metadata = open(&world);
    let topics = [NewTopic::named("a.b"), NewTopic::named("a_b")];
    let (answers, records) = world
        .block_on(metadata.create_topics(&topics, true))
        .expect("heard");
    assert!(answers[0].is_ok());
    assert!(matches!(answers[1], Err(CreateTopicError::Collides { .. })));
    assert!(records.is_empty());
    assert_eq!(metadata.state().topic_count(), 0);
}

#[test]
fn changes_come_in_commit_order_and_once() {
    let world = TestRuntime::new(1);
    let metadata = open(&world);
    let topic = create(&world, &metadata, "t");
    world.block_on(async {
        metadata.next_producer_id().await.expect("on disk");
        let gone = metadata.delete_topics(&[topic.id]).await.expect("on disk");
        assert_eq!(gone, [Ok(())]);
        let mut changes = metadata.changes().await;
        let made = changes.next_commit().expect("the topic was made");
        assert!(matches!(made[..], [MetadataRecord::TopicCreated { .. }]));
        let gone = changes.next_commit().expect("the topic was deleted");
        assert!(matches!(gone[..], [MetadataRecord::TopicDeleted { .. }]));
        assert!(changes.next_commit().is_none());
    });
}

#[test]
fn dynamic_settings_act_at_once_and_survive() {
    let world = TestRuntime::new(1);
    let metadata = open(&world);
    let op = |key: &str, value: &str| ConfigOp::set(key, Some(value));
    let ops = [
        op("log.retention.hours", "2"),
        op("delete.topic.enable", "false"),
    ];
    world
        .block_on(metadata.alter_broker_configs(None, ConfigsChange::Ops(&ops), false))
        .expect("good settings");
    let topic = create(&world, &metadata, "t");
    let refused = world
        .block_on(metadata.delete_topics(&[topic.id]))
        .expect("on disk");
    assert_eq!(refused, [Err(DeleteTopicError::Disabled)]);
    let metadata = open(&world.kill());
    assert_eq!(
        metadata.topic_settings(&topic).retention_ms,
        Some(7_200_000)
    );
    let world = world.kill();
    let metadata = open(&world);
    let back = ConfigOp {
        value: None,
        kind: ConfigOpKind::Delete,
        ..op("log.retention.hours", "")
    };
    world
        .block_on(metadata.alter_broker_configs(None, ConfigsChange::Ops(&[back]), false))
        .expect("good settings");
    assert_eq!(
        metadata.topic_settings(&topic).retention_ms,
        Some(604_800_000)
    );
    let other = metadata.alter_broker_configs(Some(BrokerId(2)), ConfigsChange::Ops(&[]), false);
    assert!(matches!(
        world.block_on(other),
        Err(CommitError::Refused(AlterConfigError::UnknownBroker { .. }))
    ));
}
