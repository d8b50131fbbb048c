//! What a power loss may take from a disk, and what it may not.
//!
//! Only a simulated machine can lose its power in a test; the model here is the contract that
//! both worlds state.

use std::collections::{BTreeMap, BTreeSet};

use highwater_runtime::{Disk, File, Runtime};
use highwater_sim_disk::{SimFile, Tear};

use super::{Draws, Sim, World};

const FOLDERS: [&str; 2] = ["a", "b"];
const NAMES: [&str; 3] = ["one", "two", "three"];

/// A file: what it holds, and how much of that is durable.
#[derive(Clone, Default)]
struct Content {
    bytes: Vec<u8>,
    durable: usize,
    /// The longest it was since its last sync: no loss can leave more.
    longest: usize,
}

#[derive(Default)]
struct Model {
    files: Vec<Content>,
    names: BTreeMap<String, usize>,
    /// Per folder: the names as of its last sync.
    durable: BTreeMap<String, usize>,
    /// What else each name has meant since.
    also: BTreeMap<String, BTreeSet<usize>>,
    /// Names changed since, which may now mean nothing.
    loose: BTreeSet<String>,
    /// Renames that are not durable yet: one of the two names holds.
    renames: Vec<(String, String)>,
}

impl Model {
    fn bind(&mut self, path: &str, file: usize) {
        self.names.insert(path.to_owned(), file);
        self.also.entry(path.to_owned()).or_default().insert(file);
        self.loose.insert(path.to_owned());
    }

    fn unbind(&mut self, path: &str) {
        self.names.remove(path);
        self.loose.insert(path.to_owned());
    }

    /// Every later change of a renamed name makes the rename's own promise void.
    fn touch(&mut self, path: &str) {
        self.renames.retain(|(from, to)| from != path && to != path);
    }

    fn synced_folder(&mut self, folder: &str) {
        let inside = |path: &str| path.starts_with(&format!("{folder}/"));
        self.durable.retain(|path, _| !inside(path));
        let now: Vec<_> = self.names.iter().filter(|(path, _)| inside(path)).collect();
        for (path, file) in now {
            self.durable.insert(path.clone(), *file);
        }
        self.also.retain(|path, _| !inside(path));
        self.loose.retain(|path| !inside(path));
        self.renames
            .retain(|(from, to)| !inside(from) && !inside(to));
    }
}

/// Runs `steps` random steps from `seed`, losing power now and then.
///
/// # Panics
/// When the disk keeps less, or more, than its contract says.
pub fn random_losses(seed: u64, steps: usize) {
    let mut draws = Draws::new(seed);
    let mut world = Sim::start(seed);
    for folder in FOLDERS {
        world
            .0
            .disk()
            .create_dir(folder)
            .expect("an empty disk takes it");
    }
    world
        .run(world.0.disk().sync_dir(""))
        .expect("a healthy disk syncs");
    let mut model = Model::default();
    let mut open: Vec<(SimFile, usize)> = Vec::new();
    for step in 0..steps {
        if draws.below(25) == 0 {
            let unit = draws.of(&[1, 7, 64, 512, 4096]);
            let keep_percent = draws.of(&[0, 20, 50, 80, 100]);
            open.clear();
            world = Sim(world.0.power_loss(Tear { unit, keep_percent }));
            let at = format!("seed {seed}, step {step}, unit {unit}, keep {keep_percent} %");
            model = check(&world, &model, &at);
        } else {
            change(&world, &mut model, &mut open, &mut draws);
        }
    }
}

fn change(world: &Sim, model: &mut Model, open: &mut Vec<(SimFile, usize)>, draws: &mut Draws) {
    let disk = world.0.disk();
    let folder = draws.of(&FOLDERS);
    let path = format!("{folder}/{}", draws.of(&NAMES));
    match draws.below(12) {
        0 => {
            if let Ok(handle) = disk.create(&path) {
                model.touch(&path);
                model.files.push(Content::default());
                model.bind(&path, model.files.len() - 1);
                open.push((handle, model.files.len() - 1));
            }
        }
        1 => {
            if disk.remove(&path).is_ok() {
                model.touch(&path);
                model.unbind(&path);
            }
        }
        2 => {
            let to = format!("{}/{}", draws.of(&FOLDERS), draws.of(&NAMES));
            if path != to && disk.rename(&path, &to).is_ok() {
                model.touch(&path);
                model.touch(&to);
                let file = model.names[&path];
                let was_durable =
                    model.durable.get(&path) == Some(&file) && !model.loose.contains(&path);
                model.unbind(&path);
                model.bind(&to, file);
                if was_durable {
                    model.renames.push((path, to));
                }
            }
        }
        3 => {
            let content = draws.some_bytes(3000);
            world
                .run(disk.publish(&path, content.clone().into()))
                .expect("a healthy disk");
            model.touch(&path);
            let len = content.len();
            model.files.push(Content {
                bytes: content,
                durable: len,
                longest: len,
            });
            model.bind(&path, model.files.len() - 1);
            model.synced_folder(folder);
        }
        4 => {
            world
                .run(disk.sync_dir(folder))
                .expect("a healthy disk syncs");
            model.synced_folder(folder);
        }
        _ if open.is_empty() => {}
        5..=8 => {
            let (handle, file) = &open[draws.below(open.len())];
            let bytes = draws.some_bytes(3000);
            handle.append(&[&bytes]).expect("a healthy disk takes it");
            let content = &mut model.files[*file];
            content.bytes.extend(bytes);
            content.longest = content.longest.max(content.bytes.len());
        }
        9 => {
            let (handle, file) = &open[draws.below(open.len())];
            let content = &mut model.files[*file];
            let len = draws.below(content.bytes.len() + 1);
            handle.truncate(len as u64).expect("a healthy disk cuts");
            content.bytes.truncate(len);
            content.durable = content.durable.min(len);
        }
        _ => {
            let (handle, file) = &open[draws.below(open.len())];
            world.run(handle.sync()).expect("a healthy disk syncs");
            let content = &mut model.files[*file];
            content.durable = content.bytes.len();
            content.longest = content.bytes.len();
        }
    }
}

/// Checks what a loss left against `model`; answers the model of the disk as it is now.
fn check(world: &Sim, model: &Model, at: &str) -> Model {
    let disk = world.0.disk();
    let mut next = Model::default();
    let mut found: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for folder in FOLDERS {
        for entry in disk.list(folder).expect("a durable folder stays") {
            let path = format!("{folder}/{}", entry.name);
            let bytes = disk.read(&path).expect("a healthy disk reads").to_vec();
            if path.ends_with(".tmp") {
                continue;
            }
            let meant = model.durable.get(&path).into_iter();
            let meant = meant.chain(model.also.get(&path).into_iter().flatten());
            let fits = meant
                .clone()
                .any(|file| survives(&model.files[*file], &bytes));
            assert!(
                fits,
                "{path:?} holds {} bytes that none of its files could, {at}",
                bytes.len()
            );
            found.insert(path, bytes);
        }
    }
    for path in model
        .durable
        .keys()
        .filter(|path| !model.loose.contains(*path))
    {
        assert!(
            found.contains_key(path),
            "the durable {path:?} is gone, {at}"
        );
    }
    for (from, to) in &model.renames {
        let one = found.contains_key(from) || found.contains_key(to);
        assert!(
            one,
            "both names of the rename {from:?} to {to:?} are gone, {at}"
        );
    }
    for (path, bytes) in found {
        let len = bytes.len();
        next.files.push(Content {
            bytes,
            durable: len,
            longest: len,
        });
        next.names.insert(path.clone(), next.files.len() - 1);
        next.durable.insert(path, next.files.len() - 1);
    }
    next
}

/// Whether a loss can leave `bytes` of `content`: the durable start whole, behind it anything.
fn survives(content: &Content, bytes: &[u8]) -> bool {
    bytes.starts_with(&content.bytes[..content.durable]) && bytes.len() <= content.longest
}
