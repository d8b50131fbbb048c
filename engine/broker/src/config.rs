//! What a broker is started with.

use highwater_metadata::StaticSettings;

/// What a broker is started with; everything else is in its data folder.
#[derive(Clone, Debug)]
pub struct BrokerConfig {
    /// Settings from the file and the command line, checked.
    pub settings: StaticSettings,
    /// Where clients are told to connect: host and port. A port of 0 means the bound one.
    pub advertised: (String, u16),
    /// Bytes of producers' batches kept in memory for readers at the tail, over all partitions;
    /// 0 keeps none.
    pub tail_bytes: usize,
}
