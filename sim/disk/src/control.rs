//! The hands of a test on a disk: crashes, faults, damage, and what the disk noticed.
//!
//! None of these is gated by the incarnation: they belong to the machine, not to the process.

use std::sync::{Arc, Mutex};

use crate::disk::SimDisk;
use crate::faults::{DiskCounts, Faults, Latency, Observer, Tear};
use crate::state::State;

impl SimDisk {
    /// An empty disk whose device calls complete at once.
    pub fn new(seed: u64) -> Self {
        Self {
            state: Arc::new(Mutex::new(State::new(seed))),
            latency: None,
            incarnation: 1,
        }
    }

    /// An empty disk whose device calls wait as `latency` says.
    pub fn with_latency(seed: u64, latency: Latency) -> Self {
        Self {
            latency: Some(latency),
            ..Self::new(seed)
        }
    }

    /// The process dies: its handles are dead, the page cache stays.
    pub fn kill(&self) {
        let mut state = self.lock();
        state.alive = false;
        for file in state.files.values_mut() {
            file.open = 0;
            file.views.clear();
        }
        state.tell("kill", "", 0, 0, true);
        state.collect();
    }

    /// Power is lost: the process dies and so does the page cache; what was not synced survives
    /// in part, as the tear of [`Faults`] says.
    pub fn power_loss(&self) {
        let tear = self.lock().faults.tear;
        self.power_loss_with(tear);
    }

    /// Power is lost, tearing as `tear` says.
    pub fn power_loss_with(&self, tear: Tear) {
        assert!(tear.unit > 0, "a unit of 0 bytes");
        let mut guard = self.lock();
        let state = &mut *guard;
        state.alive = false;
        let mut lost = false;
        for file in state.files.values_mut() {
            lost |= file.lose_power(tear, &mut state.loss_rng);
        }
        let keep = tear.keep_percent * 10;
        let (names_lost, doubled) = state.names.lose_power(keep, &mut state.loss_rng);
        for (dir, name) in doubled {
            let ino = state.fresh_ino();
            let old = state.names.dirs[&dir].cache[&name];
            let copy = state.files[&old].clone();
            state.files.insert(ino, copy);
            state.names.redirect(dir, &name, ino);
        }
        state.recount_links();
        state.collect();
        state.counts.power_losses += 1;
        state.counts.lossy_power_losses += u64::from(lost || names_lost);
        state.tell(
            "power_loss",
            "",
            tear.unit,
            u64::from(tear.keep_percent),
            true,
        );
    }

    /// The disk of the next incarnation. A process that still lives is killed first.
    pub fn reboot(&self) -> Self {
        if self.lock().alive {
            self.kill();
        }
        let mut state = self.lock();
        state.incarnation += 1;
        state.alive = true;
        Self {
            state: self.state.clone(),
            latency: self.latency.clone(),
            incarnation: state.incarnation,
        }
    }

    /// Which start of the process this is, from 1.
    pub fn incarnation(&self) -> u64 {
        self.incarnation
    }

    /// Whether this incarnation was neither killed nor lost power.
    pub fn is_alive(&self) -> bool {
        let state = self.lock();
        state.alive && state.incarnation == self.incarnation
    }

    /// Changes which faults are switched on.
    pub fn set_faults(&self, change: impl FnOnce(&mut Faults)) {
        change(&mut self.lock().faults);
    }

    /// The next `count` file syncs fail.
    pub fn fail_syncs(&self, count: u32) {
        self.lock().sync_fails_next = count;
    }

    /// The next `count` reads and views fail.
    pub fn fail_reads(&self, count: u32) {
        self.lock().read_fails_next = count;
    }

    /// The next `count` appends fail after part of them.
    pub fn fail_appends(&self, count: u32) {
        self.lock().append_fails_next = count;
    }

    /// Bounds the disk to `bytes` more than it holds now.
    pub fn set_free(&self, bytes: u64) {
        let mut state = self.lock();
        state.faults.capacity = state.used().saturating_add(bytes);
    }

    /// Flips bit `bit` of the byte at `position` of the file at `path`, in cache and platter.
    /// Says whether there was such a byte.
    pub fn corrupt(&self, path: &str, position: u64, bit: u8) -> bool {
        let mut state = self.lock();
        let Some(ino) = state.names.find(path) else {
            return false;
        };
        let Some(file) = state.files.get_mut(&ino) else {
            return false;
        };
        file.flip(position, bit);
        position < file.len()
    }

    /// Makes the key store in `folder` answer `Corrupt` until it is destroyed.
    pub fn corrupt_kv(&self, folder: &str) {
        self.lock().corrupt_kv.insert(folder.to_owned());
    }

    /// Whether the file at `path` is on the platter exactly as the process sees it.
    pub fn is_clean(&self, path: &str) -> bool {
        let state = self.lock();
        let file = state.names.find(path).and_then(|ino| state.files.get(&ino));
        file.is_some_and(crate::inode::Inode::is_clean)
    }

    /// Broken rules of the disk contract since the last call, such as a cut under a live view.
    pub fn take_violations(&self) -> Vec<String> {
        std::mem::take(&mut self.lock().violations)
    }

    /// How often each thing happened.
    pub fn counts(&self) -> DiskCounts {
        self.lock().counts
    }

    /// Shows every step to `observer` from now on.
    pub fn observe(&self, observer: Observer) {
        self.lock().observer = Some(observer);
    }
}
