//! The broker in simulated worlds: virtual time, faults from a seed, clients that keep a ledger,
//! checkers that compare it with what is there at the end. The binary is `highwater-sim`.

#[cfg(not(madsim))]
compile_error!(
    "highwater-sim needs `--cfg madsim`, which .cargo/config.toml sets for plain cargo commands. \
     A RUSTFLAGS variable replaces that setting: unset RUSTFLAGS, or add `--cfg madsim` to it."
);

pub mod check;
pub mod cli;
pub mod client;
pub mod doctor;
mod exec;
pub mod history;
mod latency;
pub mod mutant;
mod nemesis;
mod node;
mod panic;
pub mod plan;
mod process;
pub mod report;
pub mod run;
pub mod runtime;
pub mod swarm;
pub mod trace;
pub mod workload;
