//! Batches of seeds: in several processes, so that no process grows old.

use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::mutant::Mutant;
use crate::report::{self, Totals, line};
use crate::run::{self, Options, Outcome};

/// Failures after which a batch stops.
const FAILURES_MAX: u64 = 5;

/// One seed in this many is run again in another process and compared.
const TWIN_EVERY: u64 = 20;

/// What to run.
#[derive(Clone, Copy, Debug)]
pub struct Batch {
    /// The first seed.
    pub first: u64,
    /// How many seeds.
    pub seeds: u64,
    /// How many at a time.
    pub jobs: u64,
    /// A planted bug.
    pub mutant: Option<Mutant>,
}

/// Runs a batch; answers the exit code.
///
/// # Errors
/// None yet; the type leaves room for refused batches.
pub fn swarm(batch: Batch) -> Result<u8, String> {
    let began = cpu_time();
    let next = AtomicU64::new(batch.first);
    let end = batch.first + batch.seeds;
    let totals = Mutex::new(Totals::default());
    let diverged = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..batch.jobs {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    let failed = totals.lock().expect("adding never panics").failed;
                    if seed >= end || failed >= FAILURES_MAX {
                        return;
                    }
                    let outcome = run::run(
                        seed,
                        Options {
                            print: false,
                            mutant: batch.mutant,
                        },
                    );
                    totals.lock().expect("adding never panics").add(&outcome);
                    report::failure(&outcome, batch.mutant.map(Mutant::name));
                    if seed % TWIN_EVERY == 0 && !twin_agrees(&outcome, batch.mutant) {
                        diverged.store(true, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    let totals = totals.into_inner().expect("adding never panics");
    let unhit = totals.unhit();
    let marks: Vec<String> = totals
        .marks
        .iter()
        .map(|(k, n)| format!("{k} {n}"))
        .collect();
    line(&format!("sometimes: {}", marks.join(", ")));
    if !unhit.is_empty() {
        line(&format!(
            "never happened, and must in a batch this large: {}",
            unhit.join(", ")
        ));
    }
    line(&totals.summary(cpu_time().saturating_sub(began)));
    Ok(match () {
        () if totals.failed > 0 => 1,
        () if diverged.load(Ordering::Relaxed) => 3,
        () if !unhit.is_empty() => 5,
        () => 0,
    })
}

/// Runs the seed in another process and compares the traces.
fn twin_agrees(outcome: &Outcome, mutant: Option<Mutant>) -> bool {
    let here = crate::doctor::fingerprint(outcome);
    match fingerprint_elsewhere(outcome.seed, mutant) {
        Ok(there) if there == here => true,
        Ok(there) => {
            line(&format!(
                "seed {} does not repeat:\n  here  {here}\n  there {there}",
                outcome.seed
            ));
            false
        }
        Err(why) => {
            line(&format!(
                "seed {} could not be repeated elsewhere: {why}",
                outcome.seed
            ));
            false
        }
    }
}

/// The last line of a replay in another process.
///
/// # Errors
/// When that process cannot be started.
pub fn fingerprint_elsewhere(seed: u64, mutant: Option<Mutant>) -> Result<String, String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(own);
    command.args(["replay", "--quiet", "--seed", &seed.to_string()]);
    if let Some(mutant) = mutant {
        command.args(["--mutant", mutant.name()]);
    }
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().last().unwrap_or_default().to_owned())
}

/// Plants each bug in turn; answers the exit code.
pub fn mutants(seeds: u64) -> u8 {
    let mut missed = 0;
    for mutant in Mutant::ALL {
        match first_caught(mutant, seeds) {
            Some(outcome) => {
                let property = outcome
                    .failure
                    .map_or(String::new(), |failure| failure.property);
                line(&format!(
                    "{:<16} seed {:>3}: {property}",
                    mutant.name(),
                    outcome.seed
                ));
            }
            None => {
                missed += 1;
                line(&format!("{:<16} NOT FOUND in {seeds} seeds", mutant.name()));
            }
        }
    }
    u8::from(missed > 0)
}

/// The first seed from 1 that finds `mutant`.
pub fn first_caught(mutant: Mutant, seeds: u64) -> Option<Outcome> {
    let options = Options {
        print: false,
        mutant: Some(mutant),
    };
    (1..=seeds)
        .map(|seed| run::run(seed, options))
        .find(|outcome| outcome.failure.is_some())
}

/// CPU time of this process and of those that it waited for.
fn cpu_time() -> Duration {
    // Fields 14 to 17 of /proc/self/stat, in ticks of 10 ms.
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks: u64 = after_name
        .split_whitespace()
        .skip(11)
        .take(4)
        .filter_map(|f| f.parse::<u64>().ok())
        .sum();
    Duration::from_millis(ticks * 10)
}
