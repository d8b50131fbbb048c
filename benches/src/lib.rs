//! A raw, pipelined load generator for any broker that speaks Kafka's protocol.
//!
//! It sends batches that were encoded before the clock starts and parses no more of an answer
//! than it must, so that on a small machine the broker, not the generator, sets the pace. Beside
//! its own figures it reads the broker's CPU time from `/proc`: on a machine that the generator
//! and other work share, CPU seconds per GB say more than MB/s.

pub mod batch;
pub mod client;
pub mod cluster;
pub mod codec;
pub mod e2e;
pub mod error;
pub mod fetch;
pub mod histogram;
pub mod produce;
pub mod report;
pub mod start;
pub mod tail;
pub mod usage;
pub mod window;
pub mod wire;

pub use error::LoadError;
