//! Questions about offsets: by time, by epoch, and where the log starts and ends.

use highwater_record::{BatchHead, BatchKind, StoredBatch};
use highwater_runtime::{File, Runtime};
use highwater_types::{LeaderEpoch, Offset, Position};

use super::{FileOf, Log};
use crate::epochs::EpochEnd;
use crate::error::ReadError;
use crate::index::delta;
use crate::segment::Segment;

impl<R: Runtime> Log<R> {
    /// The first offset that is served.
    #[must_use]
    pub fn start(&self) -> Offset {
        self.start
    }

    /// The offset that the next record gets.
    #[must_use]
    pub fn end(&self) -> Offset {
        self.segments
            .last()
            .map_or(self.start, |segment| segment.end)
    }

    /// Every record below is on the platter, with the names that lead to it.
    #[must_use]
    pub fn synced(&self) -> Offset {
        self.synced.offset
    }

    /// The newest leader epoch in the log.
    #[must_use]
    pub fn epoch_newest(&self) -> Option<LeaderEpoch> {
        self.epochs.newest()
    }

    /// The epoch of the leader that wrote `offset`; for the log end, of the newest one.
    #[must_use]
    pub fn epoch_at(&self, offset: Offset) -> Option<LeaderEpoch> {
        self.epochs.epoch_at(offset)
    }

    /// Where the largest epoch `<= asked` ends; a follower cuts its log there.
    ///
    /// An epoch before the log start answers itself and the log start. `None` when the asked
    /// epoch is newer than all.
    ///
    /// Source: KIP-101, KIP-279.
    #[must_use]
    pub fn end_offset_for(&self, asked: LeaderEpoch) -> Option<EpochEnd> {
        self.epochs.end_offset_for(asked, self.end())
    }

    /// The first record at or after the log start and below `limit` whose timestamp is
    /// `>= timestamp`: its offset, timestamp and epoch.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn offset_for_time(
        &self,
        timestamp: i64,
        limit: Offset,
    ) -> Result<Option<(Offset, i64, LeaderEpoch)>, ReadError> {
        let limit = limit.min(self.end());
        for segment in &self.segments {
            if segment.start >= limit {
                break;
            }
            if segment.end <= self.start || segment.is_empty() {
                continue;
            }
            if self.max_timestamp_of(segment)? < timestamp {
                continue;
            }
            let (mut hops, _) = self.hops_from(segment, |index| index.floor_time(timestamp))?;
            while let Some((at, head)) = hops
                .next()
                .map_err(|error| self.read_error(segment, error))?
            {
                if head.base_offset() >= limit {
                    return Ok(None);
                }
                if head.facts.max_timestamp < timestamp || head.end_offset() <= self.start {
                    continue;
                }
                let found = self.record_for_time(segment, hops.file(), at, &head, timestamp)?;
                if let Some((offset, timestamp)) = found {
                    let answer = (offset, timestamp, head.facts.leader_epoch);
                    return Ok((offset < limit).then_some(answer));
                }
            }
        }
        Ok(None)
    }

    /// The first record of the batch `head` that is at or after the log start and not older.
    fn record_for_time(
        &self,
        segment: &Segment<FileOf<R>>,
        file: &FileOf<R>,
        at: u64,
        head: &BatchHead,
        timestamp: i64,
    ) -> Result<Option<(Offset, i64)>, ReadError> {
        if matches!(
            head.facts.kind,
            BatchKind::Placeholder | BatchKind::SegmentHeader
        ) {
            return Ok(None);
        }
        let bytes = file.view(at, head.len())?;
        let parsed = StoredBatch::parse(&bytes, Position(at));
        let Some(batch) = parsed.map_err(|corrupt| self.corrupt(segment, corrupt))? else {
            return Err(self.missing(segment, at, head.base_offset()));
        };
        for frame in batch.frames() {
            let frame = frame.map_err(|corrupt| self.corrupt(segment, corrupt))?;
            if frame.offset >= self.start && frame.timestamp >= timestamp {
                return Ok(Some((frame.offset, frame.timestamp)));
            }
        }
        Ok(None)
    }

    /// The record with the largest timestamp below `limit`, the first one of several: its offset,
    /// timestamp and epoch. `None` when no record has a timestamp.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn max_timestamp(
        &self,
        limit: Offset,
    ) -> Result<Option<(Offset, i64, LeaderEpoch)>, ReadError> {
        let limit = limit.min(self.end());
        let mut max = -1;
        for segment in &self.segments {
            if segment.start >= limit || segment.end <= self.start || segment.is_empty() {
                continue;
            }
            let is_whole = segment.start >= self.start && segment.end <= limit;
            let here = if is_whole {
                self.max_timestamp_of(segment)?
            } else {
                self.max_timestamp_in(segment, limit)?
            };
            max = max.max(here);
        }
        if max < 0 {
            Ok(None)
        } else {
            self.offset_for_time(max, limit)
        }
    }

    /// The largest timestamp of the batches of `segment` between the log start and `limit`.
    fn max_timestamp_in(
        &self,
        segment: &Segment<FileOf<R>>,
        limit: Offset,
    ) -> Result<i64, ReadError> {
        let from = if segment.start >= self.start {
            limit
        } else {
            self.start
        };
        let (mut hops, entry) = self.hops_from(segment, |index| {
            index.floor_offset(delta(from, segment.start))
        })?;
        let mut max = match entry {
            Some(entry) if segment.start >= self.start => entry.max_before.max(-1),
            _ => -1,
        };
        while let Some((at, head)) = hops
            .next()
            .map_err(|error| self.read_error(segment, error))?
        {
            if head.base_offset() >= limit {
                break;
            }
            if head.base_offset() >= self.start {
                max = max.max(head.facts.max_timestamp);
            } else if head.end_offset() > self.start {
                max = max.max(self.max_from_start(segment, hops.file(), at, &head)?);
            }
        }
        Ok(max)
    }

    /// The largest timestamp of the records of the batch `head` from the log start on.
    fn max_from_start(
        &self,
        segment: &Segment<FileOf<R>>,
        file: &FileOf<R>,
        at: u64,
        head: &BatchHead,
    ) -> Result<i64, ReadError> {
        let bytes = file.view(at, head.len())?;
        let parsed = StoredBatch::parse(&bytes, Position(at));
        let batch = parsed.map_err(|corrupt| self.corrupt(segment, corrupt))?;
        let mut max = -1;
        for frame in batch.iter().flat_map(StoredBatch::frames) {
            let frame = frame.map_err(|corrupt| self.corrupt(segment, corrupt))?;
            if frame.offset >= self.start {
                max = max.max(frame.timestamp);
            }
        }
        Ok(max)
    }
}
