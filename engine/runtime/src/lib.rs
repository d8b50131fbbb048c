//! The world as the engine sees it: clock, randomness, tasks, network, disk and ordered keys.
//!
//! One bundle, [`Runtime`], is passed as one type parameter through the whole engine. It has two
//! implementations: `real-runtime` (tokio, files, RocksDB) and `sim` (madsim and modelled
//! devices). What this crate promises is checked on both by one contract suite in `tests/`;
//! a member that the suite does not use does not exist.
//!
//! Threads: a broker runs on several cores, each with its own single-threaded executor. Tasks
//! are not `Send` and stay on the core that spawned them; everything they share is `Send + Sync`.

mod bundle;
mod disk;
mod kv;
mod net;
pub mod task;

pub use bundle::Runtime;
pub use disk::{DirEntry, Disk, DiskError, DiskErrorKind, File};
pub use kv::{Kv, KvError, KvOp};
pub use net::{Listener, Net, NetError, Reader, Writer};
