//! The registry of settings: every accepted key, what it may be, and which value counts.

mod broker_keys;
mod describe;
mod documentation;
mod error;
mod key;
mod kind;
mod layers;
mod listeners;
mod nearest;
mod registry;
mod statics;
#[cfg(test)]
mod tests;
mod topic_keys;
mod view;

pub use broker_keys::BROKER_KEYS;
pub use describe::Described;
pub use documentation::configuration_page;
pub use error::{BadValue, SettingError};
pub use key::{Key, SettingsLimits, Synonym, Update};
pub use kind::{Kind, ValueType};
pub use layers::{Layers, Source, Sourced};
pub use listeners::{Listener, parse as parse_listeners};
pub use registry::{broker_key, topic_key};
pub use statics::{Configs, StaticSettings};
pub use topic_keys::TOPIC_KEYS;
pub use view::{BrokerSettings, CleanupPolicy, Durability, TimestampType, TopicSettings};
