//! Settings as DescribeConfigs tells them.

use super::broker_keys::BROKER_KEYS;
use super::key::{Key, Update};
use super::kind::ValueType;
use super::layers::{Layers, Source, Sourced};
use super::statics::Configs;
use super::topic_keys::TOPIC_KEYS;

/// One setting with its effective value and where that comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    /// The key.
    pub name: &'static str,
    /// The effective value; `None` when nobody set one and a synonym counts.
    pub value: Option<String>,
    /// Where the value comes from.
    pub source: Source,
    /// Whether it can change only at a start.
    pub read_only: bool,
    /// Whether the value must not be shown. No setting of ours is a secret.
    pub sensitive: bool,
    /// Every value that is set at some level, the effective one first.
    pub synonyms: Vec<Sourced>,
    /// The type.
    pub value_type: ValueType,
    /// What the setting does.
    pub doc: &'static str,
}

impl Layers<'_> {
    /// Every setting of a topic that overrides `overrides`, sorted by name.
    #[must_use]
    pub fn describe_topic(&self, overrides: &Configs) -> Vec<Described> {
        TOPIC_KEYS
            .iter()
            .map(|key| {
                let effective = self.topic_value(key.name, overrides);
                let mut synonyms = Vec::new();
                if effective.source == Source::DynamicTopic {
                    synonyms.push(effective.clone());
                }
                synonyms.extend(self.chain_below(key));
                described(key, Some(effective), synonyms)
            })
            .collect()
    }

    /// Every setting of this broker, sorted by name.
    #[must_use]
    pub fn describe_broker(&self) -> Vec<Described> {
        BROKER_KEYS
            .iter()
            .map(|key| {
                let synonyms = match key.synonyms {
                    [] => self.chain_of(key.name),
                    _ => self.chain_below(key),
                };
                described(key, self.broker_value(key.name), synonyms)
            })
            .collect()
    }

    /// The settings that all brokers were given while they run: Kafka's broker without a name.
    #[must_use]
    pub fn describe_cluster(&self) -> Vec<Described> {
        BROKER_KEYS
            .iter()
            .filter_map(|key| {
                let value = self.cluster.get(key.name)?.clone();
                let source = Source::DynamicDefaultBroker;
                let sourced = Sourced {
                    key: key.name,
                    value,
                    source,
                };
                Some(described(key, Some(sourced.clone()), vec![sourced]))
            })
            .collect()
    }

    /// What the broker keys behind `key` hold, level by level.
    fn chain_below(&self, key: &'static Key) -> Vec<Sourced> {
        let mut chain: Vec<Sourced> = key
            .synonyms
            .iter()
            .flat_map(|synonym| self.chain_of(synonym.key))
            .collect();
        // Stable: within a level the synonyms keep their order.
        chain.sort_by_key(|sourced| sourced.source);
        chain
    }
}

fn described(key: &'static Key, effective: Option<Sourced>, synonyms: Vec<Sourced>) -> Described {
    let source = effective
        .as_ref()
        .map_or(Source::Default, |sourced| sourced.source);
    Described {
        name: key.name,
        value: effective.map(|sourced| sourced.value),
        source,
        read_only: key.update == Update::AtStart,
        sensitive: false,
        synonyms,
        value_type: key.kind.value_type(),
        doc: key.doc,
    }
}
