//! What a log is told from outside: its settings, and how it is to be opened.

use highwater_types::TopicId;

use crate::LogCheckpoint;

/// The settings of one log. All durations are milliseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogConfig {
    /// A segment that would grow past this many bytes is rolled (`segment.bytes`).
    pub segment_bytes: u64,
    /// A segment that holds records this old is rolled, also when idle (`segment.ms`).
    pub segment_ms: u64,
    /// Segments whose newest record is older than this go (`retention.ms`); `None` keeps them.
    pub retention_ms: Option<u64>,
    /// Oldest segments go while the log stays at least this large (`retention.bytes`).
    pub retention_bytes: Option<u64>,
    /// At least this many bytes lie between two entries of the position index.
    pub index_bytes: u64,
    /// A producer idle for this long is forgotten (`producer.id.expiration.ms`).
    pub producer_expiry_ms: u64,
    /// Files of deleted segments stay this long (`file.delete.delay.ms`).
    pub file_delete_delay_ms: u64,
}

impl Default for LogConfig {
    /// Kafka's defaults.
    fn default() -> Self {
        Self {
            segment_bytes: 1 << 30,
            segment_ms: 7 * 24 * 3_600_000,
            retention_ms: Some(7 * 24 * 3_600_000),
            retention_bytes: None,
            index_bytes: 16 << 10,
            producer_expiry_ms: 24 * 3_600_000,
            file_delete_delay_ms: 60_000,
        }
    }
}

/// How to open a log that is there already.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    /// The topic that the folder must belong to.
    pub topic_id: TopicId,
    /// The settings.
    pub config: LogConfig,
    /// The clean-shutdown marker was there: what the checkpoint says holds, nothing is scanned.
    pub clean: bool,
    /// What the checkpoint file says of this partition. Without it the whole log is scanned.
    pub checkpoint: Option<LogCheckpoint>,
}
