//! Small pieces for async code that every executor runs: a limit on waiting, and one-shot answers.

use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use crate::Runtime;

pub use futures_channel::oneshot;

/// What ended first.
#[derive(Debug, PartialEq, Eq)]
pub enum Either<A, B> {
    /// The first future.
    First(A),
    /// The second future.
    Second(B),
}

/// Waits for either future; when both are ready the first wins, always.
///
/// The other one is dropped: never pass a step on a file that must be finished.
pub async fn first<A: Future, B: Future>(a: A, b: B) -> Either<A::Output, B::Output> {
    let (mut a, mut b) = (pin!(a), pin!(b));
    std::future::poll_fn(move |cx: &mut Context<'_>| {
        if let Poll::Ready(value) = Pin::as_mut(&mut a).poll(cx) {
            return Poll::Ready(Either::First(value));
        }
        Pin::as_mut(&mut b).poll(cx).map(Either::Second)
    })
    .await
}

/// Waits for `future` at most `limit`; `None` when the time passed first.
pub async fn within<R: Runtime, F: Future>(
    runtime: &R,
    limit: Duration,
    future: F,
) -> Option<F::Output> {
    match first(future, runtime.sleep(limit)).await {
        Either::First(value) => Some(value),
        Either::Second(()) => None,
    }
}
