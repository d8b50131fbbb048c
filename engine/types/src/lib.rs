//! The engine's vocabulary: every number that could be mixed up is a type of its own.

mod ids;
mod offset;

pub use ids::{
    BrokerId, LeaderEpoch, ProducerEpoch, ProducerId, SegmentNo, TopicId, TopicPartition,
};
pub use offset::{Offset, Position};
