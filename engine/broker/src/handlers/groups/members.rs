//! JoinGroup, SyncGroup, Heartbeat and LeaveGroup.

use std::sync::Arc;

use bytes::Bytes;
use highwater_coordinator::{
    Answer, Event, GroupError, Heartbeat, Identity, Join, JoinAnswer, Leave, Protocol, Sync,
};
use highwater_protocol::message::StrBytes;
use highwater_protocol::message::messages::join_group_response::JoinGroupResponseMember;
use highwater_protocol::message::messages::leave_group_response::MemberResponse;
use highwater_protocol::message::messages::{
    HeartbeatRequest, HeartbeatResponse, JoinGroupRequest, JoinGroupResponse, LeaveGroupRequest,
    LeaveGroupResponse, SyncGroupRequest, SyncGroupResponse,
};
use highwater_runtime::Runtime;

use super::{identity, own, wire, wrong};
use crate::Broker;
use crate::context::Context;
use crate::error_code::{ResponseError, WireCode};

/// Answers when the rebalance is over.
pub(crate) async fn join<R: Runtime>(
    broker: &Arc<Broker<R>>,
    context: &Context<'_>,
    request: JoinGroupRequest,
) -> JoinGroupResponse {
    let version = context.version();
    let protocols = request.protocols.iter().map(|protocol| Protocol {
        name: own(&protocol.name),
        metadata: Bytes::copy_from_slice(&protocol.metadata),
    });
    let runtime = broker.runtime();
    let (high, low) = (runtime.draw("member-id"), runtime.draw("member-id"));
    let join = Join {
        group: own(&request.group_id.0),
        member_id: own(&request.member_id),
        instance_id: request.group_instance_id.as_ref().map(own),
        client_id: Arc::from(context.client_id()),
        client_host: Arc::from(context.client_host()),
        session_timeout_ms: request.session_timeout_ms,
        rebalance_timeout_ms: if version == 0 {
            -1
        } else {
            request.rebalance_timeout_ms
        },
        protocol_type: own(&request.protocol_type),
        protocols: protocols.collect(),
        requires_member_id: version >= 4,
        may_skip_assignment: version >= 9,
        draw: u128::from(high) << 64 | u128::from(low),
    };
    // The answer of a coordinator that has moved is as empty as that of one never asked.
    let unseen = JoinAnswer::refused(GroupError::Moved, own(&request.member_id));
    let refused = |error: ResponseError| joined(version, error.code(), &unseen);
    let slot = match broker
        .groups
        .slot_to_write(broker, &request.group_id.0)
        .await
    {
        Ok(slot) => slot,
        Err(error) => return refused(error),
    };
    match slot.ask(broker, |token| Event::Join(token, join)).await {
        Ok(Answer::Join(answer)) => {
            let code = answer.error.map_or(0, |error| error.code());
            joined(version, code, &answer)
        }
        Ok(other) => wrong(&other),
        Err(error) => refused(error),
    }
}

fn joined(version: i16, code: i16, answer: &JoinAnswer) -> JoinGroupResponse {
    // Before version 7 the name could not be null.
    let no_name = (version < 7).then(StrBytes::new);
    let members = answer.members.iter().map(|member| {
        JoinGroupResponseMember::default()
            .with_member_id(wire(&member.member_id))
            .with_group_instance_id(member.instance_id.as_ref().map(wire))
            .with_metadata(member.metadata.clone())
    });
    JoinGroupResponse::default()
        .with_error_code(code)
        .with_generation_id(answer.generation)
        .with_protocol_type(answer.protocol_type.as_ref().map(wire))
        .with_protocol_name(answer.protocol_name.as_ref().map(wire).or(no_name))
        .with_leader(wire(&answer.leader))
        .with_skip_assignment(version >= 9 && answer.skip_assignment)
        .with_member_id(wire(&answer.member_id))
        .with_members(members.collect())
}

/// Answers when the leader's assignment is durable.
pub(crate) async fn sync<R: Runtime>(
    broker: &Arc<Broker<R>>,
    _context: &Context<'_>,
    request: SyncGroupRequest,
) -> SyncGroupResponse {
    let assignments = request.assignments.iter().map(|share| {
        (
            own(&share.member_id),
            Bytes::copy_from_slice(&share.assignment),
        )
    });
    let sync = Sync {
        group: own(&request.group_id.0),
        member: identity(&request.member_id, request.group_instance_id.as_ref()),
        generation: request.generation_id,
        protocol_type: request.protocol_type.as_ref().map(own),
        protocol_name: request.protocol_name.as_ref().map(own),
        assignments: assignments.collect(),
    };
    let refused = |code: i16| SyncGroupResponse::default().with_error_code(code);
    let slot = match broker
        .groups
        .slot_to_write(broker, &request.group_id.0)
        .await
    {
        Ok(slot) => slot,
        Err(error) => return refused(error.code()),
    };
    match slot.ask(broker, |token| Event::Sync(token, sync)).await {
        Ok(Answer::Sync(Ok(answer))) => SyncGroupResponse::default()
            .with_protocol_type(answer.protocol_type.as_ref().map(wire))
            .with_protocol_name(answer.protocol_name.as_ref().map(wire))
            .with_assignment(answer.assignment),
        Ok(Answer::Sync(Err(error))) => refused(error.code()),
        Ok(other) => wrong(&other),
        Err(error) => refused(error.code()),
    }
}

/// Keeps a member's session alive.
pub(crate) async fn heartbeat<R: Runtime>(
    broker: &Arc<Broker<R>>,
    _context: &Context<'_>,
    request: HeartbeatRequest,
) -> HeartbeatResponse {
    let beat = Heartbeat {
        group: own(&request.group_id.0),
        member: identity(&request.member_id, request.group_instance_id.as_ref()),
        generation: request.generation_id,
    };
    let answer = HeartbeatResponse::default();
    let slot = match broker
        .groups
        .slot_to_write(broker, &request.group_id.0)
        .await
    {
        Ok(slot) => slot,
        Err(error) => return answer.with_error_code(error.code()),
    };
    match slot
        .ask(broker, |token| Event::Heartbeat(token, beat))
        .await
    {
        Ok(Answer::Heartbeat(result)) => {
            answer.with_error_code(result.err().map_or(0, |error| error.code()))
        }
        Ok(other) => wrong(&other),
        Err(error) => answer.with_error_code(error.code()),
    }
}

/// Lets members go; before version 3 the one that asks.
pub(crate) async fn leave<R: Runtime>(
    broker: &Arc<Broker<R>>,
    context: &Context<'_>,
    request: LeaveGroupRequest,
) -> LeaveGroupResponse {
    let is_batch = context.version() >= 3;
    let members: Vec<Identity> = if is_batch {
        let of = request.members.iter();
        of.map(|member| identity(&member.member_id, member.group_instance_id.as_ref()))
            .collect()
    } else {
        vec![identity(&request.member_id, None)]
    };
    if request.group_id.0.is_empty() {
        let code = ResponseError::InvalidGroupId.code();
        return LeaveGroupResponse::default().with_error_code(code);
    }
    let leave = Leave {
        group: own(&request.group_id.0),
        members,
    };
    let refused =
        |error: ResponseError| LeaveGroupResponse::default().with_error_code(error.code());
    let slot = match broker
        .groups
        .slot_to_write(broker, &request.group_id.0)
        .await
    {
        Ok(slot) => slot,
        Err(error) => return refused(error),
    };
    let results = match slot.ask(broker, |token| Event::Leave(token, leave)).await {
        Ok(Answer::Leave(results)) => results,
        Ok(other) => wrong(&other),
        Err(error) => return refused(error),
    };
    let code = |result: &Result<(), _>| result.as_ref().err().map_or(0, WireCode::code);
    if !is_batch {
        return LeaveGroupResponse::default().with_error_code(code(&results[0]));
    }
    let members = request
        .members
        .into_iter()
        .zip(&results)
        .map(|(member, result)| {
            MemberResponse::default()
                .with_member_id(member.member_id)
                .with_group_instance_id(member.group_instance_id)
                .with_error_code(code(result))
        });
    LeaveGroupResponse::default().with_members(members.collect())
}
