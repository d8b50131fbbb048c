//! What holds for a batch as a whole; stored in the protocol data of its first frame.

use highwater_types::{LeaderEpoch, ProducerEpoch, ProducerId};

/// The facts of one stored batch. They survive compaction: the first survivor carries them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchFacts {
    /// What the frames are.
    pub kind: BatchKind,
    /// Offset of the first stored frame minus the batch's base offset; 0 unless compacted.
    pub base_delta: u32,
    /// The batch's last offset minus its base offset; may be past the last stored frame.
    pub last_delta: u32,
    /// How many frames are stored, at least 1.
    pub record_count: u32,
    /// Bytes of all frames of this batch, the first included: the next batch starts there.
    pub frames_len: u32,
    /// The epoch of the leader that appended it.
    pub leader_epoch: LeaderEpoch,
    /// Kafka's attribute bits as the producer sent them (codec, timestamp type, transactional,
    /// control, delete horizon). Stored uncompressed whatever the codec bits say.
    pub attributes: u16,
    /// Largest timestamp of the batch in ms, -1 when none; the append time if that bit is set.
    pub max_timestamp: i64,
    /// The idempotent producer, if it was one.
    pub producer: Option<Producer>,
    /// When tombstones and markers of this batch may go, in ms (set by compaction).
    pub delete_horizon: Option<i64>,
}

/// What the frames of a batch are. Only `Records` is application data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchKind {
    /// Records of an application.
    Records,
    /// A control batch (transaction marker): protocols see it, applications do not.
    Control,
    /// One frame that keeps the facts of a batch all of whose records were compacted away.
    Placeholder,
    /// The first frame of a segment file: its start offset; takes no offset of the log.
    SegmentHeader,
}

/// An idempotent producer's place in its sequence, at the first record of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Producer {
    /// Who.
    pub id: ProducerId,
    /// Which of its lives.
    pub epoch: ProducerEpoch,
    /// Sequence number of the batch's base offset; -1 for markers. Wraps at 2^31 - 1 to 0.
    pub base_sequence: i32,
}

impl BatchFacts {
    /// The sequence number of the batch's last offset, wrapping as Kafka does (rule 75).
    #[must_use]
    pub fn last_sequence(&self) -> Option<i32> {
        let producer = self.producer?;
        if producer.base_sequence < 0 {
            return Some(producer.base_sequence);
        }
        let sum = i64::from(producer.base_sequence) + i64::from(self.last_delta);
        Some((sum % (i64::from(i32::MAX) + 1)) as i32)
    }
}
