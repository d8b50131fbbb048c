//! The compressions of Kafka's batches, as a producer applies them.

use std::io::{self, Write};

/// How the records of a batch are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Codec {
    /// Not at all.
    None,
    /// RFC 1952.
    Gzip,
    /// One raw snappy block, as librdkafka sends it.
    Snappy,
    /// LZ4 frames with independent blocks.
    Lz4,
    /// Zstandard, level 3.
    Zstd,
}

impl Codec {
    /// The code in a batch's attributes.
    #[must_use]
    pub fn attribute(self) -> i16 {
        match self {
            Self::None => 0,
            Self::Gzip => 1,
            Self::Snappy => 2,
            Self::Lz4 => 3,
            Self::Zstd => 4,
        }
    }

    /// `plain` compressed.
    ///
    /// # Errors
    /// What the compressor says; none of them fails on bytes in memory.
    pub fn compress(self, plain: &[u8]) -> io::Result<Vec<u8>> {
        match self {
            Self::None => Ok(plain.to_vec()),
            Self::Gzip => {
                let mut encoder =
                    flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
                encoder.write_all(plain)?;
                encoder.finish()
            }
            Self::Snappy => snap::raw::Encoder::new()
                .compress_vec(plain)
                .map_err(io::Error::other),
            Self::Lz4 => {
                let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
                encoder.write_all(plain)?;
                encoder.finish().map_err(io::Error::other)
            }
            Self::Zstd => zstd::stream::encode_all(plain, 3),
        }
    }
}
