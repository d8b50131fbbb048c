//! What the traits of `highwater-runtime` promise, as functions over any world.
//!
//! Each takes a seed and does random steps beside a model; a failure names the seed. A member of
//! a trait that is used nowhere here does not exist.

pub mod disk;
pub mod kv;
pub mod net;
pub mod power;
pub mod runtime;
mod worlds;

use std::future::Future;

use highwater_runtime::Runtime;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

pub use worlds::{Real, Sim};

/// One process on one data folder.
pub trait World: Sized {
    /// What the engine gets.
    type Runtime: Runtime;

    /// A process on an empty data folder.
    fn start(seed: u64) -> Self;

    /// The process's world.
    fn runtime(&self) -> &Self::Runtime;

    /// Runs `main` and what it spawns until `main` is ready.
    fn run<T>(&self, main: impl Future<Output = T>) -> T;

    /// The process dies; the next one starts on the same data folder and page cache.
    fn crash(self) -> Self;
}

/// Random choices of a test, from its seed.
pub struct Draws(ChaCha8Rng);

impl Draws {
    /// The choices of `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    /// A number below `end`, which is not 0.
    pub fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.0.next_u64() % end as u64).expect("below a usize")
    }

    /// One of `choices`.
    pub fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    /// Fewer than `len_end` random bytes.
    pub fn some_bytes(&mut self, len_end: usize) -> Vec<u8> {
        let len = self.below(len_end);
        self.bytes(len)
    }

    /// `len` random bytes.
    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        self.0.fill_bytes(&mut bytes);
        bytes
    }
}
