//! A data folder, a key store and a network in memory, with the faults of real ones.
//!
//! Pure and deterministic: no clock, no thread, no file; every draw comes from ChaCha8 streams
//! seeded by the caller. [`SimDisk`] models a page cache above a platter, [`SimKv`] an ordered
//! map whose un-synced writes a crash cuts to a prefix, [`SimNet`] connections with a bounded
//! window. The simulator gives them virtual time; [`TestRuntime`] is the smallest
//! [`highwater_runtime::Runtime`] over them, for unit tests of the engine.

mod control;
mod disk;
mod executor;
mod faults;
mod inode;
mod kv;
mod namespace;
mod net;
mod pipe;
mod ranges;
mod rng;
mod state;
mod test_runtime;
#[cfg(test)]
mod tests;

pub use disk::{SimDisk, SimFile};
pub use faults::{DiskCounts, DiskEvent, DiskOp, Faults, Latency, Observer, Tear};
pub use kv::SimKv;
pub use net::{NetFaults, Pace, SimListener, SimNet};
pub use pipe::{SimReader, SimWriter};
pub use rng::{chance, stream};
pub use test_runtime::TestRuntime;
