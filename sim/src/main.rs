//! `highwater-sim`: runs the broker in simulated worlds, seed by seed.

use std::process::ExitCode;

fn main() -> ExitCode {
    highwater_sim::cli::main(std::env::args().skip(1).collect())
}
