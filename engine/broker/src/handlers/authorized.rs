//! What a client may do, as bits, where nobody asks who it is: everything.
//!
//! Bit `n` stands for Kafka's ACL operation number `n`. Source: KIP-430.

/// Read, write, create, delete, alter, describe, describe and alter settings.
pub(crate) const TOPIC: i32 = bits(&[3, 4, 5, 6, 7, 8, 10, 11]);
/// Create, alter, describe, act for the cluster, describe and alter settings, write idempotently.
pub(crate) const CLUSTER: i32 = bits(&[5, 7, 8, 9, 10, 11, 12]);
/// Read, delete, describe, describe and alter settings.
pub(crate) const GROUP: i32 = bits(&[3, 6, 8, 10, 11]);
/// The client did not ask.
pub(crate) const NOT_ASKED: i32 = i32::MIN;

const fn bits(operations: &[u32]) -> i32 {
    let (mut sum, mut nth) = (0, 0);
    while nth < operations.len() {
        sum |= 1 << operations[nth];
        nth += 1;
    }
    sum
}
