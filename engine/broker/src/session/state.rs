//! One fetch session: its partitions in the order in which they are served.

use std::collections::BTreeMap;

use highwater_types::TopicId;

/// A partition of a session: by topic id from Fetch 13 on, by name before.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    /// The topic's id; [`TopicId::NONE`] when the client named it.
    pub(crate) id: TopicId,
    /// The topic's name; empty when the client gave an id.
    pub(crate) name: Box<str>,
    /// The partition's number as the client gave it.
    pub(crate) partition: i32,
}

/// What a client asks of one partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) fetch_offset: i64,
    pub(crate) max_bytes: i32,
    pub(crate) current_epoch: i32,
    pub(crate) last_fetched_epoch: i32,
}

/// What a client was last told of one partition; `None` when it must be told again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sent {
    pub(crate) high_watermark: i64,
    pub(crate) log_start: i64,
}

/// The partitions of one client.
#[derive(Debug, Default)]
pub(crate) struct Session {
    turns: BTreeMap<u64, (Key, Asked, Option<Sent>)>,
    places: BTreeMap<Key, u64>,
    next_turn: u64,
}

impl Session {
    /// Adds a partition at the end, or changes what is asked of it.
    pub(crate) fn ask(&mut self, key: Key, asked: Asked) {
        if let Some(turn) = self.places.get(&key) {
            let entry = self.turns.get_mut(turn).expect("a place has its turn");
            entry.1 = asked;
            return;
        }
        let turn = self.take_turn();
        self.places.insert(key.clone(), turn);
        self.turns.insert(turn, (key, asked, None));
        self.check();
    }

    /// Removes a partition, if it is there.
    pub(crate) fn forget(&mut self, key: &Key) {
        if let Some(turn) = self.places.remove(key) {
            self.turns.remove(&turn);
        }
        self.check();
    }

    /// The partitions in the order in which they are to be served.
    pub(crate) fn partitions(&self) -> impl Iterator<Item = (&Key, &Asked)> {
        self.turns.values().map(|(key, asked, _)| (key, asked))
    }

    /// Whether `now` tells the client something new (rule 68), given that nothing was read.
    pub(crate) fn is_news(&self, key: &Key, now: Sent) -> bool {
        let turn = self.places.get(key).and_then(|turn| self.turns.get(turn));
        turn.is_none_or(|(_, _, sent)| *sent != Some(now))
    }

    /// Remembers what the client is told; `None` after an error, so that recovery is told too.
    /// A partition that returned data goes to the end, so that all get their turn.
    pub(crate) fn told(&mut self, key: &Key, sent: Option<Sent>, had_data: bool) {
        let Some(turn) = self.places.get(key).copied() else {
            return;
        };
        if had_data {
            let mut entry = self.turns.remove(&turn).expect("a place has its turn");
            entry.2 = sent;
            let turn = self.take_turn();
            self.places.insert(key.clone(), turn);
            self.turns.insert(turn, entry);
        } else {
            self.turns.get_mut(&turn).expect("a place has its turn").2 = sent;
        }
        self.check();
    }

    /// Whether no partition is left.
    pub(crate) fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }

    /// Whether the client names topics by id; `None` while it has none.
    pub(crate) fn by_id(&self) -> Option<bool> {
        self.turns
            .values()
            .next()
            .map(|(key, _, _)| key.name.is_empty())
    }

    fn take_turn(&mut self) -> u64 {
        self.next_turn += 1;
        self.next_turn
    }

    fn check(&self) {
        assert_eq!(
            self.turns.len(),
            self.places.len(),
            "every partition has one turn"
        );
    }
}
