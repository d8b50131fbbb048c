//! What the runner prints.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::Duration;

use crate::run::Outcome;

/// Prints one line to standard output; a reader that went away is no error.
pub fn line(text: &str) {
    let _ = writeln!(std::io::stdout().lock(), "{text}");
}

/// Prints a broken property: the sentence, where, the last events, how to see it again.
pub fn failure(outcome: &Outcome, mutant: Option<&str>) {
    let Some(failure) = &outcome.failure else {
        return;
    };
    let what = if failure.liveness {
        "This should have happened"
    } else {
        "This does not hold"
    };
    line(&format!(
        "seed {}: {what}: {}.",
        outcome.seed, failure.property
    ));
    line(&format!("  where: {}", failure.place));
    line(&format!(
        "  at {:.3} s of virtual time, after:",
        outcome.virtual_time.as_secs_f64()
    ));
    for event in &outcome.last[outcome.last.len().saturating_sub(24)..] {
        line(&format!("  {}", shortened(event)));
    }
    let mutant = mutant.map_or(String::new(), |name| format!(" --mutant {name}"));
    line(&format!(
        "  highwater-sim replay --seed {}{mutant}",
        outcome.seed
    ));
}

fn shortened(event: &str) -> String {
    match event.char_indices().nth(200) {
        Some((at, _)) => format!("{} ...", &event[..at]),
        None => event.to_owned(),
    }
}

/// Sums over the runs of a batch.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// Runs.
    pub seeds: u64,
    /// Runs that broke a property.
    pub failed: u64,
    /// Virtual time of all runs.
    pub virtual_time: Duration,
    /// Faults that struck, by kind.
    pub strikes: BTreeMap<&'static str, u64>,
    /// Rare events, by name.
    pub marks: BTreeMap<&'static str, u64>,
    /// Records acknowledged.
    pub acked: u64,
    /// Records read during the runs.
    pub read: u64,
}

impl Totals {
    /// Adds one run.
    pub fn add(&mut self, outcome: &Outcome) {
        self.seeds += 1;
        self.failed += u64::from(outcome.failure.is_some());
        self.virtual_time += outcome.virtual_time;
        self.acked += outcome.acked;
        self.read += outcome.read;
        for (kind, count) in &outcome.strikes {
            *self.strikes.entry(kind).or_default() += count;
        }
        let disk = &outcome.disk;
        let counted = [
            ("disk.power-loss-took-bytes", disk.lossy_power_losses),
            ("disk.sync-failed", disk.syncs_failed),
            ("disk.refused-full", disk.refused_full),
            ("disk.read-failed", disk.reads_failed),
        ];
        let marks = outcome.marks.iter().map(|(event, count)| (*event, *count));
        for (event, count) in marks.chain(counted) {
            *self.marks.entry(event).or_default() += count;
        }
    }

    /// Adds another batch's sums.
    pub fn merge(&mut self, other: &Self) {
        self.seeds += other.seeds;
        self.failed += other.failed;
        self.virtual_time += other.virtual_time;
        self.acked += other.acked;
        self.read += other.read;
        for (mine, theirs) in [
            (&mut self.strikes, &other.strikes),
            (&mut self.marks, &other.marks),
        ] {
            for (key, count) in theirs {
                *mine.entry(key).or_default() += count;
            }
        }
    }

    /// The events that must happen in a batch of this size and did not.
    pub fn unhit(&self) -> Vec<&'static str> {
        if self.seeds < 200 {
            return Vec::new();
        }
        let missing = SOMETIMES
            .iter()
            .filter(|event| self.marks.get(*event).is_none_or(|n| *n == 0));
        missing.copied().collect()
    }

    /// The last line of a batch.
    pub fn summary(&self, cpu: Duration) -> String {
        let faults: Vec<String> = self
            .strikes
            .iter()
            .map(|(kind, count)| format!("{kind} {count}"))
            .collect();
        let per_cpu = self.virtual_time.as_secs_f64() / cpu.as_secs_f64().max(0.001);
        format!(
            "{} seeds, {} failed, {:.2} simulated hours, {} records acknowledged, {} read, faults: {}; {per_cpu:.0} simulated s per CPU s",
            self.seeds,
            self.failed,
            self.virtual_time.as_secs_f64() / 3_600.0,
            self.acked,
            self.read,
            if faults.is_empty() {
                "none".to_owned()
            } else {
                faults.join(", ")
            },
        )
    }
}

/// Rare events that every batch of some size must see, or its faults are too weak.
pub const SOMETIMES: [&str; 3] = [
    "disk.power-loss-took-bytes",
    "disk.sync-failed",
    "disk.refused-full",
];
