//! No record is there twice; an idempotent producer's records are in the order of sending.

use std::collections::BTreeMap;

use super::Evidence;
use crate::history::{Failure, Sent};

/// Checks the order of each producer's records in each final log.
///
/// A plain producer here sends nothing twice, so its records must be single too, in any order.
pub fn check(evidence: &Evidence<'_>) -> Result<(), Failure> {
    for (place, log) in &evidence.finals.logs {
        let sent = evidence
            .history
            .sent
            .get(place)
            .map_or(&[][..], Vec::as_slice);
        let by_value: BTreeMap<&[u8], &Sent> = sent
            .iter()
            .map(|record| (&record.value[..], record))
            .collect();
        let mut seen: BTreeMap<(u16, u64), i64> = BTreeMap::new();
        let mut last: BTreeMap<u16, u64> = BTreeMap::new();
        for read in &log.records {
            let Some(value) = &read.value else { continue };
            let Some(sent) = by_value.get(&value[..]) else {
                continue;
            };
            let Sent {
                producer, number, ..
            } = **sent;
            if let Some(first) = seen.insert((producer, number), read.offset) {
                return Err(Failure::safety(
                    "a record that was sent once, or by an idempotent producer, is stored once",
                    format!(
                        "{place}: record {number} of producer {producer} is at offsets {first} and {}",
                        read.offset
                    ),
                ));
            }
            if !sent.idempotent {
                continue;
            }
            let due = last.get(&producer).map_or(0, |last| last + 1);
            if number != due && !evidence.may_lose(place.topic) {
                return Err(Failure::safety(
                    "an idempotent producer's records are stored in the order of sending, without a gap",
                    format!(
                        "{place}, offset {}: record {number} of producer {producer} where {due} is due",
                        read.offset
                    ),
                ));
            }
            last.insert(producer, number);
        }
    }
    Ok(())
}
