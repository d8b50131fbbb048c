//! One accepted setting: its name, what its value may be, and what it does.

use super::error::SettingError;
use super::kind::Kind;

/// A setting that acts. A key that is in neither table is refused.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// The name, as Kafka spells it where Kafka has it.
    pub name: &'static str,
    /// Other accepted spellings.
    pub aliases: &'static [&'static str],
    /// What its value may be.
    pub kind: Kind,
    /// The value when nobody sets one; `None` when another key's value then counts.
    pub default: Option<&'static str>,
    /// When a change acts.
    pub update: Update,
    /// For a topic key, the broker keys that give its value when the topic has none; for a broker
    /// key, other keys for the same thing. The first that is set counts.
    pub synonyms: &'static [Synonym],
    /// What it does, in one or two sentences.
    pub doc: &'static str,
}

/// When a change of a setting acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Update {
    /// At once, on every broker or on one.
    Dynamic,
    /// At the next start: DescribeConfigs calls it read-only.
    AtStart,
}

/// A broker key whose value, times `factor`, is the value of the key that it stands behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Synonym {
    /// The broker key.
    pub key: &'static str,
    /// Milliseconds in one unit of it; 1 when both count alike. A negative value stays -1.
    pub factor: i64,
}

/// Bounds that differ between production and experiments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SettingsLimits {
    /// The smallest allowed `segment.bytes`. Kafka refuses less than 1 MiB (rule 20) and so does
    /// production; simulations and tests set it low to make many segments of few records.
    pub segment_bytes_min: i64,
}

impl SettingsLimits {
    /// For simulations and tests: segments of any size.
    pub const TINY: Self = Self {
        segment_bytes_min: 1,
    };
}

impl Default for SettingsLimits {
    fn default() -> Self {
        Self {
            segment_bytes_min: 1 << 20,
        }
    }
}

impl Key {
    /// Answers `value` as it is kept.
    ///
    /// # Errors
    /// [`SettingError::BadValue`], whose text says what is allowed.
    pub fn check(&self, value: &str, limits: SettingsLimits) -> Result<String, SettingError> {
        let kind = match self.kind {
            Kind::Int { max, .. } if matches!(self.name, "segment.bytes" | "log.segment.bytes") => {
                Kind::Int {
                    min: limits.segment_bytes_min,
                    max,
                }
            }
            kind => kind,
        };
        kind.check(value).map_err(|why| SettingError::BadValue {
            key: self.name,
            value: shortened(value),
            why,
        })
    }

    /// Whether `name` is this key or another spelling of it.
    #[must_use]
    pub fn answers_to(&self, name: &str) -> bool {
        self.name == name || self.aliases.contains(&name)
    }
}

/// A client's value, short enough for an error text.
fn shortened(value: &str) -> String {
    const SHOWN_CHARS_MAX: usize = 100;
    match value.char_indices().nth(SHOWN_CHARS_MAX) {
        Some((cut, _)) => format!("{}...", &value[..cut]),
        None => value.to_owned(),
    }
}

/// Starts a row of a table; the other fields have the values that most rows want.
pub(super) const fn key(
    name: &'static str,
    kind: Kind,
    default: Option<&'static str>,
    doc: &'static str,
) -> Key {
    Key {
        name,
        aliases: &[],
        kind,
        default,
        update: Update::Dynamic,
        synonyms: &[],
        doc,
    }
}

impl Key {
    pub(super) const fn aliases(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }

    pub(super) const fn synonyms(mut self, synonyms: &'static [Synonym]) -> Self {
        self.synonyms = synonyms;
        self
    }

    pub(super) const fn at_start(mut self) -> Self {
        self.update = Update::AtStart;
        self
    }
}

pub(super) const fn bool() -> Kind {
    Kind::Bool
}

pub(super) const fn int(min: i64) -> Kind {
    Kind::Int {
        min,
        max: i32::MAX as i64,
    }
}

pub(super) const fn long(min: i64) -> Kind {
    Kind::Long { min, max: i64::MAX }
}

pub(super) const fn same(key: &'static str) -> Synonym {
    Synonym { key, factor: 1 }
}

pub(super) const fn scaled(key: &'static str, factor: i64) -> Synonym {
    Synonym { key, factor }
}
