//! Scripts against a coordinator, and a log that keeps what it appends.

mod joins;
mod kept;
mod random;
mod world;
