//! The sessions of a broker: a bounded cache with epochs that catch lost and repeated requests.

use std::collections::BTreeMap;
use std::time::Duration;

use super::state::{Asked, Key, Session};

/// A session that nobody used for so long may be evicted for a new one (rule 69).
const STALE_AFTER: Duration = Duration::from_secs(120);

/// Why a session cannot be used; the client starts a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SessionError {
    /// No such session.
    NotFound,
    /// Another epoch was expected; the session stays usable at that one (section 4 item 20).
    WrongEpoch,
    /// Names and topic ids in one session.
    MixedIds,
}

/// How a fetch relates to a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begin {
    /// The request lists everything; no session is wanted or could be made.
    Sessionless,
    /// The request lists everything and a session was made of it.
    Created {
        /// The new session's id.
        id: i32,
    },
    /// The request says what changed.
    Continued {
        /// The session's id.
        id: i32,
        /// The epoch that the request had; the session expects the next one.
        epoch: i32,
    },
}

impl Begin {
    /// The session id to answer; 0 for none.
    pub(crate) fn id(self) -> i32 {
        match self {
            Self::Sessionless => 0,
            Self::Created { id } | Self::Continued { id, .. } => id,
        }
    }
}

#[derive(Debug)]
struct Slot {
    session: Session,
    /// The epoch of the next request.
    epoch: i32,
    used: Duration,
}

/// The sessions by id.
#[derive(Debug)]
pub(crate) struct SessionCache {
    slots: BTreeMap<i32, Slot>,
    slots_max: usize,
    by_use: BTreeMap<(Duration, i32), ()>,
}

impl SessionCache {
    /// A cache of at most `slots_max` sessions.
    pub(crate) fn new(slots_max: usize) -> Self {
        Self {
            slots: BTreeMap::new(),
            slots_max,
            by_use: BTreeMap::new(),
        }
    }

    /// Judges a request's session id and epoch and brings the session up to date with what the
    /// request asks and forgets. `draw` gives the id of a new session.
    ///
    /// # Errors
    /// [`SessionError`]; an existing session is unchanged.
    pub(crate) fn begin(
        &mut self,
        (id, epoch): (i32, i32),
        asked: &[(Key, Asked)],
        forgotten: &[Key],
        now: Duration,
        draw: u64,
    ) -> Result<Begin, SessionError> {
        match (id, epoch) {
            (0, 0) => Ok(self.create(asked, now, draw)),
            (0, -1) => Ok(Begin::Sessionless),
            (0, _) => Err(SessionError::NotFound),
            (id, 0 | -1) => {
                self.close(id);
                let wants_one = epoch == 0;
                Ok(if wants_one {
                    self.create(asked, now, draw)
                } else {
                    Begin::Sessionless
                })
            }
            (id, epoch) => self.resume(id, epoch, asked, forgotten, now),
        }
    }

    fn resume(
        &mut self,
        id: i32,
        epoch: i32,
        asked: &[(Key, Asked)],
        forgotten: &[Key],
        now: Duration,
    ) -> Result<Begin, SessionError> {
        let slot = self.slots.get_mut(&id).ok_or(SessionError::NotFound)?;
        if slot.epoch != epoch {
            return Err(SessionError::WrongEpoch);
        }
        let by_id = slot.session.by_id();
        let mixed = asked
            .iter()
            .any(|(key, _)| by_id.is_some_and(|by| by != key.name.is_empty()));
        if mixed {
            return Err(SessionError::MixedIds);
        }
        slot.epoch = next_epoch(epoch);
        self.by_use.remove(&(slot.used, id));
        slot.used = now;
        self.by_use.insert((now, id), ());
        for key in forgotten {
            slot.session.forget(key);
        }
        for (key, asked) in asked {
            slot.session.ask(key.clone(), *asked);
        }
        if slot.session.is_empty() {
            self.close(id);
            return Ok(Begin::Sessionless);
        }
        Ok(Begin::Continued { id, epoch })
    }

    fn create(&mut self, asked: &[(Key, Asked)], now: Duration, draw: u64) -> Begin {
        if asked.is_empty() || !self.make_room(now) {
            return Begin::Sessionless;
        }
        let mut id = (draw % (i32::MAX as u64 - 1)) as i32 + 1;
        while self.slots.contains_key(&id) {
            id = if id == i32::MAX { 1 } else { id + 1 };
        }
        let mut session = Session::default();
        for (key, asked) in asked {
            session.ask(key.clone(), *asked);
        }
        self.slots.insert(
            id,
            Slot {
                session,
                epoch: 1,
                used: now,
            },
        );
        self.by_use.insert((now, id), ());
        Begin::Created { id }
    }

    /// Makes room for one more, evicting the one unused for longest if it is stale.
    fn make_room(&mut self, now: Duration) -> bool {
        if self.slots.len() < self.slots_max {
            return true;
        }
        let Some((&(used, id), ())) = self.by_use.first_key_value() else {
            return false;
        };
        if now.saturating_sub(used) < STALE_AFTER {
            return false;
        }
        self.close(id);
        true
    }

    fn close(&mut self, id: i32) {
        if let Some(slot) = self.slots.remove(&id) {
            self.by_use.remove(&(slot.used, id));
        }
    }

    /// The session of a request that [`SessionCache::begin`] let through.
    ///
    /// # Errors
    /// [`SessionError::WrongEpoch`] when another request used it since (rule 67: also while
    /// parked); [`SessionError::NotFound`] when it was evicted.
    pub(crate) fn session(&mut self, begin: Begin) -> Result<Option<&mut Session>, SessionError> {
        let (id, expected) = match begin {
            Begin::Sessionless => return Ok(None),
            Begin::Created { id } => (id, 1),
            Begin::Continued { id, epoch } => (id, next_epoch(epoch)),
        };
        let slot = self.slots.get_mut(&id).ok_or(SessionError::NotFound)?;
        if slot.epoch != expected {
            return Err(SessionError::WrongEpoch);
        }
        Ok(Some(&mut slot.session))
    }
}

/// Epochs count from 1 and wrap to 1.
fn next_epoch(epoch: i32) -> i32 {
    if epoch == i32::MAX { 1 } else { epoch + 1 }
}

#[cfg(test)]
mod tests {
    use highwater_types::TopicId;

    use super::*;

    fn key(partition: i32) -> Key {
        Key {
            id: TopicId::NONE,
            name: "t".into(),
            partition,
        }
    }

    fn asks(partitions: std::ops::Range<i32>) -> Vec<(Key, Asked)> {
        let asked = Asked {
            fetch_offset: 0,
            max_bytes: 1,
            current_epoch: -1,
            last_fetched_epoch: -1,
        };
        partitions
            .map(|partition| (key(partition), asked))
            .collect()
    }

    fn begin(
        cache: &mut SessionCache,
        at: (i32, i32),
        asked: &[(Key, Asked)],
        now: u64,
    ) -> Result<Begin, SessionError> {
        cache.begin(at, asked, &[], Duration::from_secs(now), now)
    }

    #[test]
    fn a_wrong_epoch_leaves_the_session_usable_at_the_expected_one() {
        let mut cache = SessionCache::new(2);
        let made = begin(&mut cache, (0, 0), &asks(0..2), 0).unwrap();
        let id = made.id();
        assert_eq!(
            begin(&mut cache, (id, 5), &[], 1),
            Err(SessionError::WrongEpoch)
        );
        assert_eq!(
            begin(&mut cache, (id, 1), &[], 1),
            Ok(Begin::Continued { id, epoch: 1 })
        );
        assert_eq!(
            begin(&mut cache, (id, 1), &[], 1),
            Err(SessionError::WrongEpoch)
        );
    }

    #[test]
    fn a_full_cache_makes_no_session_until_one_is_stale() {
        let mut cache = SessionCache::new(1);
        let first = begin(&mut cache, (0, 0), &asks(0..1), 0).unwrap();
        assert_eq!(
            begin(&mut cache, (0, 0), &asks(0..1), 60),
            Ok(Begin::Sessionless)
        );
        let second = begin(&mut cache, (0, 0), &asks(0..1), 121).unwrap();
        assert_ne!(second, Begin::Sessionless);
        assert_eq!(
            begin(&mut cache, (first.id(), 1), &[], 122),
            Err(SessionError::NotFound)
        );
    }

    #[test]
    fn forgetting_the_last_partition_closes_the_session() {
        let mut cache = SessionCache::new(1);
        let id = begin(&mut cache, (0, 0), &asks(0..1), 0).unwrap().id();
        let gone = cache.begin((id, 1), &[], &[key(0)], Duration::ZERO, 0);
        assert_eq!(gone, Ok(Begin::Sessionless));
        assert_eq!(
            begin(&mut cache, (id, 2), &[], 0),
            Err(SessionError::NotFound)
        );
    }

    #[test]
    fn partitions_that_returned_data_move_to_the_end() {
        let mut cache = SessionCache::new(1);
        let made = begin(&mut cache, (0, 0), &asks(0..3), 0).unwrap();
        let session = cache.session(made).unwrap().expect("a session was made");
        session.told(&key(0), None, true);
        let order: Vec<i32> = session.partitions().map(|(key, _)| key.partition).collect();
        assert_eq!(order, [1, 2, 0]);
    }

    #[test]
    fn epochs_wrap_to_one() {
        assert_eq!(next_epoch(i32::MAX), 1);
        assert_eq!(next_epoch(1), 2);
    }
}
