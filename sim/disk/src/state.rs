//! Everything a simulated disk holds, behind one lock.

use std::collections::{BTreeMap, BTreeSet};

use highwater_runtime::{DiskError, DiskErrorKind};
use rand_chacha::ChaCha8Rng;

use crate::faults::{DiskCounts, DiskEvent, Faults, Observer};
use crate::inode::Inode;
use crate::namespace::{Ino, Namespace};
use crate::rng::stream;

/// The device and the page cache above it.
pub(crate) struct State {
    /// Which incarnation may use the disk.
    pub incarnation: u64,
    /// False between a kill or power loss and the reboot.
    pub alive: bool,
    pub files: BTreeMap<Ino, Inode>,
    pub names: Namespace,
    next_ino: Ino,
    next_view: u64,
    next_temporary: u64,
    pub faults: Faults,
    /// Syncs that fail next, whatever the rates say.
    pub sync_fails_next: u32,
    /// Reads that fail next.
    pub read_fails_next: u32,
    /// Appends that fail next.
    pub append_fails_next: u32,
    pub loss_rng: ChaCha8Rng,
    pub write_back_rng: ChaCha8Rng,
    pub fault_rng: ChaCha8Rng,
    pub kv_rng: ChaCha8Rng,
    pub violations: Vec<String>,
    pub counts: DiskCounts,
    /// Key stores that answer `Corrupt` until they are destroyed.
    pub corrupt_kv: BTreeSet<String>,
    pub observer: Option<Observer>,
    used: Option<u64>,
}

impl State {
    pub fn new(seed: u64) -> Self {
        Self {
            incarnation: 1,
            alive: true,
            files: BTreeMap::new(),
            names: Namespace::new(),
            next_ino: 1,
            next_view: 0,
            next_temporary: 0,
            faults: Faults::default(),
            sync_fails_next: 0,
            read_fails_next: 0,
            append_fails_next: 0,
            loss_rng: stream(seed, "disk.loss"),
            write_back_rng: stream(seed, "disk.write-back"),
            fault_rng: stream(seed, "disk.fault"),
            kv_rng: stream(seed, "disk.kv"),
            violations: Vec::new(),
            counts: DiskCounts::default(),
            corrupt_kv: BTreeSet::new(),
            observer: None,
            used: None,
        }
    }

    /// A number that no file, folder or view had yet.
    pub fn fresh_ino(&mut self) -> Ino {
        let ino = self.next_ino;
        self.next_ino += 1;
        ino
    }

    pub fn fresh_view(&mut self) -> u64 {
        self.next_view += 1;
        self.next_view
    }

    pub fn fresh_temporary(&mut self) -> u64 {
        self.next_temporary += 1;
        self.next_temporary
    }

    /// Refuses calls of a dead incarnation: they change nothing.
    pub fn gate(&self, incarnation: u64, op: &'static str, path: &str) -> Result<(), DiskError> {
        if self.alive && self.incarnation == incarnation {
            return Ok(());
        }
        Err(failed(op, path, "the process that opened this is dead"))
    }

    /// Refuses changes of a read-only disk.
    pub fn writable(&self, op: &'static str, path: &str) -> Result<(), DiskError> {
        if self.faults.read_only {
            return Err(error(op, path, DiskErrorKind::ReadOnly));
        }
        Ok(())
    }

    /// Bytes of all files that have a name or an open handle.
    pub fn used(&mut self) -> u64 {
        if let Some(used) = self.used {
            return used;
        }
        let held = self
            .files
            .values()
            .filter(|file| file.links > 0 || file.open > 0);
        let used = held.map(Inode::len).sum();
        self.used = Some(used);
        used
    }

    /// Bytes that still fit.
    pub fn free(&mut self) -> u64 {
        self.faults.capacity.saturating_sub(self.used())
    }

    /// A file grew by `bytes`.
    pub fn grew(&mut self, bytes: u64) {
        self.used = self.used.map(|used| used + bytes);
    }

    /// A file shrank, or may have gone.
    pub fn shrank(&mut self) {
        self.used = None;
    }

    /// Forgets files that no name and no handle reaches.
    pub fn collect(&mut self) {
        let reachable = self.names.reachable();
        self.files
            .retain(|ino, file| reachable.contains(ino) || file.open > 0);
        self.names.dirs.retain(|ino, _| reachable.contains(ino));
        self.shrank();
    }

    /// Counts each file's names anew.
    pub fn recount_links(&mut self) {
        for file in self.files.values_mut() {
            file.links = 0;
        }
        for dir in self.names.dirs.values() {
            for ino in dir.cache.values() {
                if let Some(file) = self.files.get_mut(ino) {
                    file.links += 1;
                }
            }
        }
        self.shrank();
    }

    /// Tells the observer.
    pub fn tell(&self, op: &'static str, path: &str, at: u64, len: u64, ok: bool) {
        if let Some(observer) = &self.observer {
            observer(&DiskEvent {
                op,
                path,
                at,
                len,
                ok,
            });
        }
    }
}

/// A refusal of `kind`.
pub(crate) fn error(op: &'static str, path: &str, kind: DiskErrorKind) -> DiskError {
    DiskError {
        op,
        path: path.to_owned(),
        kind,
    }
}

/// A failure without a name of its own.
pub(crate) fn failed(op: &'static str, path: &str, why: &str) -> DiskError {
    error(op, path, DiskErrorKind::Failed(why.to_owned()))
}
