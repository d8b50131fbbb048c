//! The records of `__consumer_offsets`; every integer is big-endian.
//!
//! ```text
//! key:    version u8 = 1 | kind u8 | group str | kind 2: topic str | partition u32
//! value of kind 1, a group:
//!         version u8 = 1 | since_ms i64 | generation i32 | protocol_type opt | protocol_name opt
//!         | leader opt | member_count u32 | members
//! member: id str | instance_id opt | client_id str | client_host str | session_timeout_ms u32
//!         | rebalance_timeout_ms u32 | protocol_count u16 | protocol_count x (name str | bytes)
//!         | assignment bytes
//! value of kind 2, a committed offset:
//!         version u8 = 1 | offset i64 | leader_epoch i32 | topic_id 16 bytes | committed_ms i64
//!         | expires_ms i64, -1 for none | metadata str
//! str: len u16 | UTF-8     opt: a str, or len 0xffff for none     bytes: len u32 | bytes
//! ```
//! A record without a value says that its group or offset is gone. Specified in
//! `docs/format/groups.md`; a change here changes that page and the version.

use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use highwater_types::TopicId;

use crate::Protocol;

mod decode;

const VERSION: u8 = 1;
const KIND_GROUP: u8 = 1;
const KIND_OFFSET: u8 = 2;
const NO_STRING: u16 = u16::MAX;

/// A record of the coordinator's partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Which group or offset.
    pub key: Bytes,
    /// Its state; `None` when it is gone.
    pub value: Option<Bytes>,
}

impl Record {
    /// Bytes of key and value.
    #[must_use]
    pub fn len_bytes(&self) -> usize {
        self.key.len() + self.value.as_ref().map_or(0, Bytes::len)
    }
}

/// What a record is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Key {
    /// A group.
    Group(Arc<str>),
    /// A group's offset in a partition.
    Offset {
        /// The group.
        group: Arc<str>,
        /// The topic.
        topic: Arc<str>,
        /// The partition.
        partition: u32,
    },
}

/// A group as its last finished rebalance left it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupValue {
    /// When it entered its state, in wall milliseconds.
    pub since_ms: i64,
    /// The generation.
    pub generation: i32,
    /// The kind of group.
    pub protocol_type: Option<Arc<str>>,
    /// The chosen assignor; `None` when the group is empty.
    pub protocol_name: Option<Arc<str>>,
    /// The member that assigns; `None` when the group is empty.
    pub leader: Option<Arc<str>>,
    /// The members with what they were assigned.
    pub members: Vec<MemberValue>,
}

/// A member as the last finished rebalance left it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberValue {
    /// The member's id.
    pub id: Arc<str>,
    /// The static member's name, if it is one.
    pub instance_id: Option<Arc<str>>,
    /// What the client calls itself.
    pub client_id: Arc<str>,
    /// Where it connects from.
    pub client_host: Arc<str>,
    /// How long it may be silent.
    pub session_timeout_ms: u32,
    /// How long it may take to join again.
    pub rebalance_timeout_ms: u32,
    /// Assignors it supports with its metadata for each.
    pub protocols: Vec<Protocol>,
    /// What it was assigned.
    pub assignment: Bytes,
}

/// A committed offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Committed {
    /// The next offset to be consumed.
    pub offset: i64,
    /// The leader epoch of the last consumed record; -1 when unknown.
    pub leader_epoch: i32,
    /// The topic's identity when it was committed.
    pub topic_id: TopicId,
    /// When, in wall milliseconds.
    pub committed_ms: i64,
    /// When it expires whatever its group does, if the client said so.
    pub expires_ms: Option<i64>,
    /// What the consumer wrote beside it.
    pub metadata: Arc<str>,
}

/// A record that no version of this codec wrote, or a newer one did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// The bytes end early, or go on too long, or are no text where text must be.
    #[error("a group record is damaged")]
    Damaged,
    /// A newer version wrote it: start that version, or restore a copy of the folder.
    #[error("a group record has version {0}, and this broker reads version 1")]
    Newer(u8),
}

impl Key {
    /// The key's bytes.
    #[must_use]
    pub fn encode(&self) -> Bytes {
        let mut out = BytesMut::new();
        out.put_u8(VERSION);
        match self {
            Self::Group(group) => {
                out.put_u8(KIND_GROUP);
                put_str(&mut out, group);
            }
            Self::Offset {
                group,
                topic,
                partition,
            } => {
                out.put_u8(KIND_OFFSET);
                put_str(&mut out, group);
                put_str(&mut out, topic);
                out.put_u32(*partition);
            }
        }
        out.freeze()
    }

    /// The record that says that what this names is gone.
    #[must_use]
    pub fn gone(&self) -> Record {
        Record {
            key: self.encode(),
            value: None,
        }
    }
}

impl GroupValue {
    /// The record of this state of `group`.
    #[must_use]
    pub fn record(&self, group: &Arc<str>) -> Record {
        let mut out = BytesMut::new();
        out.put_u8(VERSION);
        out.put_i64(self.since_ms);
        out.put_i32(self.generation);
        put_opt(&mut out, self.protocol_type.as_deref());
        put_opt(&mut out, self.protocol_name.as_deref());
        put_opt(&mut out, self.leader.as_deref());
        out.put_u32(u32::try_from(self.members.len()).expect("members are counted by an i32"));
        for member in &self.members {
            member.put(&mut out);
        }
        let key = Key::Group(Arc::clone(group)).encode();
        Record {
            key,
            value: Some(out.freeze()),
        }
    }
}

impl MemberValue {
    fn put(&self, out: &mut BytesMut) {
        put_str(out, &self.id);
        put_opt(out, self.instance_id.as_deref());
        put_str(out, &self.client_id);
        put_str(out, &self.client_host);
        out.put_u32(self.session_timeout_ms);
        out.put_u32(self.rebalance_timeout_ms);
        out.put_u16(u16::try_from(self.protocols.len()).expect("admission bounds the protocols"));
        for protocol in &self.protocols {
            put_str(out, &protocol.name);
            put_bytes(out, &protocol.metadata);
        }
        put_bytes(out, &self.assignment);
    }
}

impl Committed {
    /// The record of this offset of `group`.
    #[must_use]
    pub fn record(&self, group: &Arc<str>, topic: &Arc<str>, partition: u32) -> Record {
        let mut out = BytesMut::new();
        out.put_u8(VERSION);
        out.put_i64(self.offset);
        out.put_i32(self.leader_epoch);
        out.put_slice(&self.topic_id.0);
        out.put_i64(self.committed_ms);
        out.put_i64(self.expires_ms.unwrap_or(-1));
        put_str(&mut out, &self.metadata);
        let (group, topic) = (Arc::clone(group), Arc::clone(topic));
        let key = Key::Offset {
            group,
            topic,
            partition,
        }
        .encode();
        Record {
            key,
            value: Some(out.freeze()),
        }
    }
}

/// Strings come from Kafka messages, where they are shorter than 2^15 bytes.
fn put_str(out: &mut BytesMut, text: &str) {
    let len = u16::try_from(text.len())
        .ok()
        .filter(|len| *len < NO_STRING);
    out.put_u16(len.expect("admission bounds every string"));
    out.put_slice(text.as_bytes());
}

fn put_opt(out: &mut BytesMut, text: Option<&str>) {
    match text {
        Some(text) => put_str(out, text),
        None => out.put_u16(NO_STRING),
    }
}

fn put_bytes(out: &mut BytesMut, bytes: &[u8]) {
    out.put_u32(u32::try_from(bytes.len()).expect("a request is shorter than 2^31 bytes"));
    out.put_slice(bytes);
}

#[cfg(test)]
mod tests;
