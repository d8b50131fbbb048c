//! One member of a group.

use std::sync::Arc;

use bytes::Bytes;

use crate::{Join, MemberValue, Protocol, Token};

/// One member of a group.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) id: Arc<str>,
    pub(crate) instance_id: Option<Arc<str>>,
    pub(crate) client_id: Arc<str>,
    pub(crate) client_host: Arc<str>,
    pub(crate) session_timeout_ms: u32,
    pub(crate) rebalance_timeout_ms: u32,
    pub(crate) protocols: Vec<Protocol>,
    /// What the leader gave it, in this or an earlier generation.
    pub(crate) assignment: Bytes,
    /// Its join that waits for the rebalance to complete.
    pub(crate) awaiting_join: Option<Token>,
    /// Its sync that waits for the leader's assignment.
    pub(crate) awaiting_sync: Option<Token>,
    /// Whether it has not been told its id yet, and so cannot send heartbeats.
    pub(crate) is_new: bool,
    /// Whether it has been told of the current generation and has not synced in it yet.
    pub(crate) owes_sync: bool,
    /// When its session ends, in monotonic milliseconds, unless it is heard of before.
    pub(crate) deadline_ms: u64,
    /// When its session timer fires; other timers of it are stale.
    pub(crate) timer_ms: Option<u64>,
}

impl Member {
    /// A member that joins with `join` as `id`.
    pub(crate) fn joining(id: Arc<str>, join: &Join) -> Self {
        let mut member = Self {
            id,
            instance_id: join.instance_id.clone(),
            client_id: Arc::clone(&join.client_id),
            client_host: Arc::clone(&join.client_host),
            session_timeout_ms: 0,
            rebalance_timeout_ms: 0,
            protocols: Vec::new(),
            assignment: Bytes::new(),
            awaiting_join: None,
            awaiting_sync: None,
            is_new: false,
            owes_sync: false,
            deadline_ms: 0,
            timer_ms: None,
        };
        member.update(join);
        member
    }

    /// A member as its record tells.
    pub(crate) fn recovered(value: MemberValue, now_ms: u64) -> Self {
        Self {
            id: value.id,
            instance_id: value.instance_id,
            client_id: value.client_id,
            client_host: value.client_host,
            session_timeout_ms: value.session_timeout_ms,
            rebalance_timeout_ms: value.rebalance_timeout_ms,
            protocols: value.protocols,
            assignment: value.assignment,
            awaiting_join: None,
            awaiting_sync: None,
            is_new: false,
            owes_sync: false,
            deadline_ms: now_ms + u64::from(value.session_timeout_ms),
            timer_ms: None,
        }
    }

    /// Takes over what a later join says.
    pub(crate) fn update(&mut self, join: &Join) {
        // Admission has bounded the session timeout; the other one may be anything.
        self.session_timeout_ms = u32::try_from(join.session_timeout_ms).unwrap_or(0);
        self.rebalance_timeout_ms =
            u32::try_from(join.rebalance_timeout_ms).unwrap_or(self.session_timeout_ms);
        self.protocols.clone_from(&join.protocols);
        self.client_id = Arc::clone(&join.client_id);
        self.client_host = Arc::clone(&join.client_host);
    }

    /// Its metadata for `protocol`; empty when it does not support it.
    pub(crate) fn metadata_for(&self, protocol: &str) -> Bytes {
        let found = self.protocols.iter().find(|own| &*own.name == protocol);
        found.map(|own| own.metadata.clone()).unwrap_or_default()
    }

    /// Whether it supports `protocol`.
    pub(crate) fn supports(&self, protocol: &str) -> bool {
        self.protocols.iter().any(|own| &*own.name == protocol)
    }

    /// Hears of the member: its session starts again.
    pub(crate) fn heard(&mut self, now_ms: u64) {
        self.deadline_ms = now_ms + u64::from(self.session_timeout_ms);
    }

    /// Whether silence is no sign of death now: it waits for us.
    pub(crate) fn is_shielded(&self) -> bool {
        self.awaiting_sync.is_some() || (self.awaiting_join.is_some() && !self.is_new)
    }

    /// The member as a record.
    pub(crate) fn value(&self, assignment: Bytes) -> MemberValue {
        MemberValue {
            id: Arc::clone(&self.id),
            instance_id: self.instance_id.clone(),
            client_id: Arc::clone(&self.client_id),
            client_host: Arc::clone(&self.client_host),
            session_timeout_ms: self.session_timeout_ms,
            rebalance_timeout_ms: self.rebalance_timeout_ms,
            protocols: self.protocols.clone(),
            assignment,
        }
    }
}
