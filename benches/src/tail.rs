//! Consumers at the tail of a log while producers write it.

use crate::LoadError;
use crate::fetch;
use crate::histogram::Histogram;
use crate::produce;
use crate::window::{Span, Window, watch};

/// What was consumed in the window, and what was produced in about the same time.
#[derive(Debug)]
pub struct Outcome {
    /// The consumers' window; the broker's CPU in it covers both sides.
    pub consumed: Window,
    /// Bytes of values produced from start to end.
    pub produced_bytes: u64,
    /// From the request to the answer of a fetch, waiting included.
    pub fetches: Histogram,
    /// From the request to the answer of a batch.
    pub produces: Histogram,
}

/// Runs both loads through `span`.
///
/// # Errors
/// The first failure of either.
pub fn run(
    consumers: &fetch::Plan,
    producers: &produce::Plan,
    span: Span,
) -> Result<Outcome, LoadError> {
    let reading = fetch::start(consumers)?;
    let writing = produce::start(producers)?;
    writing
        .progress
        .measuring
        .store(true, std::sync::atomic::Ordering::Relaxed);
    let consumed = watch(&reading.progress, span, reading.threads())?;
    let relaxed = std::sync::atomic::Ordering::Relaxed;
    writing.progress.stop.store(true, relaxed);
    let progress = std::sync::Arc::clone(&writing.progress);
    let produces = writing.join()?;
    let produced_bytes = progress.bytes.load(relaxed);
    Ok(Outcome {
        consumed,
        produced_bytes,
        fetches: reading.join()?,
        produces,
    })
}
