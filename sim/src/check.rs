//! The oracles: what the clients were told against what is there at the end.
//!
//! A checker draws no randomness and changes nothing; each stands in a file of its own.

mod commits;
mod consumed;
mod durable;
mod invented;
mod offsets;
mod producers;
mod topics;

use crate::history::{Failure, History};
use crate::plan::Plan;
use crate::workload::Finals;

/// What all checkers look at.
pub struct Evidence<'a> {
    /// The run's plan.
    pub plan: &'a Plan,
    /// What the clients did and learned.
    pub history: &'a History,
    /// What is there at the end.
    pub finals: &'a Finals,
}

/// Every broken property, in the order in which the checkers stand.
pub fn all(evidence: &Evidence<'_>) -> Vec<Failure> {
    [
        offsets::check,
        durable::check,
        invented::check,
        producers::check,
        consumed::check,
        commits::check,
        topics::check,
    ]
    .iter()
    .filter_map(|check| check(evidence).err())
    .collect()
}

impl Evidence<'_> {
    /// Whether a power loss may have taken what the topic acknowledged before `at`, or a failed
    /// sync did: then a loss in a topic without fsync is no bug.
    fn may_lose(&self, topic: u16) -> bool {
        use crate::plan::Durability;
        let durability = self.plan.topics[usize::from(topic)].durability;
        durability == Durability::Replicated
            && !(self.history.power_losses.is_empty() && self.history.failed_syncs.is_empty())
    }
}
