//! Metadata made durable: a command is answered after its records are on disk.
//!
//! ```text
//! command -> records --append--> page cache --sync--> on disk --> visible, answered
//! ```
//! Commands run one after the other on the state that all appended records give, so that each
//! sees the one before. Readers see what is on disk only: a topic that a power loss could take
//! back is never served. Commits that wait at the same time share one sync.
//!
//! The folder `metadata` holds `snapshot`, when there is one, and journals named by their first
//! commit. Bytes: `docs/format/metadata.md`. After a crash anywhere the folder gives the commits
//! that were answered and at most those that waited; after a failed write or sync nothing is
//! retried: every later command fails, and a restart recovers from the disk.

mod codec;
mod flush;
mod frame;
mod recover;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use highwater_runtime::task::oneshot;
use highwater_runtime::{Disk, DiskError, DiskErrorKind, File, Runtime};
use thiserror::Error;

pub use recover::{Cut, Damage, RecoverError};

use crate::changes::ChangeQueue;
use crate::state::{MetadataRecord, MetadataState};
use frame::FileKind;

/// The folder of all metadata, in the data folder.
pub const FOLDER: &str = "metadata";
const SNAPSHOT: &str = "metadata/snapshot";

fn journal_path(first: u64) -> String {
    format!("{FOLDER}/{first:020}.journal")
}

/// Why a command was not carried out.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CommitError<E> {
    /// The command is refused; nothing changed.
    #[error("{0}")]
    Refused(E),
    /// The disk is full; nothing changed. Try again when space was freed.
    #[error("{0}")]
    Full(DiskError),
    /// The disk failed. Whether the change survives is known after a restart.
    #[error("metadata takes no changes until a restart: {0}")]
    Offline(DiskError),
}

/// What a start found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovery {
    /// Whether there was nothing: a new data folder.
    pub fresh: bool,
    /// How many commits there ever were.
    pub commits: u64,
    /// A torn end that was cut.
    pub cut: Option<Cut>,
}

/// The one writer of a data folder's metadata. Clones share it.
pub struct Journal<R: Runtime> {
    runtime: R,
    inner: Arc<Mutex<Inner<<R::Disk as Disk>::File>>>,
    /// The size at which a journal is closed and a snapshot made.
    journal_bytes_max: u64,
}

impl<R: Runtime> Clone for Journal<R> {
    fn clone(&self) -> Self {
        let (runtime, inner) = (self.runtime.clone(), Arc::clone(&self.inner));
        Self {
            runtime,
            inner,
            journal_bytes_max: self.journal_bytes_max,
        }
    }
}

struct Inner<F> {
    /// What readers see: every commit up to `durable`.
    visible: Arc<MetadataState>,
    /// What commands see: every commit up to `appended`.
    pending: MetadataState,
    /// The commits after `durable`.
    queue: VecDeque<(u64, Arc<[MetadataRecord]>)>,
    file: F,
    /// The path of `file`.
    path: String,
    /// The size of `file` at which it is closed.
    roll_at: u64,
    /// Closed journals that no snapshot covers yet.
    closed: Vec<String>,
    appended: u64,
    durable: u64,
    failed: Option<DiskError>,
    /// Whether a task syncs. It goes on until everything appended is on disk.
    syncing: bool,
    /// Whether appends wait for the next journal.
    holding: bool,
    snapshotting: bool,
    waiters: Vec<oneshot::Sender<()>>,
    /// Who acts on commits.
    told: Option<Arc<ChangeQueue>>,
}

/// The state as a command sees it, and what the command has changed so far.
pub struct Draft<'a> {
    state: &'a mut MetadataState,
    records: Vec<MetadataRecord>,
}

impl Draft<'_> {
    /// The state with every record that was added.
    #[must_use]
    pub fn state(&self) -> &MetadataState {
        self.state
    }

    /// Adds a record that [`Draft::state`] gave.
    ///
    /// # Panics
    /// When it does not fit the state.
    pub fn add(&mut self, record: MetadataRecord) {
        self.state
            .apply(&record)
            .expect("a command's records fit the state that gave them");
        self.records.push(record);
    }
}

impl<R: Runtime> Journal<R> {
    /// Recovers the metadata of the runtime's data folder, or makes an empty one.
    ///
    /// # Errors
    /// [`RecoverError`], which names the file; nothing that was there is lost.
    pub async fn open(
        runtime: R,
        journal_bytes_max: u64,
    ) -> Result<(Self, Recovery), RecoverError> {
        let disk = runtime.disk().clone();
        let found = recover::recover(&disk)?;
        let fresh = found.is_none();
        if fresh {
            disk.create_dir(FOLDER)?;
            disk.sync_dir("").await?;
        }
        let (state, last, journal, cut, leftovers) = match found {
            Some(found) => (
                found.state,
                found.last,
                found.journal,
                found.cut,
                found.leftovers,
            ),
            None => (MetadataState::default(), 0, None, None, Vec::new()),
        };
        for path in &leftovers {
            disk.remove(path)?;
        }
        let (file, path) = match journal {
            Some(journal) => renewed(&disk, &state, last, journal).await?,
            None => create_journal(&disk, last + 1).await?,
        };
        disk.sync_dir(FOLDER).await?;
        let inner = Inner {
            visible: Arc::new(state.clone()),
            pending: state,
            queue: VecDeque::new(),
            file,
            path,
            roll_at: journal_bytes_max,
            closed: Vec::new(),
            appended: last,
            durable: last,
            failed: None,
            syncing: false,
            holding: false,
            snapshotting: false,
            waiters: Vec::new(),
            told: None,
        };
        let recovery = Recovery {
            fresh: last == 0,
            commits: last,
            cut,
        };
        let inner = Arc::new(Mutex::new(inner));
        Ok((
            Self {
                runtime,
                inner,
                journal_bytes_max,
            },
            recovery,
        ))
    }

    /// Everything that is on disk. Cheap; do not keep it across a wait: a change must then copy.
    #[must_use]
    pub fn state(&self) -> Arc<MetadataState> {
        Arc::clone(&self.lock().visible)
    }

    /// Runs `command` on the newest state and makes the records that it adds durable.
    ///
    /// Answers what the command answered, and the records, which are visible by then. When the
    /// caller goes away while it waits, the commit goes on.
    ///
    /// # Errors
    /// [`CommitError`].
    pub async fn commit<T, E>(
        &self,
        command: impl FnOnce(&mut Draft<'_>) -> Result<T, E>,
    ) -> Result<(T, Arc<[MetadataRecord]>), CommitError<E>> {
        while let Some(released) = self.held() {
            // Dropped senders wake as well: the state is looked at again.
            let _ = released.await;
        }
        let (answer, records, index) = self.lock().append(command)?;
        if !records.is_empty() {
            self.start_flushing();
            while let Some(woken) = self.not_durable(index).map_err(CommitError::Offline)? {
                let _ = woken.await;
            }
        }
        Ok((answer, records))
    }

    /// Runs `command` on the newest state and forgets what it adds.
    ///
    /// # Errors
    /// What the command answers.
    pub fn rehearse<T, E>(
        &self,
        command: impl FnOnce(&mut Draft<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut state = self.lock().pending.clone();
        command(&mut Draft {
            state: &mut state,
            records: Vec::new(),
        })
    }

    /// Tells `queue` of every commit that is on disk from now on.
    pub(crate) fn tell(&self, queue: Arc<ChangeQueue>) {
        self.lock().told = Some(queue);
    }

    fn lock(&self) -> MutexGuard<'_, Inner<<R::Disk as Disk>::File>> {
        self.inner.lock().expect("no step under this lock panics")
    }

    fn held(&self) -> Option<oneshot::Receiver<()>> {
        let mut inner = self.lock();
        (inner.holding && inner.failed.is_none()).then(|| inner.wait())
    }

    /// `None` when commit `index` is on disk; else what wakes when there is news.
    fn not_durable(&self, index: u64) -> Result<Option<oneshot::Receiver<()>>, DiskError> {
        let mut inner = self.lock();
        if inner.durable >= index {
            return Ok(None);
        }
        match &inner.failed {
            Some(error) => Err(error.clone()),
            None => Ok(Some(inner.wait())),
        }
    }
}

/// A command's answer, its records, and the number of the commit that holds them.
type Appended<T> = (T, Arc<[MetadataRecord]>, u64);

impl<F: File> Inner<F> {
    fn append<T, E>(
        &mut self,
        command: impl FnOnce(&mut Draft<'_>) -> Result<T, E>,
    ) -> Result<Appended<T>, CommitError<E>> {
        if let Some(error) = &self.failed {
            return Err(CommitError::Offline(error.clone()));
        }
        let mut draft = Draft {
            state: &mut self.pending,
            records: Vec::new(),
        };
        let outcome = command(&mut draft);
        let records: Arc<[MetadataRecord]> = draft.records.into();
        let answer = match outcome {
            Ok(answer) if records.is_empty() => return Ok((answer, records, self.appended)),
            Ok(answer) => answer,
            Err(refused) => {
                if !records.is_empty() {
                    self.roll_back();
                }
                return Err(CommitError::Refused(refused));
            }
        };
        let index = self.appended + 1;
        let frame = frame::encode(index, self.durable, &records);
        if let Err(error) = self.file.append(&[&frame]) {
            self.roll_back();
            if error.kind == DiskErrorKind::Full {
                return Err(CommitError::Full(error));
            }
            self.failed = Some(error.clone());
            self.wake();
            return Err(CommitError::Offline(error));
        }
        self.appended = index;
        self.queue.push_back((index, Arc::clone(&records)));
        Ok((answer, records, index))
    }

    /// Forgets what a command added and no file holds.
    fn roll_back(&mut self) {
        let mut state = MetadataState::clone(&self.visible);
        for record in self.queue.iter().flat_map(|(_, records)| records.iter()) {
            state
                .apply(record)
                .expect("these records were applied before");
        }
        self.pending = state;
    }

    /// Shows readers every commit up to `index` and wakes those who wait.
    fn became_durable(&mut self, index: u64) {
        assert!(
            index <= self.appended,
            "commit {index} is on disk and was never appended"
        );
        let visible = Arc::make_mut(&mut self.visible);
        while let Some((_, records)) = self.queue.pop_front_if(|(at, _)| *at <= index) {
            for record in records.iter() {
                visible
                    .apply(record)
                    .expect("these records were applied before");
            }
            if let Some(told) = &self.told
                && records.iter().any(MetadataRecord::acts)
            {
                told.push(records);
            }
        }
        self.durable = index;
        self.wake();
    }

    fn wait(&mut self) -> oneshot::Receiver<()> {
        let (sender, receiver) = oneshot::channel();
        self.waiters.push(sender);
        receiver
    }

    fn wake(&mut self) {
        for waiter in self.waiters.drain(..) {
            // A waiter that went away needs no wake.
            let _ = waiter.send(());
        }
    }
}

/// The file to append to after a start that found `journal` with commits up to `last`.
///
/// A sync of it may have failed in an earlier process: then the page cache shows commits that the
/// platter never got, and a later sync that succeeds proves nothing. Commits behind such a hole
/// would be out of reach after a power loss. So what was read goes to a snapshot, which is a new
/// file, and new commits to a new journal. Without space for that the old journal is synced and
/// believed.
async fn renewed<D: Disk>(
    disk: &D,
    state: &MetadataState,
    last: u64,
    journal: (D::File, String),
) -> Result<(D::File, String), DiskError> {
    let (file, path) = journal;
    file.sync().await?;
    if path == journal_path(last + 1) {
        // It holds no commit.
        return Ok((file, path));
    }
    let mut content = frame::header(FileKind::Snapshot, last);
    content.extend(frame::encode(last, last, &state.records()));
    let renewed = match disk.publish(SNAPSHOT, Bytes::from(content)).await {
        Ok(()) => create_journal(disk, last + 1).await,
        Err(error) => Err(error),
    };
    match renewed {
        Ok(renewed) => {
            // The snapshot covers it; one that stays is removed by the next start.
            let _ = disk.remove(&path);
            Ok(renewed)
        }
        Err(error) if error.kind == DiskErrorKind::Full => Ok((file, path)),
        Err(error) => Err(error),
    }
}

/// Makes the journal that starts with commit `first`, durably.
async fn create_journal<D: Disk>(disk: &D, first: u64) -> Result<(D::File, String), DiskError> {
    let path = journal_path(first);
    let file = disk.create(&path)?;
    file.append(&[&frame::header(FileKind::Journal, first)])?;
    file.sync().await?;
    disk.sync_dir(FOLDER).await?;
    Ok((file, path))
}
