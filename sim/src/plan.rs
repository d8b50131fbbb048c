//! What one seed draws: the world's shape, the clients, and which faults come when.

use std::time::Duration;

use highwater_sim_disk::{Tear, chance, stream};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::RngCore;

use crate::mutant::Mutant;
use crate::runtime::{Buggify, Clock};

/// When the broker of a topic may acknowledge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// After the sync: nothing acknowledged is ever lost.
    Fsync,
    /// In memory: a power loss may take what was acknowledged.
    Replicated,
}

/// A topic that lives through the whole run.
#[derive(Clone, Debug)]
pub struct TopicPlan {
    /// How many partitions it has.
    pub partitions: i32,
    /// Its durability.
    pub durability: Durability,
    /// Its `segment.bytes`.
    pub segment_bytes: u32,
}

/// A producer.
#[derive(Clone, Debug)]
pub struct ProducerPlan {
    /// Whether it is idempotent: it then sends again what was not acknowledged.
    pub idempotent: bool,
    /// Most records in a batch.
    pub batch_max: u64,
    /// Most bytes in a value, beyond the part that makes it unique.
    pub value_max: u64,
    /// Longest pause between batches.
    pub pause_max: Duration,
    /// Batches that may be under way for one partition.
    pub window: usize,
    /// The version of Produce.
    pub version: i16,
}

/// A fault and when it comes.
#[derive(Clone, Debug)]
pub struct Strike {
    /// Since the previous one ended.
    pub after: Duration,
    /// What happens.
    pub fault: Fault,
}

/// One fault.
#[derive(Clone, Debug)]
pub enum Fault {
    /// The process dies and is started again after `down`.
    Kill {
        /// How long it is down.
        down: Duration,
    },
    /// The machine loses power and comes back after `down`.
    Power {
        /// How long it is down.
        down: Duration,
        /// What survives.
        tear: Tear,
    },
    /// The next `count` syncs fail.
    FailSyncs {
        /// How many.
        count: u32,
    },
    /// No sync completes for a while.
    Stall {
        /// How long.
        lasts: Duration,
    },
    /// Syncs become slow for a while.
    Slow {
        /// Their mean time.
        mean: Duration,
        /// How long.
        lasts: Duration,
    },
    /// The disk has only `free` bytes more for a while.
    Full {
        /// How many.
        free: u64,
        /// How long.
        lasts: Duration,
    },
    /// Every connection of the broker breaks.
    Reset,
    /// The next `count` reads fail.
    FailReads {
        /// How many.
        count: u32,
    },
    /// The key store is found damaged at the next start.
    CorruptKv,
    /// The process is asked to stop cleanly and is started again.
    Stop {
        /// How long it is down.
        down: Duration,
    },
}

impl Fault {
    /// The name under which reports count it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Kill { .. } => "kill",
            Self::Power { .. } => "power-loss",
            Self::FailSyncs { .. } => "failed-sync",
            Self::Stall { .. } => "stall",
            Self::Slow { .. } => "slow-sync",
            Self::Full { .. } => "full-disk",
            Self::Reset => "reset",
            Self::FailReads { .. } => "failed-read",
            Self::CorruptKv => "corrupt-index",
            Self::Stop { .. } => "clean-stop",
        }
    }
}

/// One run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The seed of everything.
    pub seed: u64,
    /// Topics that live through the whole run.
    pub topics: Vec<TopicPlan>,
    /// Producers.
    pub producers: Vec<ProducerPlan>,
    /// Consumers that read during the run.
    pub consumers: u16,
    /// Whether a group commits offsets.
    pub commits: bool,
    /// Whether topics come and go.
    pub churn: bool,
    /// The faults, one after the other.
    pub strikes: Vec<Strike>,
    /// How long the clients work under faults.
    pub safety: Duration,
    /// The mean time of a sync.
    pub sync_mean: Duration,
    /// The chance in a thousand that an append writes some dirty units back.
    pub write_back_permille: u32,
    /// The chance in a thousand that a read from the network is short.
    pub short_read_permille: u32,
    /// The chance in a thousand that a segment on the network is late.
    pub slow_net_permille: u32,
    /// The broker's clock.
    pub clock: Clock,
    /// Unlikely turns.
    pub buggify: Buggify,
    /// The version of Fetch.
    pub fetch_version: i16,
    /// How often the broker flushes what no acknowledgement waits for.
    pub flush: Duration,
    /// How often the broker writes recovery checkpoints.
    pub checkpoint: Duration,
    /// Bytes of producers' batches that the broker keeps for readers at the tail.
    pub tail_bytes: usize,
    /// A planted bug.
    pub mutant: Option<Mutant>,
}

/// A number in `[low, high]`.
fn pick(rng: &mut ChaCha8Rng, low: u64, high: u64) -> u64 {
    low + rng.next_u64() % (high - low + 1)
}

/// A time in `[low, high]` milliseconds, small ones as likely as large ones.
fn pick_ms(rng: &mut ChaCha8Rng, low: u64, high: u64) -> Duration {
    let factor = (high as f64 / low as f64).powf(pick(rng, 0, 1_000) as f64 / 1_000.0);
    Duration::from_micros((low as f64 * 1_000.0 * factor) as u64)
}

impl Plan {
    /// What `seed` draws.
    pub fn draw(seed: u64) -> Self {
        let rng = &mut stream(seed, "plan");
        let all_on = chance(rng, 300);
        let topics = (0..pick(rng, 1, 2)).map(|_| TopicPlan::draw(rng)).collect();
        let producers = (0..pick(rng, 1, 4))
            .map(|_| ProducerPlan::draw(rng))
            .collect();
        let mut on = |permille: u32| all_on || chance(rng, permille);
        let families: Vec<&'static str> = FAMILIES.iter().copied().filter(|_| on(500)).collect();
        let (slow_net, short_reads, unlikely) = (on(300), on(500), on(300));
        let strikes = draw_strikes(&families, rng);
        Self {
            seed,
            topics,
            producers,
            consumers: pick(rng, 1, 2) as u16,
            commits: chance(rng, 700),
            churn: chance(rng, 500),
            strikes,
            safety: pick_ms(rng, 4_000, 25_000),
            sync_mean: pick_ms(rng, 1, 20),
            write_back_permille: pick(rng, 0, 1) as u32 * pick(rng, 10, 400) as u32,
            short_read_permille: if short_reads {
                pick(rng, 10, 500) as u32
            } else {
                0
            },
            slow_net_permille: if slow_net {
                pick(rng, 1, 100) as u32
            } else {
                0
            },
            clock: Clock {
                offset_ms: pick(rng, 0, 2_000) as i64 - 1_000,
                drift_ppm: pick(rng, 0, 1_000) as i64 - 500,
            },
            buggify: Buggify {
                fire_permille: if unlikely { 250 } else { 0 },
            },
            fetch_version: pick(rng, 4, 12) as i16,
            flush: pick_ms(rng, 50, 5_000),
            checkpoint: pick_ms(rng, 100, 5_000),
            mutant: None,
            tail_bytes: [0, 10_000, 1 << 20][pick(rng, 0, 2) as usize],
        }
    }
}

/// The families of faults, each on or off in a run.
const FAMILIES: [&str; 10] = [
    "kill", "power", "power", "sync", "stall", "slow", "full", "reset", "read", "stop",
];

fn draw_strikes(families: &[&'static str], rng: &mut ChaCha8Rng) -> Vec<Strike> {
    if families.is_empty() {
        return Vec::new();
    }
    let count = pick(rng, 1, 14);
    let one = |_| {
        let family = families[pick(rng, 0, families.len() as u64 - 1) as usize];
        let down = pick_ms(rng, 10, 2_000);
        let lasts = pick_ms(rng, 50, 3_000);
        let fault = match family {
            "kill" if chance(rng, 150) => Fault::CorruptKv,
            "kill" => Fault::Kill { down },
            "power" => {
                let unit = [1, 7, 64, 512, 4_096][pick(rng, 0, 4) as usize];
                let keep_percent = [0, 50, 90][pick(rng, 0, 2) as usize];
                Fault::Power {
                    down,
                    tear: Tear { unit, keep_percent },
                }
            }
            "sync" => Fault::FailSyncs {
                count: pick(rng, 1, 3) as u32,
            },
            "stall" => Fault::Stall { lasts },
            "slow" => Fault::Slow {
                mean: pick_ms(rng, 20, 500),
                lasts,
            },
            "full" => Fault::Full {
                free: pick(rng, 0, 8_000),
                lasts,
            },
            "reset" => Fault::Reset,
            "read" => Fault::FailReads {
                count: pick(rng, 1, 5) as u32,
            },
            "stop" => Fault::Stop { down },
            other => unreachable!("no family is called {other}"),
        };
        Strike {
            after: pick_ms(rng, 20, 3_000),
            fault,
        }
    };
    (0..count).map(one).collect()
}

impl TopicPlan {
    fn draw(rng: &mut ChaCha8Rng) -> Self {
        Self {
            partitions: pick(rng, 1, 4) as i32,
            durability: match chance(rng, 150) {
                true => Durability::Replicated,
                false => Durability::Fsync,
            },
            segment_bytes: 1 << pick(rng, 12, 18),
        }
    }
}

impl ProducerPlan {
    fn draw(rng: &mut ChaCha8Rng) -> Self {
        Self {
            idempotent: chance(rng, 650),
            batch_max: [1, 2, 5, 20][pick(rng, 0, 3) as usize],
            value_max: [0, 30, 300, 2_000][pick(rng, 0, 3) as usize],
            pause_max: pick_ms(rng, 50, 1_200),
            window: [1, 1, 2, 3, 5][pick(rng, 0, 4) as usize],
            version: pick(rng, 3, 12) as i16,
        }
    }
}
