//! The clients of a run: producers, consumers, a group that commits, topics that come and go.

mod admin;
mod commits;
mod consumer;
mod finals;
mod producer;
mod records;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use highwater_sim_disk::SimNet;

use crate::client::{Client, ClientError};
use crate::exec;
use crate::history::{Failure, History, Place};
use crate::plan::{Durability, Plan};
use crate::trace::{Event, Trace};

pub use finals::{FinalLog, Finals};

/// Where the broker listens.
pub const BROKER: &str = "10.0.0.1:9092";

/// Longest wait for an answer.
const ANSWER: Duration = Duration::from_secs(8);

/// Longest wait for a connection.
const CONNECT: Duration = Duration::from_secs(2);

/// How far the run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Clients work; faults strike.
    Faults,
    /// Faults are over: clients begin nothing new and must finish what they began.
    Drain,
    /// The run is over.
    Done,
}

/// What all clients share.
pub struct Workload {
    /// The run.
    pub plan: Plan,
    /// The clients' machine on the network.
    pub net: SimNet,
    /// Where events go.
    pub trace: Trace,
    /// What was done and learned.
    pub history: RefCell<History>,
    /// How far the run is.
    pub phase: Cell<Phase>,
    /// Clients that have not finished, by name.
    pub busy: RefCell<std::collections::BTreeSet<String>>,
}

impl Workload {
    /// Clients for `plan` on the machine of `net`.
    pub fn new(plan: Plan, net: SimNet, trace: Trace) -> Rc<Self> {
        Rc::new(Self {
            plan,
            net,
            trace,
            history: RefCell::new(History::default()),
            phase: Cell::new(Phase::Faults),
            busy: RefCell::default(),
        })
    }

    /// Makes the plan's topics; the broker is up and nothing fails yet.
    ///
    /// # Errors
    /// A liveness failure when the broker does not do it in time.
    pub async fn set_up(self: &Rc<Self>) -> Result<(), Failure> {
        admin::create_planned_topics(self).await
    }

    /// Starts every client.
    pub fn start(self: &Rc<Self>) {
        for (number, plan) in self.plan.producers.iter().enumerate() {
            let producer = producer::Producer::new(self.clone(), number as u16, plan.clone());
            self.spawn(format!("prod{number}"), producer.run());
        }
        for number in 0..self.plan.consumers {
            let consumer = consumer::Consumer::new(self.clone(), number);
            self.spawn(format!("cons{number}"), consumer.run());
        }
        if self.plan.commits {
            self.spawn("commits".to_owned(), commits::run(self.clone()));
        }
        if self.plan.churn {
            self.spawn("admin".to_owned(), admin::churn(self.clone()));
        }
    }

    fn spawn(self: &Rc<Self>, name: String, client: impl Future<Output = ()> + 'static) {
        self.busy.borrow_mut().insert(name.clone());
        let workload = self.clone();
        exec::spawn(async move {
            client.await;
            workload.busy.borrow_mut().remove(&name);
        });
    }

    /// Reads everything back with fresh clients.
    ///
    /// # Errors
    /// A liveness failure when the broker does not answer in time.
    pub async fn read_back(self: &Rc<Self>) -> Result<Finals, Failure> {
        finals::read(self).await
    }

    /// Every partition of the plan.
    pub fn places(&self) -> Vec<Place> {
        let topics = self.plan.topics.iter().enumerate();
        let places = topics.flat_map(|(topic, plan)| {
            (0..plan.partitions).map(move |partition| Place {
                topic: topic as u16,
                partition,
            })
        });
        places.collect()
    }

    /// Whether a power loss may take what `place` acknowledged.
    pub fn durability(&self, place: Place) -> Durability {
        self.plan.topics[usize::from(place.topic)].durability
    }

    /// Whether a fault so far may have taken what `place` acknowledged.
    pub fn may_lose(&self, place: Place) -> bool {
        let history = self.history.borrow();
        self.durability(place) == Durability::Replicated
            && !(history.power_losses.is_empty() && history.failed_syncs.is_empty())
    }

    /// Takes note of what `client` did or learned.
    pub fn tell(&self, client: &str, what: String) {
        let event = Event::Client {
            client: client.into(),
            what: what.into(),
        };
        self.trace.add(exec::now(), event);
    }

    /// A client saw a property broken.
    pub fn fail(&self, failure: Failure) {
        self.trace.add(
            exec::now(),
            Event::Fault(format!("BROKEN: {}", failure.property).into()),
        );
        self.history.borrow_mut().failures.push(failure);
    }

    /// An exchange failed: only a malformed answer breaks a property.
    pub fn note(&self, client: &str, error: &ClientError) {
        self.tell(client, format!("{error:?}"));
        if let ClientError::Malformed(why) = error {
            let failure = Failure::safety("every answer can be decoded", why.clone());
            self.fail(failure);
        }
    }

    /// Tries to connect.
    ///
    /// # Errors
    /// [`ClientError::Net`].
    pub async fn connect(&self, client: &str) -> Result<Client, ClientError> {
        Client::connect(&self.net, BROKER, client, CONNECT).await
    }
}

/// Error codes that a broker may answer while disks fail or it starts: try again.
pub(crate) fn is_retriable(code: i16) -> bool {
    // UNKNOWN_TOPIC_OR_PARTITION, LEADER_NOT_AVAILABLE, NOT_LEADER_OR_FOLLOWER,
    // REQUEST_TIMED_OUT, NOT_ENOUGH_REPLICAS(_AFTER_APPEND), KAFKA_STORAGE_ERROR,
    // COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR.
    [3, 5, 6, 7, 19, 20, 56, 14, 15, 16].contains(&code)
}
