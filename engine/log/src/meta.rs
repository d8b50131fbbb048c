//! `partition.meta`: which topic a folder belongs to, where its log starts, who led when.
//!
//! ```text
//! "HWPM" | version u8 (1) | topic_id [16] | log_start u64 | next_segment u64
//!   | epoch_count u32 | (epoch u32 | start u64)* | crc u32
//! ```
//!
//! Written when the folder is made, before data; replaced atomically by a sync job when the log
//! start or the epochs changed. Specified in `docs/format/log.md`.

use bytes::{BufMut, Bytes};
use highwater_types::{Offset, SegmentNo, TopicId};

use crate::coding::{self, Opened, Take};
use crate::epochs::Epochs;

pub(crate) const FILE: &str = "partition.meta";
const MAGIC: [u8; 4] = *b"HWPM";
const VERSION: u8 = 1;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PartitionMeta {
    pub(crate) topic_id: TopicId,
    pub(crate) log_start: Offset,
    /// The lowest segment number that was never used when this was written.
    pub(crate) next_segment: SegmentNo,
    pub(crate) epochs: Epochs,
}

/// What stands in the file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum MetaRead {
    Good(PartitionMeta),
    Newer(u8),
    Damaged,
}

impl PartitionMeta {
    pub(crate) fn encode(&self) -> Bytes {
        let mut out = coding::begin(MAGIC, VERSION);
        out.put_slice(&self.topic_id.0);
        out.put_u64(self.log_start.0);
        out.put_u64(self.next_segment.0);
        self.epochs.encode(&mut out);
        coding::finish(out)
    }

    pub(crate) fn decode(content: &[u8]) -> MetaRead {
        match coding::open(MAGIC, VERSION, content) {
            Opened::Body(body) => Self::body(body).map_or(MetaRead::Damaged, MetaRead::Good),
            Opened::OtherVersion(version) => MetaRead::Newer(version),
            Opened::Damaged => MetaRead::Damaged,
        }
    }

    fn body(body: &[u8]) -> Option<Self> {
        let mut take = Take(body);
        let topic_id = TopicId(take.id()?);
        let log_start = Offset(take.u64()?);
        let next_segment = SegmentNo(take.u64()?);
        let epochs = Epochs::decode(&mut take)?;
        take.done()?;
        Some(Self {
            topic_id,
            log_start,
            next_segment,
            epochs,
        })
    }
}
