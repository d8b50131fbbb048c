//! Small pieces for async code that every executor runs: a limit on waiting, and one-shot answers, a gate.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex};
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

/// Lets one task at a time through, in the order of asking; for steps that await in the middle.
#[derive(Clone, Debug, Default)]
pub struct Gate {
    state: Arc<Mutex<GateState>>,
}

#[derive(Debug, Default)]
struct GateState {
    taken: bool,
    waiting: VecDeque<oneshot::Sender<Pass>>,
}

/// The right to be inside a [`Gate`]; dropping it lets the next one in.
#[derive(Debug)]
pub struct Pass {
    state: Arc<Mutex<GateState>>,
}

impl Gate {
    /// Waits until nobody else is inside.
    pub async fn enter(&self) -> Pass {
        let waiting = {
            let mut state = self.state.lock().expect("no panic holds this lock");
            if !state.taken {
                state.taken = true;
                return Pass { state: Arc::clone(&self.state) };
            }
            let (sender, receiver) = oneshot::channel();
            state.waiting.push_back(sender);
            receiver
        };
        waiting.await.expect("a gate hands every waiting task its pass")
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        let next = {
            let mut state = self.state.lock().expect("no panic holds this lock");
            let next = state.waiting.pop_front();
            state.taken = next.is_some();
            next
        };
        if let Some(next) = next {
            // Whoever gave up waiting drops the pass unseen, which lets the next one in.
            let _ = next.send(Self { state: Arc::clone(&self.state) });
        }
    }
}
