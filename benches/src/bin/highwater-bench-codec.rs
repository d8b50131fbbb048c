//! What the record codec costs: nanoseconds a record, from the wire into frames and back.
//!
//! `highwater-bench-codec [CASE] [--rounds N]` runs the cases whose name contains CASE and prints
//! the best round of each: on a shared machine the best round is what the code costs.
//! Instruction counts do not depend on what else the machine does: the difference of two runs
//! under `valgrind --tool=callgrind` with `--rounds 2` and `--rounds 3` is one round of 8 MiB.

use std::hint::black_box;
use std::io::Write;

use bytes::{Bytes, BytesMut};
use highwater_protocol::batch::{
    self, Codec, Limits, Scratch, Timestamps, WireBatch, WireHeader, WireRecord,
};
use highwater_record::StoredBatch;
use highwater_types::{LeaderEpoch, Offset, Position};

/// Bytes of a batch before compression.
const BATCH_BYTES: usize = 64 << 10;

/// Bytes that one round handles.
const ROUND_BYTES: usize = 8 << 20;

fn main() -> std::io::Result<()> {
    let mut wanted = String::new();
    let mut rounds = 40;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        if argument == "--rounds" {
            rounds = arguments
                .next()
                .and_then(|n| n.parse().ok())
                .unwrap_or(rounds);
        } else {
            wanted = argument;
        }
    }
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "{:<28}{:>12}{:>12}{:>12}",
        "case", "ns/record", "MB/s", "s/GB"
    )?;
    for shape in shapes() {
        for codec in Codec::ALL {
            let name = format!("{codec}/{}", shape.name);
            let mut decode = Decode::new(&shape, codec);
            report(
                &format!("decode/{name}"),
                &wanted,
                rounds,
                &shape,
                &mut out,
                || decode.run(),
            )?;
            if codec == Codec::None {
                let mut encode = Encode::new(&shape);
                let name = format!("encode/{}", shape.name);
                report(&name, &wanted, rounds, &shape, &mut out, || encode.run())?;
                let mut assign = Assign::new(&shape);
                let name = format!("assign/{}", shape.name);
                report(&name, &wanted, rounds, &shape, &mut out, || assign.run())?;
            }
        }
    }
    Ok(())
}

/// What the records of a case look like.
struct Shape {
    name: &'static str,
    value_len: usize,
    key_len: usize,
    has_header: bool,
}

fn shapes() -> [Shape; 4] {
    let shape = |name, value_len| Shape {
        name,
        value_len,
        key_len: 0,
        has_header: false,
    };
    [
        shape("100", 100),
        Shape {
            key_len: 16,
            has_header: true,
            ..shape("100+key+header", 100)
        },
        shape("1024", 1 << 10),
        shape("10240", 10 << 10),
    ]
}

impl Shape {
    fn record_len(&self) -> usize {
        self.value_len + self.key_len
    }

    fn records_per_batch(&self) -> usize {
        (BATCH_BYTES / self.record_len()).max(1)
    }

    fn batch(&self) -> WireBatch {
        let text = b"{\"id\":12345,\"name\":\"a value that compresses about as JSON does\",\"x\":";
        let mut noise: u32 = 1;
        let records = (0..self.records_per_batch()).map(|i| {
            let mut value = Vec::with_capacity(self.value_len);
            while value.len() < self.value_len {
                noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                value.extend_from_slice(text);
                value.extend_from_slice(format!("{noise}}}").as_bytes());
            }
            value.truncate(self.value_len);
            let mut record = WireRecord::new(1_700_000_000_000 + i as i64, None, None);
            record.value = Some(value.into());
            record.key = (self.key_len > 0).then(|| Bytes::from(vec![b'k'; self.key_len]));
            if self.has_header {
                let header = WireHeader {
                    key: Bytes::from_static(b"trace"),
                    value: Some(Bytes::from_static(b"0123456789abcdef")),
                };
                record.headers.push(header);
            }
            record
        });
        WireBatch::of(records.collect())
    }
}

const LIMITS: Limits = Limits {
    batch_bytes_max: 1 << 20,
    inflated_bytes_max: Limits::INFLATED_BYTES_MAX,
    timestamps: Timestamps::Create {
        min: i64::MIN,
        max: 1_800_000_000_000,
    },
    zstd: true,
};

/// The log's buffer on the way in: decode, assign, copy into one buffer that is reused.
struct Decode {
    wire: BytesMut,
    scratch: Scratch,
}

impl Decode {
    fn new(shape: &Shape, codec: Codec) -> Self {
        Self {
            wire: batch::write(&shape.batch(), codec),
            scratch: Scratch::new(),
        }
    }

    fn run(&mut self) {
        let decoded = batch::decode(black_box(&self.wire), &LIMITS, &mut self.scratch);
        black_box(decoded.expect("accepted").batch.bytes());
    }
}

/// The step under the partition's lock.
struct Assign {
    staged: highwater_record::StagedBatch,
    next: u64,
}

impl Assign {
    fn new(shape: &Shape) -> Self {
        let wire = batch::write(&shape.batch(), Codec::None);
        let decoded = batch::decode(&wire, &LIMITS, &mut Scratch::new()).expect("accepted");
        Self {
            staged: decoded.batch,
            next: 0,
        }
    }

    fn run(&mut self) {
        self.next += 1;
        self.staged.assign(Offset(self.next), LeaderEpoch(1));
        black_box(self.staged.bytes());
    }
}

/// From frames to an answer, into a buffer that is reused.
struct Encode {
    bytes: BytesMut,
    out: BytesMut,
}

impl Encode {
    fn new(shape: &Shape) -> Self {
        let mut assign = Assign::new(shape);
        assign.run();
        Self {
            bytes: assign.staged.into_bytes(),
            out: BytesMut::new(),
        }
    }

    fn run(&mut self) {
        self.out.clear();
        let stored = StoredBatch::parse(black_box(&self.bytes), Position(0));
        let stored = stored.expect("not corrupt").expect("whole");
        batch::encode(&stored, Offset(0), usize::MAX, &mut self.out).expect("not corrupt");
        black_box(&self.out[..]);
    }
}

fn report(
    name: &str,
    wanted: &str,
    rounds: usize,
    shape: &Shape,
    out: &mut impl Write,
    mut run: impl FnMut(),
) -> std::io::Result<()> {
    if !name.contains(wanted) {
        return Ok(());
    }
    let batches = if rounds == 1 {
        1
    } else {
        ROUND_BYTES / BATCH_BYTES
    };
    let mut best = f64::INFINITY;
    for _ in 0..rounds {
        let start = cpu_seconds();
        for _ in 0..batches {
            run();
        }
        best = best.min(cpu_seconds() - start);
    }
    let records = (batches * shape.records_per_batch()) as f64;
    let bytes = records * shape.record_len() as f64;
    let (ns, mb, gb) = (best * 1e9 / records, bytes / best / 1e6, best * 1e9 / bytes);
    writeln!(out, "{name:<28}{ns:>12.1}{mb:>12.0}{gb:>12.3}")
}

/// CPU time of this process.
fn cpu_seconds() -> f64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a valid timespec for the call to fill.
    let result = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    assert_eq!(result, 0, "the process has a CPU clock");
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
