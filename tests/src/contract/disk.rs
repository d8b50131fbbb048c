//! The page cache of a disk: what each call does, and what the death of the process leaves.

use std::collections::BTreeMap;

use bytes::Bytes;
use highwater_runtime::{DirEntry, Disk, DiskErrorKind, File, Runtime};

use super::{Draws, World};

type DiskOf<W> = <<W as World>::Runtime as Runtime>::Disk;
type FileOf<W> = <DiskOf<W> as Disk>::File;

const FOLDERS: [&str; 3] = ["", "a", "a/b"];
const NAMES: [&str; 4] = ["one", "two", "three", "four"];
const OPEN_MAX: usize = 6;

/// A name's meaning in the model.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Node {
    Folder,
    File(usize),
}

/// What the disk must look like.
#[derive(Default)]
struct Model {
    names: BTreeMap<String, Node>,
    files: Vec<Vec<u8>>,
}

impl Model {
    fn has_folder(&self, path: &str) -> bool {
        path.is_empty() || self.names.get(path) == Some(&Node::Folder)
    }

    fn file(&self, path: &str) -> Option<usize> {
        match self.names.get(path) {
            Some(Node::File(file)) => Some(*file),
            _ => None,
        }
    }

    fn entries(&self, folder: &str) -> Vec<DirEntry> {
        let entry = |(path, node): (&String, &Node)| {
            let (parent, name) = split(path);
            let len = match node {
                Node::Folder => 0,
                Node::File(file) => self.files[*file].len() as u64,
            };
            let is_dir = *node == Node::Folder;
            (parent == folder).then(|| DirEntry {
                name: name.to_owned(),
                is_dir,
                len,
            })
        };
        self.names.iter().filter_map(entry).collect()
    }
}

struct Open<F> {
    handle: F,
    file: usize,
    sealed: bool,
    views: Vec<(usize, Bytes)>,
}

/// Runs `steps` random steps from `seed` on an empty folder of `W`.
///
/// # Panics
/// When the disk breaks its contract.
pub fn random_steps<W: World>(seed: u64, steps: usize) {
    let mut draws = Draws::new(seed);
    let mut world = W::start(seed);
    let mut model = Model::default();
    let mut open: Vec<Open<FileOf<W>>> = Vec::new();
    for step in 0..steps {
        let at = format!("seed {seed}, step {step}");
        if draws.below(60) == 0 {
            open.clear();
            world = world.crash();
            check_all(world.runtime().disk(), &model, &at);
        } else if !open.is_empty() && draws.below(3) > 0 {
            let index = draws.below(open.len());
            step_on_file(&world, &mut open, index, &mut model, &mut draws, &at);
        } else {
            step_on_names(&world, &mut open, &mut model, &mut draws, &at);
        }
    }
    check_all(world.runtime().disk(), &model, &format!("seed {seed}, end"));
}

fn step_on_names<W: World>(
    world: &W,
    open: &mut Vec<Open<FileOf<W>>>,
    model: &mut Model,
    draws: &mut Draws,
    at: &str,
) {
    let disk = world.runtime().disk();
    let folder = draws.of(&FOLDERS);
    let path = join(folder, draws.of(&NAMES));
    match draws.below(10) {
        0..=2 => {
            let expected = match model.names.contains_key(&path) {
                _ if !model.has_folder(folder) => Err(DiskErrorKind::NotFound),
                true => Err(DiskErrorKind::Exists),
                false => Ok(()),
            };
            let created = disk.create(&path);
            assert_eq!(kind_of(&created), expected, "create {path:?}, {at}");
            if let Ok(handle) = created {
                model.files.push(Vec::new());
                let file = model.files.len() - 1;
                model.names.insert(path, Node::File(file));
                open.push(Open {
                    handle,
                    file,
                    sealed: false,
                    views: Vec::new(),
                });
            }
        }
        3 => {
            let expected = model.file(&path);
            let opened = disk.open(&path);
            assert_eq!(kind_of(&opened), found(expected), "open {path:?}, {at}");
            if let (Ok(handle), Some(file)) = (opened, expected) {
                let sealed = open.iter().any(|other| other.file == file && other.sealed);
                open.push(Open {
                    handle,
                    file,
                    sealed,
                    views: Vec::new(),
                });
            }
        }
        4 => {
            let path = draws.of(&["a", "a/b"]);
            let (folder, _) = split(path);
            let expected = if model.has_folder(folder) {
                Ok(())
            } else {
                Err(DiskErrorKind::NotFound)
            };
            assert_eq!(
                kind_of(&disk.create_dir(path)),
                expected,
                "create_dir {path:?}, {at}"
            );
            if expected.is_ok() {
                model.names.insert(path.to_owned(), Node::Folder);
            }
        }
        5 => {
            let expected = model.file(&path);
            assert_eq!(
                kind_of(&disk.remove(&path)),
                found(expected),
                "remove {path:?}, {at}"
            );
            if expected.is_some() {
                model.names.remove(&path);
            }
        }
        6 => rename(disk, model, &path, draws, at),
        7 => publish(world, model, folder, &path, draws, at),
        8 if draws.below(4) == 0 => {
            let known = !folder.is_empty() && model.has_folder(folder);
            let folder = if folder.is_empty() { "missing" } else { folder };
            let expected = if known {
                Ok(())
            } else {
                Err(DiskErrorKind::NotFound)
            };
            assert_eq!(
                kind_of(&disk.remove_dir(folder)),
                expected,
                "remove_dir {folder:?}, {at}"
            );
            if known {
                let inside = format!("{folder}/");
                model
                    .names
                    .retain(|path, _| path != folder && !path.starts_with(&inside));
            }
        }
        _ => {
            let synced = world.run(disk.sync_dir(folder));
            let expected = if model.has_folder(folder) {
                Ok(())
            } else {
                Err(DiskErrorKind::NotFound)
            };
            assert_eq!(kind_of(&synced), expected, "sync_dir {folder:?}, {at}");
            assert!(
                disk.free_bytes().expect("a healthy disk answers") > 0,
                "{at}"
            );
            check_all(disk, model, at);
        }
    }
    while open.len() > OPEN_MAX {
        open.remove(draws.below(OPEN_MAX));
    }
}

fn rename<D: Disk>(disk: &D, model: &mut Model, from: &str, draws: &mut Draws, at: &str) {
    let folder = draws.of(&FOLDERS);
    let to = join(folder, draws.of(&NAMES));
    let node = model
        .names
        .get(from)
        .copied()
        .filter(|_| model.has_folder(folder));
    let expected = if node.is_some() {
        Ok(())
    } else {
        Err(DiskErrorKind::NotFound)
    };
    assert_eq!(
        kind_of(&disk.rename(from, &to)),
        expected,
        "rename {from:?} {to:?}, {at}"
    );
    if let Some(node) = node {
        model.names.remove(from);
        model.names.insert(to, node);
    }
    // A folder neither replaces nor is replaced.
    if model.has_folder("a") && model.has_folder("a/b") {
        assert_eq!(
            kind_of(&disk.rename("a/b", "a")),
            Err(DiskErrorKind::Exists),
            "{at}"
        );
    }
}

fn publish<W: World>(
    world: &W,
    model: &mut Model,
    folder: &str,
    path: &str,
    draws: &mut Draws,
    at: &str,
) {
    let content = draws.some_bytes(5000);
    let published = world.run(world.runtime().disk().publish(path, content.clone().into()));
    let expected = if model.has_folder(folder) {
        Ok(())
    } else {
        Err(DiskErrorKind::NotFound)
    };
    assert_eq!(kind_of(&published), expected, "publish {path:?}, {at}");
    if expected.is_ok() {
        // A new file: open handles keep the old one.
        model.files.push(content);
        model
            .names
            .insert(path.to_owned(), Node::File(model.files.len() - 1));
    }
}

fn step_on_file<W: World>(
    world: &W,
    open: &mut [Open<FileOf<W>>],
    index: usize,
    model: &mut Model,
    draws: &mut Draws,
    at: &str,
) {
    let file = open[index].file;
    let handle = open[index].handle.clone();
    let content = &mut model.files[file];
    match draws.below(10) {
        0..=3 if !open[index].sealed => {
            let len_max = draws.of(&[10, 1000, 100_000]);
            let parts: Vec<Vec<u8>> = (0..draws.below(6))
                .map(|_| draws.some_bytes(len_max))
                .collect();
            let slices: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
            let position = handle.append(&slices).expect("a healthy disk takes it");
            assert_eq!(position, content.len() as u64, "append, {at}");
            content.extend(parts.concat());
        }
        4 => {
            let position = draws.below(content.len() + 10);
            let mut into = vec![0; draws.below(5000)];
            let count = handle
                .read_at(position as u64, &mut into)
                .expect("a healthy disk reads");
            let start = position.min(content.len());
            let end = content.len().min(start + into.len());
            assert_eq!(
                &into[..count],
                &content[start..end],
                "read_at {position}, {at}"
            );
        }
        5 | 6 => {
            let position = draws.below(content.len() + 1);
            let len = draws.below(content.len() - position + 1);
            let view = handle
                .view(position as u64, len)
                .expect("a healthy disk shows it");
            assert_eq!(
                view,
                content[position..position + len],
                "view {position} {len}, {at}"
            );
            open[index].views.push((position, view));
        }
        7 if !open[index].sealed => {
            let len = draws.below(content.len() + 1);
            for other in open.iter_mut().filter(|other| other.file == file) {
                other
                    .views
                    .retain(|(position, view)| position + view.len() <= len);
            }
            handle.truncate(len as u64).expect("a healthy disk cuts");
            content.truncate(len);
        }
        8 => world.run(handle.sync()).expect("a healthy disk syncs"),
        9 if draws.below(8) == 0 => {
            handle.seal().expect("a healthy disk seals");
            open.iter_mut()
                .filter(|other| other.file == file)
                .for_each(|o| o.sealed = true);
        }
        _ => {}
    }
    let content = &model.files[file];
    for other in open.iter().filter(|other| other.file == file) {
        assert_eq!(other.handle.len(), content.len() as u64, "{at}");
        assert_eq!(other.handle.is_empty(), content.is_empty(), "{at}");
        for (position, view) in &other.views {
            assert_eq!(
                view,
                &content[*position..position + view.len()],
                "an old view, {at}"
            );
        }
    }
}

fn check_all<D: Disk>(disk: &D, model: &Model, at: &str) {
    for folder in FOLDERS {
        let listed = disk.list(folder);
        if model.has_folder(folder) {
            assert_eq!(
                listed.expect("the folder is there"),
                model.entries(folder),
                "{at}"
            );
        } else {
            assert_eq!(
                kind_of(&listed),
                Err(DiskErrorKind::NotFound),
                "list {folder:?}, {at}"
            );
        }
        for name in NAMES {
            let path = join(folder, name);
            let read = disk.read(&path);
            match model.file(&path) {
                Some(file) => assert!(
                    read.as_deref() == Ok(&model.files[file][..]),
                    "the content of {path:?}, {at}"
                ),
                None => assert_eq!(
                    kind_of(&read),
                    Err(DiskErrorKind::NotFound),
                    "{path:?}, {at}"
                ),
            }
        }
    }
}

fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() {
        name.to_owned()
    } else {
        format!("{folder}/{name}")
    }
}

fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

fn found(file: Option<usize>) -> Result<(), DiskErrorKind> {
    file.map(drop).ok_or(DiskErrorKind::NotFound)
}

fn kind_of<T>(result: &Result<T, highwater_runtime::DiskError>) -> Result<(), DiskErrorKind> {
    result
        .as_ref()
        .map(drop)
        .map_err(|error| error.kind.clone())
}
