//! Changing settings: KIP-339's operations in, checked changes out.

use std::collections::BTreeSet;

use highwater_types::BrokerId;

use super::MetadataState;
use super::error::{AlterConfigError, UnknownTopic};
use super::record::{ConfigChange, MetadataRecord};
use crate::settings::{
    Configs, Key, Kind, SettingsLimits, StaticSettings, Update, broker_key, topic_key,
};

/// What to do with one setting. Source: KIP-339.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigOpKind {
    /// Give it a value.
    Set,
    /// Take its value back: the level below counts again.
    Delete,
    /// Add words to a list.
    Append,
    /// Take words out of a list.
    Subtract,
}

/// One change that a client asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigOp {
    /// The key, in any accepted spelling.
    pub key: String,
    /// What to do.
    pub kind: ConfigOpKind,
    /// The value; DELETE alone needs none.
    pub value: Option<String>,
}

impl ConfigOp {
    /// Gives `key` the value `value`.
    #[must_use]
    pub fn set(key: &str, value: Option<&str>) -> Self {
        let value = value.map(str::to_owned);
        Self {
            key: key.to_owned(),
            kind: ConfigOpKind::Set,
            value,
        }
    }
}

impl MetadataState {
    /// The record that changes settings of the topic `name`.
    ///
    /// # Errors
    /// [`AlterConfigError`]; nothing changes.
    pub fn alter_topic_configs(
        &self,
        name: &str,
        ops: &[ConfigOp],
        limits: SettingsLimits,
    ) -> Result<MetadataRecord, AlterConfigError> {
        let topic = self.topic(name).ok_or(UnknownTopic)?;
        let changes = checked_changes(&topic.configs, ops, limits, topic.internal)?;
        Ok(MetadataRecord::TopicConfigured {
            id: topic.id,
            changes,
        })
    }

    /// The record that gives the topic `name` exactly these settings: Kafka's older AlterConfigs.
    ///
    /// # Errors
    /// [`AlterConfigError`]; nothing changes.
    pub fn replace_topic_configs(
        &self,
        name: &str,
        configs: &[(String, Option<String>)],
        limits: SettingsLimits,
    ) -> Result<MetadataRecord, AlterConfigError> {
        let topic = self.topic(name).ok_or(UnknownTopic)?;
        let ops: Vec<ConfigOp> = configs
            .iter()
            .map(|(key, value)| ConfigOp::set(key, value.as_deref()))
            .collect();
        let changes = checked_changes(&topic.configs, &ops, limits, topic.internal)?;
        let changes = with_the_rest_deleted(&topic.configs, changes);
        Ok(MetadataRecord::TopicConfigured {
            id: topic.id,
            changes,
        })
    }

    /// The record that changes dynamic settings of one broker, or of all with `None`.
    ///
    /// # Errors
    /// [`AlterConfigError`]; nothing changes.
    pub fn alter_broker_configs(
        &self,
        broker: Option<BrokerId>,
        ops: &[ConfigOp],
        statics: &StaticSettings,
    ) -> Result<MetadataRecord, AlterConfigError> {
        let present = broker.map_or(&self.cluster_configs, |broker| self.broker_configs(broker));
        let changes = checked_broker_changes(present, ops, statics.limits())?;
        self.check_crossed(broker, &changes, statics)?;
        Ok(MetadataRecord::BrokerConfigured { broker, changes })
    }

    /// The record that gives a broker, or all with `None`, exactly these dynamic settings.
    ///
    /// # Errors
    /// [`AlterConfigError`]; nothing changes.
    pub fn replace_broker_configs(
        &self,
        broker: Option<BrokerId>,
        configs: &[(String, Option<String>)],
        statics: &StaticSettings,
    ) -> Result<MetadataRecord, AlterConfigError> {
        let present = broker.map_or(&self.cluster_configs, |broker| self.broker_configs(broker));
        let ops: Vec<ConfigOp> = configs
            .iter()
            .map(|(key, value)| ConfigOp::set(key, value.as_deref()))
            .collect();
        let changes = checked_broker_changes(present, &ops, statics.limits())?;
        let changes = with_the_rest_deleted(present, changes);
        self.check_crossed(broker, &changes, statics)?;
        Ok(MetadataRecord::BrokerConfigured { broker, changes })
    }

    /// Refuses changes after which two effective settings would exclude each other.
    fn check_crossed(
        &self,
        broker: Option<BrokerId>,
        changes: &[ConfigChange],
        statics: &StaticSettings,
    ) -> Result<(), AlterConfigError> {
        let mut after = self.clone();
        after.configure_broker(broker, changes);
        let brokers = broker
            .into_iter()
            .chain(after.broker_configs.keys().copied());
        let first = brokers.chain([BrokerId(1)]).collect::<BTreeSet<_>>();
        match first
            .into_iter()
            .find_map(|broker| after.layers(broker, statics).crossed())
        {
            Some(error) => Err(error.into()),
            None => Ok(()),
        }
    }
}

/// Checks operations on a topic's settings against what it has.
pub(super) fn checked_changes(
    present: &Configs,
    ops: &[ConfigOp],
    limits: SettingsLimits,
    internal: bool,
) -> Result<Vec<ConfigChange>, AlterConfigError> {
    each_once(
        ops,
        |name| topic_key(name).map_err(Into::into),
        |key, op| changed(key, op, present, limits, internal),
    )
}

fn checked_broker_changes(
    present: &Configs,
    ops: &[ConfigOp],
    limits: SettingsLimits,
) -> Result<Vec<ConfigChange>, AlterConfigError> {
    each_once(
        ops,
        |name| broker_key(name).map_err(Into::into),
        |key, op| {
            if key.update == Update::AtStart {
                return Err(AlterConfigError::AtStart { key: key.name });
            }
            changed(key, op, present, limits, false)
        },
    )
}

/// Turns each operation into a change; one key twice, in any spelling, is refused.
fn each_once(
    ops: &[ConfigOp],
    find: impl Fn(&str) -> Result<&'static Key, AlterConfigError>,
    change: impl Fn(&'static Key, &ConfigOp) -> Result<Option<String>, AlterConfigError>,
) -> Result<Vec<ConfigChange>, AlterConfigError> {
    let mut seen = BTreeSet::new();
    let mut changes = Vec::with_capacity(ops.len());
    for op in ops {
        if op.value.is_none() && op.kind != ConfigOpKind::Delete {
            return Err(AlterConfigError::NullValue {
                key: op.key.chars().take(100).collect(),
            });
        }
        let key = match find(&op.key) {
            Ok(key) => key,
            // Nothing can be set there: taking it back is no change, as in Kafka.
            Err(_) if op.kind == ConfigOpKind::Delete => continue,
            Err(error) => return Err(error),
        };
        if !seen.insert(key.name) {
            return Err(AlterConfigError::Twice {
                key: key.name.to_owned(),
            });
        }
        let value = change(key, op)?;
        changes.push(ConfigChange {
            key: key.name.to_owned(),
            value,
        });
    }
    Ok(changes)
}

/// The value that `op` leaves behind; `None` when it leaves none.
fn changed(
    key: &'static Key,
    op: &ConfigOp,
    present: &Configs,
    limits: SettingsLimits,
    internal: bool,
) -> Result<Option<String>, AlterConfigError> {
    let given = op.value.as_deref().unwrap_or_default();
    let value = match op.kind {
        ConfigOpKind::Delete => return Ok(None),
        ConfigOpKind::Set => key.check(given, limits)?,
        ConfigOpKind::Append | ConfigOpKind::Subtract if !key.kind.is_list() => {
            let op = if op.kind == ConfigOpKind::Append {
                "APPEND"
            } else {
                "SUBTRACT"
            };
            return Err(AlterConfigError::NotList { op, key: key.name });
        }
        ConfigOpKind::Append | ConfigOpKind::Subtract => {
            let now = present
                .get(key.name)
                .map(String::as_str)
                .or(key.default)
                .unwrap_or_default();
            let checked = key.check(given, limits)?;
            let appends = op.kind == ConfigOpKind::Append;
            key.check(&combined(now, &checked, appends), limits)?
        }
    };
    let compacts =
        key.kind == Kind::CleanupPolicy && value.split(',').any(|word| word == "compact");
    if compacts && !internal {
        return Err(AlterConfigError::Compact {
            key: key.name,
            value,
        });
    }
    Ok(Some(value))
}

/// A list with words added that it lacks, or taken out.
fn combined(now: &str, given: &str, appends: bool) -> String {
    let given: Vec<&str> = given.split(',').collect();
    let mut words: Vec<&str> = now.split(',').filter(|word| !word.is_empty()).collect();
    if appends {
        words.extend(
            given
                .into_iter()
                .filter(|word| !now.split(',').any(|had| had == *word)),
        );
    } else {
        words.retain(|word| !given.contains(word));
    }
    words.join(",")
}

fn with_the_rest_deleted(present: &Configs, mut changes: Vec<ConfigChange>) -> Vec<ConfigChange> {
    let gone: Vec<ConfigChange> = present
        .keys()
        .filter(|key| !changes.iter().any(|change| change.key == **key))
        .map(|key| ConfigChange {
            key: key.clone(),
            value: None,
        })
        .collect();
    changes.extend(gone);
    changes
}
