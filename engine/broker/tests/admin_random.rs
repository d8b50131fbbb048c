//! Topics made, grown and deleted by many clients at once while the machine loses power.
//!
//! What was acknowledged holds after every restart, and a topic that is told of serves.

#[allow(dead_code, reason = "each test file uses its part")]
mod support;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use highwater_protocol::message::messages::create_partitions_request::CreatePartitionsTopic;
use highwater_protocol::message::messages::create_topics_request::CreatableTopic;
use highwater_protocol::message::messages::*;
use highwater_runtime::Runtime;
use highwater_sim_disk::{Tear, TestRuntime};
use support::{Client, batch_of, name, start};

const TOPICS: u64 = 4;
const CLIENTS: usize = 5;

/// What is known of one topic name: the state after the last answer, and whether a request is or
/// may have been under way since.
#[derive(Clone, Debug, Default)]
struct Known {
    /// Partitions; `None` when the topic does not exist.
    partitions: Option<i32>,
    /// More than one outcome is possible.
    open: bool,
    /// Requests that were sent and not answered.
    in_flight: u32,
}

type Model = Rc<RefCell<BTreeMap<u64, Known>>>;

/// Sends one random admin request and notes what its answer says.
async fn step(world: &TestRuntime, client: &mut Client, model: &Model) {
    let (nth, kind) = (world.draw("test") % TOPICS, world.draw("test") % 3);
    let topic = format!("t{nth}");
    {
        let mut model = model.borrow_mut();
        let known = model.entry(nth).or_default();
        known.in_flight += 1;
        known.open |= known.in_flight > 1;
    }
    let after = match kind {
        0 => {
            let new = CreatableTopic::default()
                .with_name(name(&topic))
                .with_num_partitions(1)
                .with_replication_factor(1);
            let request = CreateTopicsRequest::default().with_topics(vec![new]);
            client.send(ApiKey::CreateTopics, 5, &request).await;
            let answer: CreateTopicsResponse = client.receive(ApiKey::CreateTopics, 5).await;
            (answer.topics[0].error_code == 0).then_some(Some(1))
        }
        1 => {
            let request = DeleteTopicsRequest::default().with_topic_names(vec![name(&topic)]);
            client.send(ApiKey::DeleteTopics, 5, &request).await;
            let answer: DeleteTopicsResponse = client.receive(ApiKey::DeleteTopics, 5).await;
            (answer.responses[0].error_code == 0).then_some(None)
        }
        _ => {
            let count = 2 + (world.draw("test") % 3) as i32;
            let grown = CreatePartitionsTopic::default()
                .with_name(name(&topic))
                .with_count(count)
                .with_assignments(None);
            let request = CreatePartitionsRequest::default().with_topics(vec![grown]);
            client.send(ApiKey::CreatePartitions, 2, &request).await;
            let answer: CreatePartitionsResponse =
                client.receive(ApiKey::CreatePartitions, 2).await;
            (answer.results[0].error_code == 0).then_some(Some(count))
        }
    };
    let mut model = model.borrow_mut();
    let known = model.get_mut(&nth).expect("it was noted");
    known.in_flight -= 1;
    if let Some(partitions) = after {
        known.partitions = partitions;
    }
}

/// Compares what the broker tells with what is known, writes to every topic, and starts anew from
/// what is seen.
async fn check(seed: u64, client: &mut Client, model: &Model) {
    let request = MetadataRequest::default().with_topics(None);
    client.send(ApiKey::Metadata, 9, &request).await;
    let answer: MetadataResponse = client.receive(ApiKey::Metadata, 9).await;
    let mut seen: BTreeMap<String, i32> = BTreeMap::new();
    for topic in &answer.topics {
        let name = topic.name.as_ref().expect("named").to_string();
        let produced = client.produce(&name, &batch_of(&["a"])).await;
        assert_eq!(
            produced.error_code, 0,
            "seed {seed}: {name} is told of and does not serve"
        );
        seen.insert(name, topic.partitions.len() as i32);
    }
    for (nth, known) in model.borrow_mut().iter_mut() {
        let now = seen.get(&format!("t{nth}")).copied();
        if !known.open && known.in_flight == 0 {
            assert_eq!(now, known.partitions, "seed {seed}: t{nth}");
        }
        *known = Known {
            partitions: now,
            open: false,
            in_flight: 0,
        };
    }
}

#[test]
fn acknowledged_changes_of_topics_hold_after_power_losses() {
    for seed in 0..60 {
        let mut world = TestRuntime::with_sync_time(seed, Duration::from_millis(2));
        let model: Model = Rc::default();
        for _ in 0..3 {
            let lives_ms = world.draw("test") % 150;
            world.block_on(async {
                let (_broker, report, address) = start(&world).await;
                assert!(
                    report.offline.is_empty(),
                    "seed {seed}: {:?}",
                    report.offline
                );
                let mut client = Client::connect(&world, &address).await;
                check(seed, &mut client, &model).await;
                for _ in 0..CLIENTS {
                    let (world, model) = (world.clone(), Rc::clone(&model));
                    let mut client = Client::connect(&world, &address).await;
                    let on = world.clone();
                    on.spawn("client", async move {
                        loop {
                            step(&world, &mut client, &model).await;
                        }
                    });
                }
                world.sleep(Duration::from_millis(lives_ms)).await;
            });
            let unit = [1, 7, 64, 512, 4096][world.draw("test") as usize % 5];
            let keep_percent = (world.draw("test") % 101) as u32;
            world = world.power_loss(Tear { unit, keep_percent });
        }
    }
}

#[test]
fn a_data_folder_that_lost_its_metadata_is_refused_and_left_alone() {
    use highwater_broker::{Broker, BrokerConfig, StartError};
    use highwater_runtime::Disk;

    let world = TestRuntime::new(1);
    world.block_on(async {
        let (_broker, _, address) = start(&world).await;
        let mut client = Client::connect(&world, &address).await;
        client.make("t").await;
    });
    let world = world.kill();
    world.disk().remove_dir("metadata").expect("it is there");
    let config = BrokerConfig {
        settings: highwater_metadata::StaticSettings::default(),
        advertised: ("127.0.0.1".to_owned(), 9092),
        tail_bytes: 0,
    };
    let refused = world.block_on(Broker::start(world.clone(), config));
    let error = refused.err().expect("the partitions are nameless");
    assert!(
        matches!(&error, StartError::MetadataMissing { folder } if folder == "t-0"),
        "{error}"
    );
    assert!(
        world
            .disk()
            .list("t-0")
            .is_ok_and(|files| !files.is_empty())
    );
}
