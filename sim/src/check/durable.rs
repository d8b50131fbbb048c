//! Every acknowledged record is readable at its offset with its bytes.

use std::collections::BTreeMap;

use super::Evidence;
use crate::history::{Failure, Outcome, Read, Sent};

/// Checks every acknowledged record against the final logs.
pub fn check(evidence: &Evidence<'_>) -> Result<(), Failure> {
    for (place, sent) in &evidence.history.sent {
        let log = &evidence.finals.logs[place];
        let by_value: BTreeMap<&[u8], &Read> = log
            .records
            .iter()
            .filter_map(|record| record.value.as_ref().map(|value| (&value[..], record)))
            .collect();
        for record in sent {
            let Outcome::Acked(at) = record.outcome else {
                continue;
            };
            let found = by_value.get(&record.value[..]);
            let story = || {
                let name = String::from_utf8_lossy(&record.value[..record.value.len().min(24)]);
                let offset = record.offset;
                format!("{place}: {name:?}, acknowledged at {at:?} with offset {offset:?}")
            };
            let Some(found) = found else {
                if evidence.may_lose(place.topic) {
                    continue;
                }
                return Err(Failure::safety(
                    "an acknowledged record is never lost",
                    story(),
                ));
            };
            if record.offset.is_some_and(|offset| offset != found.offset)
                && !evidence.may_lose(place.topic)
            {
                return Err(Failure::safety(
                    "an acknowledged record is at the offset that its producer was told",
                    format!("{}, found at {}", story(), found.offset),
                ));
            }
            if !same(record, found) {
                return Err(Failure::safety(
                    "a record is read with the bytes that were sent",
                    format!("{}: {record:?} became {found:?}", story()),
                ));
            }
        }
    }
    Ok(())
}

/// Whether everything that a client can see is equal.
pub(super) fn same(sent: &Sent, read: &Read) -> bool {
    read.value.as_ref() == Some(&sent.value)
        && read.key == sent.key
        && read.timestamp == sent.timestamp
        && read.header == sent.header
}
