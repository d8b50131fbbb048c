//! The names in folders: in the page cache, on the platter, and how a power loss mixes them.

use std::collections::{BTreeMap, BTreeSet};

use rand_chacha::ChaCha8Rng;

use crate::rng::{between, chance};

/// A file's or folder's number; names point to it.
pub(crate) type Ino = u64;

/// The data folder itself.
pub(crate) const ROOT: Ino = 0;

/// One folder.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dir {
    /// What the process sees.
    pub cache: BTreeMap<String, Ino>,
    /// What survives power loss.
    platter: BTreeMap<String, Ino>,
    version: u64,
    platter_version: u64,
}

/// What a folder's sync promised when it was called.
#[derive(Clone, Debug)]
pub(crate) struct DirTicket {
    dir: Ino,
    names: BTreeMap<String, Ino>,
    version: u64,
}

/// All folders.
#[derive(Clone, Debug)]
pub(crate) struct Namespace {
    pub dirs: BTreeMap<Ino, Dir>,
}

impl Namespace {
    /// Only the data folder.
    pub fn new() -> Self {
        Self {
            dirs: BTreeMap::from([(ROOT, Dir::default())]),
        }
    }

    /// The number at `path`, as the process sees it.
    pub fn find(&self, path: &str) -> Option<Ino> {
        if path.is_empty() {
            return Some(ROOT);
        }
        path.split('/').try_fold(ROOT, |dir, name| {
            self.dirs.get(&dir)?.cache.get(name).copied()
        })
    }

    /// The folder that holds `path`, and the last part of its name.
    pub fn parent<'a>(&self, path: &'a str) -> Option<(Ino, &'a str)> {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let dir = self.find(folder)?;
        (self.dirs.contains_key(&dir) && !name.is_empty()).then_some((dir, name))
    }

    /// Points `name` in `dir` to `ino`; answers what it pointed to.
    pub fn link(&mut self, dir: Ino, name: &str, ino: Ino) -> Option<Ino> {
        let dir = self
            .dirs
            .get_mut(&dir)
            .expect("the caller found this folder");
        dir.version += 1;
        dir.cache.insert(name.to_owned(), ino)
    }

    /// Takes `name` out of `dir`; answers what it pointed to.
    pub fn unlink(&mut self, dir: Ino, name: &str) -> Option<Ino> {
        let dir = self
            .dirs
            .get_mut(&dir)
            .expect("the caller found this folder");
        dir.version += 1;
        dir.cache.remove(name)
    }

    /// What a sync of `dir` called now must make durable.
    pub fn ticket(&self, dir: Ino) -> Option<DirTicket> {
        let found = self.dirs.get(&dir)?;
        Some(DirTicket {
            dir,
            names: found.cache.clone(),
            version: found.version,
        })
    }

    /// The folder's sync succeeded. A file that was moved out of it stays reachable: its new
    /// name becomes durable with the loss of the old one, as a journal would have it.
    pub fn synced(&mut self, ticket: DirTicket) {
        let before = self.linked_on_platter();
        let Some(dir) = self.dirs.get_mut(&ticket.dir) else {
            return;
        };
        if dir.platter_version >= ticket.version {
            return;
        }
        dir.platter_version = ticket.version;
        dir.platter = ticket.names;
        self.relink_moved(&before);
    }

    /// The folder's sync failed: each changed name reached the platter, or not.
    pub fn sync_failed(&mut self, ticket: &DirTicket, rng: &mut ChaCha8Rng) {
        let before = self.linked_on_platter();
        let Some(dir) = self.dirs.get_mut(&ticket.dir) else {
            return;
        };
        if dir.platter_version < ticket.version {
            mix(&mut dir.platter, &ticket.names, 500, rng);
        }
        self.relink_moved(&before);
    }

    /// Power is lost: each changed name is the old or the new one. Says whether any was lost,
    /// and which files are now reachable by a second name (each must become a copy).
    pub fn lose_power(&mut self, keep: u32, rng: &mut ChaCha8Rng) -> (bool, Vec<(Ino, String)>) {
        let before = self.linked_on_platter();
        let mut lost = false;
        for dir in self.dirs.values_mut() {
            mix(&mut dir.platter, &dir.cache, keep, rng);
            lost |= dir.platter != dir.cache;
        }
        self.relink_moved(&before);
        let doubled = self.doubled(rng);
        for dir in self.dirs.values_mut() {
            dir.cache.clone_from(&dir.platter);
            dir.platter_version = dir.version;
        }
        (lost, doubled)
    }

    /// Names of files beyond the first for one number. A folder never has two: one name goes.
    fn doubled(&mut self, rng: &mut ChaCha8Rng) -> Vec<(Ino, String)> {
        let mut places: BTreeMap<Ino, Vec<(Ino, String)>> = BTreeMap::new();
        for (dir, names) in &self.dirs {
            for (name, ino) in &names.platter {
                places.entry(*ino).or_default().push((*dir, name.clone()));
            }
        }
        let mut doubled = Vec::new();
        for (ino, mut names) in places {
            if names.len() < 2 {
                continue;
            }
            if self.dirs.contains_key(&ino) {
                let kept = between(rng, 0, names.len() as u64 - 1) as usize;
                names.swap_remove(kept);
                for (dir, name) in names {
                    self.dirs
                        .get_mut(&dir)
                        .expect("listed above")
                        .platter
                        .remove(&name);
                }
            } else {
                doubled.extend(names.drain(1..));
            }
        }
        doubled
    }

    /// Points a name that survived to another number, in cache and platter.
    pub fn redirect(&mut self, dir: Ino, name: &str, ino: Ino) {
        let dir = self
            .dirs
            .get_mut(&dir)
            .expect("the caller found this folder");
        dir.cache.insert(name.to_owned(), ino);
        dir.platter.insert(name.to_owned(), ino);
    }

    fn linked_on_platter(&self) -> BTreeSet<Ino> {
        self.dirs
            .values()
            .flat_map(|dir| dir.platter.values().copied())
            .collect()
    }

    /// What was durable under some name and still has one in the cache must keep one durable.
    fn relink_moved(&mut self, before: &BTreeSet<Ino>) {
        let after = self.linked_on_platter();
        let cut: BTreeSet<Ino> = before.difference(&after).copied().collect();
        if cut.is_empty() {
            return;
        }
        for dir in self.dirs.values_mut() {
            for (name, ino) in &dir.cache {
                if cut.contains(ino) {
                    dir.platter.insert(name.clone(), *ino);
                }
            }
        }
    }

    /// Every number that some name of the cache or the platter reaches from the data folder.
    pub fn reachable(&self) -> BTreeSet<Ino> {
        let (mut seen, mut todo) = (BTreeSet::from([ROOT]), vec![ROOT]);
        while let Some(ino) = todo.pop() {
            let Some(dir) = self.dirs.get(&ino) else {
                continue;
            };
            for next in dir.cache.values().chain(dir.platter.values()) {
                if seen.insert(*next) {
                    todo.push(*next);
                }
            }
        }
        seen
    }
}

/// Takes over each name of `new` that differs in `old` with a chance of `keep` in a thousand.
fn mix(
    old: &mut BTreeMap<String, Ino>,
    new: &BTreeMap<String, Ino>,
    keep: u32,
    rng: &mut ChaCha8Rng,
) {
    let names: BTreeSet<String> = old.keys().chain(new.keys()).cloned().collect();
    for name in names {
        if old.get(&name) == new.get(&name) || !chance(rng, keep) {
            continue;
        }
        match new.get(&name) {
            Some(ino) => old.insert(name, *ino),
            None => old.remove(&name),
        };
    }
}
