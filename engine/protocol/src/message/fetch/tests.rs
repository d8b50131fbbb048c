//! The hand-written Fetch encoder against the message crate's, over all versions.

use super::*;
use crate::message::encode_response;
use crate::message::testing::Draw;
use kafka_protocol::messages::fetch_response::AbortedTransaction;
use kafka_protocol::messages::{BrokerId, ProducerId, TopicName};
use kafka_protocol::protocol::StrBytes;

fn partition(draw: &mut Draw, version: i16) -> (PartitionData, Vec<Bytes>) {
    let mut data = PartitionData::default();
    data.partition_index = draw.below(9) as i32;
    data.error_code = draw.below(120) as i16;
    data.high_watermark = draw.next() as i64;
    data.last_stable_offset = draw.next() as i64;
    if version >= 5 {
        data.log_start_offset = draw.next() as i64;
    }
    data.aborted_transactions = draw.one_in(2).then(|| {
        (0..draw.below(3))
            .map(|_| {
                AbortedTransaction::default()
                    .with_producer_id(ProducerId(draw.next() as i64))
                    .with_first_offset(draw.next() as i64)
            })
            .collect()
    });
    if version >= 11 {
        data.preferred_read_replica = BrokerId(draw.below(3) as i32 - 1);
    }
    if version >= 12 && draw.one_in(3) {
        data.diverging_epoch.epoch = draw.below(5) as i32;
        data.diverging_epoch.end_offset = draw.next() as i64;
    }
    if version >= 12 && draw.one_in(3) {
        data.current_leader.leader_id = BrokerId(draw.below(5) as i32);
        data.current_leader.leader_epoch = draw.below(9) as i32;
    }
    if version >= 12 && draw.one_in(9) {
        data.snapshot_id.end_offset = draw.next() as i64;
    }
    let lens = [0, 1, 100, 255, 256, 257, 5000];
    let parts: Vec<Bytes> = (0..draw.below(4))
        .map(|_| {
            let len = lens[draw.below(lens.len() as u64) as usize];
            Bytes::from(vec![draw.next() as u8; len])
        })
        .collect();
    data.records = Some(parts.concat().into());
    (data, parts)
}

fn answer(draw: &mut Draw, version: i16) -> (FetchResponse, Vec<Vec<Bytes>>) {
    let mut response = FetchResponse::default();
    let mut records = Vec::new();
    response.throttle_time_ms = draw.below(100) as i32;
    if version >= 7 {
        response.error_code = draw.below(80) as i16;
        response.session_id = draw.next() as i32;
    }
    for _ in 0..draw.below(4) {
        let mut topic = FetchableTopicResponse::default();
        if version >= 13 {
            topic.topic_id = uuid::Uuid::from_u128(u128::from(draw.next()));
        } else {
            topic.topic = TopicName(StrBytes::from_string("t".repeat(draw.below(200) as usize)));
        }
        for _ in 0..draw.below(4) {
            let (data, parts) = partition(draw, version);
            topic.partitions.push(data);
            records.push(parts);
        }
        response.responses.push(topic);
    }
    if version >= 16 {
        for node in 0..draw.below(3) {
            let mut endpoint = NodeEndpoint::default();
            endpoint.node_id = BrokerId(node as i32);
            endpoint.host = StrBytes::from_static_str("localhost");
            endpoint.port = 9092;
            endpoint.rack = draw.one_in(2).then(|| StrBytes::from_static_str("r"));
            response.node_endpoints.push(endpoint);
        }
    }
    (response, records)
}

#[test]
fn the_parts_joined_are_what_the_message_crate_encodes() {
    for version in 4..=18 {
        for seed in 0..200 {
            let mut draw = Draw::new(seed);
            let (response, records) = answer(&mut draw, version);
            let whole = encode_response(5, ApiKey::Fetch, version, &response).unwrap();
            let parts = encode(5, version, &response, &records).unwrap();
            assert!(parts.iter().all(|part| !part.is_empty()), "seed {seed}");
            assert_eq!(parts.concat(), whole, "version {version} seed {seed}");
        }
    }
}

#[test]
fn large_records_are_handed_out_without_a_copy() {
    let bytes = Bytes::from(vec![7; 10_000]);
    let mut topic = FetchableTopicResponse::default();
    topic.partitions.push(PartitionData::default());
    let response = FetchResponse::default().with_responses(vec![topic]);
    let parts = encode(1, 13, &response, &[vec![bytes.clone()]]).unwrap();
    assert!(parts.iter().any(|part| part.as_ptr() == bytes.as_ptr()));
}
