//! An ordered map whose un-synced writes a crash cuts to a prefix, on files of a [`SimDisk`].
//!
//! Writes wait in memory until a random later write or a sync moves them to the file, so that a
//! kill loses some too, as RocksDB without its own log does. The file is a magic number and one
//! frame a batch, integers big-endian:
//!
//! ```text
//! "HWSIMKV1" | ( len u32 | hash u64 of body | body )*      body = operations
//! operation  = kind u8 (0 put, 1 delete, 2 delete range) | a_len u32 | a | b_len u32 | b
//! ```

use std::collections::BTreeMap;
use std::future::Future;
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::{Buf, BufMut, Bytes, BytesMut};
use highwater_runtime::{Disk, DiskErrorKind, File, Kv, KvError, KvOp};

use crate::disk::{SimDisk, SimFile};
use crate::rng::chance;

const MAGIC: &[u8; 8] = b"HWSIMKV1";
const FRAME_BYTES: usize = 12;

/// A key store in memory above a log file. Clones share it.
#[derive(Clone)]
pub struct SimKv {
    disk: SimDisk,
    file: SimFile,
    store: Arc<Mutex<Store>>,
}

struct Store {
    map: BTreeMap<Bytes, Bytes>,
    /// Frames that the file does not hold yet.
    pending: BytesMut,
    /// Set by the first failure: no write is taken any more.
    broken: Option<KvError>,
}

impl SimKv {
    /// Opens the store in `folder`, making it when missing.
    ///
    /// # Errors
    /// [`KvError::Corrupt`]: destroy it. [`KvError::Disk`]: the disk refuses.
    pub fn open(disk: &SimDisk, folder: &str) -> Result<Self, KvError> {
        if disk.lock().corrupt_kv.contains(folder) {
            return Err(corrupt(folder, "damaged on request"));
        }
        disk.create_dir(folder).map_err(KvError::Disk)?;
        let path = format!("{folder}/kv.log");
        let file = match disk.open(&path) {
            Ok(file) => file,
            Err(missing) if missing.kind == DiskErrorKind::NotFound => {
                disk.create(&path).map_err(KvError::Disk)?
            }
            Err(refused) => return Err(KvError::Disk(refused)),
        };
        let mut content = vec![0; file.len() as usize];
        file.read_at(0, &mut content).map_err(KvError::Disk)?;
        let mut map = BTreeMap::new();
        let mut pending = BytesMut::new();
        let torn = |(got, magic): (&u8, &u8)| *got == 0 && *magic != 0;
        if content.len() < MAGIC.len() || content.iter().zip(MAGIC).any(torn) {
            // The store was made and never synced: no byte of it was promised.
            file.truncate(0).map_err(KvError::Disk)?;
            pending.put_slice(MAGIC);
        } else if &content[..MAGIC.len()] != MAGIC {
            return Err(corrupt(folder, "its file does not start as one"));
        } else {
            let kept = MAGIC.len() + replay(&content[MAGIC.len()..], &mut map);
            file.truncate(kept as u64).map_err(KvError::Disk)?;
        }
        let store = Store {
            map,
            pending,
            broken: None,
        };
        Ok(Self {
            disk: disk.clone(),
            file,
            store: Arc::new(Mutex::new(store)),
        })
    }

    /// Removes the store in `folder`, if there is one.
    ///
    /// # Errors
    /// [`KvError::Disk`] when the disk refuses.
    pub fn destroy(disk: &SimDisk, folder: &str) -> Result<(), KvError> {
        match disk.remove_dir(folder) {
            Ok(()) => {}
            Err(missing) if missing.kind == DiskErrorKind::NotFound => {}
            Err(refused) => return Err(KvError::Disk(refused)),
        }
        disk.lock().corrupt_kv.remove(folder);
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Store> {
        self.store
            .lock()
            .expect("no step on the store panics while it holds the lock")
    }

    /// Refuses reads of a dead incarnation.
    fn alive(&self) -> Result<(), KvError> {
        self.disk.enter("kv", "").map(drop).map_err(KvError::Disk)
    }
}

impl Store {
    /// Moves what waits to the file. After a failure the store takes no writes.
    fn flush(&mut self, file: &SimFile) -> Result<(), KvError> {
        if let Some(error) = &self.broken {
            return Err(error.clone());
        }
        if self.pending.is_empty() {
            return Ok(());
        }
        let moved = file.append(&[&self.pending]).map_err(KvError::Disk);
        self.pending.clear();
        moved
            .map(drop)
            .inspect_err(|error| self.broken = Some(error.clone()))
    }
}

impl Kv for SimKv {
    fn write(&self, batch: &[KvOp]) -> Result<(), KvError> {
        let flush = {
            let mut state = self.disk.enter("kv write", "").map_err(KvError::Disk)?;
            chance(&mut state.kv_rng, 250)
        };
        let mut store = self.lock();
        if let Some(error) = &store.broken {
            return Err(error.clone());
        }
        let body = encode(batch);
        store.pending.put_u32(body.len() as u32);
        store.pending.put_u64(hash(&body));
        store.pending.put_slice(&body);
        for op in batch {
            apply(&mut store.map, op);
        }
        if flush {
            store.flush(&self.file)
        } else {
            Ok(())
        }
    }

    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, KvError> {
        self.alive()?;
        Ok(self.lock().map.get(key).cloned())
    }

    fn floor(&self, low: &[u8], key: &[u8]) -> Result<Option<(Bytes, Bytes)>, KvError> {
        self.alive()?;
        if low > key {
            return Ok(None);
        }
        let store = self.lock();
        let range = (Bound::Included(low), Bound::Included(key));
        Ok(store
            .map
            .range::<[u8], _>(range)
            .next_back()
            .map(|(k, v)| (k.clone(), v.clone())))
    }

    fn scan(&self, from: &[u8], to: &[u8], limit: usize) -> Result<Vec<(Bytes, Bytes)>, KvError> {
        self.alive()?;
        if from >= to {
            return Ok(Vec::new());
        }
        let store = self.lock();
        let range = (Bound::Included(from), Bound::Excluded(to));
        let entries = store.map.range::<[u8], _>(range).take(limit);
        Ok(entries.map(|(k, v)| (k.clone(), v.clone())).collect())
    }

    fn sync(&self) -> impl Future<Output = Result<(), KvError>> + 'static {
        let kv = self.clone();
        let flushed = self.lock().flush(&self.file);
        let synced = self.file.sync();
        let folder = kv
            .file
            .path()
            .rsplit_once('/')
            .map_or("", |(folder, _)| folder)
            .to_owned();
        async move {
            let parent = folder.rsplit_once('/').map_or("", |(parent, _)| parent);
            let durable = async {
                flushed?;
                synced.await.map_err(KvError::Disk)?;
                kv.disk.sync_dir(&folder).await.map_err(KvError::Disk)?;
                kv.disk.sync_dir(parent).await.map_err(KvError::Disk)
            };
            let done = durable.await;
            done.inspect_err(|error| kv.lock().broken = Some(error.clone()))
        }
    }
}

fn corrupt(folder: &str, why: &str) -> KvError {
    KvError::Corrupt {
        folder: folder.to_owned(),
        why: why.to_owned(),
    }
}

fn apply(map: &mut BTreeMap<Bytes, Bytes>, op: &KvOp) {
    match op {
        KvOp::Put { key, value } => {
            map.insert(key.clone(), value.clone());
        }
        KvOp::Delete { key } => {
            map.remove(key);
        }
        KvOp::DeleteRange { from, to } => {
            map.retain(|key, _| key < from || key >= to);
        }
    }
}

fn encode(batch: &[KvOp]) -> BytesMut {
    let mut body = BytesMut::new();
    let empty = Bytes::new();
    for op in batch {
        let (kind, a, b) = match op {
            KvOp::Put { key, value } => (0, key, value),
            KvOp::Delete { key } => (1, key, &empty),
            KvOp::DeleteRange { from, to } => (2, from, to),
        };
        body.put_u8(kind);
        for part in [a, b] {
            body.put_u32(part.len() as u32);
            body.put_slice(part);
        }
    }
    body
}

fn decode(mut body: Bytes) -> Option<Vec<KvOp>> {
    let mut ops = Vec::new();
    while !body.is_empty() {
        let kind = body.get_u8();
        let mut part = || {
            let len = body.try_get_u32().ok()? as usize;
            (len <= body.len()).then(|| body.split_to(len))
        };
        let (a, b) = (part()?, part()?);
        ops.push(match kind {
            0 => KvOp::Put { key: a, value: b },
            1 => KvOp::Delete { key: a },
            2 => KvOp::DeleteRange { from: a, to: b },
            _ => return None,
        });
    }
    Some(ops)
}

/// Applies whole frames up to the first torn one; answers how many bytes they are.
fn replay(frames: &[u8], map: &mut BTreeMap<Bytes, Bytes>) -> usize {
    let mut at = 0;
    while frames.len() - at >= FRAME_BYTES {
        let mut head = &frames[at..at + FRAME_BYTES];
        let (len, expected) = (head.get_u32() as usize, head.get_u64());
        let start = at + FRAME_BYTES;
        if len > frames.len() - start || hash(&frames[start..start + len]) != expected {
            break;
        }
        let Some(ops) = decode(Bytes::copy_from_slice(&frames[start..start + len])) else {
            break;
        };
        for op in &ops {
            apply(map, op);
        }
        at = start + len;
    }
    at
}

/// FNV-1a: enough against torn writes; nobody forges frames here.
fn hash(body: &[u8]) -> u64 {
    body.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

impl std::fmt::Debug for SimKv {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SimKv")
            .field("file", &self.file)
            .finish_non_exhaustive()
    }
}
