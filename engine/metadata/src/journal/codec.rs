//! The bytes of one metadata record; every integer is big-endian.
//!
//! Specified in `docs/format/metadata.md`; a change here changes that page and the version.

use std::sync::Arc;

use bytes::{Buf, BufMut};
use highwater_types::{BrokerId, LeaderEpoch, TopicId};

use crate::settings::Configs;
use crate::state::{ConfigChange, MetadataRecord, PartitionState, Topic, check_topic_name};

const CLUSTER: u8 = 1;
const TOPIC_CREATED: u8 = 2;
const TOPIC_DELETED: u8 = 3;
const PARTITIONS_ADDED: u8 = 4;
const PARTITION_CHANGED: u8 = 5;
const TOPIC_CONFIGURED: u8 = 6;
const BROKER_CONFIGURED: u8 = 7;
const PRODUCER_IDS_ALLOCATED: u8 = 8;
const BROKER_STARTED: u8 = 9;

/// Written for "no broker": broker ids start at 1.
const NO_BROKER: u32 = 0;

/// Appends the record's bytes to `out`.
pub fn encode(record: &MetadataRecord, out: &mut Vec<u8>) {
    match record {
        MetadataRecord::Cluster { id } => {
            out.put_u8(CLUSTER);
            put_text(id, out);
        }
        MetadataRecord::TopicCreated { topic } => {
            out.put_u8(TOPIC_CREATED);
            put_topic(topic, out);
        }
        MetadataRecord::TopicDeleted { id } => {
            out.put_u8(TOPIC_DELETED);
            out.put_slice(&id.0);
        }
        MetadataRecord::PartitionsAdded {
            id,
            first,
            partitions,
        } => {
            out.put_u8(PARTITIONS_ADDED);
            out.put_slice(&id.0);
            out.put_u32(*first);
            put_partitions(partitions, out);
        }
        MetadataRecord::PartitionChanged {
            id,
            partition,
            state,
        } => {
            out.put_u8(PARTITION_CHANGED);
            out.put_slice(&id.0);
            out.put_u32(*partition);
            put_partition(state, out);
        }
        MetadataRecord::TopicConfigured { id, changes } => {
            out.put_u8(TOPIC_CONFIGURED);
            out.put_slice(&id.0);
            put_changes(changes, out);
        }
        MetadataRecord::BrokerConfigured { broker, changes } => {
            out.put_u8(BROKER_CONFIGURED);
            out.put_u32(broker.map_or(NO_BROKER, |broker| broker.0));
            put_changes(changes, out);
        }
        MetadataRecord::ProducerIdsAllocated { first, end } => {
            out.put_u8(PRODUCER_IDS_ALLOCATED);
            out.put_i64(*first);
            out.put_i64(*end);
        }
        MetadataRecord::BrokerStarted {
            broker,
            incarnation,
        } => {
            out.put_u8(BROKER_STARTED);
            out.put_u32(broker.0);
            out.put_u64(*incarnation);
        }
    }
}

/// Takes one record off the front of `input`; `None` when no version of this codec wrote it.
pub fn decode(input: &mut &[u8]) -> Option<MetadataRecord> {
    let record = match input.try_get_u8().ok()? {
        CLUSTER => MetadataRecord::Cluster {
            id: Arc::from(text(input)?),
        },
        TOPIC_CREATED => MetadataRecord::TopicCreated {
            topic: Arc::new(topic(input)?),
        },
        TOPIC_DELETED => MetadataRecord::TopicDeleted {
            id: topic_id(input)?,
        },
        PARTITIONS_ADDED => MetadataRecord::PartitionsAdded {
            id: topic_id(input)?,
            first: input.try_get_u32().ok()?,
            partitions: partitions(input)?,
        },
        PARTITION_CHANGED => MetadataRecord::PartitionChanged {
            id: topic_id(input)?,
            partition: input.try_get_u32().ok()?,
            state: partition(input)?,
        },
        TOPIC_CONFIGURED => MetadataRecord::TopicConfigured {
            id: topic_id(input)?,
            changes: changes(input)?,
        },
        BROKER_CONFIGURED => MetadataRecord::BrokerConfigured {
            broker: optional_broker(input)?,
            changes: changes(input)?,
        },
        PRODUCER_IDS_ALLOCATED => MetadataRecord::ProducerIdsAllocated {
            first: input.try_get_i64().ok()?,
            end: input.try_get_i64().ok()?,
        },
        BROKER_STARTED => MetadataRecord::BrokerStarted {
            broker: BrokerId(input.try_get_u32().ok()?),
            incarnation: input.try_get_u64().ok()?,
        },
        _ => return None,
    };
    Some(record)
}

fn put_text(text: &str, out: &mut Vec<u8>) {
    let len = u16::try_from(text.len()).expect("names and values are checked to be short");
    out.put_u16(len);
    out.put_slice(text.as_bytes());
}

fn text(input: &mut &[u8]) -> Option<String> {
    let len = input.try_get_u16().ok()? as usize;
    let (bytes, rest) = input.split_at_checked(len)?;
    *input = rest;
    String::from_utf8(bytes.to_vec()).ok()
}

fn topic_id(input: &mut &[u8]) -> Option<TopicId> {
    let (id, rest) = input.split_first_chunk()?;
    *input = rest;
    Some(TopicId(*id))
}

fn put_topic(topic: &Topic, out: &mut Vec<u8>) {
    out.put_slice(&topic.id.0);
    put_text(&topic.name, out);
    out.put_u8(u8::from(topic.internal));
    out.put_u16(u16::try_from(topic.configs.len()).expect("there are few keys"));
    for (key, value) in &topic.configs {
        put_text(key, out);
        put_text(value, out);
    }
    put_partitions(&topic.partitions, out);
}

fn topic(input: &mut &[u8]) -> Option<Topic> {
    let (id, name) = (topic_id(input)?, text(input)?);
    // It becomes the name of a folder.
    check_topic_name(&name).ok()?;
    let internal = flag(input)?;
    let mut configs = Configs::new();
    for _ in 0..input.try_get_u16().ok()? {
        configs.insert(text(input)?, text(input)?);
    }
    let partitions = partitions(input)?;
    Some(Topic {
        name: Arc::from(name),
        id,
        internal,
        configs,
        partitions,
    })
}

fn put_partitions(partitions: &[PartitionState], out: &mut Vec<u8>) {
    out.put_u32(u32::try_from(partitions.len()).expect("the limits keep it small"));
    for partition in partitions {
        put_partition(partition, out);
    }
}

fn partitions(input: &mut &[u8]) -> Option<Vec<PartitionState>> {
    // Grows as partitions are read: the count alone allocates nothing.
    (0..input.try_get_u32().ok()?)
        .map(|_| partition(input))
        .collect()
}

fn put_partition(state: &PartitionState, out: &mut Vec<u8>) {
    out.put_u32(state.leader.map_or(NO_BROKER, |leader| leader.0));
    out.put_u32(state.leader_epoch.0);
    out.put_u32(state.partition_epoch);
    for brokers in [&state.replicas, &state.in_sync] {
        out.put_u16(u16::try_from(brokers.len()).expect("there are few replicas"));
        for broker in brokers {
            out.put_u32(broker.0);
        }
    }
}

fn partition(input: &mut &[u8]) -> Option<PartitionState> {
    Some(PartitionState {
        leader: optional_broker(input)?,
        leader_epoch: leader_epoch(input)?,
        partition_epoch: input.try_get_u32().ok()?,
        replicas: brokers(input)?,
        in_sync: brokers(input)?,
    })
}

/// Clients get it as a signed number.
fn leader_epoch(input: &mut &[u8]) -> Option<LeaderEpoch> {
    let epoch = input.try_get_u32().ok()?;
    i32::try_from(epoch).is_ok().then_some(LeaderEpoch(epoch))
}

fn brokers(input: &mut &[u8]) -> Option<Vec<BrokerId>> {
    (0..input.try_get_u16().ok()?)
        .map(|_| Some(BrokerId(input.try_get_u32().ok()?)))
        .collect()
}

fn optional_broker(input: &mut &[u8]) -> Option<Option<BrokerId>> {
    let broker = input.try_get_u32().ok()?;
    Some((broker != NO_BROKER).then_some(BrokerId(broker)))
}

fn put_changes(changes: &[ConfigChange], out: &mut Vec<u8>) {
    out.put_u16(u16::try_from(changes.len()).expect("there are few keys"));
    for ConfigChange { key, value } in changes {
        put_text(key, out);
        out.put_u8(u8::from(value.is_some()));
        if let Some(value) = value {
            put_text(value, out);
        }
    }
}

fn changes(input: &mut &[u8]) -> Option<Vec<ConfigChange>> {
    (0..input.try_get_u16().ok()?)
        .map(|_| {
            let key = text(input)?;
            let value = if flag(input)? {
                Some(text(input)?)
            } else {
                None
            };
            Some(ConfigChange { key, value })
        })
        .collect()
}

fn flag(input: &mut &[u8]) -> Option<bool> {
    match input.try_get_u8().ok()? {
        0 => Some(false),
        1 => Some(true),
        _ => None,
    }
}
