//! Ordered keys: what each call answers, and which writes a crash may take.

use std::collections::BTreeMap;
use std::ops::Bound;

use bytes::Bytes;
use highwater_runtime::{Kv, KvOp, Runtime};

use super::{Draws, World};

const FOLDER: &str = "index";

type Map = BTreeMap<Bytes, Bytes>;

/// The store's content after each write since the last sync; a crash keeps one of them.
struct Model {
    history: Vec<Map>,
}

impl Model {
    fn now(&self) -> &Map {
        self.history.last().expect("never empty")
    }
}

/// Runs `steps` random steps from `seed` on an empty folder of `W`; `crash` makes the next
/// process, in the world's own way.
///
/// # Panics
/// When the store breaks its contract.
pub fn random_steps<W: World>(seed: u64, steps: usize, crash: impl Fn(W, &mut Draws) -> W) {
    let mut draws = Draws::new(seed);
    let mut world = W::start(seed);
    let mut kv = world.runtime().open_kv(FOLDER).expect("an empty folder");
    let mut model = Model {
        history: vec![Map::new()],
    };
    for step in 0..steps {
        let at = format!("seed {seed}, step {step}");
        match draws.below(40) {
            0 => {
                drop(kv);
                world = crash(world, &mut draws);
                kv = world
                    .runtime()
                    .open_kv(FOLDER)
                    .expect("a crash damages nothing");
                let kept = all(&kv);
                let possible = model.history.contains(&kept);
                assert!(
                    possible,
                    "{} entries are no prefix of the writes, {at}",
                    kept.len()
                );
                model.history = vec![kept];
            }
            1 | 2 => {
                world.run(kv.sync()).expect("a healthy disk syncs");
                let now = model.now().clone();
                model.history = vec![now];
            }
            3 if draws.below(6) == 0 => {
                drop(kv);
                world
                    .runtime()
                    .destroy_kv(FOLDER)
                    .expect("it can be removed");
                world
                    .runtime()
                    .destroy_kv(FOLDER)
                    .expect("removing nothing is no error");
                kv = world.runtime().open_kv(FOLDER).expect("an empty folder");
                assert_eq!(all(&kv), Map::new(), "a store made anew, {at}");
                // Its removal is durable with the next sync only.
                model.history.push(Map::new());
            }
            4..=15 => {
                let batch: Vec<KvOp> = (0..draws.below(8)).map(|_| operation(&mut draws)).collect();
                kv.write(&batch).expect("a healthy disk takes it");
                let mut map = model.now().clone();
                batch
                    .iter()
                    .for_each(|operation| apply(&mut map, operation));
                model.history.push(map);
            }
            _ => check_reads(&kv, model.now(), &mut draws, &at),
        }
    }
    assert_eq!(all(&kv), *model.now(), "seed {seed}, end");
}

fn check_reads<K: Kv>(kv: &K, map: &Map, draws: &mut Draws, at: &str) {
    let (a, b) = (key(draws), key(draws));
    assert_eq!(
        kv.get(&a).expect("healthy"),
        map.get(&a).cloned(),
        "get {a:?}, {at}"
    );
    let below = (Bound::Included(a.clone()), Bound::Included(b.clone()));
    let expected = if a > b {
        None
    } else {
        map.range(below).next_back()
    };
    let floor = kv.floor(&a, &b).expect("healthy");
    assert_eq!(floor, expected.map(own), "floor {a:?} {b:?}, {at}");
    let limit = draws.below(5);
    let expected: Vec<_> = if a >= b {
        Vec::new()
    } else {
        map.range(a.clone()..b.clone())
            .take(limit)
            .map(own)
            .collect()
    };
    let scanned = kv.scan(&a, &b, limit).expect("healthy");
    assert_eq!(scanned, expected, "scan {a:?} {b:?} {limit}, {at}");
}

fn own((key, value): (&Bytes, &Bytes)) -> (Bytes, Bytes) {
    (key.clone(), value.clone())
}

fn all<K: Kv>(kv: &K) -> Map {
    kv.scan(&[], &[0xFF; 8], usize::MAX)
        .expect("healthy")
        .into_iter()
        .collect()
}

/// Few keys, so that steps meet; some a prefix of another, one empty.
fn key(draws: &mut Draws) -> Bytes {
    let len = draws.below(4);
    (0..len).map(|_| draws.of(&[0, 1, b'k', 0xFE])).collect()
}

fn operation(draws: &mut Draws) -> KvOp {
    match draws.below(8) {
        0 => KvOp::DeleteRange {
            from: key(draws),
            to: key(draws),
        },
        1 => KvOp::Delete { key: key(draws) },
        _ => KvOp::Put {
            key: key(draws),
            value: draws.some_bytes(20).into(),
        },
    }
}

fn apply(map: &mut Map, operation: &KvOp) {
    match operation {
        KvOp::Put { key, value } => drop(map.insert(key.clone(), value.clone())),
        KvOp::Delete { key } => drop(map.remove(key)),
        KvOp::DeleteRange { from, to } => map.retain(|key, _| key < from || key >= to),
    }
}
