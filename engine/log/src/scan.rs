//! Walking a segment file from batch to batch by their heads, without touching the records.

use bytes::Bytes;
use highwater_record::{BatchHead, Corrupt, CorruptReason, FIXED_BYTES, StoredBatch};
use highwater_runtime::{DiskError, File};
use highwater_types::{Offset, Position};

/// How much is viewed at once; a batch with a larger head asks for more.
const WINDOW_BYTES: u64 = 4096;

/// Why a walk stopped before its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ScanError {
    Disk(DiskError),
    Corrupt(Corrupt),
}

impl From<DiskError> for ScanError {
    fn from(error: DiskError) -> Self {
        Self::Disk(error)
    }
}

impl From<Corrupt> for ScanError {
    fn from(corrupt: Corrupt) -> Self {
        Self::Corrupt(corrupt)
    }
}

/// A walk over the stored batches in `[at, end)` of a file.
pub(crate) struct Hops<F> {
    file: F,
    at: u64,
    end: u64,
    window: Bytes,
    window_at: u64,
    /// The walk ends before this offset: what lies behind is the original of a later segment.
    until: Offset,
    /// The last batch before `until` was seen.
    ended: bool,
}

impl<F: File> Hops<F> {
    pub(crate) fn new(file: &F, at: u64, end: u64) -> Self {
        Self {
            file: file.clone(),
            at,
            end,
            window: Bytes::new(),
            window_at: at,
            until: Offset::MAX,
            ended: false,
        }
    }

    /// Ends the walk before the first batch at or past `end`.
    pub(crate) fn until(mut self, end: Offset) -> Self {
        self.until = end;
        self
    }

    /// Where the next batch would start: past all whole batches seen so far.
    pub(crate) fn at(&self) -> u64 {
        self.at
    }

    /// The file that is walked.
    pub(crate) fn file(&self) -> &F {
        &self.file
    }

    /// The next whole batch and its place. `None`: the walk's end, or a torn or zero tail there.
    pub(crate) fn next(&mut self) -> Result<Option<(u64, BatchHead)>, ScanError> {
        if self.ended {
            return Ok(None);
        }
        let rest = self.end - self.at;
        let mut want = (BatchHead::PROBE_BYTES as u64).min(rest);
        while want > 0 {
            let at = self.at;
            let bytes = self.bytes(want)?;
            if let Some(head) = BatchHead::parse(bytes, Position(at))? {
                if head.len() < FIXED_BYTES {
                    let reason = CorruptReason::Facts;
                    return Err(Corrupt {
                        at: Position(at),
                        reason,
                    }
                    .into());
                }
                if head.len() as u64 > rest || head.base_offset() >= self.until {
                    return Ok(None);
                }
                self.ended = head.end_offset() >= self.until;
                self.at += head.len() as u64;
                return Ok(Some((at, head)));
            }
            if want == rest || is_zero_tail(bytes) {
                return Ok(None);
            }
            want = (want * 8).min(rest);
        }
        Ok(None)
    }

    /// At least `want` bytes from the walk's place on; the caller keeps them below the end.
    fn bytes(&mut self, want: u64) -> Result<&[u8], DiskError> {
        let skip = self.at - self.window_at;
        if skip + want > self.window.len() as u64 {
            let len = want.max(WINDOW_BYTES).min(self.end - self.at);
            self.window = self.file.view(self.at, len as usize)?;
            self.window_at = self.at;
            return Ok(&self.window);
        }
        Ok(&self.window[skip as usize..])
    }
}

/// Whether a frame of zeros stands here: reserved space that nobody has written to.
pub(crate) fn is_zero_tail(bytes: &[u8]) -> bool {
    bytes.len() >= FIXED_BYTES && bytes[..FIXED_BYTES].iter().all(|byte| *byte == 0)
}

/// Reads the whole batch `head` at `at` and checks every frame of it.
pub(crate) fn verify_batch<F: File>(file: &F, at: u64, head: &BatchHead) -> Result<(), ScanError> {
    let bytes = file.view(at, head.len())?;
    match StoredBatch::parse(&bytes, Position(at))? {
        Some(batch) => Ok(batch.verify()?),
        None => Err(Corrupt {
            at: Position(at),
            reason: CorruptReason::Lengths,
        }
        .into()),
    }
}

/// A short mark of the batch at the front of `batch`: offset, lengths and checksums of its first
/// frame go into it, so two batches with one mark are the same batch.
pub(crate) fn fingerprint(batch: &[u8]) -> u32 {
    crc32c::crc32c(&batch[..batch.len().min(64)])
}
