//! What a log says about itself: sizes, segments, producers.

use highwater_runtime::{DiskError, Runtime};
use highwater_types::{Offset, ProducerId, SegmentNo, TopicId, TopicPartition};

use super::Log;
use crate::config::LogConfig;
use crate::producers::ProducerEntry;

/// One segment of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentInfo {
    /// Its number.
    pub no: SegmentNo,
    /// The first offset that may lie in it.
    pub start: Offset,
    /// The offset after its last record.
    pub end: Offset,
    /// Bytes of its file.
    pub bytes: u64,
    /// When it was made, in wall-clock ms.
    pub created_ms: i64,
    /// Whether it takes no records any more.
    pub sealed: bool,
    /// Whether its header is damaged: it is not served.
    pub broken: bool,
}

impl<R: Runtime> Log<R> {
    /// The partition.
    #[must_use]
    pub fn name(&self) -> &TopicPartition {
        &self.name
    }

    /// The topic's id.
    #[must_use]
    pub fn topic_id(&self) -> TopicId {
        self.topic_id
    }

    /// The settings.
    #[must_use]
    pub fn config(&self) -> &LogConfig {
        &self.config
    }

    /// Bytes of all segments.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.segments.iter().map(|segment| segment.len).sum()
    }

    /// The segments, oldest first; the last one is active.
    pub fn segments(&self) -> impl Iterator<Item = SegmentInfo> {
        let active = self.last().no;
        self.segments.iter().map(move |segment| SegmentInfo {
            no: segment.no,
            start: segment.start,
            end: segment.end,
            bytes: segment.len,
            created_ms: segment.created_ms,
            sealed: segment.no != active,
            broken: segment.broken.is_some(),
        })
    }

    /// The idempotent producers that are remembered, by id.
    pub fn producers(&self) -> impl Iterator<Item = (ProducerId, &ProducerEntry)> {
        self.producers.iter()
    }

    /// Why the log is offline, if it is.
    #[must_use]
    pub fn failure(&self) -> Option<&DiskError> {
        self.failed.as_ref()
    }

    /// Bytes of memory that the log's tables take, for the operator's figures.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        let indexes: usize = self
            .segments
            .iter()
            .map(|segment| segment.memory_bytes())
            .sum();
        let segments = self.segments.capacity() * size_of_val(self.last());
        size_of_val(self) + indexes + segments + self.producers.len() * 256
    }

    /// Drops files and indexes of sealed segments that nobody used since the last call; answers
    /// how many. For the sweeper.
    pub fn release_idle(&mut self) -> usize {
        let Some((_, sealed)) = self.segments.split_last_mut() else {
            return 0;
        };
        sealed
            .iter_mut()
            .map(|segment| usize::from(segment.release_idle()))
            .sum()
    }
}
