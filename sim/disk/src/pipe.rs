//! One direction of a connection: segments under way, a window, an end, a reset.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Poll, Waker};
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use highwater_runtime::{NetError, Reader, Writer};

use crate::net::Fabric;

/// Bytes that may be under way or unread before the writer waits.
const WINDOW_BYTES: usize = 64 * 1024;

/// One direction.
#[derive(Default)]
pub(crate) struct Pipe {
    /// When each segment arrives, and its bytes; in order.
    segments: VecDeque<(Duration, Bytes)>,
    buffered: usize,
    /// The writer said that no more comes.
    fin: bool,
    /// The connection broke.
    reset: bool,
    /// Nothing passes until power comes back: the far end is off.
    cut: bool,
    /// The reader is gone: what is written has nowhere to go.
    unread: bool,
    last_arrival: Duration,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

impl Pipe {
    fn wake(&mut self) {
        for waker in [self.reader.take(), self.writer.take()]
            .into_iter()
            .flatten()
        {
            waker.wake();
        }
    }
}

/// A direction shared by its two ends.
#[derive(Clone, Default)]
pub(crate) struct SharedPipe(Arc<Mutex<Pipe>>);

impl SharedPipe {
    fn lock(&self) -> MutexGuard<'_, Pipe> {
        self.0.lock().expect("no step on a pipe panics")
    }

    /// Breaks the connection.
    pub fn reset(&self) {
        let mut pipe = self.lock();
        pipe.reset = true;
        pipe.segments.clear();
        pipe.wake();
    }

    /// Whether its writer and its reader are gone, or it broke.
    pub fn is_closed(&self) -> bool {
        let pipe = self.lock();
        pipe.reset || (pipe.fin && pipe.unread)
    }

    /// One end lost power: silence, not an end.
    pub fn cut(&self) {
        self.lock().cut = true;
    }

    /// Power is back: whoever still waits learns that the connection is gone.
    pub fn restore(&self) {
        if self.lock().cut {
            self.reset();
        }
    }
}

/// Both directions as one end holds them. Dropped when both halves are.
pub(crate) struct End {
    pub fabric: Fabric,
    pub out: SharedPipe,
    pub into: SharedPipe,
}

impl Drop for End {
    fn drop(&mut self) {
        let mut out = self.out.lock();
        if !out.cut {
            out.fin = true;
            out.wake();
        }
        drop(out);
        let mut into = self.into.lock();
        if !into.cut {
            into.unread = true;
            into.wake();
        }
    }
}

/// The receiving half of a simulated connection.
pub struct SimReader(pub(crate) Arc<End>);

/// The sending half of a simulated connection.
pub struct SimWriter(pub(crate) Arc<End>);

type Sleep = Pin<Box<dyn Future<Output = ()>>>;

impl SimReader {
    /// Waits for a byte, the end, or a reset.
    async fn arrived(&mut self) -> Result<(), NetError> {
        let end = &self.0;
        let mut sleep: Option<Sleep> = None;
        poll_fn(|cx| {
            loop {
                let mut pipe = end.into.lock();
                if pipe.reset {
                    return Poll::Ready(Err(NetError::Closed));
                }
                let now = end.fabric.now();
                let next = pipe
                    .segments
                    .front()
                    .map(|(at, _)| *at)
                    .filter(|_| !pipe.cut);
                match next {
                    Some(at) if at <= now => return Poll::Ready(Ok(())),
                    None if pipe.fin && !pipe.cut => return Poll::Ready(Ok(())),
                    _ => pipe.reader = Some(cx.waker().clone()),
                }
                drop(pipe);
                let Some(at) = next else { return Poll::Pending };
                let sleeping = sleep.get_or_insert_with(|| end.fabric.sleep(at - now));
                match sleeping.as_mut().poll(cx) {
                    Poll::Ready(()) => sleep = None,
                    Poll::Pending => return Poll::Pending,
                }
            }
        })
        .await
    }
}

impl Reader for SimReader {
    async fn readable(&mut self) -> Result<(), NetError> {
        self.arrived().await
    }

    async fn read(&mut self, into: &mut BytesMut) -> Result<usize, NetError> {
        let spare = into.capacity() - into.len();
        assert!(spare > 0, "a read into a buffer without room");
        self.arrived().await?;
        let limit = spare.min(self.0.fabric.chunk());
        let now = self.0.fabric.now();
        let mut pipe = self.0.into.lock();
        let mut taken = 0;
        while taken < limit {
            let Some((at, segment)) = pipe.segments.front_mut() else {
                break;
            };
            if *at > now {
                break;
            }
            let len = segment.len().min(limit - taken);
            into.put_slice(&segment.split_to(len));
            taken += len;
            if segment.is_empty() {
                pipe.segments.pop_front();
            }
        }
        pipe.buffered -= taken;
        if let Some(writer) = pipe.writer.take() {
            writer.wake();
        }
        Ok(taken)
    }
}

impl Writer for SimWriter {
    async fn write_all(&mut self, parts: &mut Vec<Bytes>) -> Result<(), NetError> {
        for mut part in parts.drain(..) {
            while !part.is_empty() {
                let room = poll_fn(|cx| {
                    let mut pipe = self.0.out.lock();
                    if pipe.reset || pipe.fin || pipe.unread {
                        return Poll::Ready(Err(NetError::Closed));
                    }
                    if pipe.buffered < WINDOW_BYTES {
                        return Poll::Ready(Ok(WINDOW_BYTES - pipe.buffered));
                    }
                    pipe.writer = Some(cx.waker().clone());
                    Poll::Pending
                })
                .await?;
                let segment = part.split_to(part.len().min(room));
                let arrival = self.0.fabric.now() + self.0.fabric.delay();
                let mut pipe = self.0.out.lock();
                pipe.last_arrival = pipe.last_arrival.max(arrival);
                let at = pipe.last_arrival;
                pipe.buffered += segment.len();
                pipe.segments.push_back((at, segment));
                if let Some(reader) = pipe.reader.take() {
                    reader.wake();
                }
            }
        }
        Ok(())
    }

    async fn shutdown(&mut self) -> Result<(), NetError> {
        let mut pipe = self.0.out.lock();
        if pipe.reset {
            return Err(NetError::Closed);
        }
        pipe.fin = true;
        pipe.wake();
        Ok(())
    }
}

impl std::fmt::Debug for SimReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SimReader").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for SimWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SimWriter").finish_non_exhaustive()
    }
}
