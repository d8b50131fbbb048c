//! Which partition a record goes to: where Kafka's own producer would put it.

/// The partition of `key` among `partitions`.
///
/// Source: Kafka, `BuiltInPartitioner.partitionForKey` and `Utils.murmur2`.
#[must_use]
pub fn of_key(key: &[u8], partitions: usize) -> i32 {
    let hash = (murmur2(key) & 0x7FFF_FFFF) as usize;
    i32::try_from(hash % partitions).expect("a partition number is a positive 32-bit number")
}

fn murmur2(data: &[u8]) -> u32 {
    const M: u32 = 0x5BD1_E995;
    let len = u32::try_from(data.len()).expect("a key is smaller than 4 GiB");
    let mut hash = 0x9747_B28C ^ len;
    let (words, rest) = data.as_chunks::<4>();
    for word in words {
        let mut k = u32::from_le_bytes(*word).wrapping_mul(M);
        k ^= k >> 24;
        hash = hash.wrapping_mul(M) ^ k.wrapping_mul(M);
    }
    if !rest.is_empty() {
        for (shift, byte) in rest.iter().enumerate() {
            hash ^= u32::from(*byte) << (8 * shift);
        }
        hash = hash.wrapping_mul(M);
    }
    hash ^= hash >> 13;
    hash = hash.wrapping_mul(M);
    hash ^ (hash >> 15)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Source: Kafka, `UtilsTest.testMurmur2`.
    #[test]
    fn hashes_are_kafkas() {
        for (key, hash) in [
            ("21", -973_932_308),
            ("foobar", -790_332_482),
            ("a-little-bit-long-string", -985_981_536),
            ("a-little-bit-longer-string", -1_486_304_829),
            (
                "lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8",
                -58_897_971,
            ),
            ("abc", 479_470_107),
        ] {
            assert_eq!(murmur2(key.as_bytes()) as i32, hash, "{key}");
        }
    }
}
