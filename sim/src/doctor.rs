//! Whether this build simulates at all, and repeats.

use crate::report::line;
use crate::run::{self, Options, Outcome};
use crate::swarm;

/// One line that is equal for equal runs.
pub fn fingerprint(outcome: &Outcome) -> String {
    format!(
        "seed {} trace {:016x} events {} virtual {:?}",
        outcome.seed, outcome.hash, outcome.events, outcome.virtual_time
    )
}

/// Prints what holds; answers the exit code.
pub fn doctor(seed: u64) -> u8 {
    let first = fingerprint(&run::run(seed, Options::default()));
    let again = fingerprint(&run::run(seed, Options::default()));
    let other = fingerprint(&run::run(seed + 1, Options::default()));
    let elsewhere = swarm::fingerprint_elsewhere(seed, None).unwrap_or_else(|why| why);
    let trace = |line: &str| line.split(' ').nth(3).unwrap_or_default().to_owned();
    let rows = [
        ("built with --cfg madsim", true),
        ("a seed repeats in this process", first == again),
        ("a seed repeats in another process", first == elsewhere),
        ("two seeds differ", trace(&first) != trace(&other)),
    ];
    for (what, holds) in rows {
        line(&format!(
            "{:<36} {}",
            what,
            if holds { "yes" } else { "NO" }
        ));
    }
    line(&first);
    if rows.iter().all(|(_, holds)| *holds) {
        return 0;
    }
    line(&format!("{again}\n{elsewhere}"));
    3
}
