//! Claims about whole runs: they repeat, they are clean, and planted bugs are found.

use std::process::Command;

use highwater_sim::doctor::fingerprint;
use highwater_sim::mutant::Mutant;
use highwater_sim::run::{Options, run};
use highwater_sim::swarm::first_caught;

fn sim(args: &[&str]) -> (i32, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_highwater-sim"))
        .args(args)
        .output();
    let output = output.expect("the binary was built for this test");
    (
        output.status.code().unwrap_or(-1),
        String::from_utf8_lossy(&output.stdout).into_owned(),
    )
}

#[test]
fn a_seed_repeats_in_this_process_and_in_another() {
    for seed in [3, 4] {
        let here = fingerprint(&run(seed, Options::default()));
        assert_eq!(
            here,
            fingerprint(&run(seed, Options::default())),
            "in one process"
        );
        let (_, printed) = sim(&["replay", "--quiet", "--seed", &seed.to_string()]);
        assert_eq!(
            Some(here.as_str()),
            printed.lines().last(),
            "in another process"
        );
    }
}

#[test]
fn a_batch_of_seeds_is_clean_and_says_what_it_did() {
    let (code, printed) = sim(&["swarm", "--seeds", "20", "--first", "1", "--jobs", "2"]);
    assert_eq!(code, 0, "{printed}");
    let last = printed.lines().last().unwrap_or_default();
    assert!(last.starts_with("20 seeds, 0 failed, "), "{last}");
    for part in ["simulated hours", "faults: ", "simulated s per CPU s"] {
        assert!(last.contains(part), "{last:?} does not say {part:?}");
    }
}

#[test]
fn a_failure_names_the_property_the_place_and_the_replay_line() {
    let caught = first_caught(Mutant::NoFsync, 60).expect("no-fsync is found");
    let seed = caught.seed.to_string();
    let args = [
        "swarm", "--mutant", "no-fsync", "--seeds", "1", "--first", &seed,
    ];
    let (code, printed) = sim(&args);
    assert_eq!(code, 1, "{printed}");
    let property = caught.failure.expect("it failed").property;
    assert!(printed.contains(&property), "{printed}");
    let replay = format!("highwater-sim replay --seed {seed} --mutant no-fsync");
    assert!(printed.contains(&replay), "{printed}");
}

#[test]
fn wrong_usage_says_what_is_known() {
    let (code, printed) = sim(&["swarm", "--seed", "3"]);
    assert_eq!(code, 2);
    assert!(printed.contains("\"--seed\" is not a flag"), "{printed}");
}
