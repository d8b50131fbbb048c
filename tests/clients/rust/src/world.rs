//! A broker to make claims about: fresh topics, producers, consumers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Barrier, Mutex};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rdkafka::ClientContext;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer};
use rdkafka::message::{DeliveryResult, Message, OwnedMessage};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer, ProducerContext};

const LIMIT: Duration = Duration::from_secs(40);

pub struct World {
    bootstrap: String,
}

/// Remembers which offset each value was told.
struct Told {
    offsets: Mutex<BTreeMap<i64, String>>,
}

impl ClientContext for Told {}

impl ProducerContext for Told {
    type DeliveryOpaque = ();

    fn delivery(&self, result: &DeliveryResult<'_>, (): ()) {
        let record = result.as_ref().expect("the broker takes every record");
        let value = record.payload().expect("every record has a value");
        let value = String::from_utf8_lossy(value).into_owned();
        self.offsets.lock().expect("no panic").insert(record.offset(), value);
    }
}

impl World {
    pub fn new(bootstrap: String) -> Self {
        Self { bootstrap }
    }

    fn config(&self, pairs: &[(&str, &str)]) -> ClientConfig {
        let mut config = ClientConfig::new();
        config.set("bootstrap.servers", &self.bootstrap);
        for (key, value) in pairs {
            config.set(*key, *value);
        }
        config
    }

    /// A name that nothing has yet.
    pub fn fresh(&self, stem: &str) -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
        format!("rdkafka-{stem}-{}", now.as_nanos())
    }

    pub fn topic(&self, stem: &str, partitions: i32) -> String {
        let name = self.fresh(stem);
        let admin: AdminClient<DefaultClientContext> =
            self.config(&[]).create().expect("an admin client");
        let topic = NewTopic::new(&name, partitions, TopicReplication::Fixed(1));
        let made = block_on(admin.create_topics([&topic], &AdminOptions::new()));
        made.expect("the broker answers")[0].as_ref().expect("the topic is made");
        name
    }

    pub fn producer(&self, pairs: &[(&str, &str)]) -> BaseProducer {
        self.config(pairs).create().expect("a producer")
    }

    pub fn flush(&self, producer: &BaseProducer) {
        producer.flush(LIMIT).expect("every record is delivered");
    }

    pub fn consumer(&self, group: &str, pairs: &[(&str, &str)]) -> BaseConsumer {
        let mut config = self.config(pairs);
        config.set("group.id", group).set("auto.offset.reset", "earliest");
        config.set("enable.auto.commit", "false").set("session.timeout.ms", "6000");
        config.create().expect("a consumer")
    }

    /// The first `count` records of a topic, by a consumer of its own.
    pub fn read(&self, topic: &str, count: usize) -> Vec<OwnedMessage> {
        let consumer = self.consumer(&self.fresh("reader"), &[]);
        consumer.subscribe(&[topic]).expect("it subscribes");
        let (mut got, end) = (Vec::new(), Instant::now() + LIMIT);
        while got.len() < count {
            assert!(Instant::now() < end, "{} of {count} records came", got.len());
            if let Some(record) = consumer.poll(Duration::from_millis(200)) {
                got.push(record.expect("a good record").detach());
            }
        }
        got
    }

    /// Produces the values to partition 0 and answers which offsets were told.
    pub fn produce_and_tell(&self, topic: &str, values: Vec<String>) -> BTreeMap<i64, String> {
        let told = Told { offsets: Mutex::new(BTreeMap::new()) };
        let config = self.config(&[("enable.idempotence", "true")]);
        let producer: BaseProducer<Told> = config.create_with_context(told).expect("a producer");
        for value in &values {
            let record: BaseRecord<'_, (), str> =
                BaseRecord::to(topic).partition(0).payload(value.as_str());
            producer.send(record).expect("it queues");
            producer.poll(Duration::ZERO);
        }
        producer.flush(LIMIT).expect("every record is delivered");
        let told = producer.context().offsets.lock().expect("no panic").clone();
        assert_eq!(told.len(), values.len(), "every record has an offset of its own");
        told
    }

    /// `members` of one group share the partitions of a topic; once each has its part, `send`
    /// produces. They read until `count` records were seen in all, commit each, and leave.
    pub fn consume_as_group(
        &self,
        (topic, partitions): (&str, usize),
        group: &str,
        members: usize,
        count: usize,
        send: impl FnOnce(),
    ) -> BTreeSet<String> {
        let seen = Mutex::new(Vec::new());
        let ready = Barrier::new(members + 1);
        let end = Instant::now() + LIMIT;
        thread::scope(|scope| {
            for _ in 0..members {
                scope.spawn(|| {
                    let consumer = self.consumer(group, &[]);
                    consumer.subscribe(&[topic]).expect("it subscribes");
                    let share = partitions / members;
                    while consumer.assignment().expect("it says").count() != share {
                        assert!(Instant::now() < end, "the group did not settle");
                        let early = consumer.poll(Duration::from_millis(50));
                        assert!(early.is_none(), "a record before any was sent: {early:?}");
                    }
                    ready.wait();
                    while seen.lock().expect("no panic").len() < count && Instant::now() < end {
                        let Some(record) = consumer.poll(Duration::from_millis(50)) else {
                            continue;
                        };
                        let record = record.expect("a good record");
                        let value = record.payload().expect("every record has a value");
                        let value = String::from_utf8_lossy(value).into_owned();
                        consumer.commit_message(&record, CommitMode::Sync).expect("it commits");
                        seen.lock().expect("no panic").push(value);
                    }
                });
            }
            ready.wait();
            send();
        });
        let seen = seen.into_inner().expect("no panic");
        let distinct: BTreeSet<String> = seen.iter().cloned().collect();
        assert_eq!(distinct.len(), seen.len(), "a record was read twice");
        assert_eq!(seen.len(), count, "records that were read");
        distinct
    }
}

/// Runs a future of the admin client, which a thread of librdkafka completes.
fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = std::pin::pin!(future);
    let waker = std::task::Waker::from(std::sync::Arc::new(Unpark(thread::current())));
    let mut context = std::task::Context::from_waker(&waker);
    loop {
        if let std::task::Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return value;
        }
        thread::park_timeout(Duration::from_millis(100));
    }
}

struct Unpark(thread::Thread);

impl std::task::Wake for Unpark {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.unpark();
    }
}
