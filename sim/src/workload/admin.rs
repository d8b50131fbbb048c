//! Topics: the plan's, made before the faults, and others that come and go.

use std::rc::Rc;
use std::time::Duration;

use highwater_sim_disk::stream;
use kafka_protocol::messages::create_topics_request::{CreatableTopic, CreatableTopicConfig};
use kafka_protocol::messages::{CreateTopicsRequest, DeleteTopicsRequest, TopicName};
use kafka_protocol::protocol::StrBytes;
use rand_chacha::rand_core::RngCore;

use super::{ANSWER, Phase, Workload, is_retriable};
use crate::client::{Client, ClientError};
use crate::exec;
use crate::history::{Failure, Outcome, TopicChange};
use crate::mutant::Mutant;
use crate::plan::Durability;

const TOPIC_ALREADY_EXISTS: i16 = 36;
const UNKNOWN_TOPIC_OR_PARTITION: i16 = 3;

/// Makes the plan's topics.
///
/// # Errors
/// A liveness failure when the broker does not do it within 30 seconds.
pub(super) async fn create_planned_topics(workload: &Rc<Workload>) -> Result<(), Failure> {
    let began = exec::now();
    for (number, plan) in workload.plan.topics.iter().enumerate() {
        let name = format!("t{number}");
        let durability = match plan.durability {
            Durability::Fsync if workload.plan.mutant == Some(Mutant::AckBeforeSync) => {
                "replicated"
            }
            Durability::Fsync => "fsync",
            Durability::Replicated => "replicated",
        };
        let configs = [
            ("segment.bytes", plan.segment_bytes.to_string()),
            ("durability", durability.to_owned()),
        ];
        loop {
            let told = match workload.connect("admin").await {
                Ok(mut client) => create(&mut client, &name, plan.partitions, &configs).await,
                Err(error) => Err(error),
            };
            match told {
                Ok(0 | TOPIC_ALREADY_EXISTS) => break,
                Ok(code) => workload.tell("admin", format!("cannot create {name}: {code}")),
                Err(ref error) => workload.note("admin", error),
            }
            if exec::now() - began > Duration::from_secs(30) {
                let what = format!("{name}, last answer {told:?}");
                return Err(Failure::liveness(
                    "a broker without faults creates topics",
                    what,
                ));
            }
            exec::sleep(Duration::from_millis(100)).await;
        }
    }
    Ok(())
}

/// Creates and deletes topics until the faults are over.
pub(super) async fn churn(workload: Rc<Workload>) {
    let mut rng = stream(workload.plan.seed, "churn");
    while workload.phase.get() == Phase::Faults {
        let mut client = match workload.connect("admin").await {
            Ok(client) => client,
            Err(error) => {
                workload.note("admin", &error);
                exec::sleep(Duration::from_millis(150)).await;
                continue;
            }
        };
        while workload.phase.get() == Phase::Faults {
            let name = format!("c{}", rng.next_u64() % 3);
            let change = match rng.next_u64() % 2 {
                0 => TopicChange::Create,
                _ => TopicChange::Delete,
            };
            if let Err(error) = apply(&workload, &mut client, &name, change).await {
                workload.note("admin", &error);
                exec::sleep(Duration::from_millis(50)).await;
                break;
            }
            exec::sleep(Duration::from_millis(rng.next_u64() % 500)).await;
        }
    }
}

async fn apply(
    workload: &Workload,
    client: &mut Client,
    name: &str,
    change: TopicChange,
) -> Result<(), ClientError> {
    let at = {
        let mut history = workload.history.borrow_mut();
        let all = history.topics.entry(name.to_owned()).or_default();
        all.push((change, Outcome::Unknown));
        all.len() - 1
    };
    let (code, already) = match change {
        TopicChange::Create => (create(client, name, 2, &[]).await?, TOPIC_ALREADY_EXISTS),
        TopicChange::Delete => (delete(client, name).await?, UNKNOWN_TOPIC_OR_PARTITION),
    };
    workload.tell("admin", format!("{change:?} {name}, error {code}"));
    if code == 0 || code == already {
        let mut history = workload.history.borrow_mut();
        let all = history.topics.get_mut(name).expect("made above");
        all[at].1 = Outcome::Acked(exec::now());
    } else if !is_retriable(code) {
        let what = format!("{change:?} {name}, error {code}");
        workload.fail(Failure::safety(
            "a change of a topic gets an error that fits",
            what,
        ));
    }
    Ok(())
}

/// Asks for a topic; answers the error code.
async fn create(
    client: &mut Client,
    name: &str,
    partitions: i32,
    configs: &[(&'static str, String)],
) -> Result<i16, ClientError> {
    let configs = configs.iter().map(|(key, value)| {
        CreatableTopicConfig::default()
            .with_name(StrBytes::from_static_str(key))
            .with_value(Some(StrBytes::from_string(value.clone())))
    });
    let topic = CreatableTopic::default()
        .with_name(TopicName(StrBytes::from_string(name.to_owned())))
        .with_num_partitions(partitions)
        .with_replication_factor(1)
        .with_configs(configs.collect());
    let request = CreateTopicsRequest::default()
        .with_topics(vec![topic])
        .with_timeout_ms(5_000);
    let response = client.call(6, &request, ANSWER).await?;
    let topic = response.topics.first();
    let left_out = || ClientError::Malformed("CreateTopics left out the topic".to_owned());
    topic.map(|topic| topic.error_code).ok_or_else(left_out)
}

/// Deletes a topic; answers the error code.
async fn delete(client: &mut Client, name: &str) -> Result<i16, ClientError> {
    let name = TopicName(StrBytes::from_string(name.to_owned()));
    let request = DeleteTopicsRequest::default()
        .with_topic_names(vec![name])
        .with_timeout_ms(5_000);
    let response = client.call(5, &request, ANSWER).await?;
    let topic = response.responses.first();
    let left_out = || ClientError::Malformed("DeleteTopics left out the topic".to_owned());
    topic.map(|topic| topic.error_code).ok_or_else(left_out)
}
