//! A coordinator with a log beside it: records become durable when the test says so.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use highwater_types::TopicId;

use crate::*;

pub(crate) struct World {
    pub(crate) coordinator: Coordinator,
    /// Every record that was appended, with the number of its append.
    pub(crate) log: Vec<(AppendId, Record)>,
    /// The newest append, and whether appends become durable at once.
    pub(crate) last: Option<AppendId>,
    pub(crate) durable: Option<AppendId>,
    pub(crate) syncs_at_once: bool,
    pub(crate) refuses: bool,
    pub(crate) now: Now,
    pub(crate) answers: BTreeMap<Token, Answer>,
    pub(crate) trims: Vec<AppendId>,
    tokens: u64,
    /// Append numbers of this coordinator start here: they start again with the process.
    base: u64,
}

pub(crate) fn text(text: &str) -> Arc<str> {
    Arc::from(text)
}

/// A consumer's metadata that names `topics`.
pub(crate) fn subscription(topics: &[&str]) -> Bytes {
    let mut out = vec![0, 1];
    out.extend_from_slice(&(topics.len() as i32).to_be_bytes());
    for topic in topics {
        out.extend_from_slice(&(topic.len() as i16).to_be_bytes());
        out.extend_from_slice(topic.as_bytes());
    }
    Bytes::from(out)
}

pub(crate) fn join(member: &str) -> Join {
    Join {
        group: text("g"),
        member_id: text(member),
        instance_id: None,
        client_id: text("c"),
        client_host: text("/127.0.0.1"),
        session_timeout_ms: 10_000,
        rebalance_timeout_ms: 60_000,
        protocol_type: text("consumer"),
        protocols: vec![Protocol {
            name: text("range"),
            metadata: subscription(&["t"]),
        }],
        requires_member_id: false,
        may_skip_assignment: true,
        draw: 0,
    }
}

pub(crate) fn identity(member: &str) -> Identity {
    Identity {
        member_id: text(member),
        instance_id: None,
    }
}

pub(crate) fn topic_id(topic: &str) -> TopicId {
    TopicId([topic.as_bytes()[0]; 16])
}

pub(crate) fn commit(member: &str, generation: i32, topic: &str, offset: i64) -> Commit {
    Commit {
        group: text("g"),
        member: identity(member),
        generation,
        retention_ms: None,
        offsets: vec![CommitOffset {
            topic: text(topic),
            topic_id: topic_id(topic),
            partition: 0,
            offset,
            leader_epoch: 1,
            metadata: text(""),
        }],
    }
}

impl World {
    pub(crate) fn new() -> Self {
        let config = Config {
            initial_rebalance_delay_ms: 0,
            ..Config::default()
        };
        Self::with(config)
    }

    pub(crate) fn with(config: Config) -> Self {
        let now = Now {
            mono_ms: 1_000,
            wall_ms: 1_000_000,
        };
        Self {
            coordinator: Replay::default().finish(config, now),
            log: Vec::new(),
            last: None,
            durable: None,
            syncs_at_once: true,
            refuses: false,
            now,
            answers: BTreeMap::new(),
            trims: Vec::new(),
            tokens: 0,
            base: 0,
        }
    }

    pub(crate) fn token(&mut self) -> Token {
        self.tokens += 1;
        Token(self.tokens)
    }

    /// Hands in an event and does what it asks for.
    pub(crate) fn handle(&mut self, event: Event) {
        let mut effects = Vec::new();
        self.coordinator.handle(self.now, event, &mut effects);
        let mut refused = None;
        for effect in effects {
            match effect {
                Effect::Answer(token, answer) => {
                    let before = self.answers.insert(token, answer);
                    assert!(before.is_none(), "{token:?} was answered twice");
                }
                Effect::Append(id, _) if self.refuses => {
                    assert!(refused.is_none(), "one event of a test appends once");
                    refused = Some(id);
                }
                Effect::Append(id, records) => {
                    let id = AppendId(self.base + id.0);
                    self.log
                        .extend(records.into_iter().map(|record| (id, record)));
                    self.last = Some(id);
                }
                Effect::Trim(id) => {
                    let id = AppendId(self.base + id.0);
                    self.trims.push(id);
                    self.log.retain(|(of, _)| *of >= id);
                }
            }
        }
        if let Some(id) = refused {
            return self.handle(Event::Refused(id));
        }
        if self.syncs_at_once {
            self.sync_all();
        }
        self.check_replay();
    }

    /// Everything appended so far is durable.
    pub(crate) fn sync_all(&mut self) {
        if self.durable < self.last {
            self.durable = self.last;
            let last = self.last.expect("something was appended").0;
            if let Some(id) = last.checked_sub(self.base) {
                self.handle(Event::Durable(AppendId(id)));
            }
        }
    }

    /// What is shown is what the durable records give.
    pub(crate) fn check_replay(&self) {
        let replayed = self.replayed();
        for listed in self.coordinator.list() {
            let live: Vec<_> = self.coordinator.offsets(&listed.group).collect();
            let again: Vec<_> = replayed.offsets(&listed.group).collect();
            assert_eq!(live, again, "offsets differ from the log's");
        }
        assert_eq!(
            self.coordinator.records(),
            replayed.records(),
            "records differ"
        );
    }

    /// A coordinator from the durable records.
    pub(crate) fn replayed(&self) -> Coordinator {
        let mut replay = Replay::default();
        for (id, record) in &self.log {
            if Some(*id) <= self.durable {
                replay
                    .apply(Some(&record.key), record.value.as_ref())
                    .unwrap();
            }
        }
        let config = Config {
            initial_rebalance_delay_ms: 0,
            ..Config::default()
        };
        replay.finish(config, self.now)
    }

    /// A crash: only what is durable is left.
    pub(crate) fn restart(&mut self) {
        self.coordinator = self.replayed();
        let durable = self.durable;
        self.log.retain(|(id, _)| Some(*id) <= durable);
        self.base = self.last.map_or(0, |last| last.0 + 1);
        self.last = durable;
    }

    /// Lets time pass, and timers fire when they are due.
    pub(crate) fn pass(&mut self, ms: u64) {
        let end = self.now.mono_ms + ms;
        while let Some(at_ms) = self
            .coordinator
            .next_deadline()
            .filter(|at_ms| *at_ms <= end)
        {
            self.advance_to(at_ms);
            self.handle(Event::Tick);
        }
        self.advance_to(end);
    }

    fn advance_to(&mut self, mono_ms: u64) {
        let passed = mono_ms.saturating_sub(self.now.mono_ms);
        self.now.mono_ms += passed;
        self.now.wall_ms += i64::try_from(passed).unwrap();
    }

    pub(crate) fn join(&mut self, join: Join) -> Token {
        let token = self.token();
        self.handle(Event::Join(
            token,
            Join {
                draw: u128::from(token.0),
                ..join
            },
        ));
        token
    }

    /// The answer to a join, which must be there.
    pub(crate) fn joined(&mut self, token: Token) -> JoinAnswer {
        match self.answers.remove(&token) {
            Some(Answer::Join(answer)) => answer,
            other => panic!("{token:?} has {other:?}"),
        }
    }

    pub(crate) fn sync(&mut self, id: &str, generation: i32, shares: &[(&str, &str)]) -> Token {
        let token = self.token();
        let share = |(id, share): &(&str, &str)| (text(id), Bytes::from((*share).to_owned()));
        let sync = Sync {
            group: text("g"),
            member: identity(id),
            generation,
            protocol_type: Some(text("consumer")),
            protocol_name: Some(text("range")),
            assignments: shares.iter().map(share).collect(),
        };
        self.handle(Event::Sync(token, sync));
        token
    }

    pub(crate) fn synced(&mut self, token: Token) -> Result<Bytes, GroupError> {
        match self.answers.remove(&token) {
            Some(Answer::Sync(answer)) => answer.map(|answer| answer.assignment),
            other => panic!("{token:?} has {other:?}"),
        }
    }

    pub(crate) fn heartbeat(&mut self, id: &str, generation: i32) -> Result<(), GroupError> {
        let token = self.token();
        let (group, member) = (text("g"), identity(id));
        self.handle(Event::Heartbeat(
            token,
            Heartbeat {
                group,
                member,
                generation,
            },
        ));
        match self.answers.remove(&token) {
            Some(Answer::Heartbeat(answer)) => answer,
            other => panic!("{token:?} has {other:?}"),
        }
    }

    pub(crate) fn leave(&mut self, member: Identity) -> Result<(), GroupError> {
        let token = self.token();
        let leave = Leave {
            group: text("g"),
            members: vec![member],
        };
        self.handle(Event::Leave(token, leave));
        match self.answers.remove(&token) {
            Some(Answer::Leave(results)) => results[0],
            other => panic!("{token:?} has {other:?}"),
        }
    }

    pub(crate) fn commit(&mut self, commit: Commit) -> Result<(), GroupError> {
        let token = self.token();
        self.handle(Event::Commit(token, commit));
        match self.answers.remove(&token) {
            Some(Answer::Commit(results)) => results[0],
            other => panic!("{token:?} has {other:?}"),
        }
    }

    pub(crate) fn offset(&self, topic: &str) -> Option<i64> {
        self.coordinator
            .offset("g", topic, 0)
            .map(|committed| committed.offset)
    }

    pub(crate) fn state(&self) -> GroupState {
        self.coordinator
            .describe("g")
            .map_or(GroupState::Dead, |group| group.state)
    }

    /// A stable group of one dynamic member; answers its id and generation.
    pub(crate) fn stable(&mut self) -> (String, i32) {
        let token = self.join(join(""));
        let answer = self.joined(token);
        assert_eq!(answer.error, None);
        let id = answer.member_id.to_string();
        let token = self.sync(&id, answer.generation, &[(&id, "all")]);
        assert_eq!(self.synced(token), Ok(Bytes::from("all")));
        (id, answer.generation)
    }
}
