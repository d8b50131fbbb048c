//! The leader epochs of a log: which leader wrote from which offset on.
//!
//! Rules 27-31 of Kafka's semantics. Both columns rise strictly. The list is part of
//! `partition.meta`, which is published before offsets of a new epoch count as synced.

use bytes::{BufMut, BytesMut};
use highwater_types::{LeaderEpoch, Offset};

use crate::coding::Take;

/// The answer to "where does this epoch end?".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EpochEnd {
    /// The largest epoch in the log that is not after the asked one.
    pub epoch: LeaderEpoch,
    /// The offset after its last record.
    pub end_offset: Offset,
}

/// `(epoch, first offset)`, rising in both.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Epochs {
    entries: Vec<(LeaderEpoch, Offset)>,
}

impl Epochs {
    /// The newest epoch.
    pub(crate) fn newest(&self) -> Option<LeaderEpoch> {
        self.entries.last().map(|(epoch, _)| *epoch)
    }

    /// All entries, oldest first.
    pub(crate) fn entries(&self) -> &[(LeaderEpoch, Offset)] {
        &self.entries
    }

    /// Says that `epoch` writes from `start` on (rule 27); answers whether the list changed.
    pub(crate) fn assign(&mut self, epoch: LeaderEpoch, start: Offset) -> bool {
        if let Some((newest, known)) = self.entries.last()
            && *newest == epoch
            && start >= *known
        {
            return false;
        }
        self.entries
            .retain(|(known, from)| *known < epoch && *from < start);
        self.entries.push((epoch, start));
        self.check();
        true
    }

    /// The log now ends at `end` (rule 30); answers whether the list changed.
    ///
    /// An entry that starts at `end` goes too: nobody has written in it.
    pub(crate) fn truncate_end(&mut self, end: Offset) -> bool {
        let before = self.entries.len();
        self.entries.retain(|(_, start)| *start < end);
        self.entries.len() != before
    }

    /// Drops entries that start past `end`: recovery found the log shorter than the list says.
    /// An entry at `end` stays: a leader that has not written yet (rule 28).
    pub(crate) fn clamp_end(&mut self, end: Offset) -> bool {
        let before = self.entries.len();
        self.entries.retain(|(_, start)| *start <= end);
        self.entries.len() != before
    }

    /// The log now starts at `start` (rule 30); answers whether the list changed.
    pub(crate) fn truncate_start(&mut self, start: Offset) -> bool {
        let after = self.entries.partition_point(|(_, from)| *from <= start);
        let Some(kept) = after.checked_sub(1) else {
            return false;
        };
        if kept == 0 && self.entries[0].1 == start {
            return false;
        }
        self.entries.drain(..kept);
        self.entries[0].1 = start;
        self.check();
        true
    }

    /// Where the largest epoch `<= asked` ends (rule 31); `log_end` closes the newest one.
    ///
    /// `None`: the asked epoch is newer than all, or the list is empty. An epoch older than all
    /// answers itself with the start of the oldest.
    pub(crate) fn end_offset_for(&self, asked: LeaderEpoch, log_end: Offset) -> Option<EpochEnd> {
        if asked > self.newest()? {
            return None;
        }
        let after = self.entries.partition_point(|(epoch, _)| *epoch <= asked);
        let end_offset = self.entries.get(after).map_or(log_end, |(_, start)| *start);
        let epoch = after.checked_sub(1).map_or(asked, |at| self.entries[at].0);
        Some(EpochEnd { epoch, end_offset })
    }

    /// The epoch that wrote `offset`.
    pub(crate) fn epoch_at(&self, offset: Offset) -> Option<LeaderEpoch> {
        let after = self.entries.partition_point(|(_, start)| *start <= offset);
        after.checked_sub(1).map(|at| self.entries[at].0)
    }

    /// `count u32 | (epoch u32 | start u64)*`
    pub(crate) fn encode(&self, out: &mut BytesMut) {
        out.put_u32(u32::try_from(self.entries.len()).expect("fewer epochs than 2^32"));
        for (epoch, start) in &self.entries {
            out.put_u32(epoch.0);
            out.put_u64(start.0);
        }
    }

    /// `None` when the bytes end early or the columns do not rise.
    pub(crate) fn decode(take: &mut Take<'_>) -> Option<Self> {
        let count = take.u32()?;
        let mut entries: Vec<(LeaderEpoch, Offset)> = Vec::new();
        for _ in 0..count {
            let entry = (LeaderEpoch(take.u32()?), Offset(take.u64()?));
            if entries
                .last()
                .is_some_and(|last| last.0 >= entry.0 || last.1 >= entry.1)
            {
                return None;
            }
            entries.push(entry);
        }
        Some(Self { entries })
    }

    #[track_caller]
    fn check(&self) {
        for pair in self.entries.windows(2) {
            assert!(pair[0].0 < pair[1].0, "epochs do not rise: {pair:?}");
            assert!(pair[0].1 < pair[1].1, "epoch starts do not rise: {pair:?}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn epochs(entries: &[(u32, u64)]) -> Epochs {
        let entries = entries
            .iter()
            .map(|(e, s)| (LeaderEpoch(*e), Offset(*s)))
            .collect();
        Epochs { entries }
    }

    fn end_of(epochs: &Epochs, asked: u32) -> Option<(u32, u64)> {
        let end = epochs.end_offset_for(LeaderEpoch(asked), Offset(100));
        end.map(|end| (end.epoch.0, end.end_offset.0))
    }

    #[test]
    fn assign_drops_what_the_new_entry_contradicts() {
        let mut list = epochs(&[(1, 0), (3, 10), (5, 20)]);
        assert!(!list.assign(LeaderEpoch(5), Offset(25)));
        assert!(list.assign(LeaderEpoch(6), Offset(20)));
        assert_eq!(list, epochs(&[(1, 0), (3, 10), (6, 20)]));
        assert!(list.assign(LeaderEpoch(7), Offset(5)));
        assert_eq!(list, epochs(&[(1, 0), (7, 5)]));
        assert!(list.assign(LeaderEpoch(7), Offset(4)));
        assert_eq!(list, epochs(&[(1, 0), (7, 4)]));
    }

    #[test]
    fn every_case_of_rule_31_has_its_answer() {
        let list = epochs(&[(2, 0), (4, 10), (5, 20)]);
        assert_eq!(end_of(&Epochs::default(), 1), None);
        assert_eq!(end_of(&list, 5), Some((5, 100)));
        assert_eq!(end_of(&list, 6), None);
        assert_eq!(end_of(&list, 1), Some((1, 0)));
        assert_eq!(end_of(&list, 2), Some((2, 10)));
        assert_eq!(end_of(&list, 3), Some((2, 10)));
        assert_eq!(end_of(&list, 4), Some((4, 20)));
    }

    #[test]
    fn an_epoch_before_the_moved_log_start_answers_itself_and_the_start() {
        let mut list = epochs(&[(2, 0), (4, 10), (5, 20)]);
        assert!(list.truncate_start(Offset(15)));
        assert_eq!(list, epochs(&[(4, 15), (5, 20)]));
        assert_eq!(end_of(&list, 2), Some((2, 15)));
        assert!(!list.truncate_start(Offset(15)));
        assert!(list.truncate_start(Offset(20)));
        assert_eq!(list, epochs(&[(5, 20)]));
    }

    #[test]
    fn truncation_at_the_end_drops_an_epoch_without_records() {
        let mut list = epochs(&[(2, 0), (4, 10)]);
        assert!(!list.clone().clamp_end(Offset(10)));
        assert!(list.truncate_end(Offset(10)));
        assert_eq!(list, epochs(&[(2, 0)]));
    }

    #[test]
    fn decode_refuses_what_does_not_rise_and_every_cut() {
        let list = epochs(&[(2, 0), (4, 10)]);
        let mut out = BytesMut::new();
        list.encode(&mut out);
        assert_eq!(Epochs::decode(&mut Take(&out)), Some(list));
        for cut in 0..out.len() {
            assert_eq!(Epochs::decode(&mut Take(&out[..cut])), None, "cut at {cut}");
        }
        let mut out = BytesMut::new();
        epochs(&[(4, 0), (2, 10)]).encode(&mut out);
        assert_eq!(Epochs::decode(&mut Take(&out)), None);
    }
}
