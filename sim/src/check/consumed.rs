//! What consumers read during the run is what stands in the final log.

use super::Evidence;
use crate::history::Failure;
use crate::plan::Durability;

/// Checks every record that a consumer read from a topic with fsync.
pub fn check(evidence: &Evidence<'_>) -> Result<(), Failure> {
    for (place, reads) in &evidence.history.read {
        let plan = &evidence.plan.topics[usize::from(place.topic)];
        if plan.durability == Durability::Replicated {
            continue;
        }
        let log = &evidence.finals.logs[place];
        for (offset, read) in reads {
            let at = log
                .records
                .binary_search_by_key(offset, |record| record.offset);
            let last = at.ok().map(|at| &log.records[at]);
            if last != Some(read) {
                return Err(Failure::safety(
                    "a record that a consumer has read stays as it is",
                    format!("{place}: {read:?} became {last:?}"),
                ));
            }
        }
    }
    Ok(())
}
