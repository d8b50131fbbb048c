//! A reader asks: records from an offset, the watermarks, an offset by time, an epoch's end.

use std::sync::Arc;

use bytes::Bytes;
use highwater_log::EpochEnd;
use highwater_runtime::Runtime;
use highwater_types::{LeaderEpoch, Offset};

use crate::partition::State;
use crate::tail::TailBatch;
use crate::{OffsetError, Offsets, Partition, Status, Waiter};

/// Which records a reader may see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// Below the high watermark.
    Uncommitted,
    /// Below the last stable offset.
    Committed,
}

impl Isolation {
    /// The first offset that may not be seen.
    #[must_use]
    pub fn limit(self, offsets: &Offsets) -> Offset {
        match self {
            Self::Uncommitted => offsets.high_watermark,
            Self::Committed => offsets.last_stable,
        }
    }
}

/// The epoch that a caller believes to be current; `None` asks for no check.
pub type EpochFence = Option<LeaderEpoch>;

/// How much a read may bring, and from where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadBudget {
    /// At most so many bytes, as they are stored.
    pub max_bytes: usize,
    /// The first batch may be larger than that (rule 63).
    pub at_least_one: bool,
    /// The producers' own batches will do, compressed as they were sent.
    pub tail: bool,
}

/// What a read found.
#[derive(Debug)]
pub enum Readable {
    /// Stored batches, back to back, the first one holding the asked offset; may be empty.
    Stored {
        /// The bytes as the log has them.
        bytes: Bytes,
        /// The watermarks that limited the read.
        offsets: Offsets,
    },
    /// The producers' own batches from the tail.
    Tail {
        /// The batches in order.
        batches: Vec<TailBatch>,
        /// The watermarks that limited the read.
        offsets: Offsets,
    },
}

/// The answer to "which offset has this time".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundTime {
    /// The record's offset.
    pub offset: Offset,
    /// Its timestamp in ms.
    pub timestamp: i64,
    /// The epoch of the batch that holds it.
    pub epoch: LeaderEpoch,
}

impl<R: Runtime> Partition<R> {
    /// Reads whole batches from the one that holds `from`. `None` in `fence` skips the check.
    ///
    /// # Errors
    /// [`OffsetError`].
    pub fn read(
        &self,
        from: Offset,
        budget: ReadBudget,
        isolation: Isolation,
        fence: EpochFence,
    ) -> Result<Readable, OffsetError> {
        let ReadBudget {
            max_bytes,
            at_least_one,
            tail,
        } = budget;
        let mut state = self.lock();
        let offsets = state.readable(fence)?;
        if from < offsets.start || from > offsets.end {
            let Offsets { start, end, .. } = offsets;
            return Err(OffsetError::OutOfRange {
                asked: from,
                start,
                end,
            });
        }
        let limit = isolation.limit(&offsets);
        if from >= limit || (max_bytes == 0 && !at_least_one) {
            return Ok(Readable::Stored {
                bytes: Bytes::new(),
                offsets,
            });
        }
        if tail {
            let batches = state.tail.read(from, limit, max_bytes, at_least_one);
            if !batches.is_empty() {
                return Ok(Readable::Tail { batches, offsets });
            }
        }
        let slice = state.log.read(from, limit, max_bytes, at_least_one)?;
        Ok(Readable::Stored {
            bytes: slice.bytes,
            offsets,
        })
    }

    /// The watermarks, if the caller's epoch is current.
    ///
    /// # Errors
    /// [`OffsetError`].
    pub fn watermarks(&self, fence: EpochFence) -> Result<(Offsets, LeaderEpoch), OffsetError> {
        let state = self.lock();
        state.readable(fence).map(|offsets| (offsets, state.epoch))
    }

    /// The first record below `isolation`'s limit with a timestamp of `timestamp` ms or more.
    ///
    /// # Errors
    /// [`OffsetError`].
    pub fn find_time(
        &self,
        timestamp: i64,
        isolation: Isolation,
        fence: EpochFence,
    ) -> Result<Option<FoundTime>, OffsetError> {
        let state = self.lock();
        let limit = isolation.limit(&state.readable(fence)?);
        let found = state.log.offset_for_time(timestamp, limit)?;
        Ok(found.map(|(offset, timestamp, epoch)| FoundTime {
            offset,
            timestamp,
            epoch,
        }))
    }

    /// The first record that has the largest timestamp below `isolation`'s limit.
    ///
    /// # Errors
    /// [`OffsetError`].
    pub fn find_max_time(
        &self,
        isolation: Isolation,
        fence: EpochFence,
    ) -> Result<Option<FoundTime>, OffsetError> {
        let state = self.lock();
        let limit = isolation.limit(&state.readable(fence)?);
        let found = state.log.max_timestamp(limit)?;
        Ok(found.map(|(offset, timestamp, epoch)| FoundTime {
            offset,
            timestamp,
            epoch,
        }))
    }

    /// Where the largest epoch `<= asked` ends (rule 31); `None` when this log cannot say.
    ///
    /// # Errors
    /// [`OffsetError`] when the caller's own epoch is not current.
    pub fn epoch_end(
        &self,
        asked: LeaderEpoch,
        fence: EpochFence,
    ) -> Result<Option<EpochEnd>, OffsetError> {
        let state = self.lock();
        state.readable(fence)?;
        Ok(state.log.end_offset_for(asked))
    }

    /// The epoch of the batch at `offset`, for answers that carry one.
    pub fn epoch_at(&self, offset: Offset) -> Option<LeaderEpoch> {
        self.lock().log.epoch_at(offset)
    }

    /// Parks `waiter` until bytes can be read, unless the limit already differs from `seen`:
    /// then it is woken at once. Leaves when the answer is dropped.
    pub fn park(
        self: &Arc<Self>,
        waiter: &Arc<Waiter>,
        isolation: Isolation,
        seen: Offset,
    ) -> Parked<R> {
        let mut state = self.lock();
        // An offline partition wakes its waiters once it is back; until then they wait.
        if state.status == Status::Deleted || isolation.limit(&state.offsets) != seen {
            waiter.wake();
        }
        let id = state.waiters.park(waiter);
        Parked {
            partition: Arc::clone(self),
            id,
        }
    }
}

/// A parked waiter's place in a partition; leaves on drop.
#[derive(Debug)]
pub struct Parked<R: Runtime> {
    partition: Arc<Partition<R>>,
    id: u64,
}

impl<R: Runtime> Drop for Parked<R> {
    fn drop(&mut self) {
        self.partition.lock().waiters.leave(self.id);
    }
}

impl<R: Runtime> State<R> {
    /// The watermarks if reads are served and the caller's epoch is ours (rules 32 and 33).
    /// An offline partition goes on to serve what it had committed.
    fn readable(&self, fence: EpochFence) -> Result<Offsets, OffsetError> {
        let current = self.epoch;
        match fence {
            Some(asked) if asked < current => return Err(OffsetError::Fenced { asked, current }),
            Some(asked) if asked > current => {
                return Err(OffsetError::UnknownEpoch { asked, current });
            }
            Some(_) | None => {}
        }
        match &self.status {
            Status::Online | Status::Offline(_) => match self.unproven {
                None => Ok(self.offsets),
                Some(end) => Err(OffsetError::Offline(format!(
                    "what recovery found up to offset {end} is not synced yet"
                ))),
            },
            Status::Deleted => Err(OffsetError::Deleted),
        }
    }
}
