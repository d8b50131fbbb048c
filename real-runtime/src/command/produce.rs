//! `highwater produce`: records from standard input to a topic.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};
use std::sync::mpsc;
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use clap::{Args, ValueEnum};
use highwater_protocol::batch::{Codec, WireHeader, WireRecord};
use serde_json::json;

use super::Bootstrap;
use super::failure::Failure;
use super::jsonl;
use super::output::{self, Output};
use super::partitioner;
use super::topic::key_value;
use crate::client::{Acks, Producer};

const EXAMPLES: &str = "\
Examples:
  echo hello | highwater produce greetings
  echo 21.5 | highwater produce sensors -k kitchen -H unit=C
  highwater consume orders -o start -o jsonl -e | highwater produce copy -i jsonl

A jsonl line is what `consume -o jsonl` writes: key, value, headers, timestamp, all optional.
Records are acknowledged when they are as durable as the topic's setting says; a batch that is
sent again after a broken connection is not doubled.";

/// A batch is sent when it holds this much.
const BATCH_BYTES: usize = 256 * 1024;
const BATCH_RECORDS: usize = 10_000;

/// Arguments of `produce`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct ProduceArgs {
    #[command(flatten)]
    bootstrap: Bootstrap,
    /// The topic; the broker makes it when it does so on its own.
    topic: String,
    /// The key of every record.
    #[arg(short, long, conflicts_with = "key_separator")]
    key: Option<String>,
    /// What stands between key and value on a line.
    #[arg(short = 'K', long, value_name = "TEXT")]
    key_separator: Option<String>,
    /// A header of every record; may be given several times.
    #[arg(short = 'H', long = "header", value_name = "NAME=VALUE", value_parser = key_value)]
    headers: Vec<(String, String)>,
    /// The partition of every record [default: by key, as Kafka's producer does].
    #[arg(short, long)]
    partition: Option<i32>,
    /// Put each record into the partition that its jsonl line names.
    #[arg(long, conflicts_with = "partition")]
    same_partition: bool,
    /// How to read standard input.
    #[arg(short, long, value_enum, default_value = "lines")]
    input: Input,
    /// How to compress.
    #[arg(short = 'z', long, value_enum, default_value = "none")]
    compression: Compression,
    /// Which acknowledgement to wait for.
    #[arg(short, long, value_enum, default_value = "all")]
    acks: AcksArg,
    /// How to write the summary.
    #[arg(short, long, value_enum, default_value = "table")]
    output: Output,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Input {
    /// One value a line.
    Lines,
    /// One JSON object a line.
    Jsonl,
}

#[derive(Clone, Copy, ValueEnum)]
enum Compression {
    None,
    Gzip,
    Snappy,
    Lz4,
    Zstd,
}

#[derive(Clone, Copy, ValueEnum)]
enum AcksArg {
    /// Of every in-sync replica.
    All,
    /// The leader's.
    #[value(name = "1")]
    Leader,
    /// None.
    #[value(name = "0")]
    None,
}

/// What went to one partition.
#[derive(Default)]
struct Tally {
    records: u64,
    first: Option<i64>,
    last: Option<i64>,
}

/// Runs `produce`.
///
/// # Errors
/// See [`Failure`]: records before the failure are written.
pub fn run(args: &ProduceArgs) -> Result<(), Failure> {
    let acks = match args.acks {
        AcksArg::All => Acks::All,
        AcksArg::Leader => Acks::Leader,
        AcksArg::None => Acks::None,
    };
    let codec = match args.compression {
        Compression::None => Codec::None,
        Compression::Gzip => Codec::Gzip,
        Compression::Snappy => Codec::Snappy,
        Compression::Lz4 => Codec::Lz4,
        Compression::Zstd => Codec::Zstd,
    };
    let mut producer = Producer::new(args.bootstrap.connect()?, &args.topic, acks, codec)?;
    let lines = read_lines();
    let mut tallies: BTreeMap<i32, Tally> = BTreeMap::new();
    let (mut line_no, mut round) = (0u64, 0usize);
    // What stands in the channel already goes along; a terminal's line goes at once.
    while let Ok(line) = lines.recv() {
        let mut batches: BTreeMap<i32, Vec<WireRecord>> = BTreeMap::new();
        let (mut bytes, mut count, mut next) = (0, 0, Some(line));
        while let Some(line) = next.take() {
            let line = line?;
            line_no += 1;
            bytes += line.len();
            count += 1;
            let (record, named) = args.record(&line, line_no)?;
            let partition = args.partition_of(&record, named, producer.partition_count(), round);
            batches.entry(partition).or_default().push(record);
            if bytes < BATCH_BYTES && count < BATCH_RECORDS {
                next = lines.try_recv().ok();
            }
        }
        round += 1;
        for (partition, records) in batches {
            let tally = tallies.entry(partition).or_default();
            let count = records.len() as u64;
            let written = producer.write(partition, records)?;
            tally.records += count;
            if let Some(base) = written.base_offset {
                tally.first.get_or_insert(base);
                tally.last = Some(base + i64::try_from(count).expect("a batch is small") - 1);
            }
        }
    }
    summary(args, &tallies)
}

/// Lines of standard input, without their ends, as they come.
fn read_lines() -> mpsc::Receiver<io::Result<Vec<u8>>> {
    let (sender, receiver) = mpsc::sync_channel(BATCH_RECORDS);
    thread::spawn(move || {
        for line in io::stdin().lock().split(b'\n') {
            let ended = line.is_err();
            if sender.send(line).is_err() || ended {
                return;
            }
        }
    });
    receiver
}

impl ProduceArgs {
    fn record(&self, line: &[u8], line_no: u64) -> Result<(WireRecord, Option<i32>), Failure> {
        let (mut record, partition) = match self.input {
            Input::Jsonl => jsonl::read(line, now_ms())
                .map_err(|why| Failure::failed(format!("line {line_no} of the input: {why}")))?,
            Input::Lines => (self.plain(line, line_no)?, None),
        };
        if let Some(key) = &self.key {
            record.key = Some(Bytes::from(key.clone()));
        }
        for (name, value) in &self.headers {
            let (key, value) = (Bytes::from(name.clone()), Some(Bytes::from(value.clone())));
            record.headers.push(WireHeader { key, value });
        }
        Ok((record, partition))
    }

    fn plain(&self, line: &[u8], line_no: u64) -> Result<WireRecord, Failure> {
        let Some(separator) = self.key_separator.as_ref().filter(|text| !text.is_empty()) else {
            return Ok(WireRecord::new(
                now_ms(),
                None,
                Some(Bytes::copy_from_slice(line)),
            ));
        };
        let at = line
            .windows(separator.len())
            .position(|part| part == separator.as_bytes());
        let at = at.ok_or_else(|| {
            Failure::failed(format!("line {line_no} of the input has no {separator:?}"))
        })?;
        let (key, value) = (&line[..at], &line[at + separator.len()..]);
        let (key, value) = (Bytes::copy_from_slice(key), Bytes::copy_from_slice(value));
        Ok(WireRecord::new(now_ms(), Some(key), Some(value)))
    }

    /// Records without a key change partition from batch to batch.
    fn partition_of(
        &self,
        record: &WireRecord,
        named: Option<i32>,
        partitions: usize,
        round: usize,
    ) -> i32 {
        let named = named.filter(|_| self.same_partition);
        if let Some(partition) = self.partition.or(named) {
            return partition;
        }
        match &record.key {
            Some(key) => partitioner::of_key(key, partitions),
            None => i32::try_from(round % partitions).expect("a partition number"),
        }
    }
}

fn summary(args: &ProduceArgs, tallies: &BTreeMap<i32, Tally>) -> Result<(), Failure> {
    let shown = |offset: Option<i64>| offset.map_or("?".to_owned(), |offset| offset.to_string());
    let row = |(partition, tally): (&i32, &Tally)| {
        let Tally {
            records,
            first,
            last,
        } = tally;
        vec![
            args.topic.clone(),
            partition.to_string(),
            records.to_string(),
            shown(*first),
            shown(*last),
        ]
    };
    let json = |(partition, tally): (&i32, &Tally)| {
        json!({
            "partition": partition,
            "records": tally.records,
            "first_offset": tally.first,
            "last_offset": tally.last,
        })
    };
    match args.output {
        Output::Table => {
            let rows: Vec<_> = tallies.iter().map(row).collect();
            let header = ["topic", "partition", "records", "first", "last"];
            io::stdout().write_all(output::table(&header, &rows).as_bytes())?;
        }
        Output::Json => output::print_json(&json!({
            "topic": args.topic,
            "records": tallies.values().map(|tally| tally.records).sum::<u64>(),
            "partitions": tallies.iter().map(json).collect::<Vec<_>>(),
        }))?,
    }
    Ok(())
}

fn now_ms() -> i64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
