//! One coordinator with its partition: events in under a lock, effects carried out in order.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use highwater_coordinator::{
    Answer, AppendId, Config, Coordinator, Effect, Event, Now, Record, Replay, Token,
};
use highwater_metadata::settings::BrokerSettings;
use highwater_partition::{Ack, AckError, Acks, Partition, ProduceError};
use highwater_record::{BatchBuilder, Flags, NewRecord};
use highwater_runtime::Runtime;
use highwater_runtime::task::{first, oneshot};
use highwater_types::{Offset, TopicId};

use crate::Broker;
use crate::error_code::ResponseError;

/// Records of one append are cut into batches of about this size.
const BATCH_BYTES: usize = 1 << 20;

/// The log is rewritten when it grew by this much, and by twice what a rewrite takes.
const GROWTH_BYTES_MIN: usize = 8 << 20;

/// The longest sleep of the timer task: it sees then whether the broker stopped.
const SLEEP_MAX: Duration = Duration::from_secs(60);

/// One coordinator with its partition.
pub(crate) struct Slot<R: Runtime> {
    pub(super) runtime: R,
    pub(super) partition: Arc<Partition<R>>,
    state: Mutex<State>,
}

/// Whether groups are served.
#[expect(
    clippy::large_enum_variant,
    reason = "one a partition of the groups' topic, nearly always ready"
)]
enum Phase {
    /// Records are being read: nothing is served from a part of them.
    Loading,
    /// Groups are served.
    Ready(Coordinator),
    /// The records cannot be read; the operator was told.
    Failed,
    /// The partition is no longer served here.
    Gone,
}

struct State {
    phase: Phase,
    config: Config,
    tokens: u64,
    waiting: BTreeMap<Token, oneshot::Sender<Answer>>,
    /// Appends that wait for the disk, in the order of the log.
    acks: VecDeque<(AppendId, oneshot::Receiver<Result<(), AckError>>)>,
    /// A task waits for the first of `acks`.
    acking: bool,
    /// Where the records of appends begin, until they are durable.
    bases: BTreeMap<AppendId, Offset>,
    /// Bytes appended or found since the last rewrite began, and what that took.
    grown_bytes: usize,
    rewrite_bytes: usize,
    /// When the timer task wakes, in monotonic milliseconds, and how to wake it before.
    sleeps_until_ms: u64,
    wake: Option<oneshot::Sender<()>>,
    timing: bool,
}

impl<R: Runtime> Slot<R> {
    /// A coordinator of `partition`, whose records are read from now on.
    pub(super) fn open(broker: &Broker<R>, partition: &Arc<Partition<R>>) -> Arc<Self> {
        let slot = Arc::new(Self {
            runtime: broker.runtime().clone(),
            partition: Arc::clone(partition),
            state: Mutex::new(State {
                phase: Phase::Loading,
                config: config_of(&broker.settings()),
                tokens: 0,
                waiting: BTreeMap::new(),
                acks: VecDeque::new(),
                acking: false,
                bases: BTreeMap::new(),
                grown_bytes: 0,
                rewrite_bytes: 0,
                sleeps_until_ms: 0,
                wake: None,
                timing: false,
            }),
        });
        let offsets = partition.offsets();
        if offsets.start == offsets.end {
            // Nothing to read: the first member of a new cluster is not sent away to come again.
            slot.ready(|config, now| Replay::default().finish(config, now), 0);
        } else {
            let known = broker
                .metadata()
                .state()
                .topics()
                .map(|topic| topic.id)
                .collect();
            slot.load(Some(known));
        }
        slot
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no panic holds this lock")
    }

    /// Hands a request in and waits for its answer.
    ///
    /// # Errors
    /// The wire error for a client that must come again, or go elsewhere.
    pub(crate) async fn ask(
        self: &Arc<Self>,
        broker: &Broker<R>,
        request: impl FnOnce(Token) -> Event,
    ) -> Result<Answer, ResponseError> {
        let answer = {
            let mut state = self.lock();
            state
                .coordinator()?
                .configure(config_of(&broker.settings()));
            state.tokens += 1;
            let token = Token(state.tokens);
            let (sender, answer) = oneshot::channel();
            state.waiting.insert(token, sender);
            self.run(&mut state, request(token));
            answer
        };
        answer
            .await
            .map_err(|oneshot::Canceled| ResponseError::NotCoordinator)
    }

    /// Looks at the groups.
    ///
    /// # Errors
    /// As [`Slot::ask`].
    pub(crate) fn look<T>(&self, look: impl FnOnce(&Coordinator) -> T) -> Result<T, ResponseError> {
        let mut state = self.lock();
        Ok(look(state.coordinator()?))
    }

    /// The topics are gone, so are the offsets committed for them.
    pub(super) fn topics_deleted(self: &Arc<Self>, topics: Vec<TopicId>) {
        // One that loads asks for itself when it has loaded.
        self.event(Event::TopicsDeleted(topics));
    }

    /// The partition is no longer served here.
    pub(super) fn lost(self: &Arc<Self>) {
        self.event(Event::Lost);
        let mut state = self.lock();
        state.phase = Phase::Gone;
        state.waiting.clear();
        state.acks.clear();
        state.wake = None;
    }

    /// The records were read: groups are served from now on.
    ///
    /// Answers false when the partition is no longer served here.
    pub(super) fn ready(
        self: &Arc<Self>,
        make: impl FnOnce(Config, Now) -> Coordinator,
        read_bytes: usize,
    ) -> bool {
        let mut state = self.lock();
        if !matches!(state.phase, Phase::Loading) {
            return false;
        }
        let coordinator = make(state.config.clone(), self.now());
        state.phase = Phase::Ready(coordinator);
        (state.grown_bytes, state.rewrite_bytes) = (read_bytes, 0);
        if !state.timing {
            state.timing = true;
            let slot = Arc::clone(self);
            self.runtime
                .spawn("group-timers", async move { slot.keep_time().await });
        }
        true
    }

    /// The records cannot be read, and reading them again would not help.
    pub(super) fn failed(&self) {
        let mut state = self.lock();
        if matches!(state.phase, Phase::Loading) {
            state.phase = Phase::Failed;
        }
    }

    /// Whether the records are still to be read.
    pub(super) fn is_loading(&self) -> bool {
        matches!(self.lock().phase, Phase::Loading)
    }

    /// Hands in an event that nobody waits for; nothing happens unless groups are served.
    pub(super) fn event(self: &Arc<Self>, event: Event) {
        let mut state = self.lock();
        if matches!(state.phase, Phase::Ready(_)) {
            self.run(&mut state, event);
        }
    }

    pub(super) fn now(&self) -> Now {
        let mono_ms = u64::try_from(self.runtime.mono().as_millis()).unwrap_or(u64::MAX);
        Now {
            mono_ms,
            wall_ms: self.runtime.wall_ms(),
        }
    }

    /// Handles `event` and whatever follows from carrying out its effects.
    fn run(self: &Arc<Self>, state: &mut State, event: Event) {
        let mut events = VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            let Phase::Ready(coordinator) = &mut state.phase else {
                return;
            };
            let mut effects = Vec::new();
            let durable = if let Event::Durable(id) = event {
                Some(id)
            } else {
                None
            };
            coordinator.handle(self.now(), event, &mut effects);
            for effect in effects {
                self.carry_out(state, effect, &mut events);
            }
            if let Some(durable) = durable {
                state.bases.retain(|id, _| *id > durable);
            }
            if events.is_empty() && state.grown_bytes > state.growth_bytes_max() {
                (state.grown_bytes, state.rewrite_bytes) = (0, 0);
                events.push_back(Event::Rewrite);
            }
        }
        state.wake_timers();
        if !state.acking && !state.acks.is_empty() {
            state.acking = true;
            let slot = Arc::clone(self);
            self.runtime
                .spawn("group-acks", async move { slot.await_acks().await });
        }
    }

    fn carry_out(
        self: &Arc<Self>,
        state: &mut State,
        effect: Effect,
        events: &mut VecDeque<Event>,
    ) {
        match effect {
            Effect::Answer(token, answer) => {
                if let Some(sender) = state.waiting.remove(&token) {
                    // The client may have gone.
                    let _ = sender.send(answer);
                }
            }
            Effect::Append(id, records) => match self.append(&records) {
                Ok((base, ack)) => {
                    let bytes: usize = records.iter().map(Record::len_bytes).sum();
                    state.grown_bytes += bytes;
                    state.bases.insert(id, base);
                    match ack {
                        Ack::Wait(ack) => state.acks.push_back((id, ack)),
                        Ack::Done => events.push_back(Event::Durable(id)),
                    }
                }
                Err(error) => {
                    self.log(format_args!("a change of a group is not written: {error}"));
                    events.push_front(Event::Refused(id));
                }
            },
            Effect::Trim(id) => {
                let Some(base) = state.bases.get(&id).copied() else {
                    return;
                };
                state.rewrite_bytes = state.grown_bytes;
                let slot = Arc::clone(self);
                self.runtime.spawn("group-trim", async move {
                    if let Err(error) = slot.partition.trim(Some(base)).await {
                        slot.log(format_args!("old records stay: {error}"));
                    }
                });
            }
        }
    }

    /// Appends `records`; answers where they begin, and what is left to wait for.
    fn append(&self, records: &[Record]) -> Result<(Offset, Ack), ProduceError> {
        let now_ms = self.runtime.wall_ms();
        let (mut base, mut ack) = (None, Ack::Done);
        let mut rest = records;
        while !rest.is_empty() {
            let mut builder = BatchBuilder::new(Flags(0), 0, None, 0);
            let mut count = 0;
            while count < rest.len() && (count == 0 || builder.len() < BATCH_BYTES) {
                let record = &rest[count];
                builder.push(&NewRecord {
                    timestamp: now_ms,
                    key: Some(&record.key),
                    value: record.value.as_deref(),
                    headers: &[],
                });
                count += 1;
            }
            rest = &rest[count..];
            let mut batch = builder.finish();
            let appended = self.partition.append(&mut batch, None, Acks::All, now_ms)?;
            base = base.or(Some(appended.base_offset));
            ack = appended.ack;
        }
        Ok((base.unwrap_or(Offset::ZERO), ack))
    }

    /// Waits for the disk, append after append, in the order of the log: when one failed, what
    /// came after it must not be taken for durable.
    async fn await_acks(self: Arc<Self>) {
        loop {
            let next = {
                let mut state = self.lock();
                let next = state.acks.pop_front();
                state.acking = next.is_some();
                next
            };
            let Some((id, ack)) = next else { return };
            match ack.await {
                Ok(Ok(())) => self.event(Event::Durable(id)),
                Ok(Err(_)) | Err(oneshot::Canceled) => self.log_failed(),
            }
        }
    }

    /// The log failed: what is in it is known only when it was recovered and read again.
    fn log_failed(self: &Arc<Self>) {
        self.event(Event::Lost);
        {
            let mut state = self.lock();
            if !matches!(state.phase, Phase::Ready(_)) {
                return;
            }
            state.phase = Phase::Loading;
            state.waiting.clear();
            state.acks.clear();
            state.bases.clear();
        }
        self.load(None);
    }

    /// Lets time pass for the groups until the partition is no longer served here.
    async fn keep_time(self: Arc<Self>) {
        loop {
            let now_ms = self.now().mono_ms;
            let (sleep_ms, woken) = {
                let mut state = self.lock();
                let next = match &state.phase {
                    Phase::Gone => return,
                    Phase::Ready(coordinator) => coordinator.next_deadline(),
                    Phase::Loading | Phase::Failed => None,
                };
                let longest = now_ms + SLEEP_MAX.as_millis() as u64;
                state.sleeps_until_ms = next.unwrap_or(longest).min(longest);
                let (sender, woken) = oneshot::channel();
                state.wake = Some(sender);
                (state.sleeps_until_ms.saturating_sub(now_ms), woken)
            };
            if sleep_ms == 0 {
                self.event(Event::Tick);
            } else {
                let sleep = self.runtime.sleep(Duration::from_millis(sleep_ms));
                first(woken, sleep).await;
            }
        }
    }

    pub(super) fn log(&self, what: std::fmt::Arguments<'_>) {
        self.runtime
            .log(format_args!("{}: {what}", self.partition.name()));
    }
}

impl State {
    fn coordinator(&mut self) -> Result<&mut Coordinator, ResponseError> {
        match &mut self.phase {
            Phase::Ready(coordinator) => Ok(coordinator),
            Phase::Loading => Err(ResponseError::CoordinatorLoadInProgress),
            Phase::Failed => Err(ResponseError::CoordinatorNotAvailable),
            Phase::Gone => Err(ResponseError::NotCoordinator),
        }
    }

    fn growth_bytes_max(&self) -> usize {
        GROWTH_BYTES_MIN.max(2 * self.rewrite_bytes)
    }

    /// Wakes the timer task when it sleeps past the next deadline.
    fn wake_timers(&mut self) {
        let Phase::Ready(coordinator) = &self.phase else {
            return;
        };
        if coordinator
            .next_deadline()
            .is_some_and(|at_ms| at_ms < self.sleeps_until_ms)
        {
            // Dropping the sender wakes it, too.
            self.wake = None;
        }
    }
}

fn config_of(settings: &BrokerSettings) -> Config {
    let count = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
    Config {
        initial_rebalance_delay_ms: settings.group_initial_rebalance_delay_ms,
        session_timeout_ms_min: settings.group_session_timeout_ms_min,
        session_timeout_ms_max: settings.group_session_timeout_ms_max,
        group_size_max: count(u64::from(settings.group_size_max)),
        metadata_bytes_max: count(settings.offset_metadata_bytes_max),
        offsets_retention_ms: settings.offsets_retention_ms,
        ..Config::default()
    }
}
