//! The producer table as a file: every producer with all its remembered batches.
//!
//! ```text
//! "HWPS" | version u8 (1) | offset u64 | print u32 | count u32
//!   | (id i64 | epoch i16 | last_seen_ms i64 | batch_count u8
//!      | (first_sequence i32 | last_sequence i32 | base u64 | last u64 | timestamp i64)*)*
//! | crc u32
//! ```
//!
//! `offset` is the end of the log that the table covers, `print` a mark of the batch that ends
//! there: after a cut and new appends another batch may end at the same offset. Specified in
//! `docs/format/log.md`.

use bytes::{BufMut, Bytes};
use highwater_types::{Offset, ProducerEpoch, ProducerId};

use super::{BatchEntry, ProducerEntry, Producers, WINDOW};
use crate::coding::{self, Opened, Take};

const MAGIC: [u8; 4] = *b"HWPS";
const VERSION: u8 = 1;

/// The table of a log that ends at `offset` with the batch marked `print`.
pub(crate) fn encode(producers: &Producers, offset: Offset, print: u32) -> Bytes {
    let mut out = coding::begin(MAGIC, VERSION);
    out.put_u64(offset.0);
    out.put_u32(print);
    out.put_u32(u32::try_from(producers.len()).expect("fewer producers than 2^32"));
    for (id, entry) in producers.iter() {
        out.put_i64(id.0);
        out.put_i16(entry.epoch.0);
        out.put_i64(entry.last_seen_ms);
        out.put_u8(entry.batch_count);
        for batch in entry.batches() {
            out.put_i32(batch.first_sequence);
            out.put_i32(batch.last_sequence);
            out.put_u64(batch.base_offset.0);
            out.put_u64(batch.last_offset.0);
            out.put_i64(batch.timestamp);
        }
    }
    coding::finish(out)
}

/// What a snapshot file holds.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Snapshot {
    pub(crate) offset: Offset,
    pub(crate) print: u32,
    pub(crate) producers: Producers,
}

/// What the file holds; `None` when damaged or of another version: it is rebuilt.
pub(crate) fn decode(content: &[u8]) -> Option<Snapshot> {
    let Opened::Body(body) = coding::open(MAGIC, VERSION, content) else {
        return None;
    };
    let mut take = Take(body);
    let offset = Offset(take.u64()?);
    let print = take.u32()?;
    let mut producers = Producers::default();
    for _ in 0..take.u32()? {
        let id = ProducerId(take.i64()?);
        let mut entry = ProducerEntry::new(ProducerEpoch(take.i16()?), take.i64()?);
        let batch_count = take.u8()?;
        if usize::from(batch_count) > WINDOW {
            return None;
        }
        for _ in 0..batch_count {
            entry.remember(BatchEntry {
                first_sequence: take.i32()?,
                last_sequence: take.i32()?,
                base_offset: Offset(take.u64()?),
                last_offset: Offset(take.u64()?),
                timestamp: take.i64()?,
            });
        }
        producers.entries.insert(id, entry);
    }
    take.done()?;
    Some(Snapshot {
        offset,
        print,
        producers,
    })
}
