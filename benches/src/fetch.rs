//! A consumer load: raw fetches, one at a time on a connection, as Kafka's consumer does them.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Instant;

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::LoadError;
use crate::batch;
use crate::cluster::Led;
use crate::histogram::Histogram;
use crate::produce::{join_all, receive_answer};
use crate::window::Progress;
use crate::wire::{self, FetchLimits, Place};

/// What to read.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The topic.
    pub topic: String,
    /// Its partitions.
    pub led: Vec<Led>,
    /// Where each partition is read first.
    pub from: BTreeMap<i32, i64>,
    /// Where each partition ends: readers stop there, or begin again. `None` follows the tail.
    pub until: Option<BTreeMap<i32, i64>>,
    /// Begin again at the end instead of stopping.
    pub again: bool,
    /// Consumers; each reads every partition.
    pub consumers: usize,
    /// Divide the partitions among the consumers instead.
    pub divide: bool,
    /// Limits of each fetch.
    pub limits: FetchLimits,
    /// Check the CRC of every batch, at the generator's cost.
    pub check: bool,
    /// Threads that the consumers share.
    pub threads: usize,
}

/// A load that is under way.
#[derive(Debug)]
pub struct Running {
    threads: Vec<JoinHandle<Result<Histogram, LoadError>>>,
    /// What it did so far.
    pub progress: Arc<Progress>,
}

impl Running {
    /// The number of threads.
    #[must_use]
    pub fn threads(&self) -> u64 {
        self.threads.len() as u64
    }

    /// Waits until every consumer has ended; gives the time of each fetch in the window.
    ///
    /// # Errors
    /// The first failure of a consumer.
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
    if plan.led.is_empty() || plan.consumers == 0 || plan.threads == 0 {
        let what = "partitions, consumers and threads must be at least 1";
        return Err(LoadError::Usage(what.to_owned()));
    }
    let progress = Arc::new(Progress::default());
    let count = plan.threads.min(plan.consumers);
    let spawn = |thread: usize| {
        let (plan, progress) = (plan.clone(), Arc::clone(&progress));
        std::thread::spawn(move || {
            let result = run_thread(&plan, &progress, thread, count);
            if result.is_err() {
                progress.stop.store(true, Ordering::Relaxed);
            }
            progress.ended.fetch_add(1, Ordering::Relaxed);
            result
        })
    };
    let threads = (0..count).map(spawn).collect();
    Ok(Running { threads, progress })
}

fn run_thread(
    plan: &Plan,
    progress: &Progress,
    thread: usize,
    threads: usize,
) -> Result<Histogram, LoadError> {
    let tokio = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(LoadError::io("start a thread's event loop"))?;
    let latencies = std::cell::RefCell::new(Histogram::default());
    let own = (thread..plan.consumers).step_by(threads);
    let connections = own.flat_map(|number| assignments(plan, number));
    tokio.block_on(async {
        let all = connections.map(|(leader, places)| {
            let mut consumer = Consumer::new(plan, progress, places);
            let latencies = &latencies;
            async move { consumer.run(leader, latencies).await }
        });
        join_all(all).await
    })?;
    Ok(latencies.into_inner())
}

/// The places that consumer `number` reads, by leader: one connection each.
fn assignments(plan: &Plan, number: usize) -> BTreeMap<SocketAddr, Vec<Place>> {
    let mut by_leader: BTreeMap<SocketAddr, Vec<Place>> = BTreeMap::new();
    for (at, Led { partition, leader }) in plan.led.iter().enumerate() {
        if plan.divide && at % plan.consumers != number {
            continue;
        }
        let offset = plan.from.get(partition).copied().unwrap_or(0);
        by_leader.entry(*leader).or_default().push(Place {
            partition: *partition,
            offset,
        });
    }
    by_leader
}

struct Consumer<'a> {
    plan: &'a Plan,
    progress: &'a Progress,
    places: Vec<Place>,
    first: Vec<Place>,
}

impl<'a> Consumer<'a> {
    fn new(plan: &'a Plan, progress: &'a Progress, places: Vec<Place>) -> Self {
        Self {
            plan,
            progress,
            first: places.clone(),
            places,
        }
    }

    async fn run(
        &mut self,
        leader: SocketAddr,
        latencies: &std::cell::RefCell<Histogram>,
    ) -> Result<(), LoadError> {
        let stream = TcpStream::connect(leader)
            .await
            .map_err(LoadError::io("connect"))?;
        stream.set_nodelay(true).map_err(LoadError::io("connect"))?;
        let (mut reader, mut writer) = stream.into_split();
        let mut answer = Vec::new();
        while !self.progress.stopped() {
            self.drop_finished();
            if self.places.is_empty() {
                return Ok(());
            }
            let frame = wire::fetch_frame(&self.plan.topic, &self.places, self.plan.limits);
            let sent = Instant::now();
            writer
                .write_all(&frame)
                .await
                .map_err(LoadError::io("send a fetch"))?;
            receive_answer(&mut reader, &mut answer).await?;
            if self.progress.measuring.load(Ordering::Relaxed) {
                latencies.borrow_mut().record(sent.elapsed());
            }
            self.take(&answer)?;
        }
        Ok(())
    }

    /// Counts what came and moves on behind it.
    fn take(&mut self, answer: &[u8]) -> Result<(), LoadError> {
        let (mut records, mut bytes, mut broken) = (0, 0, None);
        let (places, check) = (&mut self.places, self.plan.check);
        wire::read_fetched(answer, |partition, found| {
            let place = places.iter_mut().find(|place| place.partition == partition);
            let Some(place) = place else { return };
            for batch in batch::batches(found) {
                if check && let Err(error) = batch::check_crc(batch) {
                    broken = Some(error);
                }
                place.offset = batch.next_offset();
                records += batch.count();
            }
            bytes += found.len() as u64;
        })?;
        self.progress.count(records, bytes);
        broken.map_or(Ok(()), |error| Err(LoadError::io("check a batch")(error)))
    }

    /// Lets go of partitions that were read to their end, or begins them again.
    fn drop_finished(&mut self) {
        let Some(until) = &self.plan.until else {
            return;
        };
        let finished = |place: &Place| {
            until
                .get(&place.partition)
                .is_none_or(|end| place.offset >= *end)
        };
        if !self.plan.again {
            self.places.retain(|place| !finished(place));
            return;
        }
        for (place, first) in self.places.iter_mut().zip(&self.first) {
            if finished(place) {
                *place = *first;
            }
        }
    }
}
