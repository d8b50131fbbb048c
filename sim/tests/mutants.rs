//! Each planted bug is found within a budget of seeds.

use highwater_sim::mutant::Mutant;
use highwater_sim::swarm::first_caught;

/// Seeds that each mutant may survive.
const SEEDS: u64 = 60;

#[test]
fn every_planted_bug_is_found() {
    let survivors: Vec<&str> = Mutant::ALL
        .into_iter()
        .filter(|mutant| first_caught(*mutant, SEEDS).is_none())
        .map(Mutant::name)
        .collect();
    assert_eq!(survivors, Vec::<&str>::new(), "not found in {SEEDS} seeds");
}
