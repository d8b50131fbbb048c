//! Reading the metadata folder at a start: snapshot first, then every commit after it.

use bytes::Bytes;
use highwater_runtime::{DirEntry, Disk, DiskError, DiskErrorKind, File};
use thiserror::Error;

use super::frame::{self, BadHeader, FileKind, Frame, HEADER_LEN};
use super::{FOLDER, SNAPSHOT, journal_path};
use crate::state::{Inconsistent, MetadataState};

/// Why the metadata folder cannot be used. Nothing in it was changed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RecoverError {
    /// The disk refuses.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// A newer version of Highwater wrote this file: start that version.
    #[error("{path:?} has format version {version}; this version reads up to {newest}")]
    Newer {
        /// The file.
        path: String,
        /// Its version.
        version: u16,
        /// The newest version that this code reads.
        newest: u16,
    },
    /// The file is damaged in a place that a crash does not damage: restore it from a backup.
    #[error("{path:?} is damaged at byte {at}: {why}")]
    Damaged {
        /// The file.
        path: String,
        /// Where.
        at: u64,
        /// What is wrong.
        why: Damage,
    },
    /// A file between two others is missing: restore it from a backup.
    #[error("{folder:?} lacks commit {expected}: the next file starts with commit {found}")]
    Gap {
        /// The metadata folder.
        folder: &'static str,
        /// The first commit that is not there.
        expected: u64,
        /// The next one that is.
        found: u64,
    },
}

/// What is wrong with damaged bytes.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Damage {
    /// The header.
    #[error("its header is not one of ours")]
    Header,
    /// A frame.
    #[error("a record is not whole, or its checksum is wrong")]
    Frame,
    /// A commit with another number than its place says.
    #[error("commit {found} stands where commit {expected} should")]
    Order {
        /// The number that should be there.
        expected: u64,
        /// The number that is there.
        found: u64,
    },
    /// Whole records that cannot follow the ones before.
    #[error(transparent)]
    Inconsistent(#[from] Inconsistent),
}

/// A torn end that recovery cut: a commit that nobody was told of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The file.
    pub path: String,
    /// Where it was cut.
    pub at: u64,
    /// How many bytes went.
    pub bytes: u64,
}

/// What the folder holds.
pub(super) struct Recovered<F> {
    pub state: MetadataState,
    /// The number of the last commit; 0 when there is none.
    pub last: u64,
    /// The journal to append to, and its path; `None` when there is none yet.
    pub journal: Option<(F, String)>,
    pub cut: Option<Cut>,
    /// Files that hold nothing which is needed.
    pub leftovers: Vec<String>,
}

/// A journal's name and bytes.
struct JournalBytes {
    first: u64,
    path: String,
    content: Bytes,
}

/// Reads everything and cuts a torn end off the last journal, in the page cache.
///
/// # Errors
/// [`RecoverError`]; nothing was changed.
pub(super) fn recover<D: Disk>(disk: &D) -> Result<Option<Recovered<D::File>>, RecoverError> {
    let entries = match disk.list(FOLDER) {
        Ok(entries) => entries,
        Err(error) if error.kind == DiskErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let (mut state, mut last) = match entries.iter().any(|entry| entry.name == "snapshot") {
        true => read_snapshot(disk)?,
        false => (MetadataState::default(), 0),
    };
    let (journals, empties) = read_journals(disk, &entries)?;
    let (old, live) = split_covered(&journals, last);
    let mut cut = empties
        .iter()
        .find(|empty| empty.content.len() > HEADER_LEN)
        .map(|empty| cut_at(empty, 0));
    let mut leftovers: Vec<String> = old
        .iter()
        .chain(&empties)
        .map(|journal| journal.path.clone())
        .collect();
    let mut target = None;
    for (nth, journal) in live.iter().enumerate() {
        let end = replay(journal, nth + 1 == live.len(), &mut state, &mut last)?;
        target = Some((journal, end));
    }
    let journal = match target {
        Some((journal, end)) => {
            let file = disk.open(&journal.path)?;
            if end < journal.content.len() {
                file.truncate(end as u64)?;
                cut = Some(cut_at(journal, end));
            }
            Some((file, journal.path.clone()))
        }
        // Made and never written: the first start, or one after a snapshot, was cut short.
        None => {
            let next = empties
                .iter()
                .find(|empty| empty.first == last + 1 && empty.content.len() == HEADER_LEN);
            leftovers.retain(|path| next.is_none_or(|next| next.path != *path));
            next.map(|next| Ok::<_, DiskError>((disk.open(&next.path)?, next.path.clone())))
                .transpose()?
        }
    };
    Ok(Some(Recovered {
        state,
        last,
        journal,
        cut,
        leftovers,
    }))
}

fn cut_at(journal: &JournalBytes, at: usize) -> Cut {
    let bytes = (journal.content.len() - at) as u64;
    Cut {
        path: journal.path.clone(),
        at: at as u64,
        bytes,
    }
}

/// All journals in order, those that hold a commit apart from those that hold none.
fn read_journals<D: Disk>(
    disk: &D,
    entries: &[DirEntry],
) -> Result<(Vec<JournalBytes>, Vec<JournalBytes>), RecoverError> {
    let (mut journals, mut empties) = (Vec::new(), Vec::new());
    for first in first_indexes(entries) {
        let path = journal_path(first);
        let content = disk.read(&path)?;
        let header = frame::read_header(FileKind::Journal, &content);
        let holds_commits = frame::find(&content, |_| true).is_some();
        match header {
            Ok(index) if index != first => {
                let why = Damage::Order {
                    expected: first,
                    found: index,
                };
                return Err(RecoverError::Damaged { path, at: 0, why });
            }
            Ok(_) => {}
            // A crash while the file was made: it holds no commit.
            Err(BadHeader::Damaged) if !holds_commits => {}
            Err(error) => return Err(bad_header(&path, error)),
        }
        let to = if holds_commits {
            &mut journals
        } else {
            &mut empties
        };
        to.push(JournalBytes {
            first,
            path,
            content,
        });
    }
    Ok((journals, empties))
}

fn read_snapshot<D: Disk>(disk: &D) -> Result<(MetadataState, u64), RecoverError> {
    let content = disk.read(SNAPSHOT)?;
    let damaged = |at: usize, why| RecoverError::Damaged {
        path: SNAPSHOT.to_owned(),
        at: at as u64,
        why,
    };
    let index = frame::read_header(FileKind::Snapshot, &content)
        .map_err(|error| bad_header(SNAPSHOT, error))?;
    let body = &content[HEADER_LEN..];
    let (whole, len) = frame::decode(body).ok_or_else(|| damaged(HEADER_LEN, Damage::Frame))?;
    if len != body.len() {
        return Err(damaged(HEADER_LEN + len, Damage::Frame));
    }
    if whole.index != index {
        let order = Damage::Order {
            expected: index,
            found: whole.index,
        };
        return Err(damaged(HEADER_LEN, order));
    }
    let mut state = MetadataState::default();
    for record in &whole.records {
        state
            .apply(record)
            .map_err(|error| damaged(HEADER_LEN, error.into()))?;
    }
    Ok((state, index))
}

/// Applies a journal's commits after `last`; answers where its whole frames end.
fn replay(
    journal: &JournalBytes,
    is_last: bool,
    state: &mut MetadataState,
    last: &mut u64,
) -> Result<usize, RecoverError> {
    let JournalBytes {
        first,
        path,
        content,
    } = journal;
    let damaged = |at: usize, why| RecoverError::Damaged {
        path: path.clone(),
        at: at as u64,
        why,
    };
    if *first > *last + 1 {
        return Err(RecoverError::Gap {
            folder: FOLDER,
            expected: *last + 1,
            found: *first,
        });
    }
    let (mut at, mut expected) = (HEADER_LEN, *first);
    while at < content.len() {
        let rest = &content[at..];
        let Some((Frame { index, records, .. }, len)) = frame::decode(rest) else {
            // The next journal starts when this one is on disk, whole.
            if !is_last || frame::find(rest, |later| later.durable >= expected).is_some() {
                return Err(damaged(at, Damage::Frame));
            }
            return Ok(at);
        };
        if index != expected {
            return Err(damaged(
                at,
                Damage::Order {
                    expected,
                    found: index,
                },
            ));
        }
        if index > *last {
            for record in &records {
                state
                    .apply(record)
                    .map_err(|error| damaged(at, error.into()))?;
            }
            *last = index;
        }
        at += len;
        expected += 1;
    }
    Ok(at)
}

fn bad_header(path: &str, error: BadHeader) -> RecoverError {
    let path = path.to_owned();
    match error {
        BadHeader::Newer { version } => RecoverError::Newer {
            path,
            version,
            newest: frame::VERSION,
        },
        BadHeader::Damaged => RecoverError::Damaged {
            path,
            at: 0,
            why: Damage::Header,
        },
    }
}

/// The first commits of all journals, in order. Other names are not ours and are left alone.
fn first_indexes(entries: &[DirEntry]) -> Vec<u64> {
    let mut firsts: Vec<u64> = entries
        .iter()
        .filter_map(|entry| entry.name.strip_suffix(".journal"))
        .filter(|stem| stem.len() == 20 && stem.bytes().all(|byte| byte.is_ascii_digit()))
        .filter_map(|stem| stem.parse().ok())
        .collect();
    firsts.sort_unstable();
    firsts
}

/// Parts the journals that hold only commits up to `last` from the others. The newest is never
/// superfluous: commits go on in it.
fn split_covered(journals: &[JournalBytes], last: u64) -> (&[JournalBytes], &[JournalBytes]) {
    let live_from = journals
        .iter()
        .rposition(|journal| journal.first <= last + 1)
        .unwrap_or(0);
    journals.split_at(live_from)
}
