//! A group's committed offset is the last acknowledged one, or one sent later.

use super::Evidence;
use crate::history::{Failure, Outcome};

/// Checks every group's offset in every partition.
pub fn check(evidence: &Evidence<'_>) -> Result<(), Failure> {
    for ((group, place), commits) in &evidence.history.commits {
        let acked = commits
            .iter()
            .rposition(|(_, outcome)| *outcome != Outcome::Unknown);
        let mut allowed: Vec<i64> = commits[acked.unwrap_or(0)..]
            .iter()
            .map(|(offset, _)| *offset)
            .collect();
        if acked.is_none() {
            allowed.push(-1);
        }
        let found = evidence
            .finals
            .commits
            .get(&(group.clone(), *place))
            .copied()
            .unwrap_or(-1);
        if !allowed.contains(&found) {
            return Err(Failure::safety(
                "a group's committed offset is the last acknowledged one, or a later one",
                format!("group {group}, {place}: {found}, allowed {allowed:?}"),
            ));
        }
    }
    Ok(())
}
