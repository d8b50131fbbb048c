//! Everything read back by fresh clients after the faults: what the checkers compare with.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use kafka_protocol::messages::offset_fetch_request::OffsetFetchRequestTopic;
use kafka_protocol::messages::{GroupId, MetadataRequest, OffsetFetchRequest, TopicName};
use kafka_protocol::protocol::StrBytes;

use super::consumer::fetch_request;
use super::records::decode;
use super::{ANSWER, Workload, commits};
use crate::client::{Client, ClientError};
use crate::exec;
use crate::history::{Failure, Place, Read};

/// Longest time for reading everything back.
const LIMIT: Duration = Duration::from_secs(60);

/// One partition's log at the end.
#[derive(Clone, Debug, Default)]
pub struct FinalLog {
    /// Every record below the high watermark, in order of reading.
    pub records: Vec<Read>,
    /// The high watermark.
    pub high_watermark: i64,
}

/// What is there at the end.
#[derive(Clone, Debug, Default)]
pub struct Finals {
    /// Every partition of the plan.
    pub logs: BTreeMap<Place, FinalLog>,
    /// Committed offsets of each group; -1 when there is none.
    pub commits: BTreeMap<(String, Place), i64>,
    /// The names of all topics.
    pub topics: BTreeSet<String>,
}

/// Reads everything back, trying again until the limit.
///
/// # Errors
/// A liveness failure that says what could not be read.
pub(super) async fn read(workload: &Rc<Workload>) -> Result<Finals, Failure> {
    let began = exec::now();
    let mut finals = Finals::default();
    loop {
        let done = match workload.connect("reader").await {
            Ok(mut client) => attempt(workload, &mut client, &mut finals).await,
            Err(error) => Err(error),
        };
        let Err(error) = done else { return Ok(finals) };
        workload.note("reader", &error);
        if exec::now() - began > LIMIT {
            let what = format!("after {LIMIT:?} without faults: {error:?}");
            return Err(Failure::liveness(
                "everything can be read once the faults are over",
                what,
            ));
        }
        exec::sleep(Duration::from_millis(200)).await;
    }
}

async fn attempt(
    workload: &Workload,
    client: &mut Client,
    finals: &mut Finals,
) -> Result<(), ClientError> {
    let metadata = MetadataRequest::default().with_topics(None);
    let response = client.call(9, &metadata, ANSWER).await?;
    let name = |topic: Option<TopicName>| topic.map(|name| name.as_str().to_owned());
    finals.topics = response
        .topics
        .into_iter()
        .filter_map(|topic| name(topic.name))
        .collect();
    for place in workload.places() {
        read_log(
            workload,
            client,
            place,
            finals.logs.entry(place).or_default(),
        )
        .await?;
        if workload.plan.commits {
            let committed = committed(client, place).await?;
            finals
                .commits
                .insert((commits::GROUP.to_owned(), place), committed);
        }
    }
    Ok(())
}

async fn read_log(
    workload: &Workload,
    client: &mut Client,
    place: Place,
    log: &mut FinalLog,
) -> Result<(), ClientError> {
    loop {
        let next = log.records.last().map_or(0, |record| record.offset + 1);
        let request = fetch_request(&[(place, next)], 1 << 20, 100);
        let response = client
            .call(workload.plan.fetch_version, &request, ANSWER)
            .await?;
        let part = response
            .responses
            .first()
            .and_then(|topic| topic.partitions.first());
        let part = part.ok_or_else(|| ClientError::Malformed(format!("Fetch left out {place}")))?;
        if part.error_code != 0 {
            let code = part.error_code;
            workload.tell("reader", format!("{place} at offset {next}: error {code}"));
            return Err(ClientError::TimedOut);
        }
        log.high_watermark = part.high_watermark;
        let reads = decode(part.records.clone().unwrap_or_default())
            .map_err(|why| ClientError::Malformed(format!("{place} at offset {next}: {why}")))?;
        let before = log.records.len();
        log.records
            .extend(reads.into_iter().filter(|read| read.offset >= next));
        let end = log.records.last().map_or(0, |record| record.offset + 1);
        if end >= log.high_watermark {
            return Ok(());
        }
        if log.records.len() == before {
            workload.tell("reader", format!("{place}: nothing at offset {next}"));
            return Err(ClientError::TimedOut);
        }
    }
}

async fn committed(client: &mut Client, place: Place) -> Result<i64, ClientError> {
    let topic = OffsetFetchRequestTopic::default()
        .with_name(TopicName(StrBytes::from_string(place.topic_name())))
        .with_partition_indexes(vec![place.partition]);
    let request = OffsetFetchRequest::default()
        .with_group_id(GroupId(StrBytes::from_static_str(commits::GROUP)))
        .with_topics(Some(vec![topic]));
    let response = client.call(6, &request, ANSWER).await?;
    let part = response
        .topics
        .first()
        .and_then(|topic| topic.partitions.first());
    match part {
        Some(part) if response.error_code == 0 && part.error_code == 0 => Ok(part.committed_offset),
        Some(_) => Err(ClientError::TimedOut),
        None if response.error_code != 0 => Err(ClientError::TimedOut),
        None => Err(ClientError::Malformed(
            "OffsetFetch left out the partition".to_owned(),
        )),
    }
}
