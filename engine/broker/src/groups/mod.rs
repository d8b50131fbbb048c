//! Groups in the broker: one coordinator a partition of `__consumer_offsets`.
//!
//! A group belongs to the partition that its name hashes to. Coordinators are pure; what is here
//! appends their records, waits for the disk, keeps their time and hands out their answers.

mod load;
mod slot;

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use highwater_metadata::state::{NewTopic, OFFSETS_TOPIC};
use highwater_runtime::Runtime;
use highwater_types::TopicId;

pub(crate) use slot::Slot;

use crate::Broker;
use crate::error_code::ResponseError;

/// Segments of the topic: small ones, because only whole ones can go.
const SEGMENT_BYTES: &str = "16777216";

/// How often, and with what pause, a request tries to make the topic or waits for its maker.
const MAKE_ATTEMPTS: usize = 20;
const MAKE_PAUSE: Duration = Duration::from_millis(25);

/// The coordinators of this broker.
pub(crate) struct Groups<R: Runtime> {
    open: Mutex<Open<R>>,
}

/// The coordinators of one `__consumer_offsets`.
struct Open<R: Runtime> {
    topic: TopicId,
    /// By partition; `None` where the partition could not be opened.
    slots: Vec<Option<Arc<Slot<R>>>>,
}

impl<R: Runtime> Default for Groups<R> {
    fn default() -> Self {
        Self {
            open: Mutex::new(Open {
                topic: TopicId::NONE,
                slots: Vec::new(),
            }),
        }
    }
}

impl<R: Runtime> Groups<R> {
    /// Begins to load whatever `__consumer_offsets` holds, if it is there.
    pub(crate) fn open(&self, broker: &Broker<R>) {
        let catalog = broker.catalog();
        let mut open = self.open.lock().expect("no panic holds this lock");
        let Some(topic) = catalog.named(OFFSETS_TOPIC) else {
            open.slots.drain(..).flatten().for_each(|slot| slot.lost());
            open.topic = TopicId::NONE;
            return;
        };
        if open.topic == topic.id {
            return;
        }
        open.slots.drain(..).flatten().for_each(|slot| slot.lost());
        open.topic = topic.id;
        open.slots = topic
            .partitions
            .iter()
            .map(|partition| Some(Slot::open(broker, partition.as_ref()?)))
            .collect();
    }

    /// The coordinator of `group`; `None` while there is no `__consumer_offsets`.
    ///
    /// # Errors
    /// The wire error for the client: look again later.
    pub(crate) fn slot(
        &self,
        broker: &Broker<R>,
        group: &str,
    ) -> Result<Option<Arc<Slot<R>>>, ResponseError> {
        if broker.stopping.load(Ordering::Acquire) {
            return Err(ResponseError::NotCoordinator);
        }
        self.open(broker);
        let open = self.open.lock().expect("no panic holds this lock");
        if open.slots.is_empty() {
            return Ok(None);
        }
        let at = partition_of(group, open.slots.len());
        open.slots[at]
            .clone()
            .map(Some)
            .ok_or(ResponseError::CoordinatorNotAvailable)
    }

    /// The coordinator of `group`, for requests that will write: makes `__consumer_offsets`.
    ///
    /// # Errors
    /// As [`Groups::slot`].
    pub(crate) async fn slot_to_write(
        &self,
        broker: &Arc<Broker<R>>,
        group: &str,
    ) -> Result<Arc<Slot<R>>, ResponseError> {
        for _ in 0..MAKE_ATTEMPTS {
            if let Some(slot) = self.slot(broker, group)? {
                return Ok(slot);
            }
            // Another request may be making it: then it is there in a moment.
            if !make_topic(broker).await {
                broker.runtime().sleep(MAKE_PAUSE).await;
            }
        }
        self.slot(broker, group)?
            .ok_or(ResponseError::CoordinatorNotAvailable)
    }

    /// Every coordinator there is.
    ///
    /// # Errors
    /// As [`Groups::slot`], when one is missing.
    pub(crate) fn slots(&self, broker: &Broker<R>) -> Result<Vec<Arc<Slot<R>>>, ResponseError> {
        if broker.stopping.load(Ordering::Acquire) {
            return Err(ResponseError::NotCoordinator);
        }
        self.open(broker);
        let open = self.open.lock().expect("no panic holds this lock");
        let slots: Option<Vec<_>> = open.slots.iter().cloned().collect();
        slots.ok_or(ResponseError::CoordinatorNotAvailable)
    }

    /// The topic is gone, so are the offsets committed for it.
    pub(crate) fn topic_deleted(&self, id: TopicId) {
        let slots: Vec<_> = {
            let open = self.open.lock().expect("no panic holds this lock");
            open.slots.iter().flatten().cloned().collect()
        };
        slots.iter().for_each(|slot| slot.topics_deleted(vec![id]));
    }

    /// The broker stops: nothing is waited for any more.
    pub(crate) fn close(&self) {
        let mut open = self.open.lock().expect("no panic holds this lock");
        open.slots.drain(..).flatten().for_each(|slot| slot.lost());
        open.topic = TopicId::NONE;
    }
}

/// Makes `__consumer_offsets`; false when it was not made by this call.
async fn make_topic<R: Runtime>(broker: &Arc<Broker<R>>) -> bool {
    let partitions = i32::try_from(broker.settings().offsets_topic_partitions).unwrap_or(1);
    let set = |key: &str, value: &str| (key.to_owned(), Some(value.to_owned()));
    let topic = NewTopic {
        partitions,
        replication: 1,
        configs: vec![set("segment.bytes", SEGMENT_BYTES)],
        ..NewTopic::named(OFFSETS_TOPIC)
    };
    let made = match broker.metadata().create_topics(&[topic], false).await {
        Ok((answers, _)) => answers.iter().all(Result::is_ok),
        Err(error) => {
            broker
                .runtime()
                .log(format_args!("cannot make {OFFSETS_TOPIC}: {error}"));
            false
        }
    };
    broker.act_on_changes().await;
    made
}

/// The partition of `__consumer_offsets` that keeps `group`: Kafka's own mapping, Java's hash of
/// the name without its sign.
fn partition_of(group: &str, partition_count: usize) -> usize {
    let hash = group.encode_utf16().fold(0u32, |hash, unit| {
        hash.wrapping_mul(31).wrapping_add(u32::from(unit))
    });
    (hash & 0x7fff_ffff) as usize % partition_count
}

#[cfg(test)]
mod tests {
    use super::partition_of;

    #[test]
    fn groups_stay_where_kafka_puts_them() {
        // "group".hashCode() and "my-group".hashCode() in Java.
        assert_eq!(partition_of("group", usize::MAX), 98_629_247);
        assert_eq!(partition_of("", 50), 0);
        assert!(partition_of("a-rather-long-name-of-a-group-\u{10348}", 50) < 50);
    }
}
