//! One segment file: its range of offsets, and what is kept open and in memory for it.

use std::sync::{Mutex, MutexGuard};

use highwater_record::{Corrupt, SegmentHeader};
use highwater_runtime::{Disk, DiskError, File};
use highwater_types::{Offset, SegmentNo};

use crate::index::PositionIndex;
use crate::scan::ScanError;

/// Where the first batch of every segment starts, behind the header.
pub(crate) const FIRST_AT: u64 = SegmentHeader::LEN as u64;

/// A segment may not grow past this: positions are kept as 32 bits.
pub(crate) const SEGMENT_BYTES_MAX: u64 = u32::MAX as u64;

/// How the file is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Naming {
    /// `{no}.msg`
    Segment,
    /// `{no}.rescue`: a copy whose original is still there; a sync job gives it its final name.
    Rescue,
}

/// One segment of a log. The last one of a log is active, the others are sealed.
pub(crate) struct Segment<F> {
    pub(crate) no: SegmentNo,
    pub(crate) naming: Naming,
    /// The first offset that may lie in it.
    pub(crate) start: Offset,
    /// The start of the next segment; the log end for the active one.
    pub(crate) end: Offset,
    /// Committed bytes: whole batches only.
    pub(crate) len: u64,
    /// When it was made, by the broker's wall clock.
    pub(crate) created_ms: i64,
    /// The header cannot be read: nothing of this segment is served.
    pub(crate) broken: Option<Corrupt>,
    cache: Mutex<Cache<F>>,
}

/// What can be dropped at any time for a sealed segment.
pub(crate) struct Cache<F> {
    /// The open file; always there for the active segment.
    pub(crate) file: Option<F>,
    /// The position index, complete up to the segment's length.
    pub(crate) index: Option<PositionIndex>,
    /// The largest timestamp of a sealed segment; -1 for none.
    pub(crate) max_timestamp: Option<i64>,
    /// Bytes whose checksums were seen to be right.
    pub(crate) verified: (u64, u64),
    /// Used since the last sweep.
    pub(crate) used: bool,
}

impl<F: File> Segment<F> {
    /// A segment of `len` bytes in the open file `file`.
    pub(crate) fn new(no: SegmentNo, start: Offset, created_ms: i64, len: u64, file: F) -> Self {
        let cache = Cache {
            file: Some(file),
            index: None,
            max_timestamp: None,
            verified: (0, 0),
            used: true,
        };
        Self {
            no,
            naming: Naming::Segment,
            start,
            end: start,
            len,
            created_ms,
            broken: None,
            cache: Mutex::new(cache),
        }
    }

    pub(crate) fn path(&self, folder: &str) -> String {
        path(folder, self.no, self.naming)
    }

    /// The file's name without its folder.
    pub(crate) fn name(&self) -> String {
        name(self.no, self.naming)
    }

    /// Whether no batch is in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.len <= FIRST_AT
    }

    pub(crate) fn cache(&self) -> MutexGuard<'_, Cache<F>> {
        let mut cache = self
            .cache
            .lock()
            .expect("no step on a segment panics halfway");
        cache.used = true;
        cache
    }

    pub(crate) fn cache_mut(&mut self) -> &mut Cache<F> {
        self.cache
            .get_mut()
            .expect("no step on a segment panics halfway")
    }

    /// The open file, opened now if need be.
    pub(crate) fn file<D: Disk<File = F>>(&self, disk: &D, folder: &str) -> Result<F, DiskError> {
        let mut cache = self.cache();
        if let Some(file) = &cache.file {
            return Ok(file.clone());
        }
        let file = disk.open(&self.path(folder))?;
        cache.file = Some(file.clone());
        Ok(file)
    }

    /// Drops the file and the index of a sealed segment that nobody used since the last call.
    pub(crate) fn release_idle(&mut self) -> bool {
        let cache = self.cache_mut();
        if std::mem::take(&mut cache.used) {
            return false;
        }
        cache.index = None;
        // The bytes may come from the platter again.
        cache.verified = (0, 0);
        cache.file.take().is_some()
    }

    /// Bytes of memory that the index takes.
    pub(crate) fn memory_bytes(&self) -> usize {
        let cache = self
            .cache
            .lock()
            .expect("no step on a segment panics halfway");
        cache.index.as_ref().map_or(0, PositionIndex::memory_bytes)
    }
}

/// Reads the header of a file of `len` bytes; `None` when the file ends inside it or is zeros.
pub(crate) fn read_header<F: File>(file: &F, len: u64) -> Result<Option<SegmentHeader>, ScanError> {
    let view = file.view(0, (SegmentHeader::LEN as u64).min(len) as usize)?;
    Ok(SegmentHeader::decode(&view)?)
}

pub(crate) fn name(no: SegmentNo, naming: Naming) -> String {
    match naming {
        Naming::Segment => format!("{no}.msg"),
        Naming::Rescue => format!("{no}.rescue"),
    }
}

pub(crate) fn path(folder: &str, no: SegmentNo, naming: Naming) -> String {
    format!("{folder}/{}", name(no, naming))
}

/// The number in a name such as `12.msg`; `None` for other names, also for `012.msg`.
pub(crate) fn parse_name(name: &str, suffix: &str) -> Option<u64> {
    let digits = name.strip_suffix(suffix)?;
    let number: u64 = digits.parse().ok()?;
    (number.to_string() == digits).then_some(number)
}
