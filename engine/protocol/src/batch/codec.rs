//! The codecs that producers may use.

use std::fmt;

/// How the records of a v2 batch are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Codec {
    /// Not at all.
    None,
    /// gzip members.
    Gzip,
    /// Snappy, raw or in the Java library's framing.
    Snappy,
    /// LZ4 frames.
    Lz4,
    /// Zstandard frames.
    Zstd,
}

impl Codec {
    /// Every codec, by wire number.
    pub const ALL: [Self; 5] = [Self::None, Self::Gzip, Self::Snappy, Self::Lz4, Self::Zstd];

    /// The number in the lowest three attribute bits.
    #[must_use]
    pub fn wire(self) -> u16 {
        match self {
            Self::None => 0,
            Self::Gzip => 1,
            Self::Snappy => 2,
            Self::Lz4 => 3,
            Self::Zstd => 4,
        }
    }

    /// The codec with wire number `wire`; `None` for 5 and above.
    #[must_use]
    pub fn from_wire(wire: u16) -> Option<Self> {
        Self::ALL.get(usize::from(wire)).copied()
    }

    /// Its name in Kafka's settings (`compression.type`).
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Gzip => "gzip",
            Self::Snappy => "snappy",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
        }
    }

    /// The codec called `name` in Kafka's settings.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|codec| codec.name() == name)
    }
}

impl fmt::Display for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
