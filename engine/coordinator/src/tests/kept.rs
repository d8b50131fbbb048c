//! Scripts of committed offsets: who may commit, what is shown when, and when offsets go.

use std::collections::BTreeSet;

use super::world::*;
use crate::*;

const DAY_MS: u64 = 24 * 3_600_000;

#[test]
fn offsets_from_outside_need_an_empty_group() {
    let mut world = World::new();
    assert_eq!(
        world.commit(commit("", 3, "t", 5)),
        Err(GroupError::IllegalGeneration)
    );
    assert_eq!(world.commit(commit("", -1, "t", 5)), Ok(()));
    assert_eq!(world.offset("t"), Some(5));
    let (id, _) = world.stable();
    assert_eq!(
        world.commit(commit("", -1, "t", 6)),
        Err(GroupError::UnknownMember)
    );
    assert_eq!(
        world.commit(commit(&id, -1, "t", 6)),
        Err(GroupError::IllegalGeneration)
    );
    assert_eq!(
        world.commit(commit("other", 1, "t", 6)),
        Err(GroupError::UnknownMember)
    );
    assert_eq!(world.commit(commit(&id, 1, "t", 6)), Ok(()));
    assert_eq!(world.offset("t"), Some(6));
}

#[test]
fn nothing_is_committed_between_join_and_sync() {
    let mut world = World::new();
    let token = world.join(join(""));
    let id = world.joined(token).member_id.to_string();
    assert_eq!(
        world.commit(commit(&id, 1, "t", 6)),
        Err(GroupError::RebalanceInProgress)
    );
}

#[test]
fn a_commit_is_accepted_while_members_rejoin() {
    let mut world = World::new();
    let (id, _) = world.stable();
    world.join(join(""));
    assert_eq!(world.state(), GroupState::PreparingRebalance);
    assert_eq!(world.commit(commit(&id, 1, "t", 6)), Ok(()));
}

#[test]
fn an_offset_is_answered_and_shown_when_its_record_is_durable() {
    let mut world = World::new();
    world.syncs_at_once = false;
    let token = world.token();
    world.handle(Event::Commit(token, commit("", -1, "t", 5)));
    assert!(!world.answers.contains_key(&token));
    assert_eq!(world.offset("t"), None);
    world.sync_all();
    assert_eq!(
        world.answers.remove(&token),
        Some(Answer::Commit(vec![Ok(())]))
    );
    assert_eq!(world.offset("t"), Some(5));
    world.restart();
    assert_eq!(world.offset("t"), Some(5));
}

#[test]
fn a_refused_commit_says_so_and_changes_nothing() {
    let mut world = World::new();
    world.commit(commit("", -1, "t", 5)).unwrap();
    world.refuses = true;
    assert_eq!(
        world.commit(commit("", -1, "t", 6)),
        Err(GroupError::NotWritten)
    );
    assert_eq!(world.offset("t"), Some(5));
}

#[test]
fn long_metadata_is_refused_for_its_partition_alone() {
    let mut world = World::new();
    let mut both = commit("", -1, "t", 5);
    both.offsets.push(CommitOffset {
        partition: 1,
        ..both.offsets[0].clone()
    });
    both.offsets[0].metadata = text(&"x".repeat(4_097));
    let token = world.token();
    world.handle(Event::Commit(token, both));
    let expected = Answer::Commit(vec![Err(GroupError::MetadataTooLarge), Ok(())]);
    assert_eq!(world.answers.remove(&token), Some(expected));
    assert_eq!(world.coordinator.offsets("g").count(), 1);
}

#[test]
fn offsets_expire_a_week_after_the_group_became_empty() {
    let mut world = World::new();
    let token = world.join(Join {
        session_timeout_ms: 1_800_000,
        ..join("")
    });
    let id = world.joined(token).member_id.to_string();
    world.sync(&id, 1, &[(&id, "all")]);
    world.commit(commit(&id, 1, "t", 5)).unwrap();
    for _ in 0..8 * 24 * 2 {
        world.pass(1_799_000);
        world.heartbeat(&id, 1).unwrap();
    }
    assert_eq!(
        world.offset("t"),
        Some(5),
        "a group in use keeps its offsets"
    );
    world.leave(identity(&id)).unwrap();
    world.pass(7 * DAY_MS - 3_600_000);
    assert_eq!(world.offset("t"), Some(5));
    world.pass(2 * 3_600_000);
    assert_eq!(
        world.state(),
        GroupState::Dead,
        "and the group goes with them"
    );
    assert!(world.replayed().records().is_empty());
}

#[test]
fn offsets_from_outside_expire_a_week_after_their_commit() {
    let mut world = World::new();
    world.commit(commit("", -1, "a", 5)).unwrap();
    world.pass(4 * DAY_MS);
    world.commit(commit("", -1, "b", 6)).unwrap();
    world.pass(3 * DAY_MS + 3_600_000);
    assert_eq!((world.offset("a"), world.offset("b")), (None, Some(6)));
}

#[test]
fn a_commit_may_name_its_own_retention() {
    let mut world = World::new();
    let brief = Commit {
        retention_ms: Some(1_000),
        ..commit("", -1, "t", 5)
    };
    world.commit(brief).unwrap();
    world.pass(600_000);
    assert_eq!(world.offset("t"), None);
}

#[test]
fn a_deleted_topic_takes_its_offsets_along_even_those_on_their_way() {
    let mut world = World::new();
    world.commit(commit("", -1, "a", 5)).unwrap();
    world.commit(commit("", -1, "b", 6)).unwrap();
    world.syncs_at_once = false;
    let token = world.token();
    world.handle(Event::Commit(token, commit("", -1, "a", 7)));
    world.handle(Event::TopicsDeleted(vec![topic_id("a")]));
    world.sync_all();
    assert_eq!((world.offset("a"), world.offset("b")), (None, Some(6)));
    world.restart();
    assert_eq!((world.offset("a"), world.offset("b")), (None, Some(6)));
}

#[test]
fn a_topic_deletion_that_is_not_written_is_tried_again() {
    let mut world = World::new();
    world.commit(commit("", -1, "a", 5)).unwrap();
    world.refuses = true;
    world.handle(Event::TopicsDeleted(vec![topic_id("a")]));
    assert_eq!(world.offset("a"), Some(5));
    world.refuses = false;
    world.pass(600_000);
    assert_eq!(world.offset("a"), None);
}

#[test]
fn only_an_empty_group_is_deleted() {
    let mut world = World::new();
    let delete = |world: &mut World| {
        let token = world.token();
        world.handle(Event::DeleteGroup(token, text("g")));
        world.answers.remove(&token)
    };
    let not_found = Answer::DeleteGroup(Err(GroupError::GroupNotFound));
    assert_eq!(delete(&mut world), Some(not_found));
    let (id, _) = world.stable();
    world.commit(commit(&id, 1, "t", 5)).unwrap();
    let not_empty = Answer::DeleteGroup(Err(GroupError::GroupNotEmpty));
    assert_eq!(delete(&mut world), Some(not_empty));
    world.leave(identity(&id)).unwrap();
    assert_eq!(delete(&mut world), Some(Answer::DeleteGroup(Ok(()))));
    assert_eq!((world.state(), world.offset("t")), (GroupState::Dead, None));
    world.restart();
    assert_eq!((world.state(), world.offset("t")), (GroupState::Dead, None));
}

#[test]
fn a_group_joined_while_its_deletion_is_written_goes_on_without_offsets() {
    let mut world = World::new();
    world.commit(commit("", -1, "t", 5)).unwrap();
    world.syncs_at_once = false;
    let deletion = world.token();
    world.handle(Event::DeleteGroup(deletion, text("g")));
    let token = world.join(join(""));
    world.sync_all();
    assert_eq!(
        world.answers.remove(&deletion),
        Some(Answer::DeleteGroup(Ok(())))
    );
    assert_eq!(world.offset("t"), None);
    assert_eq!(world.joined(token).generation, 1);
}

#[test]
fn offsets_of_a_topic_that_is_read_are_not_deleted() {
    let mut world = World::new();
    world.commit(commit("", -1, "t", 5)).unwrap();
    world.commit(commit("", -1, "u", 6)).unwrap();
    world.stable();
    let token = world.token();
    let partitions = vec![(text("t"), 0), (text("u"), 0), (text("v"), 9)];
    let delete = DeleteOffsets {
        group: text("g"),
        partitions,
    };
    world.handle(Event::DeleteOffsets(token, delete));
    let results = vec![Err(GroupError::SubscribedToTopic), Ok(()), Ok(())];
    assert_eq!(
        world.answers.remove(&token),
        Some(Answer::DeleteOffsets(Ok(results)))
    );
    assert_eq!((world.offset("t"), world.offset("u")), (Some(5), None));
}

#[test]
fn a_rewrite_holds_everything_and_what_was_on_its_way() {
    let mut world = World::new();
    let (id, _) = world.stable();
    world.commit(commit(&id, 1, "t", 5)).unwrap();
    world.syncs_at_once = false;
    let token = world.token();
    world.handle(Event::Commit(token, commit(&id, 1, "t", 6)));
    world.handle(Event::Rewrite);
    let written: BTreeSet<AppendId> = world.log.iter().map(|(id, _)| *id).collect();
    world.sync_all();
    assert_eq!(world.trims.len(), 1);
    let left: BTreeSet<AppendId> = world.log.iter().map(|(id, _)| *id).collect();
    assert!(left.len() < written.len(), "what was before it is gone");
    world.restart();
    assert_eq!(world.offset("t"), Some(6));
    assert_eq!(world.heartbeat(&id, 1), Ok(()));
}
