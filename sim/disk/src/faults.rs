//! What a disk can be told to do wrong, and what it tells about itself.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

/// How long a device call takes: called once for each waiting step, and awaited.
pub type Latency = Arc<dyn Fn(DiskOp) -> Pin<Box<dyn Future<Output = ()>>> + Send + Sync + 'static>;

/// Sees every step of the disk, in order.
pub type Observer = Arc<dyn Fn(&DiskEvent<'_>) + Send + Sync + 'static>;

/// A step that waits for the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskOp {
    /// A file's sync, with the bytes that it must write.
    Sync {
        /// Dirty bytes.
        bytes: u64,
    },
    /// A folder's sync.
    SyncDir,
}

/// What happened, for traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskEvent<'a> {
    /// The call, such as `append`.
    pub op: &'static str,
    /// The file or folder as it was named when opened.
    pub path: &'a str,
    /// Where: a position, or 0.
    pub at: u64,
    /// How much: a byte count, or 0.
    pub len: u64,
    /// Whether it succeeded.
    pub ok: bool,
}

/// What a power loss does to what was not synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tear {
    /// Bytes that the device writes as one; a write tears between units only.
    pub unit: u64,
    /// The chance in a hundred that an un-synced unit, length or name survives.
    pub keep_percent: u32,
}

impl Default for Tear {
    fn default() -> Self {
        Self {
            unit: 512,
            keep_percent: 50,
        }
    }
}

/// The faults that are switched on. The default is a disk without any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Faults {
    /// The chance in a thousand that a sync fails: an error once, the bytes marked clean, the
    /// page cache showing the new ones, the platter holding the old.
    pub sync_fail_permille: u32,
    /// The chance in a thousand that a folder's sync fails.
    pub sync_dir_fail_permille: u32,
    /// The chance in a thousand that reading fails.
    pub read_fail_permille: u32,
    /// The chance in a thousand that an append fails after part of it.
    pub append_fail_permille: u32,
    /// The chance in a thousand, at each append, that some dirty units are written back.
    pub write_back_permille: u32,
    /// Bytes that fit on the disk.
    pub capacity: u64,
    /// Whether every change is refused.
    pub read_only: bool,
    /// A lying device: file syncs answer well and write nothing. For planted bugs only.
    pub phantom_sync: bool,
    /// Folder syncs answer well and write nothing. For planted bugs only.
    pub phantom_sync_dir: bool,
    /// A failed file sync does what it does and answers well. For planted bugs only.
    pub silent_sync_failure: bool,
    /// How write-back and power loss tear.
    pub tear: Tear,
}

impl Default for Faults {
    fn default() -> Self {
        Self {
            sync_fail_permille: 0,
            sync_dir_fail_permille: 0,
            read_fail_permille: 0,
            append_fail_permille: 0,
            write_back_permille: 100,
            capacity: u64::MAX,
            read_only: false,
            phantom_sync: false,
            phantom_sync_dir: false,
            silent_sync_failure: false,
            tear: Tear::default(),
        }
    }
}

/// How often each thing happened since the disk was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskCounts {
    /// Power losses.
    pub power_losses: u64,
    /// Power losses that took at least one un-synced byte, length or name.
    pub lossy_power_losses: u64,
    /// Syncs that failed.
    pub syncs_failed: u64,
    /// Appends and creations refused because the disk was full.
    pub refused_full: u64,
    /// Reads that failed.
    pub reads_failed: u64,
    /// Appends that failed.
    pub appends_failed: u64,
    /// Syncs that were asked for.
    pub syncs: u64,
}
