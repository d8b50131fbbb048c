//! A group of one that commits offsets, one after the other.

use std::rc::Rc;
use std::time::Duration;

use highwater_sim_disk::stream;
use kafka_protocol::messages::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use kafka_protocol::messages::{GroupId, OffsetCommitRequest, TopicName};
use kafka_protocol::protocol::StrBytes;
use rand_chacha::rand_core::RngCore;

use super::{ANSWER, Phase, Workload, is_retriable};
use crate::client::{Client, ClientError};
use crate::exec;
use crate::history::{Failure, Outcome, Place};
use crate::mutant::Mutant;

/// The group's name.
pub(super) const GROUP: &str = "simple";

/// Commits growing offsets until the faults are over.
pub(super) async fn run(workload: Rc<Workload>) {
    let mut rng = stream(workload.plan.seed, "commits");
    let places = workload.places();
    let mut next = 0;
    while workload.phase.get() == Phase::Faults {
        let mut client = match workload.connect("commits").await {
            Ok(client) => client,
            Err(error) => {
                workload.note("commits", &error);
                exec::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        while workload.phase.get() == Phase::Faults {
            let place = places[(rng.next_u64() % places.len() as u64) as usize];
            next += 1;
            if let Err(error) = commit(&workload, &mut client, place, next).await {
                workload.note("commits", &error);
                exec::sleep(Duration::from_millis(50)).await;
                break;
            }
            exec::sleep(Duration::from_millis(rng.next_u64() % 200)).await;
        }
    }
}

async fn commit(
    workload: &Workload,
    client: &mut Client,
    place: Place,
    offset: i64,
) -> Result<(), ClientError> {
    let key = (GROUP.to_owned(), place);
    let at = {
        let mut history = workload.history.borrow_mut();
        let all = history.commits.entry(key.clone()).or_default();
        all.push((offset, Outcome::Unknown));
        all.len() - 1
    };
    let part = OffsetCommitRequestPartition::default()
        .with_partition_index(place.partition)
        .with_committed_offset(offset)
        .with_committed_leader_epoch(-1)
        .with_committed_metadata(None);
    let topic = OffsetCommitRequestTopic::default()
        .with_name(TopicName(StrBytes::from_string(place.topic_name())))
        .with_partitions(vec![part]);
    let request = OffsetCommitRequest::default()
        .with_group_id(GroupId(StrBytes::from_static_str(GROUP)))
        .with_generation_id_or_member_epoch(-1)
        .with_member_id(StrBytes::from_static_str(""))
        .with_topics(vec![topic]);
    if workload.plan.mutant == Some(Mutant::CommitLost) && offset % 5 == 0 {
        let mut history = workload.history.borrow_mut();
        history.commits.get_mut(&key).expect("made above")[at].1 = Outcome::Acked(exec::now());
        return Ok(());
    }
    let response = client.call(8, &request, ANSWER).await?;
    let code = response
        .topics
        .first()
        .and_then(|topic| topic.partitions.first());
    let Some(code) = code.map(|part| part.error_code) else {
        return Err(ClientError::Malformed(
            "OffsetCommit left out the partition".to_owned(),
        ));
    };
    workload.tell("commits", format!("{place} := {offset}, error {code}"));
    if code == 0 {
        let mut history = workload.history.borrow_mut();
        history.commits.get_mut(&key).expect("made above")[at].1 = Outcome::Acked(exec::now());
    } else if !is_retriable(code) {
        let what = format!("{place} := {offset}, error {code}");
        workload.fail(Failure::safety(
            "an offset commit gets an error that fits",
            what,
        ));
    }
    Ok(())
}
