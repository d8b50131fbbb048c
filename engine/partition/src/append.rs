//! A batch arrives from a producer.

use std::sync::Arc;

use bytes::Bytes;
use highwater_record::StagedBatch;
use highwater_runtime::Runtime;
use highwater_runtime::task::oneshot;
use highwater_types::Offset;

use crate::partition::State;
use crate::{AckError, Partition, ProduceError, Status};

/// Kafka's attribute bit for "the timestamp is the append's".
const TIMESTAMP_TYPE: u16 = 1 << 3;

/// What a producer waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acks {
    /// Nothing (acks=0).
    None,
    /// The leader has the batch at the topic's durability (acks=1).
    Leader,
    /// Every in-sync replica has it at the topic's durability (acks=all).
    All,
}

/// A batch that is in the log.
#[derive(Debug)]
pub struct Appended {
    /// The offset of the batch's first record; the original's for a duplicate.
    pub base_offset: Offset,
    /// The offset after its last record.
    pub end_offset: Offset,
    /// The append time in ms; for a duplicate the stored batch's largest timestamp (section 4
    /// item 15); `None` under CreateTime.
    pub append_time: Option<i64>,
    /// The log's start.
    pub log_start: Offset,
    /// The batch was in the log already.
    pub duplicate: bool,
    /// What is left to wait for.
    pub ack: Ack,
}

/// What is left to wait for after an append.
#[derive(Debug)]
pub enum Ack {
    /// Nothing.
    Done,
    /// The answer comes here; a dropped sender means that the broker stops.
    Wait(oneshot::Receiver<Result<(), AckError>>),
}

impl<R: Runtime> Partition<R> {
    /// Appends a batch, in the order of the calls, and says what is left to wait for.
    ///
    /// `original` is the producer's own batch, kept for readers at the tail; `None` when its
    /// bytes do not say what was stored (append time, corrected fields).
    ///
    /// # Errors
    /// [`ProduceError`]; nothing was appended.
    pub fn append(
        self: &Arc<Self>,
        batch: &mut StagedBatch,
        original: Option<Bytes>,
        acks: Acks,
        now_ms: i64,
    ) -> Result<Appended, ProduceError> {
        let mut state = self.lock();
        match &state.status {
            Status::Online => {}
            Status::Offline(why) => return Err(ProduceError::Offline(why.clone())),
            Status::Deleted => return Err(ProduceError::Offline("it was deleted".to_owned())),
        }
        let epoch = state.epoch;
        let appended = match state.log.append(batch, epoch, now_ms) {
            Ok(appended) => appended,
            Err(error) => {
                if let Some(failure) = state.log.failure().cloned() {
                    self.disk_failed(&mut state, failure);
                }
                return Err(error.into());
            }
        };
        if !appended.duplicate {
            if let Some(original) = original {
                state
                    .tail
                    .push(appended.base, appended.end, epoch, original);
            }
            self.after_append(&mut state, batch.len() as u64);
        }
        let end_offset = appended.end;
        let is_append_time = batch.facts().attributes & TIMESTAMP_TYPE != 0;
        // A duplicate waits for its original to be committed (rule 51).
        let ack = match acks {
            Acks::None => Ack::Done,
            Acks::Leader | Acks::All if end_offset <= state.offsets.high_watermark => Ack::Done,
            Acks::Leader | Acks::All => Ack::Wait(wait_for(&mut state, end_offset)),
        };
        Ok(Appended {
            base_offset: appended.base,
            end_offset,
            append_time: (is_append_time || appended.duplicate).then_some(appended.timestamp),
            log_start: state.offsets.start,
            duplicate: appended.duplicate,
            ack,
        })
    }

    /// The log grew by `bytes`: commit it at once or see to its sync.
    fn after_append(self: &Arc<Self>, state: &mut State<R>, bytes: u64) {
        let end = state.log.end();
        state.offsets.appended(end);
        state.appended_bytes += bytes;
        if state.config.fsync {
            self.start_sync(state);
        } else {
            let appended_bytes = state.appended_bytes;
            self.commit_to(state, end, appended_bytes);
        }
    }

    /// Moves the high watermark, answers who waited for it and wakes readers. `appended_bytes`
    /// were appended in all when `to` was the log end.
    pub(crate) fn commit_to(&self, state: &mut State<R>, to: Offset, appended_bytes: u64) {
        if !state.offsets.committed(to) {
            return;
        }
        state.unproven = state.unproven.filter(|end| to < *end);
        while state.acks.front().is_some_and(|(end, _)| *end <= to) {
            let (_, ack) = state.acks.pop_front().expect("the front was just seen");
            // The producer may have gone; then nobody needs the answer.
            let _ = ack.send(Ok(()));
        }
        let gained = appended_bytes.saturating_sub(state.committed_bytes);
        state.committed_bytes = appended_bytes;
        state.waiters.gained(gained);
    }
}

fn wait_for<R: Runtime>(
    state: &mut State<R>,
    end: Offset,
) -> oneshot::Receiver<Result<(), AckError>> {
    let (sender, receiver) = oneshot::channel();
    // Appends come in order; only a duplicate's end may lie before the last one waiting.
    let at = state.acks.partition_point(|(other, _)| *other <= end);
    state.acks.insert(at, (end, sender));
    receiver
}
