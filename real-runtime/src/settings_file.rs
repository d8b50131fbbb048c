//! The settings file: TOML in, keys and values with their lines out.
//!
//! A dotted key may be written as it is (`log.retention.ms = 1000`), quoted, or as a table
//! (`[log.retention]`): all mean the same setting.

use std::fs;
use std::path::{Path, PathBuf};

use highwater_metadata::StaticSettings;
use highwater_metadata::settings::{SettingError, SettingsLimits, broker_key};
use toml::de::{DeTable, DeValue};

/// One setting of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The line it is on, from 1.
    pub line: usize,
    /// Its key, with dots.
    pub key: String,
    /// Its value as text.
    pub value: String,
}

/// What is wrong with the settings.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// The file cannot be read.
    #[error("cannot read the settings file {}: {why}. Check the path after --config.", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        why: String,
    },
    /// The file is not TOML.
    #[error("{place}: not TOML: {why}")]
    NotToml {
        /// File and line.
        place: String,
        /// What the parser said.
        why: String,
    },
    /// A value that no setting can have.
    #[error("{place}: {key} is {found}; a setting is a text, a whole number, true or false")]
    WrongType {
        /// File and line.
        place: String,
        /// The key.
        key: String,
        /// What stands there.
        found: &'static str,
    },
    /// A key or value that is refused.
    #[error("{place}: {error}")]
    Refused {
        /// File and line, or the flag.
        place: String,
        /// Why.
        error: SettingError,
    },
}

/// Reads `path`.
///
/// # Errors
/// See [`FileError`].
pub fn read(path: &Path) -> Result<Vec<Entry>, FileError> {
    let unreadable = |why: String| FileError::Unreadable {
        path: path.to_owned(),
        why,
    };
    let text = fs::read_to_string(path).map_err(|error| unreadable(error.to_string()))?;
    let place = |at: usize| format!("{}:{}", path.display(), line_of(&text, at));
    let table = DeTable::parse(&text).map_err(|error| FileError::NotToml {
        place: place(error.span().map_or(0, |span| span.start)),
        why: error.message().to_owned(),
    })?;
    let mut entries = Vec::new();
    flatten("", table.get_ref(), &mut |key, at, value| {
        let value = as_text(value).map_err(|found| FileError::WrongType {
            place: place(at),
            key: key.clone(),
            found,
        })?;
        entries.push(Entry {
            line: line_of(&text, at),
            key,
            value,
        });
        Ok(())
    })?;
    entries.sort_by_key(|entry| entry.line);
    Ok(entries)
}

fn flatten(
    prefix: &str,
    table: &DeTable<'_>,
    take: &mut impl FnMut(String, usize, &DeValue<'_>) -> Result<(), FileError>,
) -> Result<(), FileError> {
    for (name, value) in table {
        let dot = if prefix.is_empty() { "" } else { "." };
        let key = format!("{prefix}{dot}{}", name.get_ref());
        match value.get_ref() {
            DeValue::Table(inner) => flatten(&key, inner, take)?,
            value => take(key, name.span().start, value)?,
        }
    }
    Ok(())
}

/// The text of a value; lists get commas between their items.
fn as_text(value: &DeValue<'_>) -> Result<String, &'static str> {
    match value {
        DeValue::String(text) => Ok(text.to_string()),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map(|number| number.to_string())
            .map_err(|_| "a number past 64 bits"),
        DeValue::Boolean(word) => Ok(word.to_string()),
        DeValue::Array(items) => {
            let items: Result<Vec<_>, _> =
                items.iter().map(|item| as_text(item.get_ref())).collect();
            Ok(items?.join(","))
        }
        DeValue::Float(_) => Err("a fraction"),
        DeValue::Datetime(_) => Err("a date"),
        DeValue::Table(_) => Err("a table"),
    }
}

fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes()
        .iter()
        .take(at)
        .filter(|byte| **byte == b'\n')
        .count()
        + 1
}

/// A setting from somewhere: where, key, value.
pub type Placed = (String, String, String);

/// The entries of `path`, each with its place.
///
/// # Errors
/// See [`FileError`].
pub fn placed(path: &Path) -> Result<Vec<Placed>, FileError> {
    let place = |entry: Entry| {
        (
            format!("{}:{}", path.display(), entry.line),
            entry.key,
            entry.value,
        )
    };
    Ok(read(path)?.into_iter().map(place).collect())
}

/// Checks `levels` of settings, of which a later one stands above an earlier one.
///
/// # Errors
/// Every wrong setting with its place.
pub fn check(levels: &[Vec<Placed>]) -> Result<StaticSettings, Vec<FileError>> {
    let limits = SettingsLimits::default();
    let mut errors = Vec::new();
    for (place, key, value) in levels.iter().flatten() {
        let checked = broker_key(key.trim()).and_then(|key| key.check(value, limits));
        if let Err(error) = checked {
            errors.push(FileError::Refused {
                place: place.clone(),
                error,
            });
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let mut settings = StaticSettings::default();
    for level in levels.iter().filter(|level| !level.is_empty()) {
        let pairs = level
            .iter()
            .map(|(_, key, value)| (key.as_str(), value.as_str()));
        settings = settings.overridden_by(pairs).map_err(|errors| {
            // Each is right alone: what is wrong now is the combination.
            let place = level
                .last()
                .map_or(String::new(), |(place, ..)| place.clone());
            let refused = |error| FileError::Refused {
                place: place.clone(),
                error,
            };
            errors.into_iter().map(refused).collect::<Vec<_>>()
        })?;
    }
    Ok(settings)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("highwater.toml");
        fs::write(&path, text).expect("it can be written");
        (folder, path)
    }

    #[test]
    fn every_spelling_of_a_key_is_the_same_key() {
        let (_folder, path) = file(
            "log.retention.ms = 1000\n\"num.partitions\" = 3\n\n[log.segment]\nbytes = 0x10_0000\n",
        );
        let entry = |line, key: &str, value: &str| Entry {
            line,
            key: key.to_owned(),
            value: value.to_owned(),
        };
        assert_eq!(
            read(&path).expect("it is TOML"),
            [
                entry(1, "log.retention.ms", "1000"),
                entry(2, "num.partitions", "3"),
                entry(5, "log.segment.bytes", "1048576"),
            ]
        );
    }

    #[test]
    fn a_wrong_key_is_named_with_its_line_and_the_nearest_one() {
        let (_folder, path) = file("num.partitions = 3\nlog.retenion.ms = 5\n");
        let errors = check(&[placed(&path).expect("it is TOML")]).expect_err("one key is wrong");
        let text = errors[0].to_string();
        assert!(text.contains("highwater.toml:2: "), "{text}");
        assert!(
            text.contains("did you mean \"log.retention.ms\"?"),
            "{text}"
        );
    }

    #[test]
    fn a_later_level_stands_above_an_earlier_one() {
        let level = |value: &str| {
            vec![(
                "here".to_owned(),
                "num.partitions".to_owned(),
                value.to_owned(),
            )]
        };
        let settings = check(&[level("3"), level("8")]).expect("both are right");
        assert_eq!(settings.value("num.partitions"), Some("8"));
    }
}
