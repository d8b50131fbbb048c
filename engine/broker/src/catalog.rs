//! The topics that this broker serves: names and ids to live partitions.

use std::collections::BTreeMap;
use std::sync::Arc;

use highwater_metadata::settings::TopicSettings;
use highwater_partition::Partition;
use highwater_runtime::Runtime;
use highwater_types::TopicId;

/// One topic with its live partitions. Replaced as a whole when anything of it changes.
#[derive(Debug)]
pub struct TopicEntry<R: Runtime> {
    /// The topic's name.
    pub name: Arc<str>,
    /// The topic's identity.
    pub id: TopicId,
    /// Whether the broker keeps its own records in it.
    pub internal: bool,
    /// The effective settings.
    pub settings: TopicSettings,
    /// The partitions by number; `None` where one could not be opened.
    pub partitions: Vec<Option<Arc<Partition<R>>>>,
}

impl<R: Runtime> Clone for TopicEntry<R> {
    fn clone(&self) -> Self {
        Self {
            name: Arc::clone(&self.name),
            id: self.id,
            internal: self.internal,
            settings: self.settings.clone(),
            partitions: self.partitions.clone(),
        }
    }
}

/// The topics of one moment. Cheap to clone; never changed in place.
#[derive(Debug)]
pub struct Catalog<R: Runtime> {
    by_name: BTreeMap<Arc<str>, Arc<TopicEntry<R>>>,
    by_id: BTreeMap<TopicId, Arc<TopicEntry<R>>>,
}

impl<R: Runtime> Default for Catalog<R> {
    fn default() -> Self {
        Self {
            by_name: BTreeMap::new(),
            by_id: BTreeMap::new(),
        }
    }
}

impl<R: Runtime> Clone for Catalog<R> {
    fn clone(&self) -> Self {
        Self {
            by_name: self.by_name.clone(),
            by_id: self.by_id.clone(),
        }
    }
}

impl<R: Runtime> Catalog<R> {
    /// The topic called `name`.
    pub fn named(&self, name: &str) -> Option<&Arc<TopicEntry<R>>> {
        self.by_name.get(name)
    }

    /// The topic with identity `id`.
    pub fn with_id(&self, id: TopicId) -> Option<&Arc<TopicEntry<R>>> {
        self.by_id.get(&id)
    }

    /// Every topic, by name.
    pub fn topics(&self) -> impl Iterator<Item = &Arc<TopicEntry<R>>> {
        self.by_name.values()
    }

    /// Every live partition, by topic name and number.
    pub fn partitions(&self) -> impl Iterator<Item = &Arc<Partition<R>>> {
        self.by_name
            .values()
            .flat_map(|topic| topic.partitions.iter().flatten())
    }

    pub(crate) fn put(&mut self, entry: TopicEntry<R>) {
        let entry = Arc::new(entry);
        self.by_id.insert(entry.id, Arc::clone(&entry));
        self.by_name.insert(Arc::clone(&entry.name), entry);
        self.check();
    }

    pub(crate) fn take(&mut self, id: TopicId) -> Option<Arc<TopicEntry<R>>> {
        let entry = self.by_id.remove(&id)?;
        self.by_name.remove(&entry.name);
        self.check();
        Some(entry)
    }

    fn check(&self) {
        assert_eq!(
            self.by_name.len(),
            self.by_id.len(),
            "a topic has one name and one id"
        );
    }
}
