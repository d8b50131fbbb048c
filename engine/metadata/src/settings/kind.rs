//! What a setting's value may be, and what is wrong with a value that may not be.

use super::error::BadValue;

/// The type and bounds of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `true` or `false`.
    Bool,
    /// A whole number of at most 32 bits; both bounds are allowed values.
    Int {
        /// The smallest allowed value.
        min: i64,
        /// The largest allowed value.
        max: i64,
    },
    /// A whole number of at most 64 bits; both bounds are allowed values.
    Long {
        /// The smallest allowed value.
        min: i64,
        /// The largest allowed value.
        max: i64,
    },
    /// One of a few words.
    Choice {
        /// The words that act.
        acts: &'static [&'static str],
        /// Kafka's other words, and why each is refused.
        refused: &'static [(&'static str, &'static str)],
    },
    /// `delete` or nothing; internal topics alone may say `compact`.
    CleanupPolicy,
    /// Addresses to listen on or to tell clients, such as `PLAINTEXT://127.0.0.1:9092`.
    Listeners,
    /// Any text of at least one character.
    Text,
}

/// Kafka's number for a setting's type, in DescribeConfigs. Source: KIP-569.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueType {
    /// `true` or `false`.
    Boolean = 1,
    /// Text.
    String = 2,
    /// 32 bits.
    Int = 3,
    /// 64 bits.
    Long = 5,
    /// Words with commas between them.
    List = 7,
}

impl Kind {
    /// The type that DescribeConfigs tells.
    #[must_use]
    pub fn value_type(self) -> ValueType {
        match self {
            Self::Bool => ValueType::Boolean,
            Self::Int { .. } => ValueType::Int,
            Self::Long { .. } => ValueType::Long,
            Self::CleanupPolicy | Self::Listeners => ValueType::List,
            Self::Choice { .. } | Self::Text => ValueType::String,
        }
    }

    /// Whether APPEND and SUBTRACT make sense.
    #[must_use]
    pub fn is_list(self) -> bool {
        self.value_type() == ValueType::List
    }

    /// Answers the value as it is kept: trimmed, booleans and words in lower case where Kafka
    /// ignores their case.
    ///
    /// # Errors
    /// [`BadValue`], whose text says what is allowed.
    pub fn check(self, value: &str) -> Result<String, BadValue> {
        let value = value.trim();
        match self {
            Self::Bool => match value.to_ascii_lowercase().as_str() {
                word @ ("true" | "false") => Ok(word.to_owned()),
                _ => Err(BadValue::NotBool),
            },
            Self::Int { min, max } | Self::Long { min, max } => {
                let number: i64 = value
                    .parse()
                    .map_err(|_| BadValue::NotNumber { min, max })?;
                if number < min || number > max {
                    return Err(BadValue::OutOfBounds { min, max });
                }
                Ok(number.to_string())
            }
            Self::Choice { acts, refused } => {
                if acts.contains(&value) {
                    return Ok(value.to_owned());
                }
                match refused.iter().find(|(word, _)| *word == value) {
                    Some((_, why)) => Err(BadValue::Refused { why }),
                    None => Err(BadValue::NotOneOf { acts }),
                }
            }
            Self::CleanupPolicy => check_cleanup_policy(value),
            Self::Listeners => {
                super::listeners::parse(value)?;
                Ok(value.to_owned())
            }
            Self::Text if value.is_empty() => Err(BadValue::Empty),
            Self::Text => Ok(value.to_owned()),
        }
    }

    /// The bounds as a reader of the documentation wants them.
    #[must_use]
    pub fn bounds_text(self) -> String {
        match self {
            Self::Bool => "`true`, `false`".to_owned(),
            Self::Int { min, max } | Self::Long { min, max } => match self.max_of_type() == max {
                true => format!("{min} or more"),
                false => format!("{min} to {max}"),
            },
            Self::Choice { acts, .. } => acts
                .iter()
                .map(|word| format!("`{word}`"))
                .collect::<Vec<_>>()
                .join(", "),
            Self::CleanupPolicy => "`delete`, or nothing".to_owned(),
            Self::Listeners => {
                "`PLAINTEXT://HOST:PORT`, `HOST:PORT`, with commas between".to_owned()
            }
            Self::Text => "text".to_owned(),
        }
    }

    fn max_of_type(self) -> i64 {
        match self {
            Self::Int { .. } => i64::from(i32::MAX),
            _ => i64::MAX,
        }
    }
}

/// `compact` is well formed here; who may use it is the topic's affair.
fn check_cleanup_policy(value: &str) -> Result<String, BadValue> {
    let words: Vec<&str> = value
        .split(',')
        .map(str::trim)
        .filter(|word| !word.is_empty())
        .collect();
    if words
        .iter()
        .any(|word| *word != "delete" && *word != "compact")
    {
        return Err(BadValue::NotOneOf { acts: &["delete"] });
    }
    let mut once: Vec<&str> = Vec::new();
    for word in words {
        if !once.contains(&word) {
            once.push(word);
        }
    }
    Ok(once.join(","))
}
