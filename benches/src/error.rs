//! Why a load ended early.

use std::io;

/// A load that could not be run to its end; nothing is retried.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The connection could not be made, or broke, or stayed silent past its limit.
    #[error("{during}: {source}")]
    Io {
        /// What was being done.
        during: &'static str,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
    /// The broker refused; Kafka's protocol page names the code.
    #[error("{during}: the broker answered error code {code}")]
    Refused {
        /// The request.
        during: &'static str,
        /// The code in the answer.
        code: i16,
    },
    /// The answer is not what the protocol says.
    #[error("{during}: the answer cannot be read at byte {at}")]
    Malformed {
        /// The request.
        during: &'static str,
        /// Where in the answer.
        at: usize,
    },
    /// The arguments contradict each other or what the broker has.
    #[error("{0}")]
    Usage(String),
    /// The broker did not come up, or did not answer for every partition, in time.
    #[error("{during}: not within {seconds} s")]
    TooLate {
        /// What was waited for.
        during: &'static str,
        /// The limit.
        seconds: u64,
    },
}

impl LoadError {
    /// Names what was being done when the system refused.
    pub(crate) fn io(during: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { during, source }
    }
}
