//! One file's bytes: in the page cache, on the platter, and what differs.

use std::collections::BTreeMap;

use rand_chacha::ChaCha8Rng;

use crate::faults::Tear;
use crate::ranges::Ranges;
use crate::rng::{between, chance};

/// A file's content. `cache` is what every call sees; `platter` is what survives power loss.
///
/// Length and content reach the platter apart: a grown length over lost bytes reads as zeros.
#[derive(Clone, Debug, Default)]
pub(crate) struct Inode {
    /// What the process sees.
    pub cache: Vec<u8>,
    /// Content on the platter by position; bytes past its end are zeros.
    platter: Vec<u8>,
    /// Length on the platter.
    platter_len: u64,
    /// Counts changes of the cache's length; `platter_version` is the one on the platter.
    version: u64,
    platter_version: u64,
    /// The smallest length since the platter's.
    low_len: u64,
    /// Bytes whose cache content the platter may lack.
    dirty: Ranges,
    /// Names in the page cache.
    pub links: u32,
    /// Open handles of the living incarnation.
    pub open: u32,
    /// Views that were not dropped yet.
    pub views: BTreeMap<u64, (u64, u64)>,
}

/// What a sync promised when it was called.
#[derive(Clone, Debug)]
pub(crate) struct SyncTicket {
    dirty: Ranges,
    len: u64,
    version: u64,
}

impl SyncTicket {
    /// Bytes that this sync writes.
    pub fn bytes(&self) -> u64 {
        self.dirty.bytes()
    }
}

impl Inode {
    /// An empty file with one name.
    pub fn linked() -> Self {
        Self {
            links: 1,
            ..Self::default()
        }
    }

    /// The length that the process sees.
    pub fn len(&self) -> u64 {
        self.cache.len() as u64
    }

    /// Appends to the page cache.
    pub fn append(&mut self, part: &[u8]) {
        if part.is_empty() {
            return;
        }
        let start = self.len();
        self.cache.extend_from_slice(part);
        self.dirty.add(start, self.len());
        self.version += 1;
    }

    /// Cuts the page cache to `len` bytes, which must not be past its end.
    pub fn truncate(&mut self, len: u64) {
        assert!(
            len <= self.len(),
            "a cut to {len} would grow a file of {}",
            self.len()
        );
        if len == self.len() {
            return;
        }
        self.dirty.remove(len, u64::MAX);
        self.cache.truncate(len as usize);
        self.low_len = self.low_len.min(len);
        self.version += 1;
    }

    /// What a sync called now must make durable.
    pub fn ticket(&self) -> SyncTicket {
        SyncTicket {
            dirty: self.dirty.clone(),
            len: self.len(),
            version: self.version,
        }
    }

    /// The sync succeeded: everything it promised is on the platter.
    pub fn synced(&mut self, ticket: &SyncTicket) {
        for (start, end) in ticket.dirty.iter() {
            self.write_back(start, end);
        }
        self.persist_len(ticket.len, ticket.version);
    }

    /// The sync failed: the cache keeps the new bytes and calls them clean, the platter has the
    /// old ones. Whether the length arrived is a matter of luck.
    pub fn sync_failed(&mut self, ticket: &SyncTicket, rng: &mut ChaCha8Rng) {
        for (start, end) in ticket.dirty.iter() {
            self.dirty.remove(start, end);
        }
        if chance(rng, 500) {
            self.persist_len(ticket.len, ticket.version);
        }
    }

    /// The kernel writes some dirty units of its own accord.
    pub fn write_back_some(&mut self, tear: Tear, rng: &mut ChaCha8Rng) {
        let ranges: Vec<(u64, u64)> = self.dirty.iter().collect();
        let Some(last) = ranges.len().checked_sub(1) else {
            return;
        };
        let (start, end) = ranges[between(rng, 0, last as u64) as usize];
        let from = between(rng, start, end - 1) / tear.unit * tear.unit;
        let to = from + tear.unit * between(rng, 1, 8);
        let (from, to) = (from.max(start), to.min(end));
        self.write_back(from, to);
        if self.low_len >= self.platter_len && self.platter_len < to && chance(rng, 500) {
            self.platter_len = to;
            self.low_len = to;
        }
    }

    /// Writes the cache's bytes in `[start, end)` to the platter.
    fn write_back(&mut self, start: u64, end: u64) {
        let end = end.min(self.len());
        if start >= end {
            return;
        }
        let (from, to) = (start as usize, end as usize);
        if self.platter.len() < to {
            self.platter.resize(to, 0);
        }
        self.platter[from..to].copy_from_slice(&self.cache[from..to]);
        self.dirty.remove(start, end);
    }

    /// The length of change `version` reaches the platter, unless a later one did already.
    fn persist_len(&mut self, len: u64, version: u64) {
        if version <= self.platter_version {
            return;
        }
        self.platter_version = version;
        self.platter_len = len;
        self.low_len = len.min(self.len());
        let kept = len.max(self.len()) as usize;
        self.platter.truncate(kept);
    }

    /// Power is lost: what was not synced survives unit by unit, or not. Says whether any of it
    /// was lost.
    pub fn lose_power(&mut self, tear: Tear, rng: &mut ChaCha8Rng) -> bool {
        let keep = tear.keep_percent * 10;
        let mut lost = false;
        let dirty = std::mem::take(&mut self.dirty);
        for (start, end) in dirty.iter() {
            let mut at = start;
            while at < end {
                let unit_end = ((at / tear.unit + 1) * tear.unit).min(end);
                if chance(rng, keep) {
                    self.write_back(at, unit_end);
                } else {
                    lost = true;
                }
                at = unit_end;
            }
        }
        let mut len = self.platter_len;
        if self.version > self.platter_version {
            let (low, high) = (
                self.low_len.min(self.platter_len),
                self.len().max(self.platter_len),
            );
            len = match between(rng, 0, 3) {
                0 => between(rng, low, high),
                _ if chance(rng, keep) => self.len(),
                _ => self.platter_len,
            };
            lost |= len != self.len();
        }
        self.platter.resize(len as usize, 0);
        self.settle();
        lost
    }

    /// The page cache is read anew from the platter.
    fn settle(&mut self) {
        self.cache = self.platter.clone();
        self.platter_len = self.cache.len() as u64;
        self.low_len = self.platter_len;
        self.platter_version = self.version;
        self.dirty = Ranges::default();
        self.views.clear();
        self.open = 0;
    }

    /// Flips one bit in the cache and on the platter.
    pub fn flip(&mut self, position: u64, bit: u8) {
        let at = position as usize;
        for bytes in [&mut self.cache, &mut self.platter] {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << (bit % 8);
            }
        }
    }

    /// Whether the platter holds exactly what the cache shows.
    pub fn is_clean(&self) -> bool {
        self.dirty.is_empty() && self.version == self.platter_version
    }
}
