//! Every record that is there was sent to that partition.

use std::collections::BTreeMap;

use super::Evidence;
use super::durable::same;
use crate::history::{Failure, Sent};

/// Checks every record of the final logs against what was sent.
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
        for read in &log.records {
            let sent = read
                .value
                .as_ref()
                .and_then(|value| by_value.get(&value[..]));
            if !sent.is_some_and(|sent| same(sent, read)) {
                return Err(Failure::safety(
                    "every stored record was sent by a client, with these bytes",
                    format!("{place}: {read:?}"),
                ));
            }
        }
    }
    Ok(())
}
