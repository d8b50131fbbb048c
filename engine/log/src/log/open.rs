//! Opening a log: what is in its folder, which of it counts, and what must be rebuilt.

use highwater_record::{Corrupt, CorruptReason};
use highwater_runtime::{DirEntry, Disk, DiskErrorKind, File, Runtime};
use highwater_types::{LeaderEpoch, Offset, Position, SegmentNo, TopicPartition};

use super::recover::Recovery;
use super::{FileOf, Log, SyncPoint, snapshots};
use crate::checkpoint::LogCheckpoint;
use crate::config::OpenOptions;
use crate::epochs::Epochs;
use crate::error::LogError;
use crate::meta::{self, MetaRead, PartitionMeta};
use crate::report::RecoveryReport;
use crate::scan::ScanError;
use crate::segment::{FIRST_AT, Naming, Segment, parse_name, read_header};

/// The files of a partition's folder, by kind and rising number.
#[derive(Debug, Default)]
pub(crate) struct Files {
    pub(crate) segments: Vec<(SegmentNo, u64)>,
    pub(crate) rescues: Vec<(SegmentNo, u64)>,
    pub(crate) snapshots: Vec<Offset>,
    pub(crate) meta: bool,
}

impl Files {
    pub(crate) fn of(entries: &[DirEntry]) -> Self {
        let mut files = Self::default();
        for entry in entries {
            let name = entry.name.as_str();
            if let Some(no) = parse_name(name, ".msg") {
                files.segments.push((SegmentNo(no), entry.len));
            } else if let Some(no) = parse_name(name, ".rescue") {
                files.rescues.push((SegmentNo(no), entry.len));
            } else if let Some(offset) = parse_name(name, snapshots::SUFFIX) {
                files.snapshots.push(Offset(offset));
            } else if name == meta::FILE {
                files.meta = true;
            }
        }
        files.segments.sort_unstable();
        files.rescues.sort_unstable();
        files.snapshots.sort_unstable();
        files
    }

    /// The lowest number that no file has.
    fn next_segment(&self) -> SegmentNo {
        let all = self.segments.iter().chain(&self.rescues);
        SegmentNo(all.map(|(no, _)| no.0 + 1).max().unwrap_or(0))
    }
}

impl<R: Runtime> Log<R> {
    /// Opens a log and recovers it: what was synced is there afterwards, whole; of what was not,
    /// whole batches up to the first damage. What recovery moved is not durable yet: run
    /// [`Log::begin_sync`] before anything above [`Log::synced`] is acknowledged.
    ///
    /// # Errors
    /// [`LogError::Disk`] with `NotFound`: there is no such folder, create the log. Others: the
    /// partition stays offline; see [`LogError`].
    pub fn open(
        rt: &R,
        kv: Option<&R::Kv>,
        name: &TopicPartition,
        options: OpenOptions,
        now_ms: i64,
    ) -> Result<(Self, RecoveryReport), LogError> {
        let OpenOptions {
            topic_id,
            config,
            clean,
            checkpoint,
        } = options;
        let mut log = Self::bare(rt, kv, name, topic_id, config);
        let mut report = RecoveryReport::default();
        let files = Files::of(&log.disk.list(&log.folder)?);
        let meta = log.read_meta(&files, &mut report)?;
        log.meta_exists = files.meta;
        log.next_segment = files
            .next_segment()
            .max(meta.as_ref().map_or(SegmentNo(0), |meta| meta.next_segment))
            .max(checkpoint.map_or(SegmentNo(0), |checkpoint| checkpoint.next_segment));
        log.start_published = meta.as_ref().map_or(Offset::ZERO, |meta| meta.log_start);
        log.start = log
            .start_published
            .max(checkpoint.map_or(Offset::ZERO, |checkpoint| checkpoint.log_start));
        log.load_segments(&files, checkpoint.as_ref(), &mut report)?;

        let mut recovery = Recovery::new(checkpoint, now_ms, report);
        if log.is_clean(clean, &files, checkpoint.as_ref()) {
            recovery.report.clean = true;
            recovery.snapshots_synced = Offset::MAX;
            let checkpoint = checkpoint.expect("a clean log has a checkpoint");
            log.take_over(&checkpoint, now_ms);
        } else {
            log.recover(&files, &mut recovery)?;
        }
        if log.end() < log.start {
            // Everything was deleted, and what came after was lost (rule 24).
            log.restart_at(log.start, now_ms)?;
        }
        log.load_epochs(meta, &mut recovery);
        log.load_producers(&files, &mut recovery)?;
        log.replay(&mut recovery)?;
        log.settle_start(&mut recovery);
        if !log.snapshots.unproven.is_empty() {
            log.take_snapshot();
        }
        for segment in log
            .segments
            .split_last_mut()
            .map_or(&mut [][..], |(_, sealed)| sealed)
        {
            segment.cache_mut().file = None;
        }
        log.check();
        Ok((log, recovery.report))
    }

    /// Reads `partition.meta`; a damaged one counts as missing.
    fn read_meta(
        &mut self,
        files: &Files,
        report: &mut RecoveryReport,
    ) -> Result<Option<PartitionMeta>, LogError> {
        if !files.meta {
            return Ok(None);
        }
        let path = format!("{}/{}", self.folder, meta::FILE);
        match PartitionMeta::decode(&self.disk.read(&path)?) {
            MetaRead::Good(meta) if meta.topic_id == self.topic_id => Ok(Some(meta)),
            MetaRead::Good(meta) => Err(self.other_topic(meta.topic_id)),
            MetaRead::Newer(version) => Err(LogError::NewerFormat {
                file: path,
                version,
            }),
            MetaRead::Damaged => {
                report.meta_rebuilt = true;
                self.meta_dirty = true;
                Ok(None)
            }
        }
    }

    fn other_topic(&self, found: highwater_types::TopicId) -> LogError {
        LogError::OtherTopic {
            folder: self.folder.clone(),
            found,
            expected: self.topic_id,
        }
    }

    /// Opens every segment file and orders them. A file whose header never arrived holds nothing
    /// and goes; below the recovery point a bad header is damage, and the segment stays unserved.
    fn load_segments(
        &mut self,
        files: &Files,
        checkpoint: Option<&LogCheckpoint>,
        report: &mut RecoveryReport,
    ) -> Result<(), LogError> {
        for (no, len) in &files.segments {
            let is_last = files.segments.last().is_some_and(|(last, _)| last == no);
            let loaded = self.load_segment(*no, *len, Naming::Segment, is_last)?;
            let synced_below = checkpoint.map_or(SegmentNo(0), |point| point.segment);
            let segment = match loaded {
                Ok(segment) => segment,
                Err(corrupt) if *no < synced_below => {
                    let segment = self.broken_segment(*no, *len, corrupt)?;
                    report.broken_segments.push(segment.path(&self.folder));
                    segment
                }
                Err(_) => {
                    report.cut_segments += 1;
                    report.cut_bytes += len;
                    self.remove_segment_file(*no, Naming::Segment)?;
                    continue;
                }
            };
            // A higher number was written later: it replaces what starts where it does.
            while self
                .segments
                .last()
                .is_some_and(|last| last.start >= segment.start)
                && segment.broken.is_none()
            {
                let old = self.segments.pop().expect("the loop saw one");
                self.remove_segment_file(old.no, old.naming)?;
            }
            self.segments.push(segment);
        }
        // Segments below the log start stay until `retain`: producers may be known by them only.
        self.join_segments();
        Ok(())
    }

    /// Opens one segment file; `Err` inside when no header of this partition stands in it.
    pub(super) fn load_segment(
        &self,
        no: SegmentNo,
        len: u64,
        naming: Naming,
        is_last: bool,
    ) -> Result<Result<Segment<FileOf<R>>, Corrupt>, LogError> {
        let path = crate::segment::path(&self.folder, no, naming);
        let file = self.disk.open(&path)?;
        let corrupt = |reason| {
            Ok(Err(Corrupt {
                at: Position(0),
                reason,
            }))
        };
        let header = match read_header(&file, len) {
            Ok(Some(header)) => header,
            Ok(None) => return corrupt(CorruptReason::Lengths),
            Err(ScanError::Disk(error)) => return Err(error.into()),
            // A newer release would have written the last segment; elsewhere it is damage.
            Err(ScanError::Corrupt(Corrupt {
                reason: CorruptReason::Version(version),
                ..
            })) if version > 0 && is_last => {
                return Err(LogError::NewerFormat {
                    file: path,
                    version,
                });
            }
            Err(ScanError::Corrupt(corrupt)) => return Ok(Err(corrupt)),
        };
        if header.topic_id != self.topic_id {
            return Err(self.other_topic(header.topic_id));
        }
        if header.segment_no != no || header.partition != self.name.partition {
            return corrupt(CorruptReason::Facts);
        }
        let mut segment = Segment::new(no, header.start_offset, header.created_ms, len, file);
        segment.naming = naming;
        Ok(Ok(segment))
    }

    /// A sealed segment that cannot be read: it starts where its predecessor's batches end.
    fn broken_segment(
        &self,
        no: SegmentNo,
        len: u64,
        corrupt: Corrupt,
    ) -> Result<Segment<FileOf<R>>, LogError> {
        let file = self
            .disk
            .open(&crate::segment::path(&self.folder, no, Naming::Segment))?;
        let mut start = self.start;
        if let Some(before) = self.segments.last() {
            let file = before.file(&self.disk, &self.folder)?;
            let mut hops = crate::scan::Hops::new(&file, FIRST_AT, before.len);
            start = before.start;
            while let Ok(Some((_, head))) = hops.next() {
                start = head.end_offset();
            }
        }
        let mut segment = Segment::new(no, start, 0, len, file);
        segment.broken = Some(corrupt);
        Ok(segment)
    }

    /// Sets every sealed segment's end to its successor's start.
    pub(super) fn join_segments(&mut self) {
        for at in 1..self.segments.len() {
            self.segments[at - 1].end = self.segments[at].start;
        }
    }

    pub(super) fn remove_segment_file(
        &mut self,
        no: SegmentNo,
        naming: Naming,
    ) -> Result<(), LogError> {
        self.folder_dirty = true;
        match self
            .disk
            .remove(&crate::segment::path(&self.folder, no, naming))
        {
            Err(error) if error.kind != DiskErrorKind::NotFound => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// Whether the folder is exactly what a clean stop left.
    fn is_clean(&self, marker: bool, files: &Files, checkpoint: Option<&LogCheckpoint>) -> bool {
        let (Some(last), Some(point)) = (self.segments.last(), checkpoint) else {
            return false;
        };
        let is_whole = last.no == point.segment && last.len == point.position;
        marker && point.clean && is_whole && last.broken.is_none() && files.rescues.is_empty()
    }

    /// Believes the checkpoint of a clean stop.
    fn take_over(&mut self, checkpoint: &LogCheckpoint, now_ms: i64) {
        self.last_mut().end = checkpoint.synced;
        self.synced = SyncPoint {
            segment: checkpoint.segment,
            position: checkpoint.position,
            offset: checkpoint.synced,
            max_timestamp: checkpoint.max_timestamp,
            first_timestamp: checkpoint.first_timestamp,
            producers_empty: checkpoint.producers_empty,
            epoch_newest: checkpoint.epoch_newest,
        };
        self.active = super::Active::empty(checkpoint.synced);
        self.active.max_timestamp = checkpoint.max_timestamp;
        self.active.first_timestamp = checkpoint.first_timestamp;
        let (is_empty, len, created_ms) = (
            self.last().is_empty(),
            self.last().len,
            self.last().created_ms,
        );
        self.active.first_append_ms = (!is_empty).then_some(created_ms.min(now_ms));
        self.active.kv_due = len;
        self.last_mut().cache_mut().verified = (len, u64::MAX);
    }

    /// The epoch list from `partition.meta`, or what its absence means; the replay adds the rest.
    fn load_epochs(&mut self, meta: Option<PartitionMeta>, recovery: &mut Recovery) {
        let newest = recovery
            .checkpoint
            .and_then(|checkpoint| checkpoint.epoch_newest);
        let first = self.segments[0].start;
        self.epochs = match meta {
            Some(meta) => meta.epochs,
            None if recovery.checkpoint.is_none()
                || newest.is_some_and(|newest| newest.0 > 0)
                || recovery.report.meta_rebuilt =>
            {
                recovery.epochs_from = Some(first);
                recovery.report.epochs_rebuilt = recovery.checkpoint.is_some();
                Epochs::default()
            }
            None => {
                let mut epochs = Epochs::default();
                if newest.is_some() {
                    epochs.assign(LeaderEpoch(0), first);
                }
                epochs
            }
        };
        self.epochs.clamp_end(self.end());
    }

    /// The log starts where its first segment does, or later.
    fn settle_start(&mut self, recovery: &mut Recovery) {
        let first = self.segments[0].start;
        if self.start < first {
            recovery.report.missing.get_or_insert((self.start, first));
            self.start = first;
            self.meta_dirty |= first > self.start_published;
        }
        self.epochs.truncate_start(self.start);
        self.meta_dirty |= self.start > self.start_published;
    }

    /// The length of the active file, beyond what counts of it.
    pub(super) fn file_len(&mut self, at: usize) -> u64 {
        let cache = self.segments[at].cache_mut();
        cache.file.as_ref().map_or(0, File::len)
    }
}
