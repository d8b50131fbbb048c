//! Moving the unsynced tail of a crashed log to a fresh file.
//!
//! A sync that failed leaves bytes that the page cache calls clean and the platter does not have;
//! a later sync of the same file succeeds and proves nothing. The next process cannot know
//! whether that happened, so it trusts no byte behind the recovery point: it copies them to a new
//! file, `{no}.rescue`, whose first sync is honest.
//!
//! ```text
//! 4.msg [ synced | tail ]                      4.msg [ synced ]
//!                  | copy             sync        ^ cut
//!                  v              ---------->
//! 5.rescue [ header | tail | appends ]         5.msg [ header | tail | appends ]
//! ```
//!
//! The original is cut only when the copy has its final name on the platter. Until then a crash
//! finds both: a copy that is whole and reaches further is taken, every other one is removed.

use highwater_runtime::{DiskError, DiskErrorKind, File, Runtime};
use highwater_types::{Offset, SegmentNo};

use super::open::Files;
use super::recover::{Recovery, RecoveryPoint, note_scanned};
use super::{Active, Log};
use crate::error::LogError;
use crate::scan::{Hops, verify_batch};
use crate::segment::{FIRST_AT, Naming, Segment};

/// Longer tails stay where they are: copying them would take too long.
const RESCUE_BYTES_MAX: u64 = 1 << 30;
/// How much is copied at once.
const COPY_BYTES: u64 = 1 << 20;

/// What becomes of an original when its copy is durable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Original {
    /// The synced part stays.
    Cut { no: SegmentNo, len: u64 },
    /// Nothing of it was synced.
    Remove { path: String },
}

impl<R: Runtime> Log<R> {
    /// Takes over copies of an earlier recovery that reach further than their originals.
    pub(super) fn adopt_rescues(
        &mut self,
        files: &Files,
        point: RecoveryPoint,
        recovery: &mut Recovery,
    ) -> Result<(), LogError> {
        for (no, len) in &files.rescues {
            let Ok(mut copy) = self.load_segment(*no, *len, Naming::Rescue, false)? else {
                self.remove_segment_file(*no, Naming::Rescue)?;
                continue;
            };
            let mut active = Active::empty(copy.start);
            let file = copy.file(&self.disk, &self.folder)?;
            let mut hops = Hops::new(&file, FIRST_AT, *len);
            let mut end = copy.start;
            copy.len = FIRST_AT;
            while let Ok(Some((at, head))) = hops.next() {
                if head.base_offset() < end || verify_batch(&file, at, &head).is_err() {
                    break;
                }
                end = head.end_offset();
                copy.len = at + head.len() as u64;
                recovery.report.scanned_bytes += head.len() as u64;
                note_scanned(&mut active, &head, at);
            }
            copy.end = end;
            let joins = copy.start >= point.offset && copy.start <= self.end();
            if !joins || end <= self.end() {
                self.remove_segment_file(*no, Naming::Rescue)?;
                continue;
            }
            self.replace_tail(copy.start)?;
            active.kv_due = copy.len;
            active.first_append_ms = Some(copy.created_ms.min(recovery.now_ms));
            self.active = active;
            copy.cache_mut().verified = (0, u64::MAX);
            self.segments.push(copy);
            self.join_segments();
        }
        Ok(())
    }

    /// Ends the log at `start`, a batch border, and remembers the originals of what lay behind.
    fn replace_tail(&mut self, start: Offset) -> Result<(), LogError> {
        while let Some(last) = self.segments.last()
            && last.start >= start
        {
            let old = self.segments.pop().expect("the loop saw one");
            self.rescued.push(Original::Remove {
                path: old.path(&self.folder),
            });
        }
        let Some(last) = self.segments.last() else {
            return Ok(());
        };
        if last.end > start {
            let position = match self.seek(last, start) {
                Ok(found) => found.at,
                Err(_) => last.len,
            };
            let no = last.no;
            let last = self.last_mut();
            (last.len, last.end) = (position, start);
            let cache = last.cache_mut();
            cache.index = None;
            cache.max_timestamp = None;
            self.rescued.push(Original::Cut { no, len: position });
        }
        Ok(())
    }

    /// Copies what lies behind `point` to a fresh file. Without space for it the bytes stay where
    /// they are, and the next sync of their file is believed.
    pub(super) fn rescue_tail(
        &mut self,
        point: RecoveryPoint,
        recovery: &mut Recovery,
    ) -> Result<(), LogError> {
        // A header is a byte like any other: without proof that it is on the platter the segment
        // is not written on, even when nothing else is in it. Neither is one with torn bytes:
        // a power loss might bring back some of them, whole batches even, among the new ones.
        let last = self.segments.len() - 1;
        let is_proven = point.proven && point.at == last;
        // The same goes for later segments that were dropped: their names may come back.
        let is_whole = self.file_len(last) == self.last().len && recovery.report.cut_segments == 0;
        if self.end() <= point.offset && is_proven && is_whole {
            return Ok(());
        }
        let mut parts = Vec::new();
        for at in point.at..self.segments.len() {
            let from = if at == point.at {
                point.position
            } else {
                FIRST_AT
            };
            parts.push((at, from, self.segments[at].len));
        }
        let bytes: u64 = parts
            .iter()
            .map(|(_, from, to)| to.saturating_sub(*from))
            .sum();
        if bytes > RESCUE_BYTES_MAX {
            recovery.report.rescue_too_large = true;
            return self.cut_files();
        }
        let no = self.next_segment;
        let copy = match self.copy_tail(no, point, &parts, recovery.now_ms) {
            Ok(copy) => copy,
            Err(error) => {
                self.remove_segment_file(no, Naming::Rescue)?;
                if error.kind != DiskErrorKind::Full {
                    return Err(error.into());
                }
                recovery.report.rescue_skipped = true;
                return self.cut_files();
            }
        };
        recovery.report.rescued_bytes = bytes;
        self.tail_is_copied(point, copy);
        Ok(())
    }

    fn copy_tail(
        &mut self,
        no: SegmentNo,
        point: RecoveryPoint,
        parts: &[(usize, u64, u64)],
        now_ms: i64,
    ) -> Result<Segment<super::FileOf<R>>, DiskError> {
        let file = self.make_segment_file(no, Naming::Rescue, point.offset, now_ms)?;
        for (at, from, to) in parts {
            let source = self.segments[*at].file(&self.disk, &self.folder)?;
            let mut from = *from;
            while from < *to {
                let len = (to - from).min(COPY_BYTES);
                file.append(&[&source.view(from, len as usize)?])?;
                from += len;
            }
        }
        let mut copy = Segment::new(no, point.offset, now_ms, file.len(), file);
        copy.naming = Naming::Rescue;
        copy.end = self.end();
        copy.cache_mut().verified = (0, u64::MAX);
        Ok(copy)
    }

    /// The copy becomes the active segment in place of everything behind `point`.
    fn tail_is_copied(&mut self, point: RecoveryPoint, copy: Segment<super::FileOf<R>>) {
        let mut active = self.active;
        for old in self.segments.split_off(point.at + 1) {
            active.max_timestamp = active.max_timestamp.max(self.sealed_max(&old));
            self.rescued.push(Original::Remove {
                path: old.path(&self.folder),
            });
        }
        let path = self.segments[point.at].path(&self.folder);
        let old = &mut self.segments[point.at];
        let sealed_max = old.cache_mut().max_timestamp.unwrap_or(-1);
        active.max_timestamp = active.max_timestamp.max(sealed_max);
        if point.position > FIRST_AT {
            (old.len, old.end) = (point.position, point.offset);
            self.rescued.push(Original::Cut {
                no: old.no,
                len: point.position,
            });
            let cache = old.cache_mut();
            cache.index = None;
            cache.max_timestamp = None;
        } else {
            self.rescued.push(Original::Remove { path });
            self.segments.pop();
        }
        active.kv_due = FIRST_AT;
        active.first_append_ms = Some(copy.created_ms);
        self.active = active;
        self.folder_dirty = true;
        self.segments.push(copy);
    }

    fn sealed_max(&self, segment: &Segment<super::FileOf<R>>) -> i64 {
        segment.cache().max_timestamp.unwrap_or(-1)
    }

    /// Cuts torn bytes off the active file: the next batch goes where they are.
    fn cut_files(&mut self) -> Result<(), LogError> {
        let at = self.segments.len() - 1;
        let len = self.last().len;
        if self.file_len(at) > len {
            let file = self.last().file(&self.disk, &self.folder)?;
            file.truncate(len)?;
            self.files_cut.push(self.last().no);
        }
        Ok(())
    }

    /// The copy has its final name on the platter: the originals go.
    pub(super) fn rescue_is_durable(&mut self) {
        for segment in &mut self.segments {
            segment.naming = Naming::Segment;
        }
        self.folder_dirty |= !self.rescued.is_empty();
        // One that cannot go now stays: the next start ignores what lies behind the start of
        // its successor.
        for original in std::mem::take(&mut self.rescued) {
            match original {
                Original::Remove { path } => {
                    super::retain::is_removed(&self.disk, &path);
                }
                Original::Cut { no, len } => self.cut_original(no, len),
            }
        }
    }

    fn cut_original(&mut self, no: SegmentNo, len: u64) {
        let Some(segment) = self.segments.iter().find(|segment| segment.no == no) else {
            return;
        };
        if let Ok(file) = segment.file(&self.disk, &self.folder)
            && file.len() > len
            && file.truncate(len).is_ok()
        {
            self.files_cut.push(no);
        }
    }
}
