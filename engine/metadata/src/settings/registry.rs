//! Looking a key up, in either table and in any spelling.

use super::broker_keys::BROKER_KEYS;
use super::error::SettingError;
use super::key::Key;
use super::nearest::nearest;
use super::topic_keys::TOPIC_KEYS;

/// Finds a topic key.
///
/// # Errors
/// [`SettingError::UnknownKey`] with the nearest match.
pub fn topic_key(name: &str) -> Result<&'static Key, SettingError> {
    find(TOPIC_KEYS, "topic", name)
}

/// Finds a broker key.
///
/// # Errors
/// [`SettingError::UnknownKey`] with the nearest match.
pub fn broker_key(name: &str) -> Result<&'static Key, SettingError> {
    find(BROKER_KEYS, "broker", name)
}

fn find(
    table: &'static [Key],
    level: &'static str,
    name: &str,
) -> Result<&'static Key, SettingError> {
    table
        .iter()
        .find(|key| key.answers_to(name))
        .ok_or_else(|| SettingError::UnknownKey {
            level,
            key: name.chars().take(100).collect(),
            nearest: nearest(name, table.iter().map(|key| key.name)),
        })
}
