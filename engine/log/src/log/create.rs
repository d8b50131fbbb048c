//! Making the folder of a new partition.

use highwater_record::SegmentHeader;
use highwater_runtime::{Disk, DiskError, DiskErrorKind, File, Runtime};
use highwater_types::{Offset, SegmentNo, TopicId, TopicPartition};

use super::{Active, FileOf, Log, Snapshots, SyncPoint, folder_of};
use crate::config::LogConfig;
use crate::epochs::Epochs;
use crate::error::LogError;
use crate::index::{KvIndex, PositionIndex};
use crate::producers::Producers;
use crate::segment::{FIRST_AT, Naming, Segment, path};

impl<R: Runtime> Log<R> {
    /// Makes the folder and the first segment of a new partition. Durable with the first sync
    /// job. The topic id stands in the segment's header, ahead of all data.
    ///
    /// # Errors
    /// `Exists` when the folder has files already: open it instead. `Full`, `ReadOnly` and
    /// others: nothing usable was made; try again later.
    pub fn create(
        rt: &R,
        kv: Option<&R::Kv>,
        name: &TopicPartition,
        topic_id: TopicId,
        config: LogConfig,
        now_ms: i64,
    ) -> Result<Self, LogError> {
        let disk = rt.disk();
        let folder = folder_of(name);
        disk.create_dir(&folder)?;
        if !disk.list(&folder)?.is_empty() {
            let kind = DiskErrorKind::Exists;
            return Err(DiskError {
                op: "create",
                path: folder,
                kind,
            }
            .into());
        }
        let mut log = Self::bare(rt, kv, name, topic_id, config);
        log.add_segment(SegmentNo(0), Offset::ZERO, now_ms)?;
        log.synced = log.start_of_segment(0);
        log.root_dirty = true;
        log.check();
        Ok(log)
    }

    /// Whether the partition has a folder with files.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn exists(rt: &R, name: &TopicPartition) -> Result<bool, LogError> {
        match rt.disk().list(&folder_of(name)) {
            Ok(entries) => Ok(!entries.is_empty()),
            Err(error) if error.kind == DiskErrorKind::NotFound => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// A log without a segment: the caller adds one before anything else.
    pub(super) fn bare(
        rt: &R,
        kv: Option<&R::Kv>,
        name: &TopicPartition,
        topic_id: TopicId,
        config: LogConfig,
    ) -> Self {
        Self {
            disk: rt.disk().clone(),
            kv: kv.cloned(),
            kv_index: KvIndex {
                topic_id,
                partition: name.partition,
            },
            name: name.clone(),
            folder: folder_of(name),
            topic_id,
            config,
            segments: Vec::with_capacity(1),
            active: Active::empty(Offset::ZERO),
            next_segment: SegmentNo(0),
            start: Offset::ZERO,
            epochs: Epochs::default(),
            producers: Producers::default(),
            snapshots: Snapshots::default(),
            synced: SyncPoint::nothing(),
            start_published: Offset::ZERO,
            truncations: 0,
            sync_in_flight: false,
            syncs_done: 0,
            files_cut: Vec::new(),
            folder_dirty: false,
            root_dirty: false,
            meta_exists: false,
            meta_dirty: false,
            meta_stalled: false,
            doomed: Vec::new(),
            rescued: Vec::new(),
            kv_pending: Vec::new(),
            failed: None,
        }
    }

    /// Opens an empty segment `no` that starts at `start`; it becomes the active one.
    ///
    /// # Errors
    /// Nothing changed, but the number may be used up.
    pub(super) fn add_segment(
        &mut self,
        no: SegmentNo,
        start: Offset,
        now_ms: i64,
    ) -> Result<(), DiskError> {
        let file = self.make_segment_file(no, Naming::Segment, start, now_ms)?;
        let mut segment = Segment::new(no, start, now_ms, FIRST_AT, file);
        let cache = segment.cache_mut();
        cache.index = Some(PositionIndex::default());
        // Every byte of it will have been written by this process.
        cache.verified = (0, u64::MAX);
        self.segments.push(segment);
        self.active = Active {
            last_print: self.active.last_print,
            ..Active::empty(start)
        };
        self.folder_dirty = true;
        Ok(())
    }

    /// Makes a segment file that holds its header only.
    pub(super) fn make_segment_file(
        &mut self,
        no: SegmentNo,
        naming: Naming,
        start: Offset,
        now_ms: i64,
    ) -> Result<FileOf<R>, DiskError> {
        let path = path(&self.folder, no, naming);
        let file = self.disk.create(&path)?;
        // Whatever happens below, a file of this number was there: it is never used again.
        self.next_segment = self.next_segment.max(SegmentNo(no.0 + 1));
        let header = SegmentHeader {
            topic_id: self.topic_id,
            partition: self.name.partition,
            segment_no: no,
            start_offset: start,
            created_ms: now_ms,
        };
        if let Err(error) = file.append(&[&header.encode()]) {
            // Recovery removes it should this fail too: a file without a header holds nothing.
            let _ = self.disk.remove(&path);
            return Err(error);
        }
        Ok(file)
    }

    /// The place right behind the header of segment `at`, where nothing of it is durable yet.
    pub(super) fn start_of_segment(&self, at: usize) -> SyncPoint {
        let segment = &self.segments[at];
        SyncPoint {
            segment: segment.no,
            position: 0,
            offset: segment.start,
            max_timestamp: -1,
            first_timestamp: -1,
            producers_empty: false,
            epoch_newest: None,
        }
    }
}

impl SyncPoint {
    /// Before the first byte of a log.
    pub(super) fn nothing() -> Self {
        Self {
            segment: SegmentNo(0),
            position: 0,
            offset: Offset::ZERO,
            max_timestamp: -1,
            first_timestamp: -1,
            producers_empty: true,
            epoch_newest: None,
        }
    }
}
