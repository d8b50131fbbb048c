//! Which names a topic may have.

use super::error::NameError;

/// Kafka's limit: a folder's name needs room for the partition number.
const NAME_LEN_MAX: usize = 249;

/// Checks the name of a new topic. Source: kafka.md rule 122.
///
/// # Errors
/// [`NameError`], whose text says what is wrong.
pub fn check_topic_name(name: &str) -> Result<(), NameError> {
    if name.is_empty() {
        return Err(NameError::Empty);
    }
    if name.len() > NAME_LEN_MAX {
        return Err(NameError::TooLong {
            len: name.len(),
            max: NAME_LEN_MAX,
        });
    }
    if name == "." || name == ".." {
        return Err(NameError::Dots {
            name: name.to_owned(),
        });
    }
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    if !name.bytes().all(allowed) {
        return Err(NameError::Characters {
            name: name.to_owned(),
        });
    }
    Ok(())
}

/// The form in which colliding names are equal; `None` when `name` can collide with no other.
pub(super) fn folded(name: &str) -> Option<String> {
    name.contains(['.', '_']).then(|| name.replace('.', "_"))
}
