//! What one event may touch beside its group: the clock, the settings, timers, log and answers.

use crate::pending::{Change, PendingLog};
use crate::timers::Timers;
use crate::{Answer, Config, Effect, GroupError, JoinAnswer, Now, Record, Token};

/// The surroundings of one event.
pub(crate) struct Step<'a> {
    pub(crate) now: Now,
    pub(crate) config: &'a Config,
    pub(crate) timers: &'a mut Timers,
    pub(crate) log: &'a mut PendingLog,
    pub(crate) effects: &'a mut Vec<Effect>,
}

impl Step<'_> {
    /// Answers a request.
    pub(crate) fn answer(&mut self, token: Token, answer: Answer) {
        self.effects.push(Effect::Answer(token, answer));
    }

    /// Refuses a join.
    pub(crate) fn refuse_join(&mut self, token: Token, error: GroupError, member_id: &str) {
        let refused = JoinAnswer::refused(error, member_id.into());
        self.answer(token, Answer::Join(refused));
    }

    /// Appends `records`; when they are durable, `change` happens.
    pub(crate) fn append(&mut self, change: Change, records: Vec<Record>) {
        let id = self.log.push(change, records.clone());
        self.effects.push(Effect::Append(id, records));
    }
}
