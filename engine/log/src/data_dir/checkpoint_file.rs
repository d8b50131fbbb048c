//! The checkpoint file of a data folder: one entry a partition.
//!
//! ```text
//! "HWCP" | version u8 (1) | count u32 | (topic_id [16] | partition u32 | entry)* | crc u32
//! ```
//!
//! The entry's layout is in `checkpoint.rs`.

use std::collections::BTreeMap;

use bytes::{BufMut, Bytes};
use highwater_types::TopicId;

use crate::LogCheckpoint;
use crate::coding::{self, Opened, Take};

const MAGIC: [u8; 4] = *b"HWCP";
const VERSION: u8 = 1;

/// What stands in the file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Read {
    Good(BTreeMap<(TopicId, u32), LogCheckpoint>),
    Newer(u8),
    Damaged,
}

pub(super) fn encode(logs: impl IntoIterator<Item = (TopicId, u32, LogCheckpoint)>) -> Bytes {
    let sorted: BTreeMap<(TopicId, u32), LogCheckpoint> = logs
        .into_iter()
        .map(|(id, partition, log)| ((id, partition), log))
        .collect();
    let mut out = coding::begin(MAGIC, VERSION);
    out.put_u32(u32::try_from(sorted.len()).expect("fewer partitions than 2^32"));
    for ((topic_id, partition), log) in sorted {
        out.put_slice(&topic_id.0);
        out.put_u32(partition);
        log.encode(&mut out);
    }
    coding::finish(out)
}

pub(super) fn decode(content: &[u8]) -> Read {
    match coding::open(MAGIC, VERSION, content) {
        Opened::Body(body) => entries(body).map_or(Read::Damaged, Read::Good),
        Opened::OtherVersion(version) => Read::Newer(version),
        Opened::Damaged => Read::Damaged,
    }
}

fn entries(body: &[u8]) -> Option<BTreeMap<(TopicId, u32), LogCheckpoint>> {
    let mut take = Take(body);
    let mut entries = BTreeMap::new();
    for _ in 0..take.u32()? {
        let key = (TopicId(take.id()?), take.u32()?);
        entries.insert(key, LogCheckpoint::decode(&mut take)?);
    }
    take.done()?;
    Some(entries)
}
