//! What consumers in groups see of one broker, and what is left of them after a crash.

#[expect(dead_code, reason = "other tests use the rest of it")]
mod support;

use std::time::Duration;

use bytes::Bytes;
use highwater_protocol::message::StrBytes;
use highwater_protocol::message::messages::join_group_request::JoinGroupRequestProtocol;
use highwater_protocol::message::messages::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use highwater_protocol::message::messages::offset_fetch_request::{
    OffsetFetchRequestGroup, OffsetFetchRequestTopic, OffsetFetchRequestTopics,
};
use highwater_protocol::message::messages::sync_group_request::SyncGroupRequestAssignment;
use highwater_protocol::message::messages::{
    ApiKey, DeleteGroupsRequest, DeleteGroupsResponse, DescribeGroupsRequest,
    DescribeGroupsResponse, FindCoordinatorRequest, FindCoordinatorResponse, GroupId,
    HeartbeatRequest, HeartbeatResponse, InitProducerIdRequest, InitProducerIdResponse,
    JoinGroupRequest, JoinGroupResponse, LeaveGroupRequest, LeaveGroupResponse, ListGroupsRequest,
    ListGroupsResponse, OffsetCommitRequest, OffsetCommitResponse, OffsetFetchRequest,
    OffsetFetchResponse, ProducerId, SyncGroupRequest, SyncGroupResponse, TransactionalId,
};
use highwater_runtime::Runtime;
use highwater_sim_disk::{Tear, TestRuntime};
use support::{Client, name, start, start_with};

const SYNC: Duration = Duration::from_millis(5);

fn text(text: &str) -> StrBytes {
    StrBytes::from_string(text.to_owned())
}

fn group() -> GroupId {
    GroupId(StrBytes::from_static_str("g"))
}

fn subscription() -> Bytes {
    Bytes::from_static(b"\x00\x00\x00\x00\x00\x01\x00\x01t\xff\xff\xff\xff")
}

async fn send_join(client: &mut Client, version: i16, member_id: &str) {
    let protocol = JoinGroupRequestProtocol::default()
        .with_name(text("range"))
        .with_metadata(subscription());
    let request = JoinGroupRequest::default()
        .with_group_id(group())
        .with_session_timeout_ms(10_000)
        .with_rebalance_timeout_ms(if version == 0 { -1 } else { 30_000 })
        .with_member_id(text(member_id))
        .with_protocol_type(text("consumer"))
        .with_protocols(vec![protocol]);
    client.send(ApiKey::JoinGroup, version, &request).await;
}

async fn join(client: &mut Client, version: i16, member_id: &str) -> JoinGroupResponse {
    send_join(client, version, member_id).await;
    let answer: JoinGroupResponse = client.receive(ApiKey::JoinGroup, version).await;
    if answer.error_code == 79 {
        send_join(client, version, &answer.member_id).await;
        return client.receive(ApiKey::JoinGroup, version).await;
    }
    answer
}

async fn sync(client: &mut Client, version: i16, joined: &JoinGroupResponse) -> SyncGroupResponse {
    let shares = joined.members.iter().map(|member| {
        SyncGroupRequestAssignment::default()
            .with_member_id(member.member_id.clone())
            .with_assignment(Bytes::from(format!("share of {}", member.member_id)))
    });
    let mut request = SyncGroupRequest::default()
        .with_group_id(group())
        .with_generation_id(joined.generation_id)
        .with_member_id(joined.member_id.clone())
        .with_assignments(shares.collect());
    if version >= 5 {
        request.protocol_type = joined.protocol_type.clone();
        request.protocol_name = joined.protocol_name.clone();
    }
    client.send(ApiKey::SyncGroup, version, &request).await;
    client.receive(ApiKey::SyncGroup, version).await
}

async fn heartbeat(client: &mut Client, version: i16, joined: &JoinGroupResponse) -> i16 {
    let request = HeartbeatRequest::default()
        .with_group_id(group())
        .with_generation_id(joined.generation_id)
        .with_member_id(joined.member_id.clone());
    client.send(ApiKey::Heartbeat, version, &request).await;
    client
        .receive::<HeartbeatResponse>(ApiKey::Heartbeat, version)
        .await
        .error_code
}

async fn commit(
    client: &mut Client,
    version: i16,
    topic: &str,
    offset: i64,
    member: Option<&JoinGroupResponse>,
) -> i16 {
    let partition = OffsetCommitRequestPartition::default()
        .with_partition_index(0)
        .with_committed_offset(offset)
        .with_committed_metadata(Some(text("m")));
    let topic = OffsetCommitRequestTopic::default()
        .with_name(name(topic))
        .with_partitions(vec![partition]);
    let request = OffsetCommitRequest::default()
        .with_group_id(group())
        .with_generation_id_or_member_epoch(member.map_or(-1, |member| member.generation_id))
        .with_member_id(member.map_or_else(StrBytes::new, |member| member.member_id.clone()))
        .with_topics(vec![topic]);
    client.send(ApiKey::OffsetCommit, version, &request).await;
    let answer: OffsetCommitResponse = client.receive(ApiKey::OffsetCommit, version).await;
    answer.topics[0].partitions[0].error_code
}

/// The committed offset of partition 0, with the error code of the group and of the partition.
async fn committed(client: &mut Client, version: i16, topic: &str) -> (i16, i64) {
    let request = if version >= 8 {
        let topic = OffsetFetchRequestTopics::default()
            .with_name(name(topic))
            .with_partition_indexes(vec![0]);
        let group = OffsetFetchRequestGroup::default()
            .with_group_id(group())
            .with_topics(Some(vec![topic]));
        OffsetFetchRequest::default().with_groups(vec![group])
    } else {
        let topic = OffsetFetchRequestTopic::default()
            .with_name(name(topic))
            .with_partition_indexes(vec![0]);
        OffsetFetchRequest::default()
            .with_group_id(group())
            .with_topics(Some(vec![topic]))
    };
    client.send(ApiKey::OffsetFetch, version, &request).await;
    let answer: OffsetFetchResponse = client.receive(ApiKey::OffsetFetch, version).await;
    if version >= 8 {
        let group = &answer.groups[0];
        let offset = group
            .topics
            .first()
            .map_or(-2, |topic| topic.partitions[0].committed_offset);
        return (group.error_code, offset);
    }
    let partition = &answer.topics[0].partitions[0];
    (
        answer.error_code.max(partition.error_code),
        partition.committed_offset,
    )
}

/// The committed offset, once the groups are loaded.
async fn committed_when_loaded(world: &TestRuntime, client: &mut Client, topic: &str) -> i64 {
    for _ in 0..100 {
        match committed(client, 5, topic).await {
            (0, offset) => return offset,
            _ => world.sleep(Duration::from_millis(50)).await,
        }
    }
    panic!("the groups do not load");
}

async fn find(client: &mut Client, version: i16) -> (i16, i32) {
    let request = if version >= 4 {
        FindCoordinatorRequest::default().with_coordinator_keys(vec![text("g")])
    } else {
        FindCoordinatorRequest::default().with_key(text("g"))
    };
    client
        .send(ApiKey::FindCoordinator, version, &request)
        .await;
    let answer: FindCoordinatorResponse = client.receive(ApiKey::FindCoordinator, version).await;
    if version >= 4 {
        return (
            answer.coordinators[0].error_code,
            answer.coordinators[0].port,
        );
    }
    (answer.error_code, answer.port)
}

const NO_DELAY: &[(&str, &str)] = &[("group.initial.rebalance.delay.ms", "0")];

#[test]
fn one_member_lives_its_life_in_every_version() {
    let world = TestRuntime::with_sync_time(1, SYNC);
    world.block_on(async {
        let (_broker, _, address) = start_with(&world, NO_DELAY).await;
        let mut client = Client::connect(&world, &address).await;
        client.make("t").await;
        for version in 0..=9 {
            assert_eq!(find(&mut client, version.min(6)).await, (0, 9092));
            let joined = join(&mut client, version, "").await;
            assert_eq!(joined.error_code, 0, "join {version}");
            assert_eq!(joined.leader, joined.member_id);
            let synced = sync(&mut client, version.min(5), &joined).await;
            assert_eq!(synced.error_code, 0, "sync {version}");
            assert_eq!(synced.assignment, format!("share of {}", joined.member_id));
            assert_eq!(heartbeat(&mut client, version.min(4), &joined).await, 0);
            let offset = i64::from(version) + 10;
            let commit_version = version.max(2);
            let code = commit(&mut client, commit_version, "t", offset, Some(&joined)).await;
            assert_eq!(code, 0, "commit {commit_version}");
            let fetch_version = version.max(1);
            assert_eq!(
                committed(&mut client, fetch_version, "t").await,
                (0, offset)
            );
            leave(&mut client, version.min(5), &joined).await;
        }
    });
}

async fn leave(client: &mut Client, version: i16, joined: &JoinGroupResponse) {
    use highwater_protocol::message::messages::leave_group_request::MemberIdentity;
    let request = if version >= 3 {
        let member = MemberIdentity::default().with_member_id(joined.member_id.clone());
        LeaveGroupRequest::default()
            .with_group_id(group())
            .with_members(vec![member])
    } else {
        let request = LeaveGroupRequest::default().with_group_id(group());
        request.with_member_id(joined.member_id.clone())
    };
    client.send(ApiKey::LeaveGroup, version, &request).await;
    let answer: LeaveGroupResponse = client.receive(ApiKey::LeaveGroup, version).await;
    assert_eq!(answer.error_code, 0);
    assert!(answer.members.iter().all(|member| member.error_code == 0));
}

#[test]
fn two_members_share_a_generation() {
    let world = TestRuntime::with_sync_time(2, SYNC);
    world.block_on(async {
        let (_broker, _, address) = start(&world).await;
        let mut first = Client::connect(&world, &address).await;
        let mut second = Client::connect(&world, &address).await;
        first.make("t").await;
        let before = world.mono();
        send_join(&mut first, 3, "").await;
        send_join(&mut second, 3, "").await;
        let a: JoinGroupResponse = first.receive(ApiKey::JoinGroup, 3).await;
        let b: JoinGroupResponse = second.receive(ApiKey::JoinGroup, 3).await;
        let waited = world.mono() - before;
        assert!(
            waited >= Duration::from_secs(3),
            "the initial delay lasted {waited:?}"
        );
        assert_eq!((a.error_code, b.error_code), (0, 0));
        assert_eq!((a.generation_id, b.generation_id), (1, 1));
        let ((leader, led), (follower, follows)) = if a.leader == a.member_id {
            ((&mut first, a), (&mut second, b))
        } else {
            ((&mut second, b), (&mut first, a))
        };
        assert_eq!((led.members.len(), follows.members.len()), (2, 0));
        assert_eq!(sync(leader, 3, &led).await.error_code, 0);
        let share = sync(follower, 3, &follows).await.assignment;
        assert_eq!(share, format!("share of {}", follows.member_id));
    });
}

#[test]
fn members_and_offsets_survive_a_power_loss() {
    let world = TestRuntime::with_sync_time(3, SYNC);
    let joined = world.block_on(async {
        let (_broker, _, address) = start_with(&world, NO_DELAY).await;
        let mut client = Client::connect(&world, &address).await;
        client.make("t").await;
        let joined = join(&mut client, 5, "").await;
        assert_eq!(sync(&mut client, 3, &joined).await.error_code, 0);
        for offset in 0..50 {
            assert_eq!(commit(&mut client, 7, "t", offset, Some(&joined)).await, 0);
        }
        joined
    });
    let world = world.power_loss(Tear {
        unit: 7,
        keep_percent: 0,
    });
    world.block_on(async {
        let (_broker, _, address) = start_with(&world, NO_DELAY).await;
        let mut client = Client::connect(&world, &address).await;
        assert_eq!(committed_when_loaded(&world, &mut client, "t").await, 49);
        assert_eq!(heartbeat(&mut client, 4, &joined).await, 0);
        assert_eq!(sync(&mut client, 5, &joined).await.error_code, 0);
    });
}

#[test]
fn the_log_of_offsets_stays_bounded_and_nothing_is_lost_by_it() {
    let world = TestRuntime::new(4);
    world.block_on(async {
        let (broker, _, address) = start_with(&world, NO_DELAY).await;
        let mut client = Client::connect(&world, &address).await;
        client.make("t").await;
        let metadata = "x".repeat(4_000);
        for offset in 0..12_000 {
            let partition = OffsetCommitRequestPartition::default()
                .with_committed_offset(offset)
                .with_committed_metadata(Some(text(&metadata)));
            let topic = OffsetCommitRequestTopic::default()
                .with_name(name("t"))
                .with_partitions(vec![partition]);
            let request = OffsetCommitRequest::default()
                .with_group_id(group())
                .with_generation_id_or_member_epoch(-1)
                .with_topics(vec![topic]);
            client.send(ApiKey::OffsetCommit, 2, &request).await;
            let _: OffsetCommitResponse = client.receive(ApiKey::OffsetCommit, 2).await;
        }
        // Whole segments go when retention is looked at next, and their files a minute later.
        world.sleep(Duration::from_secs(600)).await;
        let catalog = broker.catalog();
        let topic = catalog.named("__consumer_offsets").expect("it was made");
        let logs = topic.partitions.iter().flatten();
        let sizes = logs.map(|partition| partition.with_log(|log| log.size()));
        let total: u64 = sizes.sum();
        assert!(total < 40 << 20, "{total} bytes are kept");
    });
    let world = world.power_loss(Tear {
        unit: 512,
        keep_percent: 50,
    });
    world.block_on(async {
        let (_broker, _, address) = start_with(&world, NO_DELAY).await;
        let mut client = Client::connect(&world, &address).await;
        assert_eq!(
            committed_when_loaded(&world, &mut client, "t").await,
            11_999
        );
    });
}

#[test]
fn a_failed_sync_refuses_the_commit_and_the_groups_come_back() {
    let world = TestRuntime::with_sync_time(5, SYNC);
    world.block_on(async {
        let (_broker, _, address) = start_with(&world, NO_DELAY).await;
        let mut client = Client::connect(&world, &address).await;
        client.make("t").await;
        assert_eq!(commit(&mut client, 2, "t", 1, None).await, 0);
        world.disk().fail_syncs(1);
        assert_eq!(commit(&mut client, 2, "t", 2, None).await, 16);
        world.sleep(Duration::from_secs(3)).await;
        assert!(committed_when_loaded(&world, &mut client, "t").await >= 1);
        assert_eq!(commit(&mut client, 2, "t", 3, None).await, 0);
        assert_eq!(committed(&mut client, 5, "t").await, (0, 3));
    });
}

#[test]
fn groups_are_listed_described_and_deleted() {
    let world = TestRuntime::with_sync_time(6, SYNC);
    world.block_on(async {
        let (_broker, _, address) = start_with(&world, NO_DELAY).await;
        let mut client = Client::connect(&world, &address).await;
        client.make("t").await;
        for version in 0..=5 {
            client
                .send(ApiKey::ListGroups, version, &ListGroupsRequest::default())
                .await;
            let none: ListGroupsResponse = client.receive(ApiKey::ListGroups, version).await;
            assert!(none.groups.is_empty());
        }
        let joined = join(&mut client, 5, "").await;
        sync(&mut client, 3, &joined).await;
        for version in 0..=5 {
            client
                .send(ApiKey::ListGroups, version, &ListGroupsRequest::default())
                .await;
            let one: ListGroupsResponse = client.receive(ApiKey::ListGroups, version).await;
            assert_eq!(
                (one.groups.len(), &*one.groups[0].protocol_type),
                (1, "consumer")
            );
        }
        let filtered = ListGroupsRequest::default().with_states_filter(vec![text("Empty")]);
        client.send(ApiKey::ListGroups, 4, &filtered).await;
        assert!(
            client
                .receive::<ListGroupsResponse>(ApiKey::ListGroups, 4)
                .await
                .groups
                .is_empty()
        );
        for version in 0..=6 {
            let request =
                DescribeGroupsRequest::default().with_groups(vec![group(), GroupId(text("no"))]);
            client.send(ApiKey::DescribeGroups, version, &request).await;
            let answer: DescribeGroupsResponse =
                client.receive(ApiKey::DescribeGroups, version).await;
            let (known, unknown) = (&answer.groups[0], &answer.groups[1]);
            assert_eq!(
                (&*known.group_state, &*known.protocol_data),
                ("Stable", "range")
            );
            assert_eq!(known.members[0].member_metadata, subscription());
            let expected = if version < 6 { 0 } else { 69 };
            assert_eq!(
                (&*unknown.group_state, unknown.error_code),
                ("Dead", expected)
            );
        }
        let delete = DeleteGroupsRequest::default().with_groups_names(vec![group()]);
        client.send(ApiKey::DeleteGroups, 2, &delete).await;
        let answer: DeleteGroupsResponse = client.receive(ApiKey::DeleteGroups, 2).await;
        assert_eq!(answer.results[0].error_code, 68);
        leave(&mut client, 3, &joined).await;
        client.send(ApiKey::DeleteGroups, 1, &delete).await;
        let answer: DeleteGroupsResponse = client.receive(ApiKey::DeleteGroups, 1).await;
        assert_eq!(answer.results[0].error_code, 0);
    });
}

#[test]
fn offsets_of_unknown_topics_are_refused_before_the_group_is_asked() {
    let world = TestRuntime::new(7);
    world.block_on(async {
        let (_broker, _, address) = start_with(&world, NO_DELAY).await;
        let mut client = Client::connect(&world, &address).await;
        assert_eq!(commit(&mut client, 2, "nowhere", 1, None).await, 3);
        assert_eq!(committed(&mut client, 1, "nowhere").await, (0, -1));
    });
}

#[test]
fn producer_ids_are_never_given_twice_also_after_a_power_loss() {
    let mut world = TestRuntime::with_sync_time(8, SYNC);
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..3 {
        world.block_on(async {
            let (_broker, _, address) = start(&world).await;
            let mut client = Client::connect(&world, &address).await;
            for version in 0..=5 {
                let request = InitProducerIdRequest::default()
                    .with_transactional_id(None)
                    .with_transaction_timeout_ms(60_000);
                let request = if version < 3 {
                    request
                } else {
                    request
                        .with_producer_id(ProducerId(-1))
                        .with_producer_epoch(-1)
                };
                client.send(ApiKey::InitProducerId, version, &request).await;
                let answer: InitProducerIdResponse =
                    client.receive(ApiKey::InitProducerId, version).await;
                assert_eq!((answer.error_code, answer.producer_epoch), (0, 0));
                assert!(
                    seen.insert(answer.producer_id.0),
                    "{:?} twice",
                    answer.producer_id
                );
            }
            let request = InitProducerIdRequest::default()
                .with_transactional_id(Some(TransactionalId(text("x"))));
            client.send(ApiKey::InitProducerId, 2, &request).await;
            let answer: InitProducerIdResponse = client.receive(ApiKey::InitProducerId, 2).await;
            assert_eq!((answer.error_code, answer.producer_id.0), (53, -1));
        });
        world = world.power_loss(Tear {
            unit: 1,
            keep_percent: 0,
        });
    }
}
