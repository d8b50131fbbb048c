//! Consumer groups and what they committed.

use std::collections::BTreeMap;

use kafka_protocol::messages::{
    DescribeGroupsRequest, FindCoordinatorRequest, GroupId, ListGroupsRequest, OffsetFetchRequest,
};
use kafka_protocol::protocol::StrBytes;

use super::{Client, ClientError};

const LIST_GROUPS_MAX: i16 = 5;
const DESCRIBE_GROUPS_MAX: i16 = 5;
/// Later versions ask for several keys at once.
const FIND_COORDINATOR_MAX: i16 = 3;
/// Later versions ask for several groups at once.
const OFFSET_FETCH_MAX: i16 = 7;

/// One line of the list of groups.
#[derive(Clone, Debug)]
pub struct Group {
    /// Its name.
    pub name: String,
    /// Its state, in Kafka's words; empty from an old broker.
    pub state: String,
    /// `consumer` for consumers.
    pub protocol: String,
}

/// One group, with its members and offsets.
#[derive(Clone, Debug)]
pub struct GroupDetail {
    /// Its name.
    pub name: String,
    /// Its state, in Kafka's words.
    pub state: String,
    /// How its leader assigns partitions.
    pub assignor: String,
    /// Its members.
    pub members: Vec<GroupMember>,
    /// The committed offsets, by topic and partition.
    pub committed: BTreeMap<(String, i32), i64>,
}

/// One member of a group.
#[derive(Clone, Debug)]
pub struct GroupMember {
    /// The number that the broker gave it.
    pub id: String,
    /// Its own name, when it is static.
    pub instance: Option<String>,
    /// The name of its client.
    pub client: String,
    /// Where it connects from.
    pub host: String,
    /// The partitions assigned to it.
    pub assigned: Vec<(String, i32)>,
}

impl Client {
    /// Every group of every broker.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn groups(&mut self) -> Result<Vec<Group>, ClientError> {
        let mut groups = Vec::new();
        for addr in self.cluster()?.brokers.into_values() {
            let answer = self.ask_at(&addr, &ListGroupsRequest::default(), LIST_GROUPS_MAX)?;
            ClientError::check("list the groups", answer.error_code, None)?;
            groups.extend(answer.groups.into_iter().map(|group| Group {
                name: group.group_id.to_string(),
                state: group.group_state.to_string(),
                protocol: group.protocol_type.to_string(),
            }));
        }
        groups.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(groups)
    }

    /// The group `name`. One that does not exist is in the state `Dead`.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn group(&mut self, name: &str) -> Result<GroupDetail, ClientError> {
        let coordinator = self.coordinator(name)?;
        let id = GroupId(StrBytes::from_string(name.to_owned()));
        let request = DescribeGroupsRequest::default().with_groups(vec![id.clone()]);
        let answer = self.ask_at(&coordinator, &request, DESCRIBE_GROUPS_MAX)?;
        let mut detail = GroupDetail {
            name: name.to_owned(),
            state: "Dead".to_owned(),
            assignor: String::new(),
            members: Vec::new(),
            committed: BTreeMap::new(),
        };
        for group in answer.groups {
            ClientError::check(format!("describe group {name:?}"), group.error_code, None)?;
            detail.state = group.group_state.to_string();
            detail.assignor = group.protocol_data.to_string();
            detail
                .members
                .extend(group.members.into_iter().map(|member| GroupMember {
                    id: member.member_id.to_string(),
                    instance: member.group_instance_id.map(|id| id.to_string()),
                    client: member.client_id.to_string(),
                    host: member.client_host.to_string(),
                    assigned: assigned(&member.member_assignment).unwrap_or_default(),
                }));
        }
        let request = OffsetFetchRequest::default()
            .with_group_id(id)
            .with_topics(None);
        let answer = self.ask_at(&coordinator, &request, OFFSET_FETCH_MAX)?;
        ClientError::check(
            format!("read the offsets of {name:?}"),
            answer.error_code,
            None,
        )?;
        for topic in answer.topics {
            for partition in topic
                .partitions
                .iter()
                .filter(|one| one.committed_offset >= 0)
            {
                let key = (topic.name.to_string(), partition.partition_index);
                detail.committed.insert(key, partition.committed_offset);
            }
        }
        Ok(detail)
    }

    fn coordinator(&mut self, group: &str) -> Result<String, ClientError> {
        let request =
            FindCoordinatorRequest::default().with_key(StrBytes::from_string(group.to_owned()));
        let answer = self.ask(&request, FIND_COORDINATOR_MAX)?;
        let message = answer.error_message.map(|text| text.to_string());
        let what = format!("find the coordinator of group {group:?}");
        ClientError::check(what, answer.error_code, message)?;
        let host = answer.host.as_str();
        let host = if host.contains(':') {
            format!("[{host}]")
        } else {
            host.to_owned()
        };
        Ok(format!("{host}:{}", answer.port))
    }
}

/// The partitions in a member's assignment; `None` when it is not a consumer's.
///
/// Source: Kafka, `ConsumerProtocolAssignment.json`: version, then arrays of topic and partitions.
fn assigned(mut bytes: &[u8]) -> Option<Vec<(String, i32)>> {
    fn take<'a>(bytes: &mut &'a [u8], len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = bytes.split_at_checked(len)?;
        *bytes = rest;
        Some(taken)
    }
    fn int(bytes: &mut &[u8]) -> Option<i32> {
        Some(i32::from_be_bytes(take(bytes, 4)?.try_into().ok()?))
    }
    let mut all = Vec::new();
    take(&mut bytes, 2)?;
    for _ in 0..int(&mut bytes)? {
        let len = i16::from_be_bytes(take(&mut bytes, 2)?.try_into().ok()?);
        let topic = take(&mut bytes, usize::try_from(len).ok()?)?;
        let topic = String::from_utf8_lossy(topic).into_owned();
        for _ in 0..int(&mut bytes)? {
            all.push((topic.clone(), int(&mut bytes)?));
        }
    }
    Some(all)
}
