//! Offsets are unique and contiguous from 0 to the high watermark.

use super::Evidence;
use crate::history::Failure;

/// Checks every partition's final log.
pub fn check(evidence: &Evidence<'_>) -> Result<(), Failure> {
    for (place, log) in &evidence.finals.logs {
        for (due, record) in log.records.iter().enumerate() {
            if record.offset != due as i64 {
                return Err(Failure::safety(
                    "offsets of a partition are unique and contiguous",
                    format!(
                        "{place}: offset {} stands where {due} is due",
                        record.offset
                    ),
                ));
            }
        }
        let end = log.records.len() as i64;
        if end != log.high_watermark {
            return Err(Failure::safety(
                "every offset below the high watermark can be read",
                format!(
                    "{place}: {end} records, high watermark {}",
                    log.high_watermark
                ),
            ));
        }
    }
    Ok(())
}
