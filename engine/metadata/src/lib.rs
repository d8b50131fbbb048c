//! What the cluster is made of: settings, topics and producer ids, kept in a journal.
//!
//! [`settings`] is the registry of every accepted key. [`state`] is a pure state machine: commands
//! are answered with records, and applying records is the only change. [`journal`] makes records
//! durable. [`Metadata`] is all of it for the broker.

mod changes;
pub mod journal;
mod metadata;
pub mod settings;
pub mod state;

pub use changes::Changes;
pub use journal::{CommitError, RecoverError, Recovery};
pub use metadata::{Applied, ConfigsChange, Metadata, MetadataOptions, OpenError};
pub use settings::{BrokerSettings, SettingsLimits, StaticSettings, TopicSettings};
pub use state::{MetadataRecord, MetadataState, NewTopic, PartitionState, Topic};
