//! Planted bugs: each must be found, or the checkers are blind.
//!
//! None of them touches the engine: they change what the device promises, what a client believes,
//! or what a topic is configured to be, in a way that equals a bug of the engine.

/// One planted bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutant {
    /// File syncs do nothing: as if the engine never called them.
    NoFsync,
    /// Folder syncs do nothing.
    NoDirSync,
    /// A failed sync looks like one that worked: as if the engine ignored the error.
    IgnoreSyncError,
    /// Topics that should be synced before the acknowledgement are not.
    AckBeforeSync,
    /// Sequences of idempotent producers are ignored: what is sent again is stored again.
    NoDedup,
    /// Some offset commits are acknowledged and never stored.
    CommitLost,
    /// Some acknowledgements tell an offset that is one too high.
    OffsetOff,
    /// A bit of a stored record flips.
    BitFlip,
    /// The last segment of a partition is gone after a restart.
    SegmentGone,
}

impl Mutant {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::NoFsync,
        Self::NoDirSync,
        Self::IgnoreSyncError,
        Self::AckBeforeSync,
        Self::NoDedup,
        Self::CommitLost,
        Self::OffsetOff,
        Self::BitFlip,
        Self::SegmentGone,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::NoFsync => "no-fsync",
            Self::NoDirSync => "no-dir-sync",
            Self::IgnoreSyncError => "ignore-sync-error",
            Self::AckBeforeSync => "ack-before-sync",
            Self::NoDedup => "no-dedup",
            Self::CommitLost => "commit-lost",
            Self::OffsetOff => "offset-off",
            Self::BitFlip => "bit-flip",
            Self::SegmentGone => "segment-gone",
        }
    }

    /// The mutant of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mutant| mutant.name() == name)
    }
}
