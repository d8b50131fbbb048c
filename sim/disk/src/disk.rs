//! The simulated data folder, as one incarnation of a process sees it.

use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use highwater_runtime::{DirEntry, Disk, DiskError, DiskErrorKind, File};

use crate::faults::{DiskOp, Latency};
use crate::inode::Inode;
use crate::namespace::{Dir, Ino};
use crate::rng::{between, chance};
use crate::state::{State, error, failed};

/// A disk in memory. Clones share it and belong to one incarnation of the process: after
/// `kill` or `power_loss` their calls fail and change nothing, and `reboot` makes the disk of
/// the next incarnation.
#[derive(Clone)]
pub struct SimDisk {
    pub(crate) state: Arc<Mutex<State>>,
    pub(crate) latency: Option<Latency>,
    pub(crate) incarnation: u64,
}

/// An open file of a [`SimDisk`].
#[derive(Clone)]
pub struct SimFile {
    open: Arc<OpenFile>,
}

/// What the clones of a handle share.
struct OpenFile {
    disk: SimDisk,
    path: String,
    ino: Ino,
    sealed: std::sync::atomic::AtomicBool,
}

impl SimDisk {
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state
            .lock()
            .expect("no step on the disk panics while it holds the lock")
    }

    /// The state, if this incarnation lives.
    pub(crate) fn enter(
        &self,
        op: &'static str,
        path: &str,
    ) -> Result<MutexGuard<'_, State>, DiskError> {
        let state = self.lock();
        state.gate(self.incarnation, op, path)?;
        Ok(state)
    }

    /// The state, if this incarnation lives and may change it.
    fn enter_to_write(
        &self,
        op: &'static str,
        path: &str,
    ) -> Result<MutexGuard<'_, State>, DiskError> {
        let state = self.enter(op, path)?;
        state.writable(op, path)?;
        Ok(state)
    }

    /// Waits as long as the device takes.
    async fn wait(&self, op: DiskOp) {
        if let Some(latency) = &self.latency {
            latency(op).await;
        }
    }

    fn handle(&self, state: &mut State, path: &str, ino: Ino) -> SimFile {
        state
            .files
            .get_mut(&ino)
            .expect("the name points to a file")
            .open += 1;
        let open = OpenFile {
            disk: self.clone(),
            path: path.to_owned(),
            ino,
            sealed: std::sync::atomic::AtomicBool::new(false),
        };
        SimFile {
            open: Arc::new(open),
        }
    }

    async fn publish_at(self, path: String, content: Bytes) -> Result<(), DiskError> {
        let temporary = format!("{path}.{}.tmp", self.lock().fresh_temporary());
        let file = self
            .create(&temporary)
            .map_err(|e| DiskError { op: "publish", ..e })?;
        let written = match file.append(&[&content]) {
            Ok(_) => file.sync().await,
            Err(refused) => Err(refused),
        };
        let renamed = written.and_then(|()| self.rename(&temporary, &path));
        if let Err(refused) = renamed {
            // A dead incarnation leaves its temporary file, as a crash does.
            let _ = self.remove(&temporary);
            return Err(DiskError {
                op: "publish",
                path,
                kind: refused.kind,
            });
        }
        let folder = path
            .rsplit_once('/')
            .map_or("", |(folder, _)| folder)
            .to_owned();
        self.sync_dir(&folder).await
    }
}

impl Disk for SimDisk {
    type File = SimFile;

    fn open(&self, path: &str) -> Result<SimFile, DiskError> {
        let mut state = self.enter("open", path)?;
        let ino = state
            .names
            .find(path)
            .filter(|ino| state.files.contains_key(ino));
        let ino = ino.ok_or_else(|| error("open", path, DiskErrorKind::NotFound))?;
        Ok(self.handle(&mut state, path, ino))
    }

    fn create(&self, path: &str) -> Result<SimFile, DiskError> {
        let mut state = self.enter_to_write("create", path)?;
        let (dir, name) = state
            .names
            .parent(path)
            .ok_or_else(|| error("create", path, DiskErrorKind::NotFound))?;
        if state.names.find(path).is_some() {
            return Err(error("create", path, DiskErrorKind::Exists));
        }
        let ino = state.fresh_ino();
        state.files.insert(ino, Inode::linked());
        state.names.link(dir, name, ino);
        state.tell("create", path, 0, 0, true);
        Ok(self.handle(&mut state, path, ino))
    }

    fn create_dir(&self, path: &str) -> Result<(), DiskError> {
        let mut state = self.enter_to_write("create_dir", path)?;
        if let Some(ino) = state.names.find(path) {
            return match state.names.dirs.contains_key(&ino) {
                true => Ok(()),
                false => Err(error("create_dir", path, DiskErrorKind::Exists)),
            };
        }
        let (dir, name) = state
            .names
            .parent(path)
            .ok_or_else(|| error("create_dir", path, DiskErrorKind::NotFound))?;
        let ino = state.fresh_ino();
        state.names.dirs.insert(ino, Dir::default());
        state.names.link(dir, name, ino);
        state.tell("create_dir", path, 0, 0, true);
        Ok(())
    }

    fn list(&self, path: &str) -> Result<Vec<DirEntry>, DiskError> {
        let state = self.enter("list", path)?;
        let dir = state
            .names
            .find(path)
            .and_then(|ino| state.names.dirs.get(&ino));
        let dir = dir.ok_or_else(|| error("list", path, DiskErrorKind::NotFound))?;
        let entry = |(name, ino): (&String, &Ino)| {
            let file = state.files.get(ino);
            DirEntry {
                name: name.clone(),
                is_dir: file.is_none(),
                len: file.map_or(0, Inode::len),
            }
        };
        Ok(dir.cache.iter().map(entry).collect())
    }

    fn read(&self, path: &str) -> Result<Bytes, DiskError> {
        let file = self.open(path).map_err(|e| DiskError { op: "read", ..e })?;
        let mut content = vec![0; file.len() as usize];
        file.read_at(0, &mut content)?;
        Ok(content.into())
    }

    fn remove(&self, path: &str) -> Result<(), DiskError> {
        let mut state = self.enter_to_write("remove", path)?;
        let ino = state
            .names
            .find(path)
            .filter(|ino| state.files.contains_key(ino));
        let ino = ino.ok_or_else(|| error("remove", path, DiskErrorKind::NotFound))?;
        let (dir, name) = state
            .names
            .parent(path)
            .expect("a name that is found has a folder");
        state.names.unlink(dir, name);
        state.files.get_mut(&ino).expect("found above").links -= 1;
        state.shrank();
        state.tell("remove", path, 0, 0, true);
        Ok(())
    }

    fn remove_dir(&self, path: &str) -> Result<(), DiskError> {
        let mut state = self.enter_to_write("remove_dir", path)?;
        let ino = state
            .names
            .find(path)
            .filter(|ino| state.names.dirs.contains_key(ino));
        let ino = ino.ok_or_else(|| error("remove_dir", path, DiskErrorKind::NotFound))?;
        let parent = state.names.parent(path);
        let (dir, name) =
            parent.ok_or_else(|| failed("remove_dir", path, "the data folder itself must stay"))?;
        let mut todo = vec![ino];
        while let Some(folder) = todo.pop() {
            let names: Vec<(String, Ino)> = state.names.dirs[&folder]
                .cache
                .iter()
                .map(|(n, i)| (n.clone(), *i))
                .collect();
            for (name, child) in names {
                state.names.unlink(folder, &name);
                if state.names.dirs.contains_key(&child) {
                    todo.push(child);
                }
            }
        }
        state.names.unlink(dir, name);
        state.recount_links();
        state.tell("remove_dir", path, 0, 0, true);
        Ok(())
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), DiskError> {
        let mut state = self.enter_to_write("rename", from)?;
        let not_found = |path: &str| error("rename", path, DiskErrorKind::NotFound);
        let ino = state.names.find(from).ok_or_else(|| not_found(from))?;
        let (from_dir, from_name) = state.names.parent(from).ok_or_else(|| not_found(from))?;
        let (to_dir, to_name) = state.names.parent(to).ok_or_else(|| not_found(to))?;
        if from == to {
            return Ok(());
        }
        if let Some(taken) = state.names.find(to)
            && (state.names.dirs.contains_key(&taken) || state.names.dirs.contains_key(&ino))
        {
            return Err(error("rename", to, DiskErrorKind::Exists));
        }
        if to
            .strip_prefix(from)
            .is_some_and(|rest| rest.starts_with('/'))
        {
            return Err(failed("rename", from, "a folder cannot move into itself"));
        }
        state.names.unlink(from_dir, from_name);
        if let Some(replaced) = state.names.link(to_dir, to_name, ino) {
            state
                .files
                .get_mut(&replaced)
                .expect("folders are not replaced")
                .links -= 1;
        }
        state.shrank();
        state.tell("rename", to, 0, 0, true);
        Ok(())
    }

    fn sync_dir(&self, path: &str) -> impl Future<Output = Result<(), DiskError>> + 'static {
        let (disk, path) = (self.clone(), path.to_owned());
        let called = self.enter("sync_dir", &path).and_then(|mut state| {
            let ticket = state
                .names
                .find(&path)
                .and_then(|ino| state.names.ticket(ino));
            let ticket = ticket.ok_or_else(|| error("sync_dir", &path, DiskErrorKind::NotFound))?;
            let rate = state.faults.sync_dir_fail_permille;
            Ok((ticket, chance(&mut state.fault_rng, rate)))
        });
        async move {
            let (ticket, fails) = called?;
            disk.wait(DiskOp::SyncDir).await;
            let mut state = disk.enter("sync_dir", &path)?;
            state.tell("sync_dir", &path, 0, 0, !fails);
            if fails {
                state.counts.syncs_failed += 1;
                let state = &mut *state;
                state.names.sync_failed(&ticket, &mut state.fault_rng);
                return Err(failed("sync_dir", &path, "input/output error (simulated)"));
            }
            if !state.faults.phantom_sync_dir {
                state.names.synced(ticket);
                state.collect();
            }
            Ok(())
        }
    }

    fn publish(
        &self,
        path: &str,
        content: Bytes,
    ) -> impl Future<Output = Result<(), DiskError>> + 'static {
        self.clone().publish_at(path.to_owned(), content)
    }

    fn free_bytes(&self) -> Result<u64, DiskError> {
        Ok(self.enter("free_bytes", "")?.free())
    }
}

impl SimFile {
    /// The name under which it was opened.
    pub(crate) fn path(&self) -> &str {
        &self.open.path
    }

    fn enter(&self, op: &'static str) -> Result<MutexGuard<'_, State>, DiskError> {
        self.open.disk.enter(op, &self.open.path)
    }

    fn fail(&self, op: &'static str, why: &str) -> DiskError {
        failed(op, &self.open.path, why)
    }

    /// Whether this read fails.
    fn read_fails(state: &mut State) -> bool {
        let rate = state.faults.read_fail_permille;
        let fails = state.read_fails_next > 0 || chance(&mut state.fault_rng, rate);
        state.read_fails_next = state.read_fails_next.saturating_sub(1);
        state.counts.reads_failed += u64::from(fails);
        fails
    }
}

/// The file of an open handle.
fn inode(state: &mut State, ino: Ino) -> &mut Inode {
    state
        .files
        .get_mut(&ino)
        .expect("an open file is never collected")
}

impl File for SimFile {
    fn len(&self) -> u64 {
        self.enter("len")
            .map_or(0, |mut state| inode(&mut state, self.open.ino).len())
    }

    fn append(&self, parts: &[&[u8]]) -> Result<u64, DiskError> {
        let path = &self.open.path;
        let mut guard = self.enter("append")?;
        let state = &mut *guard;
        state.writable("append", path)?;
        if self.open.sealed.load(std::sync::atomic::Ordering::Relaxed) {
            state
                .violations
                .push(format!("an append to {path:?}, which was sealed"));
        }
        let bytes: u64 = parts.iter().map(|part| part.len() as u64).sum();
        let at = inode(state, self.open.ino).len();
        if bytes > state.free() {
            state.counts.refused_full += 1;
            state.tell("append", path, at, bytes, false);
            return Err(error("append", path, DiskErrorKind::Full));
        }
        let rate = state.faults.append_fail_permille;
        if state.append_fails_next > 0 || chance(&mut state.fault_rng, rate) {
            state.append_fails_next = state.append_fails_next.saturating_sub(1);
            state.counts.appends_failed += 1;
            let whole: Vec<u8> = parts.concat();
            let written = between(&mut state.fault_rng, 0, bytes) as usize;
            inode(state, self.open.ino).append(&whole[..written]);
            state.grew(written as u64);
            state.tell("append", path, at, bytes, false);
            return Err(self.fail("append", "input/output error (simulated)"));
        }
        for part in parts {
            inode(state, self.open.ino).append(part);
        }
        state.grew(bytes);
        let (rate, tear) = (state.faults.write_back_permille, state.faults.tear);
        if chance(&mut state.write_back_rng, rate) {
            let file = state.files.get_mut(&self.open.ino).expect("open");
            file.write_back_some(tear, &mut state.write_back_rng);
        }
        state.tell("append", path, at, bytes, true);
        Ok(at)
    }

    fn read_at(&self, position: u64, into: &mut [u8]) -> Result<usize, DiskError> {
        let mut state = self.enter("read")?;
        if Self::read_fails(&mut state) {
            return Err(self.fail("read", "input/output error (simulated)"));
        }
        let cache = &inode(&mut state, self.open.ino).cache;
        let start = (position.min(cache.len() as u64)) as usize;
        let len = into.len().min(cache.len() - start);
        into[..len].copy_from_slice(&cache[start..start + len]);
        Ok(len)
    }

    fn view(&self, position: u64, len: usize) -> Result<Bytes, DiskError> {
        let mut state = self.enter("view")?;
        if Self::read_fails(&mut state) {
            return Err(self.fail("view", "input/output error (simulated)"));
        }
        let id = state.fresh_view();
        let file = inode(&mut state, self.open.ino);
        let end = position + len as u64;
        if end > file.len() {
            let why = format!(
                "a view of [{position}, {end}) in a file of {} bytes",
                file.len()
            );
            state
                .violations
                .push(format!("{:?}: {why}", self.open.path));
            return Err(self.fail("view", &why));
        }
        if len == 0 {
            return Ok(Bytes::new());
        }
        let bytes = file.cache[position as usize..end as usize].to_vec();
        file.views.insert(id, (position, end));
        drop(state);
        Ok(Bytes::from_owner(View {
            bytes,
            id,
            open: self.open.clone(),
        }))
    }

    fn truncate(&self, len: u64) -> Result<(), DiskError> {
        let path = &self.open.path;
        let mut state = self.enter("truncate")?;
        state.writable("truncate", path)?;
        let file = inode(&mut state, self.open.ino);
        if len > file.len() {
            return Err(self.fail("truncate", "a cut past the end of the file"));
        }
        let cut = len..file.len();
        let seen = file
            .views
            .values()
            .find(|(_, end)| *end > cut.start && !cut.is_empty())
            .copied();
        file.truncate(len);
        if let Some((start, end)) = seen {
            let violation =
                format!("{path:?} was cut to {len} bytes under a view of [{start}, {end})");
            state.violations.push(violation);
        }
        state.shrank();
        state.tell("truncate", path, len, 0, true);
        Ok(())
    }

    fn sync(&self) -> impl Future<Output = Result<(), DiskError>> + 'static {
        let open = self.open.clone();
        let called = self.enter("sync").map(|mut guard| {
            let state = &mut *guard;
            state.counts.syncs += 1;
            let rate = state.faults.sync_fail_permille;
            let fails = state.sync_fails_next > 0 || chance(&mut state.fault_rng, rate);
            state.sync_fails_next = state.sync_fails_next.saturating_sub(1);
            (inode(state, open.ino).ticket(), fails)
        });
        async move {
            let (ticket, fails) = called?;
            open.disk
                .wait(DiskOp::Sync {
                    bytes: ticket.bytes(),
                })
                .await;
            let mut guard = open.disk.enter("sync", &open.path)?;
            let state = &mut *guard;
            state.tell("sync", &open.path, 0, ticket.bytes(), !fails);
            let file = state
                .files
                .get_mut(&open.ino)
                .expect("an open file is never collected");
            if fails {
                state.counts.syncs_failed += 1;
                file.sync_failed(&ticket, &mut state.fault_rng);
                if state.faults.silent_sync_failure {
                    return Ok(());
                }
                return Err(failed("sync", &open.path, "input/output error (simulated)"));
            }
            if !state.faults.phantom_sync {
                file.synced(&ticket);
            }
            Ok(())
        }
    }

    fn seal(&self) -> Result<(), DiskError> {
        drop(self.enter("seal")?);
        self.open
            .sealed
            .store(true, std::sync::atomic::Ordering::Relaxed);
        Ok(())
    }
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        let mut state = self.disk.lock();
        if state
            .gate(self.disk.incarnation, "close", &self.path)
            .is_err()
        {
            return;
        }
        let file = inode(&mut state, self.ino);
        file.open -= 1;
        if file.open == 0 && file.links == 0 {
            state.shrank();
        }
    }
}

/// A range of a file that somebody looks at. Holds a copy: the range must not change anyway.
struct View {
    bytes: Vec<u8>,
    id: u64,
    open: Arc<OpenFile>,
}

impl AsRef<[u8]> for View {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for View {
    fn drop(&mut self) {
        let mut state = self.open.disk.lock();
        if state.gate(self.open.disk.incarnation, "close", "").is_ok() {
            inode(&mut state, self.open.ino).views.remove(&self.id);
        }
    }
}

impl std::fmt::Debug for SimDisk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SimDisk")
            .field("incarnation", &self.incarnation)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for SimFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SimFile")
            .field("path", &self.open.path)
            .finish_non_exhaustive()
    }
}
