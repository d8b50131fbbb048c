//! A topic exists as its last acknowledged creation or deletion says.

use super::Evidence;
use crate::history::{Failure, Outcome, TopicChange};

/// Checks every topic that came and went.
pub fn check(evidence: &Evidence<'_>) -> Result<(), Failure> {
    for (name, changes) in &evidence.history.topics {
        let acked = changes
            .iter()
            .rposition(|(_, outcome)| *outcome != Outcome::Unknown);
        let mut allowed: Vec<bool> = changes[acked.unwrap_or(0)..]
            .iter()
            .map(|(change, _)| *change == TopicChange::Create)
            .collect();
        if acked.is_none() {
            allowed.push(false);
        }
        let exists = evidence.finals.topics.contains(name);
        if !allowed.contains(&exists) {
            let is = if exists { "exists" } else { "is gone" };
            return Err(Failure::safety(
                "a topic exists as the last acknowledged change says",
                format!("topic {name} {is} after {changes:?}"),
            ));
        }
    }
    for topic in 0..evidence.plan.topics.len() {
        if !evidence.finals.topics.contains(&format!("t{topic}")) {
            let what = format!("topic t{topic} is gone");
            return Err(Failure::safety("a topic that nobody deleted exists", what));
        }
    }
    Ok(())
}
