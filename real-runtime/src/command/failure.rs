//! A command that failed: what it says, and its exit code.

use std::fmt;
use std::io;

use kafka_protocol::error::ResponseError;

use crate::client::ClientError;

/// Exit codes, the same for every command.
pub mod exit {
    /// The operation failed.
    pub const FAILED: u8 = 1;
    /// The command line, or a setting in it, is wrong.
    pub const USAGE: u8 = 2;
    /// No broker answers.
    pub const NO_CONNECTION: u8 = 3;
    /// The broker does not allow it.
    pub const NOT_AUTHORISED: u8 = 4;
    /// No answer in time.
    pub const TIMED_OUT: u8 = 5;
    /// Data on disk is damaged.
    pub const DAMAGED: u8 = 6;
}

/// A command that failed.
#[derive(Debug)]
pub struct Failure {
    /// The exit code, one of [`exit`].
    pub code: u8,
    /// What happened, why, and what to do.
    pub message: String,
}

impl Failure {
    /// The operation failed.
    #[must_use]
    pub fn failed(message: impl Into<String>) -> Self {
        Self {
            code: exit::FAILED,
            message: message.into(),
        }
    }

    /// The command line is wrong.
    #[must_use]
    pub fn usage(message: impl Into<String>) -> Self {
        Self {
            code: exit::USAGE,
            message: message.into(),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        let code = match &error {
            ClientError::Connect { .. } => exit::NO_CONNECTION,
            ClientError::TimedOut { .. } => exit::TIMED_OUT,
            ClientError::Refused { code, .. } => refused(*code),
            ClientError::Broken { .. }
            | ClientError::Malformed { .. }
            | ClientError::NotServed { .. } => exit::FAILED,
        };
        Self {
            code,
            message: error.to_string(),
        }
    }
}

fn refused(code: i16) -> u8 {
    match ResponseError::try_from_code(code) {
        Some(ResponseError::RequestTimedOut) => exit::TIMED_OUT,
        Some(
            ResponseError::TopicAuthorizationFailed
            | ResponseError::GroupAuthorizationFailed
            | ResponseError::ClusterAuthorizationFailed
            | ResponseError::TransactionalIdAuthorizationFailed
            | ResponseError::SaslAuthenticationFailed,
        ) => exit::NOT_AUTHORISED,
        _ => exit::FAILED,
    }
}

impl From<io::Error> for Failure {
    /// For standard input and output only: the terminal or pipe went away.
    fn from(error: io::Error) -> Self {
        Self::failed(format!(
            "cannot read the input or write the output: {error}"
        ))
    }
}
