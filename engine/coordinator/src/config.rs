//! The settings that a coordinator obeys.

/// Limits and intervals of one coordinator. Times are milliseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// How long an empty group waits for more members (`group.initial.rebalance.delay.ms`).
    pub initial_rebalance_delay_ms: u64,
    /// The shortest session a member may ask for (`group.min.session.timeout.ms`).
    pub session_timeout_ms_min: u64,
    /// The longest session a member may ask for (`group.max.session.timeout.ms`).
    pub session_timeout_ms_max: u64,
    /// Members that a group may have (`group.max.size`).
    pub group_size_max: usize,
    /// Bytes that one member may tell the leader, over all its protocols.
    pub member_bytes_max: usize,
    /// Bytes that the record of a group may have: its members, and what each was assigned.
    pub group_bytes_max: usize,
    /// Ids of a group that may be given out and not joined with yet.
    pub promised_max: usize,
    /// The longest metadata of a committed offset, in bytes (`offset.metadata.max.bytes`).
    pub metadata_bytes_max: usize,
    /// How long offsets outlive the last use of their group (`offsets.retention.minutes`).
    pub offsets_retention_ms: u64,
    /// How often expired offsets are looked for (`offsets.retention.check.interval.ms`).
    pub retention_check_interval_ms: u64,
    /// How long a member that has not been told its id may wait in a join. It can send no
    /// heartbeat, and nobody notices when its connection is gone.
    pub new_member_join_timeout_ms: u64,
}

impl Default for Config {
    /// Kafka's defaults, and limits of our own where Kafka has none.
    fn default() -> Self {
        Self {
            initial_rebalance_delay_ms: 3_000,
            session_timeout_ms_min: 6_000,
            session_timeout_ms_max: 1_800_000,
            group_size_max: i32::MAX as usize,
            member_bytes_max: 4 << 20,
            group_bytes_max: 64 << 20,
            promised_max: 10_000,
            metadata_bytes_max: 4_096,
            offsets_retention_ms: 7 * 24 * 3_600_000,
            retention_check_interval_ms: 600_000,
            new_member_join_timeout_ms: 300_000,
        }
    }
}

/// The two clocks at the moment of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// Milliseconds since the process started: sessions and rebalances.
    pub mono_ms: u64,
    /// Milliseconds since 1970: when an offset was committed.
    pub wall_ms: i64,
}
