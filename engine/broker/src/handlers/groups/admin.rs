//! ListGroups, DescribeGroups and DeleteGroups.

use std::sync::Arc;

use highwater_coordinator::{Answer, Description, Event};
use highwater_protocol::message::StrBytes;
use highwater_protocol::message::messages::delete_groups_response::DeletableGroupResult;
use highwater_protocol::message::messages::describe_groups_response::{
    DescribedGroup, DescribedGroupMember,
};
use highwater_protocol::message::messages::list_groups_response::ListedGroup;
use highwater_protocol::message::messages::{
    DeleteGroupsRequest, DeleteGroupsResponse, DescribeGroupsRequest, DescribeGroupsResponse,
    GroupId, ListGroupsRequest, ListGroupsResponse,
};
use highwater_runtime::Runtime;

use super::{own, wire, wrong};
use crate::Broker;
use crate::context::Context;
use crate::error_code::{ResponseError, WireCode};
use crate::handlers::authorized;

/// The one type of group that there is.
const CLASSIC: &str = "classic";

/// Every group, or those in the asked states and of the asked types.
pub(crate) async fn list<R: Runtime>(
    broker: &Arc<Broker<R>>,
    context: &Context<'_>,
    request: ListGroupsRequest,
) -> ListGroupsResponse {
    let version = context.version();
    let fits = |filter: &[StrBytes], word: &str| {
        filter.is_empty() || filter.iter().any(|asked| asked.eq_ignore_ascii_case(word))
    };
    let mut groups = Vec::new();
    let slots = match broker.groups.slots(broker) {
        Ok(slots) => slots,
        Err(error) => return ListGroupsResponse::default().with_error_code(error.code()),
    };
    for slot in slots {
        let listed = match slot.look(|coordinator| coordinator.list().collect::<Vec<_>>()) {
            Ok(listed) => listed,
            // Half a list would be taken for a whole one.
            Err(error) => return ListGroupsResponse::default().with_error_code(error.code()),
        };
        for group in listed {
            let state = group.state.name();
            if !fits(&request.states_filter, state) || !fits(&request.types_filter, CLASSIC) {
                continue;
            }
            let mut answer = ListedGroup::default()
                .with_group_id(GroupId(wire(&group.group)))
                .with_protocol_type(wire(&group.protocol_type));
            if version >= 4 {
                answer.group_state = StrBytes::from_static_str(state);
            }
            if version >= 5 {
                answer.group_type = StrBytes::from_static_str(CLASSIC);
            }
            groups.push(answer);
        }
    }
    ListGroupsResponse::default().with_groups(groups)
}

/// Groups with their members.
pub(crate) async fn describe<R: Runtime>(
    broker: &Arc<Broker<R>>,
    context: &Context<'_>,
    request: DescribeGroupsRequest,
) -> DescribeGroupsResponse {
    let version = context.version();
    let groups = request.groups.into_iter().map(|id| {
        let found = match broker.groups.slot(broker, &id.0) {
            Ok(Some(slot)) => slot.look(|coordinator| coordinator.describe(&id.0)),
            Ok(None) => Ok(None),
            Err(error) => Err(error),
        };
        let mut answer = described(version, id, found);
        if request.include_authorized_operations && answer.error_code == 0 {
            answer.authorized_operations = authorized::GROUP;
        }
        answer
    });
    DescribeGroupsResponse::default().with_groups(groups.collect())
}

fn described(
    version: i16,
    id: GroupId,
    found: Result<Option<Description>, ResponseError>,
) -> DescribedGroup {
    let answer = DescribedGroup::default().with_error_message(None);
    let group = match found {
        Ok(Some(group)) => group,
        Ok(None) => {
            let dead = StrBytes::from_static_str("Dead");
            let answer = answer.with_group_state(dead);
            if version < 6 {
                return answer.with_group_id(id);
            }
            let why = format!("Group {} not found.", id.0);
            return answer
                .with_group_id(id)
                .with_error_code(ResponseError::GroupIdNotFound.code())
                .with_error_message(Some(StrBytes::from_string(why)));
        }
        Err(error) => return answer.with_group_id(id).with_error_code(error.code()),
    };
    let members = group.members.iter().map(|member| {
        let answer = DescribedGroupMember::default()
            .with_member_id(wire(&member.id))
            .with_client_id(wire(&member.client_id))
            .with_client_host(wire(&member.client_host))
            .with_member_metadata(member.metadata.clone())
            .with_member_assignment(member.assignment.clone());
        let instance = member.instance_id.as_ref().filter(|_| version >= 4);
        answer.with_group_instance_id(instance.map(wire))
    });
    answer
        .with_group_id(id)
        .with_group_state(StrBytes::from_static_str(group.state.name()))
        .with_protocol_type(wire(&group.protocol_type))
        .with_protocol_data(wire(&group.protocol_name))
        .with_members(members.collect())
}

/// Deletes empty groups with their offsets.
pub(crate) async fn delete<R: Runtime>(
    broker: &Arc<Broker<R>>,
    _context: &Context<'_>,
    request: DeleteGroupsRequest,
) -> DeleteGroupsResponse {
    let mut results = Vec::with_capacity(request.groups_names.len());
    for id in request.groups_names {
        let deleted = delete_one(broker, &id).await;
        let code = deleted.err().map_or(0, |error| error.code());
        results.push(
            DeletableGroupResult::default()
                .with_group_id(id)
                .with_error_code(code),
        );
    }
    DeleteGroupsResponse::default().with_results(results)
}

async fn delete_one<R: Runtime>(
    broker: &Arc<Broker<R>>,
    id: &GroupId,
) -> Result<(), ResponseError> {
    let slot = broker
        .groups
        .slot(broker, &id.0)?
        .ok_or(ResponseError::GroupIdNotFound)?;
    match slot
        .ask(broker, |token| Event::DeleteGroup(token, own(&id.0)))
        .await?
    {
        Answer::DeleteGroup(result) => result.map_err(|error| error.wire()),
        other => wrong(&other),
    }
}
