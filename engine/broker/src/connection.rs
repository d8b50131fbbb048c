//! One connection: frames in, answers out, in the order of the requests.
//!
//! ```text
//!  socket -> frame -> dispatch -> waiting answers (in order) -> socket
//! ```
//! Only Produce leaves its answer waiting while the next frame is read: batches of one
//! connection then share a sync. Any other request ends before the next one starts, so a client
//! sees its requests take effect in their order. Memory grows with the bytes that arrived, never
//! with a claimed length; a peer that stops in the middle of a frame, or does not read its
//! answers, is closed.

use std::collections::VecDeque;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use highwater_protocol::message::{FRAME_LEN_BYTES, frame_len};
use highwater_runtime::task::{Either, first, within};
use highwater_runtime::{NetError, Reader, Runtime, Writer};

use crate::Broker;
use crate::dispatch::{Reply, dispatch};

/// Answers that may wait for their syncs before no further frame is read.
const WAITING_MAX: usize = 64;

/// Bytes asked of the socket at once, at least: many small requests, or the start of a large one.
const READ_BYTES_MIN: usize = 16 << 10;

/// Room made before a byte of a frame has come, at most, for a peer whose last frame was so large.
const READ_BYTES_MAX: usize = 1 << 20;

/// How long a frame that was begun may take to arrive, and an answer to leave.
const PROGRESS_LIMIT: Duration = Duration::from_secs(60);

type Pending = Pin<Box<dyn Future<Output = Reply>>>;

enum Answer {
    Ready(Vec<Bytes>),
    Waiting(Pending),
}

/// Serves one connection until either side closes it.
pub(crate) async fn serve<R: Runtime, I: Reader, O: Writer>(
    broker: Arc<Broker<R>>,
    reader: I,
    writer: O,
    peer: SocketAddr,
) {
    let connection = Connection {
        broker,
        reader,
        writer,
        peer,
        input: Input::default(),
        answers: VecDeque::new(),
    };
    connection.run().await;
}

struct Connection<R: Runtime, I: Reader, O: Writer> {
    broker: Arc<Broker<R>>,
    reader: I,
    writer: O,
    peer: SocketAddr,
    input: Input,
    answers: VecDeque<Answer>,
}

/// What has arrived and was not taken yet.
#[derive(Default)]
struct Input {
    bytes: BytesMut,
    /// The length of the last whole frame, its prefix included. The next one is likely to be as
    /// long: a buffer of that size takes it in one read and is then the frame's alone, so that
    /// large batches are not copied.
    last_frame_len: usize,
}

/// Why a connection ends; the peer sees no more than that.
struct Closed;

impl<R: Runtime, I: Reader, O: Writer> Connection<R, I, O> {
    async fn run(mut self) {
        while self.step().await.is_ok() {}
        // What was acknowledged by the log but not yet answered is answered by the log alone:
        // the producer sees a broken connection and retries.
        let _ = self.writer.shutdown().await;
    }

    /// One answer sent, or one frame taken.
    async fn step(&mut self) -> Result<(), Closed> {
        self.send_ready().await?;
        let room = self.answers.len() < WAITING_MAX;
        let waiting = match self.answers.front_mut() {
            Some(Answer::Waiting(pending)) => Some(pending),
            Some(Answer::Ready(_)) => unreachable!("ready answers at the front were sent"),
            None => None,
        };
        let Some(pending) = waiting else {
            let idle = Duration::from_millis(self.broker.settings().connections_max_idle_ms);
            let frame = next_frame(&self.broker, &mut self.reader, &mut self.input, idle).await?;
            return self.take(frame).await;
        };
        if !room {
            let reply = pending.await;
            return self.settle(reply);
        }
        let frame = next_frame(
            &self.broker,
            &mut self.reader,
            &mut self.input,
            PROGRESS_LIMIT,
        );
        match first(pending, frame).await {
            Either::First(reply) => self.settle(reply),
            Either::Second(frame) => self.take(frame?).await,
        }
    }

    /// Hands a frame to its handler.
    async fn take(&mut self, frame: Bytes) -> Result<(), Closed> {
        match dispatch(&self.broker, self.peer, frame).await {
            Reply::Now(parts) => self.answers.push_back(Answer::Ready(parts)),
            Reply::Later(pending) => self.answers.push_back(Answer::Waiting(pending)),
            Reply::Silent => {}
            Reply::Close => return Err(Closed),
        }
        Ok(())
    }

    /// The answer at the front is known now.
    fn settle(&mut self, reply: Reply) -> Result<(), Closed> {
        let front = self.answers.front_mut().expect("an answer was waited for");
        match reply {
            Reply::Now(parts) => *front = Answer::Ready(parts),
            Reply::Later(pending) => *front = Answer::Waiting(pending),
            Reply::Silent => {
                self.answers.pop_front();
            }
            Reply::Close => return Err(Closed),
        }
        Ok(())
    }

    /// Sends every ready answer at the front in one write.
    async fn send_ready(&mut self) -> Result<(), Closed> {
        let mut parts = Vec::new();
        while let Some(Answer::Ready(_)) = self.answers.front() {
            let Some(Answer::Ready(ready)) = self.answers.pop_front() else {
                unreachable!("the front was just seen")
            };
            parts.extend(ready);
        }
        if parts.is_empty() {
            return Ok(());
        }
        let runtime = self.broker.runtime();
        match within(runtime, PROGRESS_LIMIT, self.writer.write_all(&mut parts)).await {
            Some(Ok(())) => Ok(()),
            Some(Err(_)) | None => Err(Closed),
        }
    }
}

/// Reads until `input` starts with a whole frame and takes it off. Dropping the future loses
/// nothing: what arrived stays in `input`.
async fn next_frame<R: Runtime>(
    broker: &Broker<R>,
    reader: &mut impl Reader,
    input: &mut Input,
    idle: Duration,
) -> Result<Bytes, Closed> {
    let mut needed = FRAME_LEN_BYTES;
    loop {
        if let Some(prefix) = input.bytes.first_chunk::<FRAME_LEN_BYTES>() {
            let max = usize::try_from(broker.settings().request_bytes_max).unwrap_or(usize::MAX);
            let len = frame_len(*prefix, max).map_err(|_| Closed)?;
            needed = FRAME_LEN_BYTES + len;
            if input.bytes.len() >= needed {
                return Ok(input.take_frame(needed));
            }
        }
        let limit = if input.bytes.is_empty() {
            idle
        } else {
            PROGRESS_LIMIT
        };
        match within(broker.runtime(), limit, input.read(reader, needed)).await {
            Some(Ok(count)) if count > 0 => {}
            Some(_) | None => return Err(Closed),
        }
    }
}

impl Input {
    /// Takes the first `len` bytes off, without the length in front of the frame.
    fn take_frame(&mut self, len: usize) -> Bytes {
        self.last_frame_len = len;
        let mut frame = self.bytes.split_to(len).freeze();
        if self.bytes.is_empty() {
            // An idle connection keeps no buffer.
            self.bytes = BytesMut::new();
        }
        frame.split_off(FRAME_LEN_BYTES)
    }

    /// Reads once. Room is made for what is missing, but never for more than what has arrived so
    /// far, now or in the last frame: a claimed length alone takes no memory.
    async fn read(&mut self, reader: &mut impl Reader, needed: usize) -> Result<usize, NetError> {
        reader.readable().await?;
        let missing = needed.saturating_sub(self.bytes.len());
        let hint = self.last_frame_len.clamp(READ_BYTES_MIN, READ_BYTES_MAX);
        let room = missing.min(self.bytes.len()).max(hint);
        if self.bytes.capacity() - self.bytes.len() < room.min(missing.max(1)) {
            self.bytes.reserve(room);
        }
        reader.read(&mut self.bytes).await
    }
}
