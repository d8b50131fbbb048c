//! What the clients did and learned: the oracle's input.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;

/// One partition of one topic of the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The topic's number in the plan.
    pub topic: u16,
    /// The partition.
    pub partition: i32,
}

impl Place {
    /// The topic's name.
    pub fn topic_name(self) -> String {
        format!("t{}", self.topic)
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "t{}-{}", self.topic, self.partition)
    }
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// No answer yet, or none that says: it may have happened or not, or may yet.
    Unknown,
    /// The broker said yes at this time.
    Acked(Duration),
}

/// A record that was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Which producer.
    pub producer: u16,
    /// Whether that producer is idempotent.
    pub idempotent: bool,
    /// The producer's how many-th record for this partition, from 0.
    pub number: u64,
    /// The record's key.
    pub key: Option<Bytes>,
    /// The record's value; no two are equal.
    pub value: Bytes,
    /// The record's timestamp.
    pub timestamp: i64,
    /// Its header, if it has one.
    pub header: Option<Bytes>,
    /// What became of it.
    pub outcome: Outcome,
    /// Where the broker said that it is.
    pub offset: Option<i64>,
}

/// A record that somebody read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read {
    /// Its offset.
    pub offset: i64,
    /// Its key.
    pub key: Option<Bytes>,
    /// Its value.
    pub value: Option<Bytes>,
    /// Its timestamp.
    pub timestamp: i64,
    /// Its header, if it has one.
    pub header: Option<Bytes>,
}

/// A broken property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The property, as a sentence that is not true.
    pub property: String,
    /// Where and what: partition, offset, both values.
    pub place: String,
    /// Whether something that must happen did not, rather than something wrong that did.
    pub liveness: bool,
}

impl Failure {
    /// Something wrong happened.
    pub fn safety(property: &str, place: String) -> Self {
        Self {
            property: property.to_owned(),
            place,
            liveness: false,
        }
    }

    /// Something that must happen did not.
    pub fn liveness(property: &str, place: String) -> Self {
        Self {
            property: property.to_owned(),
            place,
            liveness: true,
        }
    }
}

/// A change of a topic that comes and goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TopicChange {
    /// It was made.
    Create,
    /// It was deleted.
    Delete,
}

/// Everything that the clients of one run did and learned.
#[derive(Debug, Default)]
pub struct History {
    /// Records by partition, in the order in which they were first sent.
    pub sent: BTreeMap<Place, Vec<Sent>>,
    /// What consumers read during the run, by offset.
    pub read: BTreeMap<Place, BTreeMap<i64, Read>>,
    /// Offsets committed by each group, in order, one after the other.
    pub commits: BTreeMap<(String, Place), Vec<(i64, Outcome)>>,
    /// Creations and deletions of each topic that comes and goes, one after the other.
    pub topics: BTreeMap<String, Vec<(TopicChange, Outcome)>>,
    /// When power was lost.
    pub power_losses: Vec<Duration>,
    /// When a sync failed.
    pub failed_syncs: Vec<Duration>,
    /// Properties that a client saw broken at once.
    pub failures: Vec<Failure>,
    /// Records acknowledged.
    pub acked: u64,
    /// Records read.
    pub records_read: u64,
}

impl History {
    /// Takes note of a record that is about to be sent; answers its index.
    pub fn send(&mut self, place: Place, sent: Sent) -> usize {
        let all = self.sent.entry(place).or_default();
        all.push(sent);
        all.len() - 1
    }

    /// The broker acknowledged the record `index` of `place`.
    pub fn ack(&mut self, place: Place, index: usize, offset: Option<i64>, at: Duration) {
        let sent = &mut self.sent.get_mut(&place).expect("it was sent")[index];
        sent.outcome = Outcome::Acked(at);
        sent.offset = offset;
        self.acked += 1;
    }

    /// A consumer read `record`: it must not differ from what another read at that offset.
    pub fn saw(&mut self, place: Place, durable: bool, record: Read) {
        self.records_read += 1;
        let seen = self.read.entry(place).or_default();
        match seen.get(&record.offset) {
            Some(before) if durable && *before != record => {
                let what = format!("{place}: {before:?}, later {record:?}");
                self.failures
                    .push(Failure::safety("two reads of one offset agree", what));
            }
            _ => {
                seen.insert(record.offset, record);
            }
        }
    }
}
