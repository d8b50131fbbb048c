//! Scripts of rebalances.

use bytes::Bytes;

use super::world::*;
use crate::*;

#[test]
fn one_member_joins_syncs_and_beats() {
    let mut world = World::new();
    let (id, generation) = world.stable();
    assert_eq!(generation, 1);
    assert_eq!(world.heartbeat(&id, 1), Ok(()));
    assert_eq!(world.heartbeat(&id, 2), Err(GroupError::IllegalGeneration));
    assert_eq!(world.heartbeat("other", 1), Err(GroupError::UnknownMember));
}

#[test]
fn a_first_join_of_version_4_is_given_an_id_to_join_with() {
    let mut world = World::new();
    let token = world.join(Join {
        requires_member_id: true,
        ..join("")
    });
    let answer = world.joined(token);
    assert_eq!(answer.error, Some(GroupError::MemberIdRequired));
    let id = answer.member_id.to_string();
    assert!(id.starts_with("c-00000000-"), "{id}");
    let token = world.join(Join {
        requires_member_id: true,
        ..join(&id)
    });
    let answer = world.joined(token);
    assert_eq!((answer.error, &*answer.member_id), (None, &*id));
}

#[test]
fn an_id_that_nobody_joins_with_holds_a_rebalance_only_for_a_session() {
    let mut world = World::new();
    let (id, _) = world.stable();
    let token = world.join(Join {
        requires_member_id: true,
        ..join("")
    });
    world.joined(token);
    let token = world.join(join(&id));
    assert!(
        !world.answers.contains_key(&token),
        "the promised member is waited for"
    );
    world.pass(10_000);
    assert_eq!(world.joined(token).generation, 2);
}

#[test]
fn an_unknown_member_id_is_refused() {
    let mut world = World::new();
    let token = world.join(join("nobody"));
    assert_eq!(world.joined(token).error, Some(GroupError::UnknownMember));
    world.stable();
    let token = world.join(join("nobody"));
    assert_eq!(world.joined(token).error, Some(GroupError::UnknownMember));
}

#[test]
fn session_timeouts_outside_the_range_are_refused() {
    let mut world = World::new();
    for session_timeout_ms in [-1, 0, 5_999, 1_800_001] {
        let token = world.join(Join {
            session_timeout_ms,
            ..join("")
        });
        assert_eq!(
            world.joined(token).error,
            Some(GroupError::InvalidSessionTimeout)
        );
    }
}

#[test]
fn the_initial_delay_is_extended_while_members_come() {
    let config = Config {
        initial_rebalance_delay_ms: 3_000,
        ..Config::default()
    };
    let mut world = World::with(config);
    let first = world.join(join(""));
    world.pass(2_000);
    let second = world.join(join(""));
    world.pass(3_000);
    assert!(
        !world.answers.contains_key(&first),
        "the second member extended the wait"
    );
    world.pass(1_000);
    let (first, second) = (world.joined(first), world.joined(second));
    assert_eq!((first.generation, second.generation), (1, 1));
    assert_eq!(first.members.len(), 2, "the first member leads");
    assert!(second.members.is_empty());
    assert_eq!(second.leader, first.member_id);
}

#[test]
fn a_new_member_starts_a_rebalance_and_both_get_shares_of_one_generation() {
    let mut world = World::new();
    let (old, _) = world.stable();
    let newcomer = world.join(join(""));
    assert_eq!(
        world.heartbeat(&old, 1),
        Err(GroupError::RebalanceInProgress)
    );
    let rejoin = world.join(join(&old));
    let (newcomer, rejoin) = (world.joined(newcomer), world.joined(rejoin));
    assert_eq!((newcomer.generation, rejoin.generation), (2, 2));
    assert_eq!(rejoin.leader, rejoin.member_id);
    let new = newcomer.member_id.to_string();
    let follower = world.sync(&new, 2, &[]);
    assert!(
        !world.answers.contains_key(&follower),
        "it waits for the leader"
    );
    let leader = world.sync(&old, 2, &[(&old, "0"), (&new, "1")]);
    assert_eq!(world.synced(leader), Ok(Bytes::from("0")));
    assert_eq!(world.synced(follower), Ok(Bytes::from("1")));
    assert_eq!(world.state(), GroupState::Stable);
}

#[test]
fn an_assignment_is_handed_out_only_when_its_record_is_durable() {
    let mut world = World::new();
    let token = world.join(join(""));
    let answer = world.joined(token);
    world.syncs_at_once = false;
    let token = world.sync(&answer.member_id, 1, &[(&answer.member_id, "all")]);
    assert!(!world.answers.contains_key(&token));
    assert_eq!(world.state(), GroupState::CompletingRebalance);
    world.sync_all();
    assert_eq!(world.synced(token), Ok(Bytes::from("all")));
}

#[test]
fn an_assignment_that_is_not_written_starts_the_rebalance_again() {
    let mut world = World::new();
    let token = world.join(join(""));
    let id = world.joined(token).member_id.to_string();
    world.refuses = true;
    let token = world.sync(&id, 1, &[(&id, "all")]);
    assert_eq!(world.synced(token), Err(GroupError::NotWritten));
    assert_eq!(world.state(), GroupState::PreparingRebalance);
    world.refuses = false;
    let token = world.join(join(&id));
    assert_eq!(world.joined(token).generation, 2);
}

#[test]
fn a_silent_member_is_dropped_and_the_rest_rebalances() {
    let mut world = World::new();
    let (old, _) = world.stable();
    let newcomer = world.join(join(""));
    let rejoin = world.join(join(&old));
    let new = world.joined(newcomer).member_id.to_string();
    world.joined(rejoin);
    world.sync(&old, 2, &[(&old, "0"), (&new, "1")]);
    world.sync(&new, 2, &[]);
    for _ in 0..4 {
        world.pass(4_000);
        let _ = world.heartbeat(&new, 2);
    }
    assert_eq!(world.heartbeat(&old, 2), Err(GroupError::UnknownMember));
    assert_eq!(
        world.heartbeat(&new, 2),
        Err(GroupError::RebalanceInProgress)
    );
    let token = world.join(join(&new));
    let answer = world.joined(token);
    assert_eq!((answer.generation, &*answer.leader), (3, &*new));
}

#[test]
fn the_last_member_to_leave_leaves_an_empty_group() {
    let mut world = World::new();
    let (id, _) = world.stable();
    assert_eq!(
        world.leave(identity("nobody")),
        Err(GroupError::UnknownMember)
    );
    assert_eq!(world.leave(identity(&id)), Ok(()));
    assert_eq!(world.state(), GroupState::Empty);
    assert_eq!(
        world.replayed().describe("g").unwrap().state,
        GroupState::Empty
    );
}

#[test]
fn members_that_do_not_sync_in_time_are_dropped() {
    let mut world = World::new();
    let token = world.join(Join {
        rebalance_timeout_ms: 8_000,
        ..join("")
    });
    let id = world.joined(token).member_id.to_string();
    world.pass(4_000);
    assert_eq!(world.heartbeat(&id, 1), Ok(()), "it beats, but never syncs");
    world.pass(4_000);
    assert_eq!(world.state(), GroupState::Empty);
}

#[test]
fn a_lost_join_answer_is_given_again() {
    let mut world = World::new();
    let token = world.join(join(""));
    let id = world.joined(token).member_id.to_string();
    let token = world.join(join(&id));
    assert_eq!(
        world.joined(token).generation,
        1,
        "no new generation for it"
    );
    world.sync(&id, 1, &[(&id, "all")]);
    let token = world.join(join(&id));
    assert_eq!(
        world.joined(token).generation,
        2,
        "a leader forces a rebalance"
    );
}

#[test]
fn protocols_without_a_common_one_are_refused_and_votes_decide() {
    let mut world = World::new();
    let protocols = |names: &[&str]| {
        let own = |name: &&str| Protocol {
            name: text(name),
            metadata: subscription(&["t"]),
        };
        names.iter().map(own).collect::<Vec<_>>()
    };
    let token = world.join(Join {
        protocols: protocols(&["range", "sticky"]),
        ..join("")
    });
    let old = world.joined(token).member_id.to_string();
    let token = world.join(Join {
        protocols: protocols(&["other"]),
        ..join("")
    });
    assert_eq!(
        world.joined(token).error,
        Some(GroupError::InconsistentProtocol)
    );
    let second = world.join(Join {
        protocols: protocols(&["sticky", "range"]),
        ..join("")
    });
    let third = world.join(Join {
        protocols: protocols(&["sticky", "range"]),
        ..join("")
    });
    let first = world.join(Join {
        protocols: protocols(&["range", "sticky"]),
        ..join(&old)
    });
    for token in [first, second, third] {
        assert_eq!(world.joined(token).protocol_name.as_deref(), Some("sticky"));
    }
}

#[test]
fn a_full_group_refuses_one_more() {
    let config = Config {
        initial_rebalance_delay_ms: 0,
        group_size_max: 1,
        ..Config::default()
    };
    let mut world = World::with(config);
    world.stable();
    let token = world.join(join(""));
    let answer = world.joined(token);
    assert_eq!(
        (answer.error, &*answer.member_id),
        (Some(GroupError::GroupFull), "")
    );
}

fn fixed(member: &str) -> Join {
    Join {
        instance_id: Some(text("i")),
        ..join(member)
    }
}

#[test]
fn a_static_member_that_comes_back_keeps_the_generation_and_fences_its_old_self() {
    let mut world = World::new();
    let token = world.join(fixed(""));
    let old = world.joined(token).member_id.to_string();
    let token = world.sync(&old, 1, &[(&old, "all")]);
    world.synced(token).unwrap();
    let token = world.join(fixed(""));
    let answer = world.joined(token);
    assert_eq!(
        (answer.error, answer.generation, answer.skip_assignment),
        (None, 1, true)
    );
    assert_ne!(*answer.member_id, *old);
    let new = answer.member_id.to_string();
    let token = world.sync(&new, 1, &[]);
    assert_eq!(world.synced(token), Ok(Bytes::from("all")));
    let stale = Identity {
        member_id: text(&old),
        instance_id: Some(text("i")),
    };
    assert_eq!(world.leave(stale), Err(GroupError::FencedInstance));
    assert_eq!(&*world.replayed().describe("g").unwrap().members[0].id, new);
}

#[test]
fn an_old_client_is_not_told_to_lead_when_it_comes_back() {
    let mut world = World::new();
    let token = world.join(fixed(""));
    let old = world.joined(token).member_id.to_string();
    world.sync(&old, 1, &[(&old, "all")]);
    let token = world.join(Join {
        may_skip_assignment: false,
        ..fixed("")
    });
    let answer = world.joined(token);
    assert_eq!((&*answer.leader, answer.members.len()), (&*old, 0));
}

#[test]
fn a_static_member_may_be_removed_by_its_instance_alone() {
    let mut world = World::new();
    let token = world.join(fixed(""));
    let old = world.joined(token).member_id.to_string();
    world.sync(&old, 1, &[(&old, "all")]);
    let by_instance = Identity {
        member_id: text(""),
        instance_id: Some(text("i")),
    };
    assert_eq!(world.leave(by_instance), Ok(()));
    assert_eq!(world.state(), GroupState::Empty);
}

#[test]
fn a_restart_keeps_members_generation_and_shares() {
    let mut world = World::new();
    let (id, generation) = world.stable();
    world.restart();
    assert_eq!(world.heartbeat(&id, generation), Ok(()));
    let token = world.sync(&id, generation, &[]);
    assert_eq!(world.synced(token), Ok(Bytes::from("all")));
    world.pass(10_000);
    assert_eq!(
        world.state(),
        GroupState::Empty,
        "a recovered member may be silent, too"
    );
}

#[test]
fn who_waits_is_sent_away_when_the_coordinator_is_lost() {
    let mut world = World::new();
    let (id, _) = world.stable();
    let waiting = world.join(join(""));
    world.syncs_at_once = false;
    let token = world.token();
    world.coordinator.handle(
        world.now,
        Event::Commit(token, commit(&id, 1, "t", 5)),
        &mut Vec::new(),
    );
    let mut effects = Vec::new();
    world
        .coordinator
        .handle(world.now, Event::Lost, &mut effects);
    let refused = JoinAnswer::refused(GroupError::Moved, text("x"));
    let joins = effects.iter().filter(|effect| {
        matches!(effect, Effect::Answer(of, Answer::Join(answer))
            if *of == waiting && answer.error == refused.error)
    });
    assert_eq!(joins.count(), 1);
    let moved = Answer::Commit(vec![Err(GroupError::Moved)]);
    assert!(effects.contains(&Effect::Answer(token, moved)));
}

#[test]
fn what_a_member_may_tell_and_a_group_may_hold_is_bounded() {
    let config = Config {
        initial_rebalance_delay_ms: 0,
        member_bytes_max: 100,
        group_bytes_max: 300,
        promised_max: 1,
        ..Config::default()
    };
    let mut world = World::with(config);
    let metadata = Bytes::from(vec![0; 100]);
    let large = vec![Protocol {
        name: text("range"),
        metadata,
    }];
    let token = world.join(Join {
        protocols: large,
        ..join("")
    });
    assert_eq!(world.joined(token).error, Some(GroupError::MemberTooLarge));
    for expected in [GroupError::MemberIdRequired, GroupError::GroupFull] {
        let token = world.join(Join {
            requires_member_id: true,
            ..join("")
        });
        assert_eq!(world.joined(token).error, Some(expected));
    }
    world.pass(10_000);
    let token = world.join(join(""));
    let id = world.joined(token).member_id.to_string();
    let share = "x".repeat(300);
    let token = world.sync(&id, 1, &[(&id, &share)]);
    assert_eq!(world.synced(token), Err(GroupError::NotWritten));
    assert!(world.log.is_empty(), "nothing is written of it");
}
