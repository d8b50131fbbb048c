//! Finding the batch that holds an offset: a floor search in the index, then a short walk.

use highwater_record::{BatchHead, Corrupt};
use highwater_runtime::{DiskError, Kv, Runtime};
use highwater_types::Offset;

use super::{FileOf, Log};
use crate::error::ReadError;
use crate::index::{IndexEntry, KV_BYTES, PositionIndex, delta};
use crate::scan::{Hops, ScanError};
use crate::segment::{FIRST_AT, Segment};

/// A batch and where it stands.
pub(super) struct Found<F> {
    pub(super) file: F,
    pub(super) at: u64,
    pub(super) head: BatchHead,
}

impl<R: Runtime> Log<R> {
    /// The first batch of `segment` that ends after `offset`.
    pub(super) fn seek(
        &self,
        segment: &Segment<FileOf<R>>,
        offset: Offset,
    ) -> Result<Found<FileOf<R>>, ReadError> {
        let wanted = delta(offset, segment.start);
        let found = |index: &PositionIndex| index.floor_offset(wanted);
        let (mut hops, _) = self.hops_from(segment, found)?;
        loop {
            match hops.next() {
                Ok(Some((at, head))) if head.end_offset() > offset => {
                    return Ok(Found {
                        file: hops.file().clone(),
                        at,
                        head,
                    });
                }
                Ok(Some(_)) => {}
                Ok(None) => return Err(self.missing(segment, hops.at(), offset)),
                Err(error) => return Err(self.read_error(segment, error)),
            }
        }
    }

    /// A walk of `segment` from the entry that `pick` finds, with that entry; from the first batch
    /// when it finds none. An entry that hits no batch is not used: the index is built anew.
    pub(super) fn hops_from(
        &self,
        segment: &Segment<FileOf<R>>,
        pick: impl Fn(&PositionIndex) -> Option<IndexEntry>,
    ) -> Result<(Hops<FileOf<R>>, Option<IndexEntry>), ReadError> {
        let file = self.healthy_file(segment)?;
        self.ensure_index(segment, &file)?;
        let picked = segment.cache().index.as_ref().and_then(&pick);
        let Some(entry) = picked else {
            return Ok((
                Hops::new(&file, FIRST_AT, segment.len).until(segment.end),
                None,
            ));
        };
        if self.entry_hits(segment, &file, entry)? {
            let hops = Hops::new(&file, u64::from(entry.position), segment.len).until(segment.end);
            return Ok((hops, Some(entry)));
        }
        if let Some(kv) = &self.kv {
            let _ = kv.write(&[self.kv_index.forget(segment.no, 0)]);
        }
        self.build_index(segment, &file, PositionIndex::default())?;
        let entry = segment.cache().index.as_ref().and_then(&pick);
        let from = entry.map_or(FIRST_AT, |entry| u64::from(entry.position));
        Ok((
            Hops::new(&file, from, segment.len).until(segment.end),
            entry,
        ))
    }

    /// The file of a segment whose header could be read.
    pub(super) fn healthy_file(
        &self,
        segment: &Segment<FileOf<R>>,
    ) -> Result<FileOf<R>, ReadError> {
        if let Some(corrupt) = segment.broken {
            return Err(ReadError::Corrupt {
                file: segment.path(&self.folder),
                corrupt,
            });
        }
        Ok(segment.file(&self.disk, &self.folder)?)
    }

    /// Whether a batch with the entry's offset starts at its position.
    pub(super) fn entry_hits(
        &self,
        segment: &Segment<FileOf<R>>,
        file: &FileOf<R>,
        entry: IndexEntry,
    ) -> Result<bool, DiskError> {
        let position = u64::from(entry.position);
        if position < FIRST_AT || position >= segment.len {
            return Ok(false);
        }
        let expected = segment.start.0 + u64::from(entry.offset_delta);
        match Hops::new(file, position, segment.len).next() {
            Ok(Some((_, head))) => Ok(head.base_offset().0 == expected),
            Ok(None) | Err(ScanError::Corrupt(_)) => Ok(false),
            Err(ScanError::Disk(error)) => Err(error),
        }
    }

    /// Brings the segment's index into memory: from the key store as far as it is good there,
    /// the rest by a walk.
    pub(super) fn ensure_index(
        &self,
        segment: &Segment<FileOf<R>>,
        file: &FileOf<R>,
    ) -> Result<(), ReadError> {
        if segment.cache().index.is_some() {
            return Ok(());
        }
        let mut index = PositionIndex::default();
        if let Some(kv) = &self.kv {
            index = self.kv_index.load(kv, segment.no, segment.len);
            if let Some(last) = index.last()
                && !self.entry_hits(segment, file, last)?
            {
                index = PositionIndex::default();
            }
        }
        self.build_index(segment, file, index)
    }

    /// Completes `index` by a walk from its last entry on. It ends early at damage: what lies
    /// behind is found by nobody, and reads that reach it answer with its place.
    fn build_index(
        &self,
        segment: &Segment<FileOf<R>>,
        file: &FileOf<R>,
        mut index: PositionIndex,
    ) -> Result<(), ReadError> {
        let is_active = segment.no == self.last().no;
        let every = if is_active {
            self.config.index_bytes
        } else {
            KV_BYTES
        };
        let last = index.last();
        let from = last.map_or(FIRST_AT, |entry| u64::from(entry.position));
        let mut max = last.map_or(i64::MIN, |entry| entry.max_before);
        let mut hops = Hops::new(file, from, segment.len.max(from)).until(segment.end);
        loop {
            let (at, head) = match hops.next() {
                Ok(Some(found)) => found,
                Err(ScanError::Disk(error)) => return Err(error.into()),
                // Of a damaged segment the newest time is unknown: its successor's birth bounds it.
                Err(ScanError::Corrupt(_)) => {
                    max = max.max(self.sealed_ms(segment));
                    break;
                }
                Ok(None) => break,
            };
            index.note(
                IndexEntry {
                    offset_delta: delta(head.base_offset(), segment.start),
                    position: u32::try_from(at).unwrap_or(u32::MAX),
                    max_before: max,
                },
                every,
            );
            max = max.max(head.facts.max_timestamp);
        }
        let mut cache = segment.cache();
        cache.index = Some(index);
        if !is_active {
            cache.max_timestamp = Some(max.max(-1));
        }
        Ok(())
    }

    /// When a sealed segment was sealed: its successor's birth.
    pub(super) fn sealed_ms(&self, segment: &Segment<FileOf<R>>) -> i64 {
        let next = self.segments.iter().find(|next| next.no > segment.no);
        next.map_or(segment.created_ms, |next| next.created_ms)
    }

    /// The largest timestamp in `segment`, -1 for none.
    pub(super) fn max_timestamp_of(&self, segment: &Segment<FileOf<R>>) -> Result<i64, ReadError> {
        if segment.no == self.last().no {
            return Ok(self.active.max_timestamp);
        }
        if let Some(max) = segment.cache().max_timestamp {
            return Ok(max);
        }
        let stored = self.kv.as_ref();
        if let Some(max) = stored.and_then(|kv| self.kv_index.summary(kv, segment.no, segment.len))
        {
            segment.cache().max_timestamp = Some(max);
            return Ok(max);
        }
        let file = self.healthy_file(segment)?;
        self.ensure_index(segment, &file)?;
        if let Some(max) = segment.cache().max_timestamp {
            return Ok(max);
        }
        // The index was there already, from when the segment was active: walk its last stretch.
        let index = segment.cache().index.take().unwrap_or_default();
        self.build_index(segment, &file, index)?;
        Ok(segment.cache().max_timestamp.unwrap_or(-1))
    }

    pub(super) fn missing(
        &self,
        segment: &Segment<FileOf<R>>,
        at: u64,
        offset: Offset,
    ) -> ReadError {
        ReadError::Missing {
            file: segment.path(&self.folder),
            at,
            offset,
        }
    }

    pub(super) fn read_error(&self, segment: &Segment<FileOf<R>>, error: ScanError) -> ReadError {
        match error {
            ScanError::Disk(error) => error.into(),
            ScanError::Corrupt(corrupt) => self.corrupt(segment, corrupt),
        }
    }

    pub(super) fn corrupt(&self, segment: &Segment<FileOf<R>>, corrupt: Corrupt) -> ReadError {
        ReadError::Corrupt {
            file: segment.path(&self.folder),
            corrupt,
        }
    }
}
