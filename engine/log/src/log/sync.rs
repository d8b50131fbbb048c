//! Making appended bytes durable: a job is taken under the lock and awaited outside of it.
//!
//! A job covers everything appended before it was taken: segment files in order, the names of new
//! files, the folder's own name, producer snapshots, `partition.meta`. `synced` moves when all
//! of it is on the platter, so it never counts what a power loss could take.

use bytes::Bytes;
use highwater_runtime::{Disk, DiskError, DiskErrorKind, File, Kv, KvOp, Runtime};
use highwater_types::Offset;

use super::{FileOf, Log, SyncPoint};
use crate::meta::{self, PartitionMeta};
use crate::segment::{Naming, path};

/// What must be awaited before `synced` may move. At most one a log is under way.
#[must_use = "appended records are durable only after the job ran"]
pub struct SyncJob<R: Runtime> {
    disk: R::Disk,
    kv: Option<R::Kv>,
    folder: String,
    sync_folder: bool,
    sync_root: bool,
    files: Vec<FileOf<R>>,
    snapshots: Vec<(Offset, FileOf<R>)>,
    /// The rescue copy's name, and the one it gets when its bytes are on the platter.
    rename: Option<(String, String)>,
    meta: Option<(Bytes, Offset)>,
    kv_ops: Vec<KvOp>,
    point: SyncPoint,
    truncations: u64,
}

/// The proof that a [`SyncJob`] succeeded, for [`Log::finish_sync`].
#[derive(Debug)]
pub struct SyncDone {
    point: SyncPoint,
    truncations: u64,
    snapshots: Vec<Offset>,
    renamed: bool,
    /// The log start in the `partition.meta` that was published.
    meta_start: Option<Offset>,
    /// There was no space for `partition.meta`.
    meta_full: bool,
}

impl SyncDone {
    /// Up to where the log is on the platter.
    #[must_use]
    pub fn synced(&self) -> Offset {
        self.point.offset
    }
}

impl<R: Runtime> SyncJob<R> {
    /// The log end when the job was taken: what `synced` will be.
    #[must_use]
    pub fn end(&self) -> Offset {
        self.point.offset
    }

    /// Runs the job. Once begun it must be finished: no timeout around it.
    ///
    /// # Errors
    /// The disk failed: nothing is known about what is durable. The caller passes the error to
    /// [`Log::fail`] and later reopens the log.
    pub async fn run(self) -> Result<SyncDone, DiskError> {
        // Names first: a removed snapshot must be gone before records take its offsets.
        if self.sync_folder {
            self.disk.sync_dir(&self.folder).await?;
        }
        for file in &self.files {
            file.sync().await?;
        }
        for (_, file) in &self.snapshots {
            file.sync().await?;
        }
        if let Some((from, to)) = &self.rename {
            self.disk.rename(from, to)?;
            self.disk.sync_dir(&self.folder).await?;
        }
        if self.sync_root {
            self.disk.sync_dir("").await?;
        }
        let (mut meta_start, mut meta_full) = (None, false);
        if let Some((content, start)) = self.meta {
            let path = format!("{}/{}", self.folder, meta::FILE);
            match self.disk.publish(&path, content).await {
                Ok(()) => meta_start = Some(start),
                Err(error) if error.kind == DiskErrorKind::Full => meta_full = true,
                Err(error) => return Err(error),
            }
        }
        if let Some(kv) = &self.kv
            && !self.kv_ops.is_empty()
        {
            // A store that takes no writes costs a scan later; the log goes on without it.
            let _ = kv.write(&self.kv_ops);
        }
        Ok(SyncDone {
            point: self.point,
            truncations: self.truncations,
            snapshots: self
                .snapshots
                .into_iter()
                .map(|(offset, _)| offset)
                .collect(),
            renamed: self.rename.is_some(),
            meta_start,
            meta_full,
        })
    }
}

impl<R: Runtime> Log<R> {
    /// Whether something is not durable yet that a sync job would make durable.
    #[must_use]
    pub fn needs_sync(&self) -> bool {
        self.has_unsynced_bytes()
            || !self.files_cut.is_empty()
            || self.folder_dirty
            || self.root_dirty
            || (self.meta_dirty && !self.meta_stalled)
            || !self.snapshots.pending.is_empty()
    }

    fn has_unsynced_bytes(&self) -> bool {
        let (last, synced) = (self.last(), &self.synced);
        last.no > synced.segment || last.len > synced.position
    }

    /// A job that makes everything appended so far durable. `None` when nothing is to do, when
    /// the log is offline, and while another job is under way: ask again after
    /// [`Log::finish_sync`].
    pub fn begin_sync(&mut self) -> Option<SyncJob<R>> {
        if self.sync_in_flight || self.failed.is_some() || !self.needs_sync() {
            return None;
        }
        if self.snapshot_is_due() {
            self.take_snapshot();
        }
        let mut files = Vec::new();
        let mut rename = None;
        for segment in &self.segments {
            let is_dirty = segment.no > self.synced.segment
                || self.files_cut.contains(&segment.no)
                || (segment.no == self.synced.segment && segment.len > self.synced.position);
            if !is_dirty {
                continue;
            }
            match segment.file(&self.disk, &self.folder) {
                Ok(file) => files.push(file),
                Err(error) => {
                    self.failed = Some(error);
                    return None;
                }
            }
            if segment.naming == Naming::Rescue {
                let to = path(&self.folder, segment.no, Naming::Segment);
                rename = Some((segment.path(&self.folder), to));
            }
        }
        let meta = self.meta_dirty.then(|| {
            let meta = PartitionMeta {
                topic_id: self.topic_id,
                log_start: self.start,
                next_segment: self.next_segment,
                epochs: self.epochs.clone(),
            };
            (meta.encode(), self.start)
        });
        self.sync_in_flight = true;
        self.files_cut.clear();
        self.meta_exists |= self.meta_dirty;
        self.meta_dirty = false;
        Some(SyncJob {
            disk: self.disk.clone(),
            kv: self.kv.clone(),
            folder: self.folder.clone(),
            sync_folder: std::mem::take(&mut self.folder_dirty),
            sync_root: std::mem::take(&mut self.root_dirty),
            files,
            snapshots: self.snapshots.pending.clone(),
            rename,
            meta,
            kv_ops: std::mem::take(&mut self.kv_pending),
            point: self.point_at_end(),
            truncations: self.truncations,
        })
    }

    /// Moves `synced` to where the job's log end was.
    pub fn finish_sync(&mut self, done: SyncDone) {
        assert!(self.sync_in_flight, "a sync ended that never began");
        self.sync_in_flight = false;
        self.syncs_done += 1;
        if let Some(start) = done.meta_start {
            self.start_published = self.start_published.max(start);
        }
        self.meta_dirty |= done.meta_full;
        self.meta_stalled = done.meta_full;
        if done.meta_full {
            // Without space for it old files must go first: see `retain`.
            self.remove_oldest_doomed();
        }
        if done.renamed {
            self.rescue_is_durable();
        }
        if done.truncations == self.truncations {
            self.synced = done.point;
        }
        self.snapshots_synced(&done.snapshots);
        self.check();
    }

    /// The log end, with what a scan up to it would have found.
    pub(super) fn point_at_end(&self) -> SyncPoint {
        let last = self.last();
        SyncPoint {
            segment: last.no,
            position: last.len,
            offset: last.end,
            max_timestamp: self.active.max_timestamp,
            first_timestamp: self.active.first_timestamp,
            producers_empty: self.producers.is_empty(),
            epoch_newest: self.epochs.newest(),
        }
    }

    /// Whether there is no `partition.meta`, and log start and epochs are what that means: one
    /// epoch, 0, from the first segment's start on, where the log starts.
    pub(super) fn meta_is_default(&self) -> bool {
        let first = self.segments[0].start;
        let entries = self.epochs.entries();
        !self.meta_exists
            && self.start == first
            && first == Offset::ZERO
            && self.start_published == Offset::ZERO
            && entries
                .iter()
                .all(|(epoch, start)| epoch.0 == 0 && *start == Offset::ZERO)
    }
}
