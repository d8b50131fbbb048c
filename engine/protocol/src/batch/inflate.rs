//! Compressed records as a stream: a bounded buffer that fills as records are read from it.

use std::io::{self, Read};

use flate2::read::MultiGzDecoder;
use lz4_flex::frame::FrameDecoder;
use zstd::zstd_safe::DCtx;

use super::{BatchError, Codec, InflateError};

/// Bytes of the buffer until a record needs more.
const BUFFER_BYTES: usize = 64 << 10;

/// What is kept of the buffer and of zstd's context from one batch to the next, at most.
const KEPT_BYTES_MAX: usize = 1 << 20;

/// What decoding reuses from batch to batch: a buffer and a zstd context. One a core.
#[derive(Default)]
pub struct Scratch {
    buffer: Vec<u8>,
    zstd: Option<DCtx<'static>>,
}

impl std::fmt::Debug for Scratch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scratch")
            .field("buffer_len", &self.buffer.len())
            .finish_non_exhaustive()
    }
}

impl Scratch {
    /// An empty one; it costs nothing until the first compressed batch.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The inflated bytes of `compressed`, at most `max` of them.
    pub(super) fn inflate<'a>(
        &'a mut self,
        codec: Codec,
        compressed: &'a [u8],
        max: usize,
    ) -> Inflate<'a> {
        if self.buffer.len() > KEPT_BYTES_MAX {
            self.buffer = Vec::new();
        }
        // A context whose last frame had a large window would keep it.
        if self
            .zstd
            .as_ref()
            .is_some_and(|context| context.sizeof() > KEPT_BYTES_MAX)
        {
            self.zstd = None;
        }
        let source = match codec {
            Codec::None => Source::Raw(compressed),
            Codec::Gzip => Source::Gzip(Box::new(MultiGzDecoder::new(compressed))),
            Codec::Snappy => Source::Snappy(Snappy::new(compressed)),
            Codec::Lz4 => Source::Lz4(Box::new(FrameDecoder::new(compressed))),
            Codec::Zstd => {
                let context = self.zstd.get_or_insert_with(DCtx::create);
                // A batch that was cut off leaves the context in the middle of a frame.
                let reset = context.reset(zstd::zstd_safe::ResetDirective::SessionOnly);
                debug_assert!(reset.is_ok(), "a session can always be reset");
                Source::Zstd(zstd::stream::read::Decoder::with_context(
                    compressed, context,
                ))
            }
        };
        Inflate {
            codec,
            source,
            buffer: &mut self.buffer,
            start: 0,
            end: 0,
            total: 0,
            max,
        }
    }
}

enum Source<'a> {
    Raw(&'a [u8]),
    Gzip(Box<MultiGzDecoder<&'a [u8]>>),
    Snappy(Snappy<'a>),
    Lz4(Box<FrameDecoder<&'a [u8]>>),
    Zstd(zstd::stream::read::Decoder<'a, &'a [u8]>),
}

/// A stream of inflated bytes; [`Inflate::window`] is the part that is in memory.
pub(super) struct Inflate<'a> {
    codec: Codec,
    source: Source<'a>,
    buffer: &'a mut Vec<u8>,
    start: usize,
    end: usize,
    /// Inflated so far.
    total: usize,
    max: usize,
}

impl Inflate<'_> {
    /// The limit on inflated bytes.
    pub(super) fn max(&self) -> usize {
        self.max
    }

    /// Inflated bytes that were not consumed yet.
    #[inline]
    pub(super) fn window(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Drops the first `len` bytes of the window.
    #[inline]
    pub(super) fn consume(&mut self, len: usize) {
        assert!(
            len <= self.end - self.start,
            "{len} bytes are more than the window has"
        );
        self.start += len;
    }

    /// Inflates more; `false` at the end of the stream.
    ///
    /// # Errors
    /// [`BatchError::Inflate`], [`BatchError::InflatedTooLarge`].
    pub(super) fn fill(&mut self) -> Result<bool, BatchError> {
        if let Source::Snappy(snappy) = &mut self.source {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
            let limit = Limit {
                used: self.total,
                max: self.max,
            };
            let Some(added) = snappy.next_block(self.buffer, self.end, limit)? else {
                return Ok(false);
            };
            self.end += added;
            self.total += added;
            return Ok(true);
        }
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.end == self.buffer.len() {
            // Doubling, so that it grows with what was inflated, not with what a length claims.
            self.buffer
                .resize((self.buffer.len() * 2).max(BUFFER_BYTES), 0);
        }
        let room = &mut self.buffer[self.end..];
        let read = match &mut self.source {
            Source::Raw(source) => source.read(room),
            Source::Gzip(source) => source.read(room),
            Source::Lz4(source) => source.read(room),
            Source::Zstd(source) => source.read(room),
            Source::Snappy(_) => unreachable!("handled above"),
        };
        let added = read.map_err(|error| {
            let why = match error.kind() {
                io::ErrorKind::UnexpectedEof => InflateError::Truncated,
                _ => InflateError::Invalid,
            };
            BatchError::Inflate {
                codec: self.codec,
                why,
            }
        })?;
        self.end += added;
        self.total += added;
        if self.total > self.max {
            return Err(BatchError::InflatedTooLarge { max: self.max });
        }
        Ok(added > 0)
    }
}

/// Snappy, raw or in the Java library's framing: a magic, two versions, then length and block.
struct Snappy<'a> {
    rest: &'a [u8],
    is_framed: bool,
}

/// How much may be inflated, and how much was.
#[derive(Clone, Copy)]
struct Limit {
    used: usize,
    max: usize,
}

/// The front of the Java library's framing; two 32-bit versions follow.
pub(super) const XERIAL_MAGIC: &[u8; 8] = b"\x82SNAPPY\0";

/// A copy of 64 bytes takes 3, so no block inflates to more than this many times its size.
const SNAPPY_RATIO_MAX: usize = 22;

impl<'a> Snappy<'a> {
    fn new(compressed: &'a [u8]) -> Self {
        match compressed
            .strip_prefix(XERIAL_MAGIC)
            .and_then(|rest| rest.get(8..))
        {
            Some(rest) => Self {
                rest,
                is_framed: true,
            },
            None => Self {
                rest: compressed,
                is_framed: false,
            },
        }
    }

    /// Inflates one block into `buffer` from `end` on; `None` after the last.
    fn next_block(
        &mut self,
        buffer: &mut Vec<u8>,
        end: usize,
        limit: Limit,
    ) -> Result<Option<usize>, BatchError> {
        let refuse = |why| BatchError::Inflate {
            codec: Codec::Snappy,
            why,
        };
        if self.rest.is_empty() {
            return Ok(None);
        }
        let block = if self.is_framed {
            let (len, rest) = self
                .rest
                .split_first_chunk()
                .ok_or(refuse(InflateError::Truncated))?;
            let len = u32::from_be_bytes(*len) as usize;
            let block = rest.get(..len).ok_or(refuse(InflateError::Truncated))?;
            self.rest = &rest[len..];
            block
        } else {
            std::mem::take(&mut self.rest)
        };
        let invalid = |_| refuse(InflateError::Invalid);
        let inflated_len = snap::raw::decompress_len(block).map_err(invalid)?;
        if inflated_len > block.len().saturating_mul(SNAPPY_RATIO_MAX) {
            return Err(refuse(InflateError::Invalid));
        }
        if inflated_len > limit.max - limit.used {
            return Err(BatchError::InflatedTooLarge { max: limit.max });
        }
        if buffer.len() < end + inflated_len {
            buffer.resize(end + inflated_len, 0);
        }
        let room = &mut buffer[end..end + inflated_len];
        let added = snap::raw::Decoder::new()
            .decompress(block, room)
            .map_err(invalid)?;
        Ok(Some(added))
    }
}
