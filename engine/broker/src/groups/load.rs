//! Reading a partition of `__consumer_offsets` from its start to its end.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use highwater_coordinator::{Event, RecordError, Replay};
use highwater_log::ReadError;
use highwater_partition::{Isolation, OffsetError, ReadBudget, Readable, Status};
use highwater_record::{BatchKind, Corrupt, StoredBatch};
use highwater_runtime::Runtime;
use highwater_types::{Offset, Position, TopicId};

use super::Slot;

/// Bytes of one read.
const READ_BYTES: usize = 1 << 20;

/// How long to wait for a partition that recovers.
const PAUSE: Duration = Duration::from_millis(250);

/// Why records could not be read.
#[derive(Debug, thiserror::Error)]
enum LoadError {
    /// The log does not give them.
    #[error(transparent)]
    Log(#[from] OffsetError),
    /// The log gives damaged ones.
    #[error(transparent)]
    Corrupt(#[from] Corrupt),
    /// They are no records of groups, or of a newer version.
    #[error("at offset {offset}: {error}")]
    Record {
        /// The record's offset.
        offset: Offset,
        /// What is wrong with it.
        error: RecordError,
    },
}

impl<R: Runtime> Slot<R> {
    /// Reads everything in a task of its own, then serves. `known` are the topics that exist:
    /// offsets of others are dropped.
    pub(super) fn load(self: &Arc<Self>, known: Option<BTreeSet<TopicId>>) {
        let slot = Arc::clone(self);
        self.runtime.spawn("group-load", async move {
            match slot.replay().await {
                Ok(Some((replay, read_bytes))) => slot.loaded(replay, read_bytes, known),
                Ok(None) => {}
                Err(error) => {
                    slot.failed();
                    slot.log(format_args!("groups are not served: {error}"));
                }
            }
        });
    }

    fn loaded(
        self: &Arc<Self>,
        replay: Replay,
        read_bytes: usize,
        known: Option<BTreeSet<TopicId>>,
    ) {
        if !self.ready(|config, now| replay.finish(config, now), read_bytes) {
            return;
        }
        let Some(known) = known else { return };
        let of_groups = self
            .look(highwater_coordinator::Coordinator::topics)
            .unwrap_or_default();
        let gone: Vec<_> = of_groups
            .into_iter()
            .filter(|id| !known.contains(id))
            .collect();
        if !gone.is_empty() {
            self.event(Event::TopicsDeleted(gone));
        }
    }

    /// Reads up to the log's end, which must be durable; `None` when the partition went away.
    async fn replay(&self) -> Result<Option<(Replay, usize)>, LoadError> {
        let mut replay = Replay::default();
        let mut read_bytes = 0;
        let mut from = self.partition.offsets().start;
        let budget = ReadBudget {
            max_bytes: READ_BYTES,
            at_least_one: true,
            tail: false,
        };
        while self.is_loading() {
            match self.partition.status() {
                Status::Online => {}
                Status::Offline(_) => {
                    // Recovery may cut what was read: begin again.
                    (replay, read_bytes) = (Replay::default(), 0);
                    self.runtime.sleep(PAUSE).await;
                    from = self.partition.offsets().start;
                    continue;
                }
                Status::Deleted => return Ok(None),
            }
            let readable = match self
                .partition
                .read(from, budget, Isolation::Uncommitted, None)
            {
                Err(OffsetError::Offline(_)) => {
                    self.partition.sync_now().await;
                    self.runtime.sleep(PAUSE).await;
                    continue;
                }
                // A disk that fails a read may serve the next one; giving up would leave the
                // groups unserved until the next start.
                Err(OffsetError::Log(ReadError::Disk(error))) => {
                    self.log(format_args!("reading groups, will try again: {error}"));
                    self.runtime.sleep(PAUSE).await;
                    continue;
                }
                other => other?,
            };
            let (Readable::Stored { bytes, offsets }, _) = (readable, ()) else {
                continue;
            };
            if !bytes.is_empty() {
                read_bytes += bytes.len();
                from = apply(&mut replay, &bytes)?.max(from);
                // Others on this core have their turn.
                self.runtime.sleep(Duration::ZERO).await;
            } else if from >= offsets.end {
                return Ok(Some((replay, read_bytes)));
            } else {
                // What a crash left behind counts once it is on the platter.
                self.partition.sync_now().await;
                if self.partition.offsets().high_watermark <= from {
                    self.runtime.sleep(PAUSE).await;
                }
            }
        }
        Ok(None)
    }
}

/// Takes the records of whole stored batches; answers the offset behind them.
fn apply(replay: &mut Replay, stored: &Bytes) -> Result<Offset, LoadError> {
    let (mut at, mut end) = (0, Offset::ZERO);
    while let Some(batch) = StoredBatch::parse(&stored[at..], Position(at as u64))? {
        at += batch.bytes.len();
        end = batch.head.end_offset();
        if batch.head.facts.kind != BatchKind::Records {
            continue;
        }
        for frame in batch.verified_frames() {
            let frame = frame?;
            let part = |part: Option<&[u8]>| part.map(|part| stored.slice_ref(part));
            let (key, value) = (part(frame.key), part(frame.value));
            replay
                .apply(key.as_ref(), value.as_ref())
                .map_err(|error| LoadError::Record {
                    offset: frame.offset,
                    error,
                })?;
        }
    }
    Ok(end)
}
