//! Reading: whole stored batches as they lie in one segment file, from the batch that holds the
//! asked offset on, below a limit that is taken once.

use bytes::Bytes;
use highwater_record::StoredBatch;
use highwater_runtime::{File, Runtime};
use highwater_types::{Offset, Position, SegmentNo};

use super::seek::Found;
use super::{FileOf, Log};
use crate::error::ReadError;
use crate::index::delta;
use crate::scan::{Hops, ScanError};
use crate::segment::Segment;

/// Whole stored batches, back to back, with checksums that were seen to be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadSlice {
    /// The frames of the batches. Must be dropped before the log is truncated below `end`.
    pub bytes: Bytes,
    /// The base offset of the first batch: at most the asked offset. The asked one when empty.
    pub base: Offset,
    /// The offset after the last batch; the asked one when empty.
    pub end: Offset,
    /// The segment that the bytes come from.
    pub segment: SegmentNo,
    /// Where they start in it.
    pub position: Position,
}

impl<R: Runtime> Log<R> {
    /// At most `max_bytes` of whole batches of one segment; the first one holds `from` and may be
    /// larger if `at_least_one`. No batch reaches to or past `limit`.
    ///
    /// Empty when no whole batch fits: `from` is at the limit, or the first batch is too large.
    ///
    /// # Errors
    /// See [`ReadError`]. Damage is told when `from` reaches it; batches before it are served.
    pub fn read(
        &self,
        from: Offset,
        limit: Offset,
        max_bytes: usize,
        at_least_one: bool,
    ) -> Result<ReadSlice, ReadError> {
        let (start, end) = (self.start, self.end());
        if from < start || from > end {
            return Err(ReadError::OutOfRange {
                asked: from,
                start,
                end,
            });
        }
        // Of an offline log only what is certainly on the platter is served.
        let end = if self.failed.is_some() {
            self.synced.offset
        } else {
            end
        };
        let segment = &self.segments[self.segment_at(from)];
        let limit = limit.min(end).min(segment.end);
        let empty = ReadSlice {
            bytes: Bytes::new(),
            base: from,
            end: from,
            segment: segment.no,
            position: Position(segment.len),
        };
        if from >= limit {
            return Ok(empty);
        }
        let first = self.seek(segment, from)?;
        let fits = at_least_one || first.head.len() <= max_bytes;
        if !fits || first.head.end_offset() > limit {
            return Ok(empty);
        }
        let (base, at) = (first.head.base_offset(), first.at);
        let (end_at, end) = self.extent(segment, &first, limit, max_bytes);
        let bytes = first.file.view(at, (end_at - at) as usize)?;
        let slice = ReadSlice {
            bytes,
            base,
            end,
            segment: segment.no,
            position: Position(at),
        };
        self.verified(segment, slice)
    }

    /// Where the last batch ends that fits behind `first`: its end in bytes and in offsets.
    fn extent(
        &self,
        segment: &Segment<FileOf<R>>,
        first: &Found<FileOf<R>>,
        limit: Offset,
        max_bytes: usize,
    ) -> (u64, Offset) {
        let target = first.at.saturating_add(max_bytes as u64);
        let mut fits = (first.at + first.head.len() as u64, first.head.end_offset());
        let limit_delta = delta(limit, segment.start);
        let entry = segment
            .cache()
            .index
            .as_ref()
            .and_then(|i| i.floor_place(target, limit_delta));
        if let Some(entry) = entry
            && u64::from(entry.position) > fits.0
            && self.entry_hits(segment, &first.file, entry) == Ok(true)
        {
            fits = (
                u64::from(entry.position),
                segment.start.plus(entry.offset_delta.into()),
            );
        }
        let mut hops = Hops::new(&first.file, fits.0, segment.len).until(segment.end);
        // Damage behind what fits is told to whoever reads there.
        while let Ok(Some((at, head))) = hops.next() {
            let end_at = at + head.len() as u64;
            if end_at > target || head.end_offset() > limit {
                break;
            }
            fits = (end_at, head.end_offset());
        }
        fits
    }

    /// Checks every frame of `slice` that this process neither wrote nor checked before; cuts the
    /// slice before the first damaged batch.
    fn verified(
        &self,
        segment: &Segment<FileOf<R>>,
        mut slice: ReadSlice,
    ) -> Result<ReadSlice, ReadError> {
        let (from, to) = segment.cache().verified;
        let at = slice.position.0;
        let slice_end = at + slice.bytes.len() as u64;
        if from <= at && slice_end <= to {
            return Ok(slice);
        }
        let mut good = 0;
        let mut end = slice.base;
        while good < slice.bytes.len() {
            let batch_at = Position(at + good as u64);
            let checked = match StoredBatch::parse(&slice.bytes[good..], batch_at) {
                Ok(Some(batch)) => batch.verify().map(|()| Some(batch.head)),
                other => other.map(|_| None),
            };
            match checked {
                Ok(Some(head)) => {
                    good += head.len();
                    end = head.end_offset();
                }
                Ok(None) if good == 0 => return Err(self.missing(segment, at, slice.base)),
                Err(corrupt) if good == 0 => {
                    return Err(self.read_error(segment, ScanError::Corrupt(corrupt)));
                }
                Ok(None) | Err(_) => break,
            }
        }
        slice.bytes.truncate(good);
        slice.end = end;
        let good_end = at + good as u64;
        let touches = at <= to && from <= good_end;
        let range = if touches {
            (from.min(at), to.max(good_end))
        } else {
            (at, good_end)
        };
        segment.cache().verified = range;
        Ok(slice)
    }
}
