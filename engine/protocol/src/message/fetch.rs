//! Fetch answers as parts: record bytes are handed to the writer as they are, never copied.
//!
//! The parts joined are, byte for byte, what the message crate would encode.

use bytes::{BufMut, Bytes, BytesMut};
use kafka_protocol::messages::FetchResponse;
use kafka_protocol::messages::fetch_response::{
    EpochEndOffset, FetchableTopicResponse, LeaderIdAndEpoch, NodeEndpoint, PartitionData,
    SnapshotId,
};

use super::api::{self, ApiKey};
use super::response::put_header;
use super::{FRAME_LEN_BYTES, MessageError};

/// Record bytes up to this length are copied: a part of its own costs more.
const COPY_BYTES_MAX: usize = 256;

/// The parts of the frame that answers Fetch request `correlation_id` in `version`.
///
/// `records` holds the record bytes of each partition, in the order of the partitions in
/// `response`; what `response` itself holds as records is not looked at. No part is empty.
///
/// # Panics
/// When `records` and the partitions differ in number.
///
/// # Errors
/// [`MessageError::Unencodable`] when the frame would pass 2 GiB or a topic's name its limit.
pub fn encode(
    correlation_id: i32,
    version: i16,
    response: &FetchResponse,
    records: &[Vec<Bytes>],
) -> Result<Vec<Bytes>, MessageError> {
    let api = api::of(ApiKey::Fetch);
    let flexible = api.is_flexible(version);
    let fixed = BytesMut::with_capacity(64 + 96 * records.len());
    let mut out = Out {
        version,
        flexible,
        fixed,
        inserts: Vec::new(),
        inserted_len: 0,
    };
    out.fixed.put_i32(0);
    put_header(correlation_id, flexible, &mut out.fixed);
    out.response(response, records);
    out.into_parts()
}

/// A frame in the making: its fixed bytes in one buffer, and where record bytes go between them.
struct Out<'a> {
    version: i16,
    flexible: bool,
    fixed: BytesMut,
    /// Position in `fixed`, and the record bytes that go there.
    inserts: Vec<(usize, &'a [Bytes])>,
    inserted_len: usize,
}

impl<'a> Out<'a> {
    fn response(&mut self, response: &FetchResponse, records: &'a [Vec<Bytes>]) {
        self.fixed.put_i32(response.throttle_time_ms);
        if self.version >= 7 {
            self.fixed.put_i16(response.error_code);
            self.fixed.put_i32(response.session_id);
        }
        self.count(response.responses.len());
        let mut records = records.iter();
        for topic in &response.responses {
            self.topic(topic, &mut records);
        }
        assert!(
            records.next().is_none(),
            "more record lists than partitions"
        );
        if self.flexible {
            self.endpoints(&response.node_endpoints);
        }
    }

    fn topic(
        &mut self,
        topic: &FetchableTopicResponse,
        records: &mut std::slice::Iter<'a, Vec<Bytes>>,
    ) {
        if self.version >= 13 {
            self.fixed.put_slice(topic.topic_id.as_bytes());
        } else {
            self.string(&topic.topic.0);
        }
        self.count(topic.partitions.len());
        for partition in &topic.partitions {
            let records = records.next().expect("as many record lists as partitions");
            self.partition(partition, records);
        }
        self.no_tags();
    }

    fn partition(&mut self, partition: &PartitionData, records: &'a [Bytes]) {
        self.fixed.put_i32(partition.partition_index);
        self.fixed.put_i16(partition.error_code);
        self.fixed.put_i64(partition.high_watermark);
        self.fixed.put_i64(partition.last_stable_offset);
        if self.version >= 5 {
            self.fixed.put_i64(partition.log_start_offset);
        }
        match &partition.aborted_transactions {
            None if self.flexible => self.fixed.put_u8(0),
            None => self.fixed.put_i32(-1),
            Some(aborted) => {
                self.count(aborted.len());
                for transaction in aborted {
                    self.fixed.put_i64(transaction.producer_id.0);
                    self.fixed.put_i64(transaction.first_offset);
                    self.no_tags();
                }
            }
        }
        if self.version >= 11 {
            self.fixed.put_i32(partition.preferred_read_replica.0);
        }
        self.records(records);
        if self.flexible {
            self.partition_tags(partition);
        }
    }

    fn records(&mut self, records: &'a [Bytes]) {
        let len: usize = records.iter().map(Bytes::len).sum();
        self.count(len);
        if len <= COPY_BYTES_MAX {
            records.iter().for_each(|bytes| self.fixed.put_slice(bytes));
        } else {
            self.inserts.push((self.fixed.len(), records));
            self.inserted_len += len;
        }
    }

    fn partition_tags(&mut self, partition: &PartitionData) {
        let PartitionData {
            diverging_epoch,
            current_leader,
            snapshot_id,
            ..
        } = partition;
        let diverging = *diverging_epoch != EpochEndOffset::default();
        let leader = *current_leader != LeaderIdAndEpoch::default();
        let snapshot = *snapshot_id != SnapshotId::default();
        let count = u8::from(diverging) + u8::from(leader) + u8::from(snapshot);
        self.fixed.put_u8(count);
        if diverging {
            self.fixed.put_slice(&[0, 13]);
            self.fixed.put_i32(diverging_epoch.epoch);
            self.fixed.put_i64(diverging_epoch.end_offset);
            self.fixed.put_u8(0);
        }
        if leader {
            self.fixed.put_slice(&[1, 9]);
            self.fixed.put_i32(current_leader.leader_id.0);
            self.fixed.put_i32(current_leader.leader_epoch);
            self.fixed.put_u8(0);
        }
        if snapshot {
            self.fixed.put_slice(&[2, 13]);
            self.fixed.put_i64(snapshot_id.end_offset);
            self.fixed.put_i32(snapshot_id.epoch);
            self.fixed.put_u8(0);
        }
    }

    /// The response's tagged fields: where the leaders are that partitions name.
    fn endpoints(&mut self, endpoints: &[NodeEndpoint]) {
        if self.version < 16 || endpoints.is_empty() {
            self.fixed.put_u8(0);
            return;
        }
        self.fixed.put_slice(&[1, 0]);
        let rest = self.fixed.split_off(self.fixed.len());
        let before = std::mem::replace(&mut self.fixed, rest);
        self.count(endpoints.len());
        for endpoint in endpoints {
            self.fixed.put_i32(endpoint.node_id.0);
            self.string(&endpoint.host);
            self.fixed.put_i32(endpoint.port);
            match &endpoint.rack {
                Some(rack) => self.string(rack),
                None => self.fixed.put_u8(0),
            }
            self.no_tags();
        }
        let content = std::mem::replace(&mut self.fixed, before);
        put_uvarint(content.len(), &mut self.fixed);
        self.fixed.put_slice(&content);
    }

    fn no_tags(&mut self) {
        if self.flexible {
            self.fixed.put_u8(0);
        }
    }

    /// The count of an array or of bytes.
    fn count(&mut self, count: usize) {
        if self.flexible {
            put_uvarint(count + 1, &mut self.fixed);
        } else {
            self.fixed.put_i32(i32::try_from(count).unwrap_or(i32::MAX));
        }
    }

    fn string(&mut self, string: &str) {
        if self.flexible {
            put_uvarint(string.len() + 1, &mut self.fixed);
        } else {
            let len = i16::try_from(string.len()).expect("a topic's name is short");
            self.fixed.put_i16(len);
        }
        self.fixed.put_slice(string.as_bytes());
    }

    fn into_parts(mut self) -> Result<Vec<Bytes>, MessageError> {
        let len = self.fixed.len() - FRAME_LEN_BYTES + self.inserted_len;
        let Ok(len_wire) = i32::try_from(len) else {
            let why = format!("a frame of {len} bytes");
            let (key, version) = (ApiKey::Fetch, self.version);
            return Err(MessageError::Unencodable { key, version, why });
        };
        self.fixed[..FRAME_LEN_BYTES].copy_from_slice(&len_wire.to_be_bytes());
        let mut rest = self.fixed.freeze();
        let mut parts = Vec::with_capacity(2 * self.inserts.len() + 1);
        let mut at = 0;
        for (insert_at, records) in self.inserts {
            parts.push(rest.split_to(insert_at - at));
            at = insert_at;
            parts.extend(records.iter().filter(|bytes| !bytes.is_empty()).cloned());
        }
        parts.push(rest);
        parts.retain(|part| !part.is_empty());
        Ok(parts)
    }
}

/// Appends an unsigned varint; Kafka's have 32 bits.
pub(super) fn put_uvarint(value: usize, out: &mut BytesMut) {
    let mut value = u32::try_from(value).unwrap_or(u32::MAX);
    while value >= 0x80 {
        out.put_u8(value as u8 | 0x80);
        value >>= 7;
    }
    out.put_u8(value as u8);
}

#[cfg(test)]
mod tests;
