//! Places in a log: an offset counts records, a position counts bytes.

use std::fmt;

/// The number of a record in its partition; the first record ever written is 0.
///
/// An `end` is exclusive: the offset that the next record will get.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Offset(pub u64);

impl Offset {
    /// The offset of the first record ever written to a partition.
    pub const ZERO: Self = Self(0);
    /// Larger than any offset that a record can have: Kafka's offsets are signed.
    pub const MAX: Self = Self(i64::MAX as u64);

    /// The offset `count` records further on.
    ///
    /// # Panics
    /// When the sum leaves the range of offsets: a log of 2^63 records is a bug.
    #[must_use]
    pub fn plus(self, count: u64) -> Self {
        let sum = self
            .0
            .checked_add(count)
            .expect("an offset stays below 2^64");
        assert!(
            sum <= Self::MAX.0,
            "offset {sum} is past the largest offset"
        );
        Self(sum)
    }

    /// How many records lie in `[earlier, self)`; 0 when `earlier` is not earlier.
    #[must_use]
    pub fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// The offset as Kafka writes it: a signed 64-bit number.
    #[must_use]
    pub fn wire(self) -> i64 {
        i64::try_from(self.0).expect("an offset is at most Offset::MAX")
    }

    /// Reads an offset from a Kafka client; `None` when it is negative.
    #[must_use]
    pub fn from_wire(wire: i64) -> Option<Self> {
        u64::try_from(wire).ok().map(Self)
    }
}

impl fmt::Display for Offset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Offset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Offset({})", self.0)
    }
}

/// A byte position in a file; 0 is its first byte.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Position(pub u64);

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Position({})", self.0)
    }
}
