//! Damaged batches: no input makes a decoder panic or allocate more than its bound.
//!
//! A fixed number of mutations from fixed seeds over the batches in `corpus/`, so that a failure
//! repeats: each names its target and round. Most mutations get a right CRC again: what lies
//! behind the check must hold, too. The allocator counts, so this file has one test only.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::BytesMut;
use highwater_protocol::batch::{self, Codec, HEADER_BYTES, Limits, Scratch, Timestamps};
use highwater_record::{StoredBatch, crc};
use highwater_types::{LeaderEpoch, Offset, Position};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

/// Mutations of each batch of the corpus.
const ROUNDS: u64 = 2_000;

const INFLATED_BYTES_MAX: usize = 256 << 10;

const LIMITS: Limits = Limits {
    batch_bytes_max: 1 << 20,
    inflated_bytes_max: INFLATED_BYTES_MAX,
    timestamps: Timestamps::Create {
        min: i64::MIN,
        max: 1 << 42,
    },
    zstd: true,
};

/// What the LZ4 library allocates for a frame that claims linked blocks of 4 MiB, and some.
const CONSTANT_BYTES: usize = 14 << 20;

struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator unchanged; only numbers are kept besides.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(now, Ordering::Relaxed);
        // SAFETY: the caller's contract is the system allocator's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's contract is the system allocator's.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Most bytes that `run` had allocated at once, beyond what was there before.
fn peak_of(run: impl FnOnce()) -> usize {
    let before = NOW.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    run();
    PEAK.load(Ordering::Relaxed) - before
}

macro_rules! corpus {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_bytes!(concat!("corpus/", $name)) as &[u8])),*]
    };
}

/// Batches that clients send, with every codec and feature, and some that hurt once.
const CORPUS: &[(&str, &[u8])] = &corpus![
    "none.bin",
    "none-large.bin",
    "none-transactional.bin",
    "gzip.bin",
    "snappy.bin",
    "snappy-raw.bin",
    "lz4.bin",
    "lz4-claims-4mib-blocks.bin",
    "zstd.bin",
    "zstd-claims-128mib-window.bin",
    "gzip-bomb.bin",
    "zstd-bomb.bin",
    "claims-2-31-records.bin",
];

fn mutate(bytes: &mut BytesMut, random: &mut ChaCha8Rng) {
    for _ in 0..random.next_u32() % 4 {
        if bytes.is_empty() {
            return;
        }
        // Half of the changes go where the numbers are.
        let range = if random.next_u32() % 2 == 0 {
            bytes.len().min(100)
        } else {
            bytes.len()
        };
        let at = random.next_u32() as usize % range;
        let end = (at + 4).min(bytes.len());
        match random.next_u32() % 8 {
            0 | 1 => bytes[at] ^= 1 << (random.next_u32() % 8),
            2 => bytes[at] = [0, 0xff, 0x7f, 0x80][random.next_u32() as usize % 4],
            3 => bytes.truncate(at),
            4 => {
                let word = [0, u32::MAX, 1 << 31, i32::MAX as u32, 1 << 20];
                let word = word[random.next_u32() as usize % word.len()];
                bytes[at..end].copy_from_slice(&word.to_be_bytes()[..end - at]);
            }
            5 => {
                let tail = bytes.split_off(at);
                bytes.extend_from_slice(&[random.next_u32() as u8; 3]);
                bytes.extend_from_slice(&tail);
            }
            6 => {
                let copy = bytes[at..end].to_vec();
                bytes.extend_from_slice(&copy);
            }
            _ => bytes[at] = random.next_u32() as u8,
        }
    }
}

/// Makes length and CRC right again.
fn reseal(bytes: &mut BytesMut) {
    if bytes.len() < HEADER_BYTES {
        return;
    }
    let batch_len = (bytes.len() - 12) as i32;
    bytes[8..12].copy_from_slice(&batch_len.to_be_bytes());
    let crc = crc::crc32c(&bytes[21..]);
    bytes[17..21].copy_from_slice(&crc.to_be_bytes());
}

/// Decodes; what is accepted must come back from the log with the same records.
fn decode(wire: &[u8], scratch: &mut Scratch, context: &str) -> bool {
    let Ok(decoded) = batch::decode(wire, &LIMITS, scratch) else {
        return false;
    };
    let (codec, wire_len) = (decoded.codec, decoded.wire_len);
    let mut staged = decoded.batch;
    staged.assign(Offset(0), LeaderEpoch(0));
    let stored = StoredBatch::parse(staged.bytes(), Position(0))
        .expect("ours")
        .expect("whole");
    assert_eq!(stored.verify(), Ok(()), "{context}");
    let mut out = BytesMut::new();
    batch::encode(&stored, Offset(0), usize::MAX, &mut out).expect("verified");
    let served = batch::read(&out).unwrap_or_else(|error| panic!("{context}: {error}"));
    let sent = batch::read(&wire[..wire_len]).unwrap_or_else(|error| panic!("{context}: {error}"));
    let served: Vec<_> = served.into_iter().flat_map(|batch| batch.records).collect();
    assert_eq!(served, sent[0].records, "{context}, {codec}");
    true
}

#[test]
fn damaged_batches_are_refused_within_bounds() {
    let mut scratch = Scratch::new();
    let mut accepted = 0;
    let mut worst = (0, String::new());
    for (name, seed_batch) in CORPUS {
        for round in 0..ROUNDS {
            let context = format!("{name}, round {round}");
            let mut random = ChaCha8Rng::seed_from_u64(round);
            let mut bytes = BytesMut::from(*seed_batch);
            mutate(&mut bytes, &mut random);
            if random.next_u32() % 8 != 0 {
                reseal(&mut bytes);
            }
            // Bytes that the decoder holds when it has decided: the bound that protects a broker.
            let peak = peak_of(|| drop(batch::decode(&bytes, &LIMITS, &mut scratch)));
            let is_plain = bytes.get(22).is_none_or(|attributes| attributes & 7 == 0);
            let bound = match is_plain {
                true => 10 * bytes.len() + (64 << 10),
                false => 16 * bytes.len() + 5 * INFLATED_BYTES_MAX + CONSTANT_BYTES,
            };
            assert!(peak <= bound, "{context}: {peak} bytes for {}", bytes.len());
            if peak > worst.0 {
                worst = (peak, context.clone());
            }
            accepted += u64::from(decode(&bytes, &mut scratch, &context));
            let _ = batch::read(&bytes);
        }
    }
    let all = ROUNDS * CORPUS.len() as u64;
    assert!(
        accepted > all / 20,
        "only {accepted} of {all} were accepted"
    );
    assert!(
        worst.0 < CONSTANT_BYTES + 6 * INFLATED_BYTES_MAX,
        "{worst:?}"
    );
    assert!(
        Codec::ALL.len() == 5,
        "a new codec needs batches in the corpus"
    );
}
