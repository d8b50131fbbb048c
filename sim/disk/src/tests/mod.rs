//! Claims about the simulated devices.

mod disk;
mod faults;
mod kv;
mod names;
mod runtime;

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// The value of a future that never waits.
fn now<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("a disk without latency waited"),
    }
}
