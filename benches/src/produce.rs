//! A producer load: every connection keeps a number of requests in flight.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::Semaphore;

use crate::LoadError;
use crate::batch;
use crate::client::{SILENCE_LIMIT, answer_len};
use crate::cluster::Led;
use crate::codec::Codec;
use crate::histogram::Histogram;
use crate::window::Progress;
use crate::wire;

/// What to send.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The topic.
    pub topic: String,
    /// Its partitions; each connection takes its share of them in turn.
    pub led: Vec<Led>,
    /// Connections.
    pub connections: usize,
    /// Requests of one connection that wait for their answer at once.
    pub in_flight: usize,
    /// Bytes of a record's value.
    pub record_bytes: usize,
    /// Bytes of a batch, before compression; 0 sends one record a batch.
    pub batch_bytes: usize,
    /// 0, 1 or -1 (all).
    pub acks: i16,
    /// The compression.
    pub codec: Codec,
    /// Ends after about as many bytes of values.
    pub bytes_max: Option<u64>,
    /// Bytes of values a second of all connections together; as fast as it goes when `None`.
    pub bytes_per_second: Option<f64>,
    /// Threads that the connections share.
    pub threads: usize,
}

/// A load that is under way.
#[derive(Debug)]
pub struct Running {
    threads: Vec<JoinHandle<Result<Histogram, LoadError>>>,
    /// What it did so far.
    pub progress: Arc<Progress>,
}

/// What every request of the load carries.
struct Cargo {
    batch: Vec<u8>,
    records: u64,
    value_bytes: u64,
}

impl Running {
    /// The number of threads.
    #[must_use]
    pub fn threads(&self) -> u64 {
        self.threads.len() as u64
    }

    /// Waits until every answer has come; gives the latencies of the window.
    ///
    /// # Errors
    /// The first failure of a connection.
    pub fn join(self) -> Result<Histogram, LoadError> {
        let mut all = Histogram::default();
        for thread in self.threads {
            all.merge(&thread.join().expect("a load's thread does not panic")?);
        }
        Ok(all)
    }
}

/// Starts the load.
///
/// # Errors
/// [`LoadError::Usage`] when the plan is empty.
pub fn start(plan: &Plan) -> Result<Running, LoadError> {
    if plan.led.is_empty() || plan.connections == 0 || plan.in_flight == 0 || plan.threads == 0 {
        let what = "partitions, connections, threads and requests in flight must be at least 1";
        return Err(LoadError::Usage(what.to_owned()));
    }
    let values = batch::values_for(plan.record_bytes, plan.batch_bytes);
    let slices: Vec<&[u8]> = values.iter().map(Vec::as_slice).collect();
    let cargo = Arc::new(Cargo {
        batch: batch::encode(&slices, plan.codec)?,
        records: values.len() as u64,
        value_bytes: (values.len() * plan.record_bytes) as u64,
    });
    let left = plan
        .bytes_max
        .map_or(i64::MAX, |max| i64::try_from(max).unwrap_or(i64::MAX));
    let budget = Arc::new(AtomicI64::new(left));
    let progress = Arc::new(Progress::default());
    let threads = plan.threads.min(plan.connections);
    let spawn = |thread: usize| {
        let (plan, cargo) = (plan.clone(), Arc::clone(&cargo));
        let (budget, progress) = (Arc::clone(&budget), Arc::clone(&progress));
        std::thread::spawn(move || {
            let result = run_thread(&plan, &cargo, &budget, &progress, thread, threads);
            if result.is_err() {
                progress.stop.store(true, Ordering::Relaxed);
            }
            progress.ended.fetch_add(1, Ordering::Relaxed);
            result
        })
    };
    let threads = (0..threads).map(spawn).collect();
    Ok(Running { threads, progress })
}

/// The connections `thread`, `thread + threads`, ... on this thread.
fn run_thread(
    plan: &Plan,
    cargo: &Cargo,
    budget: &AtomicI64,
    progress: &Progress,
    thread: usize,
    threads: usize,
) -> Result<Histogram, LoadError> {
    let tokio = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(LoadError::io("start a thread's event loop"))?;
    let latencies = RefCell::new(Histogram::default());
    let own = (thread..plan.connections).step_by(threads);
    tokio.block_on(async {
        let connections = own.map(|number| {
            Connection {
                plan,
                cargo,
                budget,
                progress,
                latencies: &latencies,
                number,
            }
            .run()
        });
        join_all(connections).await
    })?;
    Ok(latencies.into_inner())
}

/// Runs all of `futures` at once, to the end or the first failure.
pub(crate) async fn join_all<F>(futures: impl Iterator<Item = F>) -> Result<(), LoadError>
where
    F: Future<Output = Result<(), LoadError>>,
{
    let mut running: Vec<_> = futures.map(Box::pin).collect();
    std::future::poll_fn(move |context| {
        let mut at = 0;
        while at < running.len() {
            match running[at].as_mut().poll(context) {
                std::task::Poll::Ready(Ok(())) => drop(running.swap_remove(at)),
                std::task::Poll::Ready(Err(error)) => return std::task::Poll::Ready(Err(error)),
                std::task::Poll::Pending => at += 1,
            }
        }
        if running.is_empty() {
            std::task::Poll::Ready(Ok(()))
        } else {
            std::task::Poll::Pending
        }
    })
    .await
}

/// What the two halves of a connection tell each other.
struct Flow {
    /// Requests that may still be sent.
    permits: Semaphore,
    /// Answers to receive, and one more at the end.
    open: Semaphore,
    /// When the open requests were sent, in order.
    sent: RefCell<VecDeque<Instant>>,
}

struct Connection<'a> {
    plan: &'a Plan,
    cargo: &'a Cargo,
    budget: &'a AtomicI64,
    progress: &'a Progress,
    latencies: &'a RefCell<Histogram>,
    number: usize,
}

impl Connection<'_> {
    /// The partitions of this connection: those of its first one's leader.
    fn share(&self) -> (Led, Vec<Led>) {
        let led = &self.plan.led;
        let stride = self.plan.connections.min(led.len());
        let own = led.iter().skip(self.number % stride).step_by(stride);
        let first = led[self.number % stride];
        (
            first,
            own.filter(|led| led.leader == first.leader)
                .copied()
                .collect(),
        )
    }

    async fn run(self) -> Result<(), LoadError> {
        let (first, own) = self.share();
        let stream = TcpStream::connect(first.leader)
            .await
            .map_err(LoadError::io("connect"))?;
        stream.set_nodelay(true).map_err(LoadError::io("connect"))?;
        let (reader, writer) = stream.into_split();
        let Plan {
            topic,
            acks,
            in_flight,
            ..
        } = self.plan;
        let batch = &self.cargo.batch;
        let frames = own
            .iter()
            .map(|led| wire::produce_frame(topic, led.partition, *acks, batch));
        let frames: Vec<_> = frames.collect();
        let flow = Flow {
            permits: Semaphore::new(*in_flight),
            open: Semaphore::new(0),
            sent: RefCell::new(VecDeque::with_capacity(*in_flight)),
        };
        let send = self.send(writer, frames, &flow);
        if *acks == 0 {
            return send.await.map(drop);
        }
        let receive = self.receive(reader, &flow);
        // The writer is dropped, which closes its half, only after the last answer.
        tokio::try_join!(send, receive).map(drop)
    }

    async fn send(
        &self,
        mut writer: OwnedWriteHalf,
        mut frames: Vec<Vec<u8>>,
        flow: &Flow,
    ) -> Result<OwnedWriteHalf, LoadError> {
        let value_bytes = self.cargo.value_bytes;
        let pause = self.plan.bytes_per_second.map(|rate| {
            Duration::from_secs_f64(value_bytes as f64 * self.plan.connections as f64 / rate)
        });
        let mut next_at = tokio::time::Instant::now();
        for number in 0.. {
            if let Some(pause) = pause {
                tokio::time::sleep_until(next_at).await;
                next_at += pause;
            }
            if self.plan.acks != 0 {
                flow.permits
                    .acquire()
                    .await
                    .expect("the semaphore is never closed")
                    .forget();
            }
            let left = self.budget.fetch_sub(value_bytes as i64, Ordering::Relaxed);
            if left <= 0 || self.progress.stopped() {
                break;
            }
            let at = number % frames.len();
            wire::set_correlation(&mut frames[at], number as i32);
            if self.plan.acks != 0 {
                flow.sent.borrow_mut().push_back(Instant::now());
                flow.open.add_permits(1);
            }
            writer
                .write_all(&frames[at])
                .await
                .map_err(LoadError::io("send a batch"))?;
            if self.plan.acks == 0 {
                self.progress.count(self.cargo.records, value_bytes);
            }
        }
        // An open request without a moment tells the receiver that it was the last.
        flow.open.add_permits(1);
        Ok(writer)
    }

    async fn receive(&self, mut reader: OwnedReadHalf, flow: &Flow) -> Result<(), LoadError> {
        let mut answer = Vec::new();
        for expected in 0.. {
            flow.open
                .acquire()
                .await
                .expect("the semaphore is never closed")
                .forget();
            if flow.sent.borrow().is_empty() {
                break;
            }
            receive_answer(&mut reader, &mut answer).await?;
            if wire::read_produced(&answer)? != expected {
                return Err(LoadError::Malformed {
                    during: "produce, order of answers",
                    at: 0,
                });
            }
            let at = flow
                .sent
                .borrow_mut()
                .pop_front()
                .expect("an answer follows a request");
            if self.progress.measuring.load(Ordering::Relaxed) {
                self.latencies.borrow_mut().record(at.elapsed());
            }
            self.progress
                .count(self.cargo.records, self.cargo.value_bytes);
            flow.permits.add_permits(1);
        }
        Ok(())
    }
}

/// Receives one frame without its length into `answer`.
pub(crate) async fn receive_answer(
    reader: &mut OwnedReadHalf,
    answer: &mut Vec<u8>,
) -> Result<(), LoadError> {
    let read = async {
        let mut len = [0; 4];
        reader
            .read_exact(&mut len)
            .await
            .map_err(LoadError::io("receive an answer"))?;
        answer.resize(answer_len(len)?, 0);
        reader
            .read_exact(answer)
            .await
            .map_err(LoadError::io("receive an answer"))?;
        Ok(())
    };
    let seconds = SILENCE_LIMIT.as_secs();
    let silent = LoadError::TooLate {
        during: "an answer",
        seconds,
    };
    tokio::time::timeout(SILENCE_LIMIT, read)
        .await
        .map_err(|_| silent)?
}
