//! Black-box tests: the contract of the engine's traits, run on both worlds.

pub mod contract;
