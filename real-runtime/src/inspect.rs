//! Reads the logs of a data folder without a broker and without changing anything.
//!
//! A broker may run on the folder meanwhile: what it appends after a file was opened is not seen.

use std::fs;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use highwater_record::{Corrupt, SegmentHeader, StoredBatch};
use highwater_runtime::{Disk, DiskError, DiskErrorKind, File};
use highwater_types::{Offset, Position};

use crate::disk::{OpenError, RealDisk};

/// The ending of a segment's file name.
const SEGMENT_SUFFIX: &str = ".msg";

/// One segment file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentFile {
    /// Its partition's folder, such as `orders-0`; the name of the folder that was asked for.
    pub partition: String,
    /// Its path below the folder that was asked for.
    pub path: String,
    /// Its number.
    pub number: u64,
    /// Whether a later segment follows: then its end is no torn tail.
    pub is_sealed: bool,
}

/// A folder whose logs are read.
pub struct Logs {
    disk: RealDisk,
    segments: Vec<SegmentFile>,
}

/// A folder that cannot be read, or holds no log.
#[derive(Debug, thiserror::Error)]
pub enum LogsError {
    /// The folder cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The disk refuses.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// No segment is in it.
    #[error("no segment file (NUMBER.msg) is in {} or in a folder of it. Name a data folder, or a partition's folder such as highwater-data/orders-0.", folder.display())]
    NoLog {
        /// The folder.
        folder: PathBuf,
    },
}

impl Logs {
    /// The logs in `folder`: a data folder, or the folder of one partition.
    ///
    /// # Errors
    /// See [`LogsError`].
    pub fn open(folder: &Path) -> Result<Self, LogsError> {
        let disk = RealDisk::open_read_only(folder)?;
        let own = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
        let own = own
            .file_name()
            .map(|name| name.to_string_lossy().into_owned());
        let mut segments = segments_of(&disk, "", &own.unwrap_or_default())?;
        for entry in disk.list("")?.into_iter().filter(|entry| entry.is_dir) {
            match segments_of(&disk, &entry.name, &entry.name) {
                // A running broker removed it since the folder was listed.
                Err(error) if error.kind == DiskErrorKind::NotFound => {}
                found => segments.extend(found?),
            }
        }
        if segments.is_empty() {
            return Err(LogsError::NoLog {
                folder: folder.to_owned(),
            });
        }
        Ok(Self { disk, segments })
    }

    /// The segments, by partition and number.
    #[must_use]
    pub fn segments(&self) -> &[SegmentFile] {
        &self.segments
    }

    /// The bytes of `segment`.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn read(&self, segment: &SegmentFile) -> Result<Bytes, DiskError> {
        let file = self.disk.open(&segment.path)?;
        let len = usize::try_from(file.len()).expect("a segment fits into the address space");
        file.view(0, len)
    }
}

/// The segments in one folder, by number.
fn segments_of(
    disk: &RealDisk,
    folder: &str,
    partition: &str,
) -> Result<Vec<SegmentFile>, DiskError> {
    let mut numbers = Vec::new();
    for entry in disk.list(folder)? {
        let number = entry
            .name
            .strip_suffix(SEGMENT_SUFFIX)
            .map(str::parse::<u64>);
        if let Some(Ok(number)) = number {
            let slash = if folder.is_empty() { "" } else { "/" };
            numbers.push((number, format!("{folder}{slash}{}", entry.name)));
        }
    }
    numbers.sort();
    let last = numbers.last().map(|(number, _)| *number);
    let segment = |(number, path)| SegmentFile {
        partition: partition.to_owned(),
        path,
        number,
        is_sealed: Some(number) != last,
    };
    Ok(numbers.into_iter().map(segment).collect())
}

/// What a walk over a segment meets.
#[derive(Debug)]
pub enum Part<'a> {
    /// The first frame.
    Header(SegmentHeader),
    /// A batch; its frames are not checked yet.
    Batch(StoredBatch<'a>),
    /// Behind the last whole batch there are `len` bytes of none: torn, or zeros.
    Tail {
        /// Where they begin.
        at: Position,
        /// How many they are.
        len: u64,
    },
    /// No batch starts here; what is behind cannot be read.
    Damage(Corrupt),
}

/// The parts of a segment's `bytes`, in order.
pub fn parts(bytes: &[u8]) -> impl Iterator<Item = Part<'_>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = bytes.get(at..).filter(|rest| !rest.is_empty())?;
        let here = Position(at as u64);
        let tail = Part::Tail {
            at: here,
            len: rest.len() as u64,
        };
        let (part, len) = if at == 0 {
            match SegmentHeader::decode(rest) {
                Ok(Some(header)) => (Part::Header(header), SegmentHeader::LEN),
                Ok(None) => (tail, rest.len()),
                Err(corrupt) => (Part::Damage(corrupt), rest.len()),
            }
        } else {
            match StoredBatch::parse(rest, here) {
                Ok(Some(batch)) => {
                    let len = batch.head.len();
                    (Part::Batch(batch), len)
                }
                Ok(None) => (tail, rest.len()),
                Err(corrupt) => (Part::Damage(corrupt), rest.len()),
            }
        };
        at += len;
        Some(part)
    })
}

/// What a check of one segment found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Whole batches.
    pub batches: u64,
    /// Frames in them.
    pub records: u64,
    /// Bytes that were checked.
    pub bytes: u64,
    /// Torn or zero bytes at the end of the active segment: a start cuts them.
    pub torn_bytes: u64,
    /// What is damaged, each a sentence.
    pub damage: Vec<String>,
    /// Where the next segment must start.
    pub end: Option<Offset>,
}

/// Checks every frame of a segment: both checksums, lengths, and that offsets follow each other.
/// `start` is where the segment before it ends, when there is one.
#[must_use]
pub fn verify(segment: &SegmentFile, bytes: &[u8], start: Option<Offset>) -> Verdict {
    let mut verdict = Verdict {
        bytes: bytes.len() as u64,
        end: start,
        ..Verdict::default()
    };
    for part in parts(bytes) {
        match part {
            Part::Header(header) => {
                let wrong = verdict.end.filter(|end| *end != header.start_offset);
                if let Some(end) = wrong {
                    let start = header.start_offset;
                    verdict.damage.push(format!(
                        "it starts at offset {start}, the one before ends at {end}"
                    ));
                }
                if header.segment_no.0 != segment.number {
                    verdict
                        .damage
                        .push(format!("its header says segment {}", header.segment_no));
                }
                verdict.end = Some(header.start_offset);
            }
            Part::Batch(batch) => {
                let base = batch.head.base_offset();
                if let Some(end) = verdict.end.filter(|end| *end != base) {
                    verdict.damage.push(format!(
                        "the batch at byte {} starts at offset {base}, the one before ends at {end}",
                        batch.at
                    ));
                }
                if let Err(corrupt) = batch.verify() {
                    verdict.damage.push(corrupt.to_string());
                }
                verdict.batches += 1;
                verdict.records += u64::from(batch.head.facts.record_count);
                verdict.end = Some(batch.head.end_offset());
            }
            Part::Tail { at, len } if segment.is_sealed => {
                verdict
                    .damage
                    .push(format!("{len} bytes from byte {at} on are no whole batch"));
            }
            Part::Tail { len, .. } => verdict.torn_bytes = len,
            Part::Damage(corrupt) => verdict.damage.push(corrupt.to_string()),
        }
    }
    if bytes.is_empty() && segment.is_sealed {
        verdict.damage.push("it is empty".to_owned());
    }
    verdict
}
