//! What admin clients see: topics made and deleted, partitions added, settings told and changed.
//!
//! The expected codes were compared with Apache Kafka 4.3.1.

#[allow(dead_code, reason = "each test file uses its part")]
mod support;

use std::time::Duration;

use highwater_protocol::message::StrBytes;
use highwater_protocol::message::messages::alter_configs_request as replace;
use highwater_protocol::message::messages::create_partitions_request::{
    CreatePartitionsAssignment, CreatePartitionsTopic,
};
use highwater_protocol::message::messages::create_topics_request::{
    CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfig,
};
use highwater_protocol::message::messages::delete_topics_request::DeleteTopicState;
use highwater_protocol::message::messages::describe_configs_request::DescribeConfigsResource;
use highwater_protocol::message::messages::describe_topic_partitions_request::{
    Cursor, TopicRequest,
};
use highwater_protocol::message::messages::incremental_alter_configs_request::{
    AlterConfigsResource, AlterableConfig,
};
use highwater_protocol::message::messages::metadata_request::MetadataRequestTopic;
use highwater_protocol::message::messages::*;
use highwater_sim_disk::{Tear, TestRuntime};
use support::{Client, batch_of, name, start, start_with};

const TOPIC: i8 = 2;
const BROKER: i8 = 4;

fn text(text: &str) -> StrBytes {
    StrBytes::from_string(text.to_owned())
}

fn topic(topic: &str, partitions: i32) -> CreatableTopic {
    CreatableTopic::default()
        .with_name(name(topic))
        .with_num_partitions(partitions)
        .with_replication_factor(-1)
}

fn with_config(topic: CreatableTopic, key: &str, value: Option<&str>) -> CreatableTopic {
    let config = CreatableTopicConfig::default()
        .with_name(text(key))
        .with_value(value.map(text));
    topic.with_configs(vec![config])
}

fn assigned(assignments: &[(i32, &[i32])]) -> CreatableTopic {
    let assignments = assignments.iter().map(|(index, brokers)| {
        CreatableReplicaAssignment::default()
            .with_partition_index(*index)
            .with_broker_ids(brokers.iter().map(|id| BrokerId(*id)).collect())
    });
    topic("assigned", -1).with_assignments(assignments.collect())
}

async fn create(
    client: &mut Client,
    version: i16,
    topics: Vec<CreatableTopic>,
) -> Vec<(String, i16)> {
    let request = CreateTopicsRequest::default()
        .with_topics(topics)
        .with_timeout_ms(1000);
    client.send(ApiKey::CreateTopics, version, &request).await;
    let answer: CreateTopicsResponse = client.receive(ApiKey::CreateTopics, version).await;
    answer
        .topics
        .iter()
        .map(|topic| (topic.name.to_string(), topic.error_code))
        .collect()
}

async fn metadata(client: &mut Client, version: i16, names: Option<&[&str]>) -> MetadataResponse {
    let topics = names.map(|names| {
        names
            .iter()
            .map(|topic| MetadataRequestTopic::default().with_name(Some(name(topic))))
            .collect()
    });
    let request = MetadataRequest::default()
        .with_topics(topics)
        .with_allow_auto_topic_creation(
            // Versions below 4 have no such field and allow it.
            version < 4,
        );
    client.send(ApiKey::Metadata, version, &request).await;
    client.receive(ApiKey::Metadata, version).await
}

#[test]
fn created_topics_serve_at_once_in_every_version_and_survive_a_power_loss() {
    let world = TestRuntime::with_sync_time(1, Duration::from_millis(5));
    world.block_on(async {
        let (_broker, _, address) = start(&world).await;
        let mut client = Client::connect(&world, &address).await;
        for version in 2..=7 {
            let topics = vec![topic(&format!("v{version}"), 2).with_replication_factor(1)];
            let made = create(&mut client, version, topics).await;
            assert_eq!(made, [(format!("v{version}"), 0)]);
            let produced = client
                .produce(&format!("v{version}"), &batch_of(&["a"]))
                .await;
            assert_eq!(produced.error_code, 0);
        }
    });
    let world = world.power_loss(Tear {
        unit: 1,
        keep_percent: 0,
    });
    world.block_on(async {
        let (_broker, _, address) = start(&world).await;
        let mut client = Client::connect(&world, &address).await;
        for version in 0..=13 {
            let all = metadata(
                &mut client,
                version,
                if version == 0 { Some(&[]) } else { None },
            );
            let all = all.await;
            let seen: Vec<(String, usize)> = all
                .topics
                .iter()
                .map(|topic| {
                    (
                        topic.name.as_ref().expect("named").to_string(),
                        topic.partitions.len(),
                    )
                })
                .collect();
            let made: Vec<(String, usize)> = (2..=7).map(|nth| (format!("v{nth}"), 2)).collect();
            assert_eq!(seen, made, "version {version}");
            assert_eq!(all.brokers[0].port, 9092);
            assert_eq!(all.topics[0].partitions[0].leader_id, BrokerId(1));
        }
        // Recovered records are readable when they are synced again: the fetch waits for that.
        client.send_fetch("v2", 0, 10_000).await;
        assert_eq!(
            support::values(&client.fetched().await),
            [(0, "a".to_owned())]
        );
    });
}

#[test]
fn an_answer_about_a_new_topic_tells_its_partitions_id_and_settings() {
    let world = TestRuntime::new(1);
    world.block_on(async {
        let (_broker, _, address) = start_with(&world, &[("num.partitions", "3")]).await;
        let mut client = Client::connect(&world, &address).await;
        let topics = vec![with_config(topic("t", -1), "retention.ms", Some("5"))];
        let request = CreateTopicsRequest::default().with_topics(topics);
        client.send(ApiKey::CreateTopics, 7, &request).await;
        let answer: CreateTopicsResponse = client.receive(ApiKey::CreateTopics, 7).await;
        let made = &answer.topics[0];
        assert_eq!(
            (
                made.error_code,
                made.num_partitions,
                made.replication_factor
            ),
            (0, 3, 1)
        );
        assert!(!made.topic_id.is_nil());
        let configs = made.configs.as_ref().expect("told");
        let retention = configs
            .iter()
            .find(|one| one.name.as_str() == "retention.ms");
        let retention = retention.expect("it is a setting");
        assert_eq!(
            (retention.value.as_deref(), retention.config_source),
            (Some("5"), 1)
        );
        let known = metadata(&mut client, 12, Some(&["t"])).await;
        assert_eq!(known.topics[0].topic_id, made.topic_id);
    });
}

#[test]
fn wrong_topics_get_kafkas_codes() {
    let world = TestRuntime::new(1);
    world.block_on(async {
        let (_broker, _, address) = start(&world).await;
        let mut client = Client::connect(&world, &address).await;
        assert_eq!(create(&mut client, 5, vec![topic("a.b", 1)]).await[0].1, 0);
        for (new, code) in [
            (topic("a.b", 1), 36),
            (topic("a_b", 1), 17),
            (topic("", 1), 17),
            (topic("a/b", 1), 17),
            (topic(&"x".repeat(250), 1), 17),
            (topic("__cluster_metadata", 1), 42),
            (topic("x", 0), 37),
            (topic("x", -2), 37),
            (topic("x", 1_000_000), 37),
            (topic("x", i32::MAX), 37),
            (topic("x", 1).with_replication_factor(0), 38),
            (topic("x", 1).with_replication_factor(2), 38),
            (assigned(&[(1, &[1])]), 39),
            (assigned(&[(0, &[])]), 39),
            (assigned(&[(0, &[1, 1])]), 39),
            (assigned(&[(0, &[9])]), 39),
            (assigned(&[(0, &[1])]).with_num_partitions(1), 42),
            (assigned(&[(0, &[1])]).with_replication_factor(1), 42),
            (with_config(topic("x", 1), "nope", Some("1")), 40),
            (with_config(topic("x", 1), "retention.ms", Some("x")), 40),
            (with_config(topic("x", 1), "retention.ms", None), 40),
            (with_config(topic("x", 1), "segment.bytes", Some("100")), 40),
            (
                with_config(topic("x", 1), "cleanup.policy", Some("compact")),
                40,
            ),
            (
                with_config(topic("x", 1), "compression.type", Some("zstd")),
                40,
            ),
        ] {
            let answers = create(&mut client, 5, vec![new.clone()]).await;
            assert_eq!(answers[0].1, code, "{new:?}");
        }
        let twice = vec![topic("t", 1), topic("t", 2), topic("u", 1)];
        let answers = create(&mut client, 5, twice).await;
        assert_eq!(answers, [("t".to_owned(), 42), ("u".to_owned(), 0)]);
        let known = metadata(&mut client, 5, None).await;
        assert_eq!(known.topics.len(), 2, "refused topics are not made");
    });
}

#[test]
fn validate_only_makes_nothing() {
    let world = TestRuntime::new(1);
    world.block_on(async {
        let (_broker, _, address) = start(&world).await;
        let mut client = Client::connect(&world, &address).await;
        let topics = vec![topic("t", 1)];
        let request = CreateTopicsRequest::default()
            .with_topics(topics)
            .with_validate_only(true);
        client.send(ApiKey::CreateTopics, 4, &request).await;
        let answer: CreateTopicsResponse = client.receive(ApiKey::CreateTopics, 4).await;
        assert_eq!(answer.topics[0].error_code, 0);
        assert_eq!(
            metadata(&mut client, 5, Some(&["t"])).await.topics[0].error_code,
            3
        );
    });
}

#[test]
fn metadata_makes_topics_only_when_both_sides_allow_it() {
    let world = TestRuntime::new(1);
    world.block_on(async {
        let (_broker, _, address) = start(&world).await;
        let mut client = Client::connect(&world, &address).await;
        let names = ["new", "a/b", "new"];
        let asked = metadata(&mut client, 8, Some(&names)).await;
        let codes: Vec<i16> = asked.topics.iter().map(|topic| topic.error_code).collect();
        assert_eq!(codes, [3, 17], "a name that stands twice is answered once");
        let made = metadata(&mut client, 1, Some(&names)).await;
        assert_eq!(
            made.topics[0].error_code, 0,
            "it is made and serves at once"
        );
        assert_eq!(client.produce("new", &batch_of(&["a"])).await.error_code, 0);
        assert!(metadata(&mut client, 1, Some(&[])).await.topics.is_empty());
        assert_eq!(metadata(&mut client, 0, Some(&[])).await.topics.len(), 1);
    });
    let world = TestRuntime::new(2);
    world.block_on(async {
        let pairs = [("auto.create.topics.enable", "false")];
        let (_broker, _, address) = start_with(&world, &pairs).await;
        let mut client = Client::connect(&world, &address).await;
        assert_eq!(
            metadata(&mut client, 1, Some(&["new"])).await.topics[0].error_code,
            3
        );
    });
}

#[test]
fn topics_are_found_by_id_and_unknown_ids_get_100() {
    let world = TestRuntime::new(1);
    world.block_on(async {
        let (_broker, _, address) = start(&world).await;
        let mut client = Client::connect(&world, &address).await;
        client.make("t").await;
        let id = metadata(&mut client, 12, Some(&["t"])).await.topics[0].topic_id;
        let by_id = |id| {
            MetadataRequestTopic::default()
                .with_name(None)
                .with_topic_id(id)
        };
        let other = uuid::Uuid::from_bytes([9; 16]);
        let request = MetadataRequest::default().with_topics(Some(vec![by_id(id), by_id(other)]));
        client.send(ApiKey::Metadata, 12, &request).await;
        let answer: MetadataResponse = client.receive(ApiKey::Metadata, 12).await;
        let mut found: Vec<(i16, Option<String>)> = answer
            .topics
            .iter()
            .map(|topic| {
                (
                    topic.error_code,
                    topic.name.as_ref().map(|name| name.to_string()),
                )
            })
            .collect();
        found.sort();
        assert_eq!(found, [(0, Some("t".to_owned())), (100, None)]);
    });
}

#[test]
fn a_deleted_topic_is_gone_and_made_again_is_empty_with_another_id() {
    let world = TestRuntime::new(1);
    world.block_on(async {
        let (_broker, _, address) = start(&world).await;
        let mut client = Client::connect(&world, &address).await;
        client.make("t").await;
        assert_eq!(client.produce("t", &batch_of(&["old"])).await.error_code, 0);
        let old = metadata(&mut client, 12, Some(&["t"])).await.topics[0].topic_id;
        for (version, names, codes) in [
            (1, vec!["t"], vec![0]),
            (3, vec!["t", "a/b"], vec![3, 3]),
            (5, vec!["t", "t"], vec![42]),
        ] {
            let topics = names.into_iter().map(name).collect();
            let request = DeleteTopicsRequest::default().with_topic_names(topics);
            client.send(ApiKey::DeleteTopics, version, &request).await;
            let answer: DeleteTopicsResponse = client.receive(ApiKey::DeleteTopics, version).await;
            let got: Vec<i16> = answer.responses.iter().map(|one| one.error_code).collect();
            assert_eq!(got, codes, "version {version}");
        }
        assert_eq!(
            metadata(&mut client, 5, Some(&["t"])).await.topics[0].error_code,
            3
        );
        assert_eq!(client.produce("t", &batch_of(&["x"])).await.error_code, 3);
        client.make("t").await;
        assert_eq!(client.read("t", 0).await, []);
        let new = metadata(&mut client, 12, Some(&["t"])).await.topics[0].topic_id;
        assert_ne!(new, old);
        let by = |named: Option<&str>, id| {
            DeleteTopicState::default()
                .with_name(named.map(name))
                .with_topic_id(id)
        };
        let topics = vec![
            by(None, old),
            by(None, new),
            by(Some("t"), new),
            by(None, uuid::Uuid::nil()),
        ];
        let request = DeleteTopicsRequest::default().with_topics(topics);
        client.send(ApiKey::DeleteTopics, 6, &request).await;
        let answer: DeleteTopicsResponse = client.receive(ApiKey::DeleteTopics, 6).await;
        let mut codes: Vec<i16> = answer.responses.iter().map(|one| one.error_code).collect();
        codes.sort_unstable();
        assert_eq!(codes, [0, 42, 42, 100]);
    });
    let world = world.power_loss(Tear {
        unit: 1,
        keep_percent: 0,
    });
    world.block_on(async {
        let (_broker, report, _) = start(&world).await;
        assert_eq!(report.topics, 0);
    });
}

#[test]
fn deletion_can_be_switched_off_and_the_topic_of_offsets_stays() {
    let world = TestRuntime::new(1);
    world.block_on(async {
        let (_broker, _, address) = start_with(&world, &[("delete.topic.enable", "false")]).await;
        let mut client = Client::connect(&world, &address).await;
        client.make("t").await;
        for (version, code) in [(2, 42), (3, 73)] {
            let request = DeleteTopicsRequest::default().with_topic_names(vec![name("t")]);
            client.send(ApiKey::DeleteTopics, version, &request).await;
            let answer: DeleteTopicsResponse = client.receive(ApiKey::DeleteTopics, version).await;
            assert_eq!(answer.responses[0].error_code, code, "version {version}");
        }
    });
    let world = TestRuntime::new(2);
    world.block_on(async {
        let (_broker, _, address) = start(&world).await;
        let mut client = Client::connect(&world, &address).await;
        client.make("__consumer_offsets").await;
        let known = metadata(&mut client, 5, Some(&["__consumer_offsets"])).await;
        assert!(known.topics[0].is_internal);
        let request =
            DeleteTopicsRequest::default().with_topic_names(vec![name("__consumer_offsets")]);
        client.send(ApiKey::DeleteTopics, 3, &request).await;
        let answer: DeleteTopicsResponse = client.receive(ApiKey::DeleteTopics, 3).await;
        assert_eq!(answer.responses[0].error_code, 42);
    });
}

#[test]
fn partitions_are_added_and_serve() {
    let world = TestRuntime::new(1);
    world.block_on(async {
        let (_broker, _, address) = start(&world).await;
        let mut client = Client::connect(&world, &address).await;
        client.make("t").await;
        let grow = |topic: &str, count: i32, brokers: Option<&[&[i32]]>| {
            let assignments = brokers.map(|brokers| {
                let one = |ids: &&[i32]| {
                    let ids = ids.iter().map(|id| BrokerId(*id)).collect();
                    CreatePartitionsAssignment::default().with_broker_ids(ids)
                };
                brokers.iter().map(one).collect()
            });
            CreatePartitionsTopic::default()
                .with_name(name(topic))
                .with_count(count)
                .with_assignments(assignments)
        };
        for (version, topics, codes) in [
            (0, vec![grow("t", 1, None)], vec![37]),
            (0, vec![grow("t", 0, None)], vec![37]),
            (1, vec![grow("t", 1_000_000, None)], vec![37]),
            (1, vec![grow("t", 2, Some(&[]))], vec![39]),
            (1, vec![grow("t", 2, Some(&[&[9]]))], vec![39]),
            (2, vec![grow("none", 2, None)], vec![3]),
            (2, vec![grow("t", 2, None), grow("t", 3, None)], vec![42]),
            (3, vec![grow("t", 3, Some(&[&[1], &[1]]))], vec![0]),
        ] {
            let request = CreatePartitionsRequest::default().with_topics(topics);
            client
                .send(ApiKey::CreatePartitions, version, &request)
                .await;
            let answer: CreatePartitionsResponse =
                client.receive(ApiKey::CreatePartitions, version).await;
            let got: Vec<i16> = answer.results.iter().map(|one| one.error_code).collect();
            assert_eq!(got, codes, "version {version}");
        }
        let known = metadata(&mut client, 5, Some(&["t"])).await;
        assert_eq!(known.topics[0].partitions.len(), 3);
    });
}

async fn alter(client: &mut Client, resources: Vec<AlterConfigsResource>) -> Vec<i16> {
    let request = IncrementalAlterConfigsRequest::default().with_resources(resources);
    client
        .send(ApiKey::IncrementalAlterConfigs, 1, &request)
        .await;
    let answer: IncrementalAlterConfigsResponse =
        client.receive(ApiKey::IncrementalAlterConfigs, 1).await;
    answer.responses.iter().map(|one| one.error_code).collect()
}

fn change(kind: i8, of: &str, ops: &[(&str, i8, Option<&str>)]) -> AlterConfigsResource {
    let configs = ops.iter().map(|(key, op, value)| {
        AlterableConfig::default()
            .with_name(text(key))
            .with_config_operation(*op)
            .with_value(value.map(text))
    });
    AlterConfigsResource::default()
        .with_resource_type(kind)
        .with_resource_name(text(of))
        .with_configs(configs.collect())
}

/// Value and source of one setting.
async fn told(client: &mut Client, kind: i8, of: &str, key: &str) -> (Option<String>, i8) {
    let resource = DescribeConfigsResource::default()
        .with_resource_type(kind)
        .with_resource_name(text(of))
        .with_configuration_keys(Some(vec![text(key)]));
    let request = DescribeConfigsRequest::default()
        .with_resources(vec![resource])
        .with_include_synonyms(true)
        .with_include_documentation(true);
    client.send(ApiKey::DescribeConfigs, 4, &request).await;
    let answer: DescribeConfigsResponse = client.receive(ApiKey::DescribeConfigs, 4).await;
    assert_eq!(answer.results[0].error_code, 0);
    let one = &answer.results[0].configs[0];
    assert!(
        one.documentation
            .as_ref()
            .is_some_and(|doc| !doc.is_empty())
    );
    (
        one.value.as_ref().map(ToString::to_string),
        one.config_source,
    )
}

#[test]
fn settings_change_at_every_level_and_are_told_with_their_source() {
    let world = TestRuntime::new(1);
    world.block_on(async {
        let (_broker, _, address) = start_with(&world, &[("log.retention.hours", "1")]).await;
        let mut client = Client::connect(&world, &address).await;
        client.make("t").await;
        let value = |value: &str, source| (Some(value.to_owned()), source);
        assert_eq!(
            told(&mut client, TOPIC, "t", "retention.ms").await,
            value("3600000", 4)
        );
        for (resource, expected) in [
            (
                change(BROKER, "", &[("log.retention.minutes", 0, Some("2"))]),
                value("120000", 3),
            ),
            (
                change(BROKER, "1", &[("log.retention.ms", 0, Some("7"))]),
                value("7", 2),
            ),
            (
                change(TOPIC, "t", &[("retention.ms", 0, Some("8"))]),
                value("8", 1),
            ),
            (
                change(TOPIC, "t", &[("retention.ms", 1, None)]),
                value("7", 2),
            ),
            (
                change(BROKER, "1", &[("log.retention.ms", 1, None)]),
                value("120000", 3),
            ),
        ] {
            assert_eq!(alter(&mut client, vec![resource]).await, [0]);
            assert_eq!(
                told(&mut client, TOPIC, "t", "retention.ms").await,
                expected
            );
        }
        assert_eq!(
            told(&mut client, BROKER, "1", "node.id").await,
            value("1", 5)
        );
        let cluster = told(&mut client, BROKER, "", "log.retention.minutes").await;
        assert_eq!(cluster, value("2", 3));
    });
}

#[test]
fn wrong_changes_get_kafkas_codes_and_change_nothing() {
    let world = TestRuntime::new(1);
    world.block_on(async {
        let (_broker, _, address) = start(&world).await;
        let mut client = Client::connect(&world, &address).await;
        client.make("t").await;
        let set = |kind, of: &str, key, value| change(kind, of, &[(key, 0, value)]);
        for (resource, code) in [
            (set(TOPIC, "t", "nope", Some("1")), 40),
            (set(TOPIC, "t", "retention.ms", Some("x")), 40),
            (set(TOPIC, "t", "retention.ms", None), 42),
            (set(TOPIC, "none", "retention.ms", Some("1")), 3),
            (set(TOPIC, "", "retention.ms", Some("1")), 42),
            (set(TOPIC, "a/b", "retention.ms", Some("1")), 17),
            (change(TOPIC, "t", &[("nope", 1, None)]), 0),
            (change(TOPIC, "t", &[("retention.ms", 2, Some("1"))]), 40),
            (change(TOPIC, "t", &[("retention.ms", 9, Some("1"))]), 42),
            (
                change(
                    TOPIC,
                    "t",
                    &[
                        ("retention.ms", 0, Some("1")),
                        ("retention.ms", 0, Some("1")),
                    ],
                ),
                42,
            ),
            (
                change(TOPIC, "t", &[("cleanup.policy", 2, Some("compact"))]),
                40,
            ),
            (set(BROKER, "1", "nope", Some("1")), 42),
            (set(BROKER, "1", "log.retention.ms", Some("x")), 42),
            (set(BROKER, "1", "node.id", Some("5")), 42),
            (set(BROKER, "2", "log.retention.ms", Some("5")), 42),
            (set(BROKER, "x", "log.retention.ms", Some("5")), 42),
            (set(77, "x", "a", Some("5")), 42),
        ] {
            assert_eq!(
                alter(&mut client, vec![resource.clone()]).await,
                [code],
                "{resource:?}"
            );
        }
        let twice = vec![set(TOPIC, "t", "retention.ms", Some("1")); 2];
        assert_eq!(alter(&mut client, twice).await, [42, 42]);
        let default = (Some("604800000".to_owned()), 5);
        assert_eq!(told(&mut client, TOPIC, "t", "retention.ms").await, default);
    });
}

#[test]
fn the_older_request_replaces_all_settings_of_a_topic() {
    let world = TestRuntime::new(1);
    world.block_on(async {
        let (_broker, _, address) = start(&world).await;
        let mut client = Client::connect(&world, &address).await;
        client.make("t").await;
        for version in 0..=2 {
            let key = ["retention.ms", "retention.bytes", "segment.ms"][version as usize];
            let config = replace::AlterableConfig::default()
                .with_name(text(key))
                .with_value(Some(text("5")));
            let resource = replace::AlterConfigsResource::default()
                .with_resource_type(TOPIC)
                .with_resource_name(text("t"))
                .with_configs(vec![config]);
            let request = AlterConfigsRequest::default().with_resources(vec![resource]);
            client.send(ApiKey::AlterConfigs, version, &request).await;
            let answer: AlterConfigsResponse = client.receive(ApiKey::AlterConfigs, version).await;
            assert_eq!(answer.responses[0].error_code, 0);
            assert_eq!(
                told(&mut client, TOPIC, "t", key).await,
                (Some("5".to_owned()), 1)
            );
        }
        assert_eq!(told(&mut client, TOPIC, "t", "retention.ms").await.1, 5);
    });
}

#[test]
fn a_changed_setting_acts_on_a_live_partition() {
    let world = TestRuntime::new(1);
    world.block_on(async {
        let (_broker, _, address) = start(&world).await;
        let mut client = Client::connect(&world, &address).await;
        client.make("t").await;
        assert_eq!(client.produce("t", &batch_of(&["a"])).await.error_code, 0);
        let smaller = change(TOPIC, "t", &[("max.message.bytes", 0, Some("10"))]);
        assert_eq!(alter(&mut client, vec![smaller]).await, [0]);
        assert_eq!(client.produce("t", &batch_of(&["a"])).await.error_code, 10);
        let back = change(TOPIC, "t", &[("max.message.bytes", 1, None)]);
        assert_eq!(alter(&mut client, vec![back]).await, [0]);
        assert_eq!(client.produce("t", &batch_of(&["b"])).await.error_code, 0);
        let smaller = change(BROKER, "", &[("message.max.bytes", 0, Some("10"))]);
        assert_eq!(alter(&mut client, vec![smaller]).await, [0]);
        assert_eq!(client.produce("t", &batch_of(&["a"])).await.error_code, 10);
    });
}

#[test]
fn pages_of_partitions_go_on_where_the_last_one_ended() {
    let world = TestRuntime::new(1);
    world.block_on(async {
        let (_broker, _, address) = start(&world).await;
        let mut client = Client::connect(&world, &address).await;
        let topics = vec![topic("a", 3), topic("b", 2), topic("c", 1)];
        create(&mut client, 5, topics).await;
        let mut cursor: Option<(String, i32)> = None;
        let mut pages = Vec::new();
        loop {
            let next = cursor.map(|(topic, index)| {
                Cursor::default()
                    .with_topic_name(name(&topic))
                    .with_partition_index(index)
            });
            let request = DescribeTopicPartitionsRequest::default()
                .with_response_partition_limit(2)
                .with_cursor(next);
            client
                .send(ApiKey::DescribeTopicPartitions, 0, &request)
                .await;
            let answer: DescribeTopicPartitionsResponse =
                client.receive(ApiKey::DescribeTopicPartitions, 0).await;
            let page: Vec<String> = answer
                .topics
                .iter()
                .flat_map(|topic| {
                    let name = topic.name.as_ref().expect("named").to_string();
                    topic
                        .partitions
                        .iter()
                        .map(move |one| format!("{name}{}", one.partition_index))
                })
                .collect();
            pages.push(page.join(" "));
            match answer.next_cursor {
                Some(next) => cursor = Some((next.topic_name.to_string(), next.partition_index)),
                None => break,
            }
        }
        assert_eq!(pages, ["a0 a1", "a2 b0", "b1 c0"]);
        let topics =
            ["none", "a/b", "c"].map(|topic| TopicRequest::default().with_name(name(topic)));
        let request = DescribeTopicPartitionsRequest::default()
            .with_topics(topics.to_vec())
            .with_response_partition_limit(2000);
        client
            .send(ApiKey::DescribeTopicPartitions, 0, &request)
            .await;
        let answer: DescribeTopicPartitionsResponse =
            client.receive(ApiKey::DescribeTopicPartitions, 0).await;
        let codes: Vec<i16> = answer.topics.iter().map(|topic| topic.error_code).collect();
        assert_eq!(codes, [17, 0, 3], "sorted by name");
    });
}

#[test]
fn the_cluster_is_one_broker_and_its_data_folder() {
    let world = TestRuntime::new(1);
    world.block_on(async {
        let (_broker, _, address) = start(&world).await;
        let mut client = Client::connect(&world, &address).await;
        client.make("t").await;
        client.produce("t", &batch_of(&["a"])).await;
        for version in 0..=2 {
            let request = DescribeClusterRequest::default();
            client
                .send(ApiKey::DescribeCluster, version, &request)
                .await;
            let answer: DescribeClusterResponse =
                client.receive(ApiKey::DescribeCluster, version).await;
            assert_eq!((answer.error_code, answer.cluster_id.len()), (0, 22));
            assert_eq!(
                (answer.controller_id, answer.brokers.len()),
                (BrokerId(1), 1)
            );
        }
        for (endpoint, code) in [(2, 114), (3, 115)] {
            let request = DescribeClusterRequest::default().with_endpoint_type(endpoint);
            client.send(ApiKey::DescribeCluster, 1, &request).await;
            let answer: DescribeClusterResponse = client.receive(ApiKey::DescribeCluster, 1).await;
            assert_eq!(answer.error_code, code);
        }
        for version in 1..=4 {
            let request = DescribeLogDirsRequest::default().with_topics(None);
            client
                .send(ApiKey::DescribeLogDirs, version, &request)
                .await;
            let answer: DescribeLogDirsResponse =
                client.receive(ApiKey::DescribeLogDirs, version).await;
            let topic = &answer.results[0].topics[0];
            assert_eq!(topic.name, name("t"));
            assert!(topic.partitions[0].partition_size > 0);
        }
        let request = ListPartitionReassignmentsRequest::default().with_topics(None);
        client
            .send(ApiKey::ListPartitionReassignments, 0, &request)
            .await;
        let answer: ListPartitionReassignmentsResponse =
            client.receive(ApiKey::ListPartitionReassignments, 0).await;
        assert!(answer.topics.is_empty());
    });
}

#[test]
fn a_full_disk_refuses_new_topics_and_takes_them_later() {
    let world = TestRuntime::new(1);
    world.block_on(async {
        let (_broker, _, address) = start(&world).await;
        let mut client = Client::connect(&world, &address).await;
        client.make("t").await;
        highwater_runtime::Runtime::disk(&world).set_free(0);
        assert_eq!(create(&mut client, 5, vec![topic("u", 1)]).await[0].1, 56);
        assert_eq!(
            metadata(&mut client, 5, Some(&["t"])).await.topics[0].error_code,
            0
        );
        highwater_runtime::Runtime::disk(&world).set_free(64 << 20);
        assert_eq!(create(&mut client, 5, vec![topic("u", 1)]).await[0].1, 0);
        assert_eq!(client.produce("u", &batch_of(&["a"])).await.error_code, 0);
    });
}
