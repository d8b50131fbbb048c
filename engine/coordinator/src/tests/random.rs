//! Random clients, syncs, refusals and crashes from a seed; what must hold is checked throughout.

use std::collections::{BTreeMap, BTreeSet};

use super::world::*;
use crate::*;

struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }
}

/// What a client believes.
#[derive(Clone, Debug, Default)]
struct Client {
    id: String,
    instance: Option<String>,
    generation: i32,
    joining: Option<Token>,
    syncing: Option<Token>,
    /// For a leader: the members to assign to.
    members: Option<Vec<String>>,
}

#[derive(Default)]
struct Seen {
    /// The member that was told to lead, by generation.
    leaders: BTreeMap<i32, String>,
    /// Who was given a partition, by generation and partition.
    owners: BTreeMap<(i32, String), String>,
    /// The newest offset that was acknowledged.
    acked: i64,
    generation_max: i32,
}

fn run(seed: u64) {
    let draw = &mut Draw(seed);
    let mut world = World::new();
    let mut clients: Vec<Client> = (0..4)
        .map(|i| Client {
            instance: (i == 3).then(|| "i".to_owned()),
            ..Client::default()
        })
        .collect();
    let mut seen = Seen::default();
    let mut commits: BTreeMap<Token, i64> = BTreeMap::new();
    let mut next_offset = 1;
    for _ in 0..400 {
        world.syncs_at_once = draw.one_in(3);
        let at = draw.below(clients.len() as u64) as usize;
        match draw.below(16) {
            0..=3 => act_join(&mut world, &mut clients[at], draw),
            4..=7 => act_sync(&mut world, &mut clients[at]),
            8 => {
                let (id, generation) = (clients[at].id.clone(), clients[at].generation);
                if world.heartbeat(&id, generation).is_err() && draw.one_in(4) {
                    forget(&mut clients[at]);
                }
            }
            9 if draw.one_in(3) => {
                let _ = world.leave(identity(&clients[at].id.clone()));
                forget(&mut clients[at]);
            }
            10 | 11 => {
                let token = world.token();
                let (id, generation) = (clients[at].id.clone(), clients[at].generation);
                let generation = if id.is_empty() { -1 } else { generation };
                let event = commit(&id, generation, "t", next_offset);
                commits.insert(token, next_offset);
                next_offset += 1;
                world.handle(Event::Commit(token, event));
            }
            12 => world.sync_all(),
            13 => world.pass(draw.below(8_000)),
            14 if draw.one_in(3) => world.handle(Event::Rewrite),
            15 if draw.one_in(8) => {
                world.restart();
                world.answers.clear();
                commits.clear();
                for client in &mut clients {
                    (client.joining, client.syncing) = (None, None);
                }
                // Generations that were announced but not written are given out again.
                let kept = world
                    .coordinator
                    .groups
                    .get("g")
                    .map_or(0, |group| group.generation);
                seen.leaders.retain(|generation, _| *generation <= kept);
                seen.generation_max = kept;
                assert!(
                    world.offset("t").unwrap_or(0) >= seen.acked,
                    "seed {seed}: lost commit"
                );
            }
            _ => {}
        }
        collect(&mut world, &mut clients, &mut seen, &mut commits, seed);
    }
    world.sync_all();
    world.check_replay();
}

fn forget(client: &mut Client) {
    *client = Client {
        instance: client.instance.clone(),
        ..Client::default()
    };
}

fn act_join(world: &mut World, client: &mut Client, draw: &mut Draw) {
    if client.joining.is_some() && !draw.one_in(5) {
        return;
    }
    let join = Join {
        instance_id: client.instance.as_deref().map(text),
        requires_member_id: draw.one_in(2),
        may_skip_assignment: draw.one_in(2),
        ..join(&client.id)
    };
    client.joining = Some(world.join(join));
    client.syncing = None;
}

fn act_sync(world: &mut World, client: &mut Client) {
    if client.joining.is_some() || client.syncing.is_some() || client.generation == 0 {
        return;
    }
    let members = client.members.clone().unwrap_or_default();
    let generation = client.generation;
    let shares: Vec<(String, String)> = members
        .iter()
        .map(|id| (id.clone(), format!("share-of-{id}")))
        .collect();
    let shares: Vec<(&str, &str)> = shares.iter().map(|(a, b)| (&**a, &**b)).collect();
    let id = client.id.clone();
    client.syncing = Some(world.sync(&id, generation, &shares));
}

fn collect(
    world: &mut World,
    clients: &mut [Client],
    seen: &mut Seen,
    commits: &mut BTreeMap<Token, i64>,
    seed: u64,
) {
    for client in clients {
        if let Some(Answer::Join(answer)) = client
            .joining
            .and_then(|token| world.answers.remove(&token))
        {
            client.joining = None;
            take_join(client, &answer, seen, seed);
        }
        if let Some(Answer::Sync(answer)) = client
            .syncing
            .and_then(|token| world.answers.remove(&token))
        {
            client.syncing = None;
            take_sync(client, answer, seen, seed);
        }
    }
    for (token, answer) in std::mem::take(&mut world.answers) {
        let Answer::Commit(results) = answer else {
            continue;
        };
        let offset = commits.remove(&token).expect("a commit is answered once");
        if results[0].is_ok() {
            assert!(
                offset > seen.acked,
                "seed {seed}: commits took effect out of order"
            );
            seen.acked = offset;
        }
    }
    let shown = world.offset("t").unwrap_or(0);
    assert_eq!(
        shown, seen.acked,
        "seed {seed}: the offset shown is not the one acknowledged"
    );
}

fn take_join(client: &mut Client, answer: &JoinAnswer, seen: &mut Seen, seed: u64) {
    match answer.error {
        None => {}
        Some(GroupError::MemberIdRequired) => {
            client.id = answer.member_id.to_string();
            client.generation = 0;
            return;
        }
        Some(_) => return forget(client),
    }
    client.id = answer.member_id.to_string();
    client.generation = answer.generation;
    let leads = answer.leader == answer.member_id;
    client.members = leads.then(|| {
        answer
            .members
            .iter()
            .map(|member| member.member_id.to_string())
            .collect()
    });
    assert!(answer.generation > 0, "seed {seed}");
    if leads && !answer.skip_assignment {
        let names: BTreeSet<_> = answer
            .members
            .iter()
            .map(|member| &member.member_id)
            .collect();
        assert_eq!(
            names.len(),
            answer.members.len(),
            "seed {seed}: a member twice"
        );
        let leader = seen
            .leaders
            .entry(answer.generation)
            .or_insert_with(|| client.id.clone());
        assert_eq!(
            *leader, client.id,
            "seed {seed}: two leaders of {}",
            answer.generation
        );
    }
    seen.generation_max = seen.generation_max.max(answer.generation);
}

fn take_sync(
    client: &mut Client,
    answer: Result<SyncAnswer, GroupError>,
    seen: &mut Seen,
    seed: u64,
) {
    match answer {
        Ok(answer) if !answer.assignment.is_empty() => {
            let share = String::from_utf8(answer.assignment.to_vec()).unwrap();
            let who = client.instance.clone().unwrap_or_else(|| client.id.clone());
            let owner = seen
                .owners
                .entry((client.generation, share))
                .or_insert(who.clone());
            assert_eq!(*owner, who, "seed {seed}: one share for two members");
        }
        Ok(_) | Err(GroupError::RebalanceInProgress | GroupError::NotWritten) => {}
        Err(_) => forget(client),
    }
}

#[test]
fn random_groups_keep_their_promises() {
    for seed in 0..40 {
        run(seed);
    }
}
