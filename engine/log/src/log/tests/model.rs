//! What a log must hold: a list of batches, and what a crash may take of it.

use std::collections::BTreeMap;

use super::*;

/// One appended batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Batch {
    pub base: u64,
    pub values: Vec<String>,
    pub epoch: u32,
    pub timestamp: i64,
    /// Id, epoch, first sequence number.
    pub producer: Option<(i64, i16, i32)>,
}

impl Batch {
    pub fn end(&self) -> u64 {
        self.base + self.values.len() as u64
    }

    fn last_sequence(&self, first: i32) -> i32 {
        first + self.values.len() as i32 - 1
    }
}

/// The batches of a log, and how far a crash may go back.
#[derive(Clone, Debug, Default)]
pub(super) struct Model {
    pub batches: Vec<Batch>,
    pub start: u64,
    pub end: u64,
    /// Everything below was acknowledged as durable.
    pub synced: u64,
    /// The log start that was acknowledged as durable.
    pub start_synced: u64,
    /// The log was truncated once.
    pub cut: bool,
}

impl Model {
    pub fn append(&mut self, batch: Batch) {
        assert_eq!(batch.base, self.end);
        self.end = batch.end();
        self.batches.push(batch);
    }

    /// The log ends at the last batch border at or before `to`; when the batch of the log start
    /// goes too, it goes on empty at `to`.
    pub fn truncate(&mut self, to: u64) {
        if to >= self.end {
            return;
        }
        self.cut = true;
        let cut = self.batches.iter().find(|batch| batch.end() > to);
        let border = cut.expect("the log end is past the cut").base;
        self.batches.retain(|batch| batch.end() <= to);
        if border < self.start {
            self.batches.clear();
            self.start = to;
            self.end = to;
        } else {
            self.end = border;
        }
        self.synced = self.synced.min(self.end);
    }

    fn records(&self) -> Vec<(u64, String)> {
        let all = self.batches.iter().flat_map(|batch| {
            batch
                .values
                .iter()
                .enumerate()
                .map(|(at, value)| (batch.base + at as u64, value))
        });
        all.filter(|(offset, _)| *offset >= self.start)
            .map(|(offset, value)| (offset, value.clone()))
            .collect()
    }

    /// The last five batches of each producer in its newest epoch: (first, last, base).
    pub fn producers(&self) -> BTreeMap<i64, (i16, Vec<(i32, i32, u64)>)> {
        let mut all: BTreeMap<i64, (i16, Vec<(i32, i32, u64)>)> = BTreeMap::new();
        for batch in &self.batches {
            let Some((id, epoch, first)) = batch.producer else {
                continue;
            };
            let entry = all.entry(id).or_insert((epoch, Vec::new()));
            if entry.0 != epoch {
                *entry = (epoch, Vec::new());
            }
            entry
                .1
                .push((first, batch.last_sequence(first), batch.base));
            if entry.1.len() > 5 {
                entry.1.remove(0);
            }
        }
        all
    }

    /// The model after a crash that the log survived as `log`; what it may not lose is there.
    pub fn crashed(&mut self, log: &TestLog, what: &str) {
        let (start, end) = (log.start().0, log.end().0);
        assert!(
            end >= self.synced,
            "{what}: the log ends at {end}, synced was {}",
            self.synced
        );
        assert!(
            end <= self.end,
            "{what}: the log ends at {end}, past {}",
            self.end
        );
        assert!(
            start >= self.start_synced && start <= self.start,
            "{what}: log start {start}, it was {} of which {} durable",
            self.start,
            self.start_synced
        );
        self.start = start;
        self.batches.retain(|batch| batch.end() <= end);
        self.end = end;
    }

    /// The log holds exactly this model.
    pub fn check(&self, log: &TestLog, what: &str) {
        assert_eq!(log.start().0, self.start, "{what}: log start");
        assert_eq!(log.end().0, self.end, "{what}: log end");
        let records = records(log);
        let expected = self.records();
        let differs = records
            .iter()
            .zip(&expected)
            .position(|(got, wanted)| got != wanted);
        assert_eq!(
            differs, None,
            "{what}: {records:?} differ from {expected:?}"
        );
        assert_eq!(
            records.len(),
            expected.len(),
            "{what}: {records:?} of {expected:?}"
        );
        for batch in self.batches.iter().filter(|batch| batch.base >= self.start) {
            let epoch = log.epoch_at(Offset(batch.base));
            assert_eq!(
                epoch,
                Some(LeaderEpoch(batch.epoch)),
                "{what}: epoch of {}",
                batch.base
            );
        }
        self.check_producers(log, what);
        self.check_time(log, what);
    }

    fn check_producers(&self, log: &TestLog, what: &str) {
        let got: BTreeMap<_, _> = log
            .producers()
            .map(|(id, entry)| {
                let batches = entry.batches().iter();
                let batches = batches
                    .map(|old| (old.first_sequence, old.last_sequence, old.base_offset.0))
                    .collect();
                (id.0, (entry.epoch.0, batches))
            })
            .collect();
        if !self.cut {
            assert_eq!(got, self.producers(), "{what}: producers");
            return;
        }
        // A cut may end a producer's newest epoch; batches of the one before it that stand in no
        // segment any more are not known again.
        for (id, (epoch, expected)) in self.producers() {
            let Some((got_epoch, batches)) = got.get(&id) else {
                continue;
            };
            assert_eq!(*got_epoch, epoch, "{what}: epoch of {id}, {batches:?}");
            assert!(
                expected.ends_with(batches),
                "{what}: {batches:?} of {expected:?}"
            );
            let in_log = expected
                .iter()
                .filter(|(_, _, base)| *base >= self.start)
                .count();
            assert!(
                batches.len() >= in_log,
                "{what}: {batches:?} of {expected:?}"
            );
        }
    }

    fn check_time(&self, log: &TestLog, what: &str) {
        let stamps = self
            .batches
            .iter()
            .flat_map(|batch| (batch.base..batch.end()).map(|offset| (offset, batch.timestamp)));
        let stamps: Vec<_> = stamps.filter(|(offset, _)| *offset >= self.start).collect();
        for wanted in stamps.iter().map(|(_, stamp)| *stamp).step_by(5) {
            let first = stamps.iter().find(|(_, stamp)| *stamp >= wanted);
            let found = log
                .offset_for_time(wanted, log.end())
                .expect("the log is whole");
            let found = found.map(|(offset, stamp, _)| (offset.0, stamp));
            assert_eq!(found, first.copied(), "{what}: first at {wanted}");
        }
    }
}
