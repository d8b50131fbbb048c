//! Named random streams: one more draw from one never moves another.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

/// The stream `name` of the run `seed`.
pub fn stream(seed: u64, name: &str) -> ChaCha8Rng {
    let mut key = [0; 32];
    for (part, chunk) in key.chunks_exact_mut(8).enumerate() {
        let mut hash =
            0xcbf2_9ce4_8422_2325_u64 ^ (part as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for byte in seed.to_be_bytes().iter().chain(name.as_bytes()) {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
            hash ^= hash >> 29;
        }
        chunk.copy_from_slice(&hash.to_be_bytes());
    }
    ChaCha8Rng::from_seed(key)
}

/// True `permille` times in a thousand. A rate of 0 draws nothing.
pub fn chance(rng: &mut ChaCha8Rng, permille: u32) -> bool {
    permille > 0 && rng.next_u64() % 1_000 < u64::from(permille)
}

/// A number in `[low, high]`.
pub(crate) fn between(rng: &mut ChaCha8Rng, low: u64, high: u64) -> u64 {
    assert!(low <= high, "no number lies in [{low}, {high}]");
    low + rng.next_u64() % (high - low + 1)
}
