//! The production world: tokio, files, memory maps and RocksDB behind the engine's traits.
//!
//! Also the command line of the binary `highwater`: the broker's start ([`command::start`]) and
//! the client commands, which speak to any broker through the small client in [`client`].

pub mod blocking;
pub mod client;
pub mod command;
pub mod disk;
pub mod inspect;
pub mod kv;
pub mod net;
pub mod runtime;
pub mod settings_file;
pub mod time;

pub use disk::{OpenError, RealDisk, RealFile};
pub use kv::RealKv;
pub use net::{RealListener, RealNet};
pub use runtime::RealRuntime;
