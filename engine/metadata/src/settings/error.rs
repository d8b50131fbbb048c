//! What is wrong with a setting, in words that an operator can act on.

use thiserror::Error;

/// A setting that is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SettingError {
    /// No such key; `nearest` is the accepted key that looks most like it.
    #[error("Unknown {level} setting {key:?}{}", .nearest.map(|near| format!("; did you mean {near:?}?")).unwrap_or_default())]
    UnknownKey {
        /// `topic` or `broker`.
        level: &'static str,
        /// What was asked.
        key: String,
        /// The most similar accepted key, when one is similar at all.
        nearest: Option<&'static str>,
    },
    /// The key is right and the value is not.
    #[error("Invalid value {value} for setting {key}: {why}")]
    BadValue {
        /// The key.
        key: &'static str,
        /// The value as given.
        value: String,
        /// What is wrong with it.
        why: BadValue,
    },
    /// Two values that exclude each other.
    #[error("Setting {low_key} ({low}) must not be larger than {high_key} ({high})")]
    Crossed {
        /// The key that must be smaller.
        low_key: &'static str,
        /// Its value.
        low: i64,
        /// The key that must be larger.
        high_key: &'static str,
        /// Its value.
        high: i64,
    },
}

/// Why a value is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BadValue {
    /// Not a number at all.
    #[error("it must be a whole number from {min} to {max}")]
    NotNumber {
        /// The smallest allowed value.
        min: i64,
        /// The largest allowed value.
        max: i64,
    },
    /// A number that is too small or too large.
    #[error("it must be from {min} to {max}")]
    OutOfBounds {
        /// The smallest allowed value.
        min: i64,
        /// The largest allowed value.
        max: i64,
    },
    /// Not `true` or `false`.
    #[error("it must be true or false")]
    NotBool,
    /// Not one of the words.
    #[error("it must be one of {}", .acts.join(", "))]
    NotOneOf {
        /// The words that act.
        acts: &'static [&'static str],
    },
    /// Kafka knows the value, this broker does not act on it.
    #[error("{why}")]
    Refused {
        /// Why, as a sentence.
        why: &'static str,
    },
    /// Nothing where something must be.
    #[error("it must not be empty")]
    Empty,
    /// An address that cannot be read.
    #[error("{part:?} is not an address such as PLAINTEXT://127.0.0.1:9092")]
    Listener {
        /// The part that cannot be read.
        part: String,
    },
    /// A listener of a security protocol that is not served.
    #[error("listener protocol {protocol:?} is not served; use PLAINTEXT")]
    Protocol {
        /// The protocol as given.
        protocol: String,
    },
}
