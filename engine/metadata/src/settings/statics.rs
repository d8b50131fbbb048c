//! What the operator set in the file and on the command line: fixed until the next start.

use std::collections::BTreeMap;

use super::error::SettingError;
use super::key::SettingsLimits;
use super::layers::Layers;
use super::registry::broker_key;

/// Settings by their canonical name, each value checked.
pub type Configs = BTreeMap<String, String>;

/// The settings that a broker was started with.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct StaticSettings {
    values: Configs,
    limits: SettingsLimits,
}

impl StaticSettings {
    /// Checks `pairs` of key and value; a later pair replaces an earlier one of the same key.
    ///
    /// # Errors
    /// Every wrong pair, in order.
    pub fn parse<'p>(
        pairs: impl IntoIterator<Item = (&'p str, &'p str)>,
        limits: SettingsLimits,
    ) -> Result<Self, Vec<SettingError>> {
        Self {
            values: Configs::new(),
            limits,
        }
        .overridden_by(pairs)
    }

    /// These settings with `pairs` on top, as the command line stands above the file: a key that
    /// is set here also hides the other keys for the same thing below.
    ///
    /// # Errors
    /// Every wrong pair, in order.
    pub fn overridden_by<'p>(
        mut self,
        pairs: impl IntoIterator<Item = (&'p str, &'p str)>,
    ) -> Result<Self, Vec<SettingError>> {
        let mut errors = Vec::new();
        let mut added = Configs::new();
        for (name, value) in pairs {
            let checked = broker_key(name.trim())
                .and_then(|key| key.check(value, self.limits).map(|value| (key, value)));
            match checked {
                Ok((key, value)) => {
                    for synonym in key.synonyms {
                        self.values.remove(synonym.key);
                    }
                    added.insert(key.name.to_owned(), value);
                }
                Err(error) => errors.push(error),
            }
        }
        self.values.extend(added);
        if errors.is_empty() {
            errors.extend(self.crossed());
        }
        if errors.is_empty() {
            Ok(self)
        } else {
            Err(errors)
        }
    }

    /// The value of `key`, when the operator set one.
    #[must_use]
    pub fn value(&self, key: &str) -> Option<&str> {
        self.values.get(key).map(String::as_str)
    }

    /// Everything that the operator set, by canonical name.
    #[must_use]
    pub fn values(&self) -> &Configs {
        &self.values
    }

    /// The bounds that values are checked against.
    #[must_use]
    pub fn limits(&self) -> SettingsLimits {
        self.limits
    }

    fn crossed(&self) -> Option<SettingError> {
        Layers::of_statics(self).crossed()
    }
}
