//! What opening a log found, cut and rebuilt; the start prints it.

use std::fmt;

use highwater_record::Corrupt;
use highwater_types::Offset;

/// What opening a log found, cut and rebuilt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecoveryReport {
    /// Nothing was scanned: the checkpoint of a clean shutdown holds.
    pub clean: bool,
    /// Bytes whose checksums were checked.
    pub scanned_bytes: u64,
    /// Bytes cut from the end: torn or never whole.
    pub cut_bytes: u64,
    /// Segment files dropped behind the cut.
    pub cut_segments: u64,
    /// The damage at which the log was cut, if it was more than a torn tail.
    pub cut_at: Option<(String, Corrupt)>,
    /// Bytes copied to a fresh segment because an earlier sync of them may have failed.
    pub rescued_bytes: u64,
    /// No space for that copy: the bytes stay where they are.
    pub rescue_skipped: bool,
    /// Too many bytes for that copy: they stay where they are, and their next sync is believed.
    pub rescue_too_large: bool,
    /// Sealed segments whose header is damaged; they are not served.
    pub broken_segments: Vec<String>,
    /// Synced records that are gone: offsets from the first to before the second.
    pub missing: Option<(Offset, Offset)>,
    /// `partition.meta` was missing or damaged and is written anew.
    pub meta_rebuilt: bool,
    /// The epoch list was rebuilt from the log.
    pub epochs_rebuilt: bool,
    /// Producer snapshots that were damaged or did not fit the log.
    pub snapshots_dropped: u64,
    /// Batches replayed to bring producer state up to the log end.
    pub batches_replayed: u64,
}

impl RecoveryReport {
    /// Whether an operator should read it.
    #[must_use]
    pub fn is_notable(&self) -> bool {
        self.cut_bytes > 0
            || self.cut_segments > 0
            || !self.broken_segments.is_empty()
            || self.missing.is_some()
            || self.meta_rebuilt
            || self.epochs_rebuilt
            || self.snapshots_dropped > 0
    }
}

impl fmt::Display for RecoveryReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.clean {
            f.write_str("clean")?;
        } else {
            write!(f, "scanned {} bytes", self.scanned_bytes)?;
        }
        if self.cut_bytes > 0 || self.cut_segments > 0 {
            write!(f, ", cut {} bytes", self.cut_bytes)?;
        }
        if self.cut_segments > 0 {
            write!(f, " and {} later segments", self.cut_segments)?;
        }
        if let Some((file, corrupt)) = &self.cut_at {
            write!(f, " ({file}: {corrupt})")?;
        }
        if self.rescued_bytes > 0 {
            write!(
                f,
                ", moved {} unsynced bytes to a fresh segment",
                self.rescued_bytes
            )?;
        }
        if self.rescue_skipped {
            f.write_str(", had no space to move the unsynced bytes")?;
        }
        if self.rescue_too_large {
            f.write_str(", left the many unsynced bytes where they are")?;
        }
        for file in &self.broken_segments {
            write!(f, ", {file} has a damaged header and is not served")?;
        }
        if let Some((from, to)) = self.missing {
            write!(f, ", synced records [{from}, {to}) are missing")?;
        }
        if self.meta_rebuilt {
            f.write_str(", wrote partition.meta anew")?;
        }
        if self.epochs_rebuilt {
            f.write_str(", rebuilt the epoch list from the log")?;
        }
        if self.snapshots_dropped > 0 {
            write!(f, ", dropped {} producer snapshots", self.snapshots_dropped)?;
        }
        if self.batches_replayed > 0 {
            write!(
                f,
                ", replayed {} batches for producers",
                self.batches_replayed
            )?;
        }
        Ok(())
    }
}
