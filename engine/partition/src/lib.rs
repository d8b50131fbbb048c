//! One partition as clients see it: its log, its watermarks, who waits for it, and its syncs.
//!
//! Every event of a partition has a file of its own: an append (`append`), a sync that ended
//! (`sync`), a read (`read`), a passing of time (`sweep`), an order from an operator (`trim`).
//! The lock is held for steps on the page cache only, never across an await.

mod append;
mod error;
mod offsets;
mod partition;
mod read;
mod sweep;
mod sync;
mod tail;
mod trim;
mod waiter;

pub use append::{Ack, Acks, Appended};
pub use error::{AckError, OffsetError, ProduceError};
pub use offsets::Offsets;
pub use partition::{Partition, PartitionConfig, Status};
pub use read::{EpochFence, FoundTime, Isolation, Parked, ReadBudget, Readable};
pub use tail::{TailBatch, TailBudget};
pub use waiter::{Waiter, Woken};
