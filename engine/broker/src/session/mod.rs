//! Incremental fetch sessions (KIP-227): what a consumer reads, remembered between its fetches.
//!
//! Pure: no clock, no lock. `cache` holds the sessions of a broker, `state` one of them.

mod cache;
mod state;

pub(crate) use cache::{Begin, SessionCache, SessionError};
pub(crate) use state::{Asked, Key, Sent};
