//! Which of several values of one setting counts.
//!
//! ```text
//! topic's own > this broker's dynamic > cluster's dynamic > file and command line > default
//! ```
//! Source: kafka.md rule 120; KIP-226 for the order, KIP-524 for synonyms.

use super::error::SettingError;
use super::key::{Key, SettingsLimits, Synonym};
use super::registry::{broker_key, topic_key};
use super::statics::{Configs, StaticSettings};

/// Where an effective value comes from; the numbers are Kafka's of DescribeConfigs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// Set on the topic.
    DynamicTopic = 1,
    /// Set on this broker while it runs.
    DynamicBroker = 2,
    /// Set on all brokers while they run.
    DynamicDefaultBroker = 3,
    /// From the file or the command line.
    Static = 4,
    /// Nobody set it.
    Default = 5,
}

/// One value of a setting and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sourced {
    /// The key that holds it: the setting itself or a synonym.
    pub key: &'static str,
    /// The value, as that key counts.
    pub value: String,
    /// Where it comes from.
    pub source: Source,
}

/// Every level of broker settings; topics bring theirs.
#[derive(Clone, Copy, Debug)]
pub struct Layers<'a> {
    /// From the file and the command line.
    pub statics: &'a StaticSettings,
    /// Dynamic, on all brokers.
    pub cluster: &'a Configs,
    /// Dynamic, on this broker.
    pub broker: &'a Configs,
}

static NO_CONFIGS: Configs = Configs::new();

impl<'a> Layers<'a> {
    /// Only what a broker was started with.
    #[must_use]
    pub fn of_statics(statics: &'a StaticSettings) -> Self {
        Self {
            statics,
            cluster: &NO_CONFIGS,
            broker: &NO_CONFIGS,
        }
    }

    /// The effective value of the broker key `name`; `None` when a synonym counts instead.
    ///
    /// # Panics
    /// When there is no such key: keys in code are written by us.
    #[must_use]
    pub fn broker_value(&self, name: &'static str) -> Option<Sourced> {
        self.chain_of(name).into_iter().next()
    }

    /// The effective value of the topic key `name`, in that key's unit.
    ///
    /// # Panics
    /// When there is no such key: keys in code are written by us.
    #[must_use]
    pub fn topic_value(&self, name: &'static str, overrides: &Configs) -> Sourced {
        let key = topic_key(name).expect("the code names keys of the table");
        if let Some(value) = overrides.get(name) {
            return Sourced {
                key: name,
                value: value.clone(),
                source: Source::DynamicTopic,
            };
        }
        let below = self.below_topic(key);
        below.unwrap_or_else(|| Sourced {
            key: key.name,
            value: key.default.expect("a topic key has a default").to_owned(),
            source: Source::Default,
        })
    }

    /// A topic key's value from the broker's settings, in the topic key's unit.
    fn below_topic(&self, key: &'static Key) -> Option<Sourced> {
        let levels = [
            (self.broker, Source::DynamicBroker),
            (self.cluster, Source::DynamicDefaultBroker),
            (self.statics.values(), Source::Static),
        ];
        levels.into_iter().find_map(|(configs, source)| {
            key.synonyms.iter().find_map(|synonym| {
                let value = converted(configs.get(synonym.key)?, *synonym);
                Some(Sourced {
                    key: key.name,
                    value,
                    source,
                })
            })
        })
    }

    /// Every value of one broker key that is set at some level, the effective one first.
    pub(super) fn chain_of(&self, name: &'static str) -> Vec<Sourced> {
        let key = broker_key(name).expect("the code names keys of the table");
        let at = |value: &String, source| Sourced {
            key: key.name,
            value: value.clone(),
            source,
        };
        let levels = [
            (self.broker, Source::DynamicBroker),
            (self.cluster, Source::DynamicDefaultBroker),
            (self.statics.values(), Source::Static),
        ];
        let mut chain: Vec<Sourced> = levels
            .into_iter()
            .filter_map(|(configs, source)| configs.get(key.name).map(|value| at(value, source)))
            .collect();
        chain.extend(
            key.default
                .map(|value| at(&value.to_owned(), Source::Default)),
        );
        chain
    }

    /// Checks stored values, as text and type only: the bounds may have changed since.
    ///
    /// # Errors
    /// The first that this version does not know.
    pub(crate) fn check_stored(
        configs: &Configs,
        find: fn(&str) -> Result<&'static Key, SettingError>,
    ) -> Result<(), SettingError> {
        configs
            .iter()
            .try_for_each(|(name, value)| find(name)?.check(value, SettingsLimits::TINY).map(drop))
    }

    /// The first pair of settings that exclude each other.
    pub(crate) fn crossed(&self) -> Option<SettingError> {
        const ORDERED: &[(&str, &str)] = &[(
            "group.min.session.timeout.ms",
            "group.max.session.timeout.ms",
        )];
        ORDERED.iter().find_map(|(low_key, high_key)| {
            let (low, high) = (self.number(low_key), self.number(high_key));
            (low > high).then_some(SettingError::Crossed {
                low_key,
                low,
                high_key,
                high,
            })
        })
    }

    /// The effective value of a broker key that is a number.
    ///
    /// # Panics
    /// When it is none: values are checked before they get here.
    pub(super) fn number(&self, name: &'static str) -> i64 {
        let sourced = self.broker_value(name).expect("a number has a default");
        sourced
            .value
            .parse()
            .expect("values are checked when they are set")
    }
}

/// A synonym's value in the unit of the topic key; negative means "no limit" in both.
fn converted(value: &str, synonym: Synonym) -> String {
    if synonym.factor == 1 {
        return value.to_owned();
    }
    let number: i64 = value.parse().expect("values are checked when they are set");
    if number < 0 {
        "-1".to_owned()
    } else {
        number.saturating_mul(synonym.factor).to_string()
    }
}
