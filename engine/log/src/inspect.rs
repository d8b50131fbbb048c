//! A partition's folder as text, read without changing anything: for snapshots and for people.
//!
//! One line a thing: the folder's `partition.meta`, each segment with its batches, what stands
//! behind the last whole batch, each producer snapshot.

use std::fmt::Write as _;

use highwater_record::{BatchHead, BatchKind, Corrupt};
use highwater_runtime::{Disk, DiskError, File};
use highwater_types::Offset;

use crate::log::Files;
use crate::meta::{self, MetaRead, PartitionMeta};
use crate::producers;
use crate::scan::{Hops, ScanError, is_zero_tail, verify_batch};
use crate::segment::{FIRST_AT, Naming, name, read_header};

/// Something in a folder that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// A segment's header or a batch is damaged.
    Corrupt {
        /// The file, without its folder.
        file: String,
        /// Where and what.
        corrupt: Corrupt,
    },
    /// Bytes behind the last whole batch: a torn or zero tail, cut by the next start.
    Tail {
        /// The file, without its folder.
        file: String,
        /// Where the tail starts.
        at: u64,
        /// How long it is.
        len: u64,
        /// Only zeros: reserved space.
        zeros: bool,
    },
    /// Offsets that no segment holds although segments before and behind them are there.
    Gap {
        /// The file behind the gap, without its folder.
        file: String,
        /// The offset that should be the file's first.
        expected: Offset,
        /// The offset that is.
        found: Offset,
    },
    /// `partition.meta` or a producer snapshot that the next start rebuilds.
    Cache {
        /// The file, without its folder.
        file: String,
    },
}

/// The folder as text; every batch is verified.
///
/// # Errors
/// The disk refuses to read.
pub fn dump<D: Disk>(disk: &D, folder: &str) -> Result<String, DiskError> {
    let mut out = String::new();
    walk(disk, folder, &mut out).map(|_| out)
}

/// What is not as it should be in the folder; empty for a whole log.
///
/// # Errors
/// The disk refuses to read.
pub fn verify<D: Disk>(disk: &D, folder: &str) -> Result<Vec<Finding>, DiskError> {
    walk(disk, folder, &mut String::new())
}

fn walk<D: Disk>(disk: &D, folder: &str, out: &mut String) -> Result<Vec<Finding>, DiskError> {
    let files = Files::of(&disk.list(folder)?);
    let mut findings = Vec::new();
    if files.meta {
        meta_line(
            &disk.read(&format!("{folder}/{}", meta::FILE))?,
            out,
            &mut findings,
        );
    }
    let segments = files
        .segments
        .iter()
        .map(|(no, len)| (name(*no, Naming::Segment), *len));
    let mut expected = None;
    for (file, len) in segments {
        expected = segment_lines(disk, folder, &file, len, expected, out, &mut findings)?;
    }
    let rescues = files
        .rescues
        .iter()
        .map(|(no, len)| (name(*no, Naming::Rescue), *len));
    for (file, len) in rescues {
        segment_lines(disk, folder, &file, len, None, out, &mut findings)?;
    }
    for offset in files.snapshots {
        let file = format!("{offset}{}", crate::log::SNAPSHOT_SUFFIX);
        snapshot_line(
            &file,
            &disk.read(&format!("{folder}/{file}"))?,
            out,
            &mut findings,
        );
    }
    Ok(findings)
}

fn meta_line(content: &[u8], out: &mut String, findings: &mut Vec<Finding>) {
    let file = meta::FILE;
    match PartitionMeta::decode(content) {
        MetaRead::Good(meta) => {
            let (start, next) = (meta.log_start, meta.next_segment);
            line(
                out,
                format_args!("{file}: log start {start}, next segment {next}, epochs"),
            );
            out.pop();
            for (epoch, start) in meta.epochs.entries() {
                let _ = write!(out, " {epoch}@{start}");
            }
            out.push('\n');
        }
        MetaRead::Newer(version) => line(out, format_args!("{file}: format version {version}")),
        MetaRead::Damaged => {
            line(out, format_args!("{file}: damaged"));
            findings.push(Finding::Cache {
                file: file.to_owned(),
            });
        }
    }
}

/// The lines of one segment; answers the offset that the next one should start with.
fn segment_lines<D: Disk>(
    disk: &D,
    folder: &str,
    file_name: &str,
    len: u64,
    expected: Option<Offset>,
    out: &mut String,
    findings: &mut Vec<Finding>,
) -> Result<Option<Offset>, DiskError> {
    let file = disk.open(&format!("{folder}/{file_name}"))?;
    let corrupt_line = |corrupt: Corrupt, out: &mut String, findings: &mut Vec<Finding>| {
        line(out, format_args!("  {corrupt}"));
        findings.push(Finding::Corrupt {
            file: file_name.to_owned(),
            corrupt,
        });
    };
    let header = match read_header(&file, len) {
        Ok(Some(header)) => header,
        Ok(None) => {
            line(out, format_args!("{file_name}: {len} bytes, no header"));
            let file = file_name.to_owned();
            findings.push(Finding::Tail {
                file,
                at: 0,
                len,
                zeros: false,
            });
            return Ok(None);
        }
        Err(ScanError::Disk(error)) => return Err(error),
        Err(ScanError::Corrupt(corrupt)) => {
            line(out, format_args!("{file_name}: {len} bytes"));
            corrupt_line(corrupt, out, findings);
            return Ok(None);
        }
    };
    let start = header.start_offset;
    line(
        out,
        format_args!("{file_name}: {len} bytes, from offset {start}"),
    );
    if let Some(expected) = expected
        && expected < start
    {
        line(
            out,
            format_args!("  offsets [{expected}, {start}) are missing"),
        );
        findings.push(Finding::Gap {
            file: file_name.to_owned(),
            expected,
            found: start,
        });
    }
    let mut hops = Hops::new(&file, FIRST_AT, len);
    let mut end = start;
    loop {
        match hops.next() {
            Ok(Some((at, head))) => {
                end = head.end_offset();
                batch_line(at, &head, out);
                match verify_batch(&file, at, &head) {
                    Ok(()) => {}
                    Err(ScanError::Disk(error)) => return Err(error),
                    Err(ScanError::Corrupt(corrupt)) => corrupt_line(corrupt, out, findings),
                }
            }
            Err(ScanError::Disk(error)) => return Err(error),
            Err(ScanError::Corrupt(corrupt)) => {
                corrupt_line(corrupt, out, findings);
                break;
            }
            Ok(None) => break,
        }
    }
    tail_line(&file, file_name, hops.at(), len, out, findings)?;
    Ok(Some(end))
}

fn batch_line(at: u64, head: &BatchHead, out: &mut String) {
    let facts = &head.facts;
    let kind = match facts.kind {
        BatchKind::Records => "records",
        BatchKind::Control => "control",
        BatchKind::Placeholder => "placeholder",
        BatchKind::SegmentHeader => "header",
    };
    let (base, end, epoch) = (head.base_offset(), head.end_offset(), facts.leader_epoch);
    line(
        out,
        format_args!(
            "  @{at} [{base}, {end}) epoch {epoch}, {} {kind} in {} bytes, newest {}",
            facts.record_count,
            head.len(),
            facts.max_timestamp,
        ),
    );
    if let Some(producer) = facts.producer {
        out.pop();
        let last = facts.last_sequence().unwrap_or(-1);
        let (id, epoch, first) = (producer.id.0, producer.epoch.0, producer.base_sequence);
        line(
            out,
            format_args!(", producer {id}/{epoch} sequence {first}..={last}"),
        );
    }
}

fn tail_line<F: File>(
    file: &F,
    file_name: &str,
    at: u64,
    len: u64,
    out: &mut String,
    findings: &mut Vec<Finding>,
) -> Result<(), DiskError> {
    let tail = len - at;
    if tail == 0 {
        return Ok(());
    }
    let zeros = is_zero_tail(&file.view(at, tail.min(64) as usize)?);
    let what = if zeros { "zeros" } else { "no whole batch" };
    line(out, format_args!("  @{at} {tail} bytes: {what}"));
    findings.push(Finding::Tail {
        file: file_name.to_owned(),
        at,
        len: tail,
        zeros,
    });
    Ok(())
}

fn snapshot_line(file: &str, content: &[u8], out: &mut String, findings: &mut Vec<Finding>) {
    let Some(snapshot) = producers::decode(content) else {
        line(out, format_args!("{file}: damaged"));
        findings.push(Finding::Cache {
            file: file.to_owned(),
        });
        return;
    };
    line(out, format_args!("{file}: producers"));
    for (id, entry) in snapshot.producers.iter() {
        out.pop();
        let _ = write!(out, " {}/{}", id.0, entry.epoch.0);
        for batch in entry.batches() {
            let (first, last) = (batch.first_sequence, batch.last_sequence);
            let _ = write!(out, " {first}..={last}@{}", batch.base_offset);
        }
        out.push('\n');
    }
}

fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    let _ = writeln!(out, "{text}");
}
