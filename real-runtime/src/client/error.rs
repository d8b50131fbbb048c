//! What can go wrong between the command line and a broker.

use kafka_protocol::error::ResponseError;

/// A request that did not get the answer it wanted.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Nobody answers at the address.
    #[error(
        "cannot connect to {addr}: {why}. Is the broker running there? Start one with `highwater start`, or name another with --bootstrap HOST:PORT."
    )]
    Connect {
        /// Where.
        addr: String,
        /// What the system said.
        why: String,
    },
    /// The connection broke while an answer was awaited; whether the request acted is unknown.
    #[error(
        "the connection to {addr} broke: {why}. The broker may have stopped; look at its output and try again."
    )]
    Broken {
        /// Where.
        addr: String,
        /// What the system said.
        why: String,
    },
    /// No answer in time; whether the request acted is unknown.
    #[error(
        "no answer from {addr} within {seconds} seconds. The broker may be overloaded or stopped; try again."
    )]
    TimedOut {
        /// Where.
        addr: String,
        /// The limit.
        seconds: u64,
    },
    /// The broker's answer is not Kafka's protocol.
    #[error("{addr} answers, but not as a Kafka broker does: {why}. Check the port.")]
    Malformed {
        /// Where.
        addr: String,
        /// What is wrong with it.
        why: String,
    },
    /// The broker does not serve the request in a version that this client speaks.
    #[error("the broker at {addr} does not serve {api} in a version that this client speaks")]
    NotServed {
        /// Where.
        addr: String,
        /// The request.
        api: String,
    },
    /// The broker answered with an error.
    #[error("cannot {what}: {} ({code}){}", code_name(*code), .message.as_ref().map(|text| format!(": {text}")).unwrap_or_default())]
    Refused {
        /// What was wanted, such as `create topic "a"`.
        what: String,
        /// Kafka's error code.
        code: i16,
        /// What the broker said, if anything.
        message: Option<String>,
    },
}

impl ClientError {
    /// The error of an answer, if it has one.
    pub(super) fn check(
        what: impl Into<String>,
        code: i16,
        message: Option<String>,
    ) -> Result<(), Self> {
        if code == 0 {
            return Ok(());
        }
        Err(Self::Refused {
            what: what.into(),
            code,
            message,
        })
    }

    /// Whether the same request may succeed a moment later.
    #[must_use]
    pub fn is_retriable(&self) -> bool {
        match self {
            Self::Broken { .. } | Self::TimedOut { .. } => true,
            Self::Refused { code, .. } => {
                ResponseError::try_from_code(*code).is_some_and(|error| error.is_retriable())
            }
            Self::Connect { .. } | Self::Malformed { .. } | Self::NotServed { .. } => false,
        }
    }
}

/// Kafka's name of an error code, such as `UNKNOWN_TOPIC_OR_PARTITION`.
#[must_use]
pub fn code_name(code: i16) -> String {
    let Some(error) = ResponseError::try_from_code(code) else {
        return "NONE".to_owned();
    };
    if let ResponseError::Unknown(_) = error {
        return "UNKNOWN_ERROR".to_owned();
    }
    let mut name = String::new();
    for letter in format!("{error:?}").chars() {
        if letter.is_ascii_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(letter.to_ascii_uppercase());
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_kafkas_names() {
        assert_eq!(code_name(3), "UNKNOWN_TOPIC_OR_PARTITION");
        assert_eq!(code_name(36), "TOPIC_ALREADY_EXISTS");
        assert_eq!(code_name(9999), "UNKNOWN_ERROR");
    }
}
