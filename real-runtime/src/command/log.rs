//! `highwater log`: dump, verify. Offline and read-only.

use std::fmt::Write as _;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use bytes::BytesMut;
use clap::{Args, Subcommand, ValueEnum};
use highwater_protocol::batch::{self, Codec, WireRecord};
use highwater_record::{BatchKind, StoredBatch};
use highwater_runtime::DiskErrorKind;
use highwater_types::Offset;
use serde_json::{Value, json};

use super::failure::{Failure, exit};
use super::jsonl;
use super::output::{self, Output};
use crate::inspect::{self, Logs, Part, SegmentFile};
use crate::time;

const DUMP_EXAMPLES: &str = "\
Examples:
  highwater log dump highwater-data/orders-0
  highwater log dump highwater-data/orders-0 --records
  highwater log dump highwater-data -o jsonl | jq 'select(.producer_id != null)'";

const VERIFY_EXAMPLES: &str = "\
Examples:
  highwater log verify highwater-data
  highwater log verify highwater-data/orders-0
  highwater log verify highwater-data -o json | jq '.damage'

Exit code 6 when something is damaged. A torn tail of the last segment is no damage: no part of
it was acknowledged at durability=fsync, and the next start cuts it.";

/// What to look for in a data folder.
#[derive(Subcommand)]
pub enum LogCommand {
    /// Show the segments, batches and records of a folder.
    #[command(after_help = DUMP_EXAMPLES)]
    Dump(DumpArgs),
    /// Check every checksum and offset of a folder.
    #[command(after_help = VERIFY_EXAMPLES)]
    Verify(VerifyArgs),
}

/// Arguments of `log dump`.
#[derive(Args)]
pub struct DumpArgs {
    /// A data folder, or a partition's folder in it.
    folder: PathBuf,
    /// Also the records of each batch.
    #[arg(long)]
    records: bool,
    /// How to write it.
    #[arg(short, long, value_enum, default_value = "table")]
    output: DumpOutput,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DumpOutput {
    /// For people.
    Table,
    /// One JSON object a batch.
    Jsonl,
}

/// Arguments of `log verify`.
#[derive(Args)]
pub struct VerifyArgs {
    /// A data folder, or a partition's folder in it.
    folder: PathBuf,
    /// How to write it.
    #[arg(short, long, value_enum, default_value = "table")]
    output: Output,
}

/// Runs a log command.
///
/// # Errors
/// See [`Failure`].
pub fn run(command: LogCommand) -> Result<(), Failure> {
    match command {
        LogCommand::Dump(args) => dump(&args),
        LogCommand::Verify(args) => verify(&args),
    }
}

fn open(folder: &std::path::Path) -> Result<Logs, Failure> {
    Logs::open(folder).map_err(|error| Failure::failed(error.to_string()))
}

fn dump(args: &DumpArgs) -> Result<(), Failure> {
    let logs = open(&args.folder)?;
    let mut out = BufWriter::new(io::stdout().lock());
    for segment in logs.segments() {
        let bytes = match logs.read(segment) {
            Err(error) if error.kind == DiskErrorKind::NotFound => continue,
            read => read.map_err(|error| Failure::failed(error.to_string()))?,
        };
        if args.output == DumpOutput::Table {
            let state = if segment.is_sealed {
                "sealed"
            } else {
                "active"
            };
            let (partition, number, len) = (&segment.partition, segment.number, bytes.len());
            writeln!(out, "{partition}  segment {number}  {state}  {len} bytes")?;
        }
        for part in inspect::parts(&bytes) {
            match args.output {
                DumpOutput::Table => out.write_all(to_text(&part, args.records).as_bytes())?,
                DumpOutput::Jsonl => writeln!(out, "{}", to_json(segment, &part, args.records))?,
            }
        }
    }
    out.flush()?;
    Ok(())
}

fn to_text(part: &Part<'_>, with_records: bool) -> String {
    match part {
        Part::Header(header) => format!(
            "  {:>10}  header  starts at offset {}, made {}\n",
            0,
            header.start_offset,
            time::rfc3339(header.created_ms)
        ),
        Part::Tail { at, len } => format!("  {:>10}  tail  {len} bytes of no whole batch\n", at.0),
        Part::Damage(corrupt) => format!("  {:>10}  DAMAGE  {}\n", corrupt.at.0, corrupt.reason),
        Part::Batch(batch) => {
            let facts = &batch.head.facts;
            let (base, end) = (batch.head.base_offset(), batch.head.end_offset());
            let (count, len) = (facts.record_count, batch.head.len());
            let (kind, at) = (kind_name(facts.kind), batch.at.0);
            let mut text =
                format!("  {at:>10}  {kind}  [{base}, {end})  {count} records  {len} bytes");
            let _ = write!(text, "  epoch {}", facts.leader_epoch);
            let _ = write!(text, "  {}", time::rfc3339(facts.max_timestamp));
            if let Some(producer) = facts.producer {
                let (id, epoch, sequence) =
                    (producer.id.0, producer.epoch.0, producer.base_sequence);
                let _ = write!(text, "  producer {id}/{epoch} sequence {sequence}");
            }
            if let Some(codec) = codec_name(facts.attributes) {
                let _ = write!(text, "  sent with {codec}");
            }
            text.push('\n');
            if let Err(corrupt) = batch.verify() {
                let _ = writeln!(text, "  {:>10}  DAMAGE  {}", corrupt.at.0, corrupt.reason);
            } else if with_records {
                for record in records(batch) {
                    let show = |bytes: &Option<bytes::Bytes>| match bytes {
                        None => "null".to_owned(),
                        Some(bytes) => format!("{:?}", String::from_utf8_lossy(bytes)),
                    };
                    let (key, value) = (show(&record.key), show(&record.value));
                    let time = time::rfc3339(record.timestamp);
                    let headers = record.headers.len();
                    let _ = write!(
                        text,
                        "{:>12}  {}  {time}  {key}  {value}",
                        "", record.offset
                    );
                    text.push_str(&if headers > 0 {
                        format!("  {headers} headers\n")
                    } else {
                        "\n".to_owned()
                    });
                }
            }
            text
        }
    }
}

fn to_json(segment: &SegmentFile, part: &Part<'_>, with_records: bool) -> Value {
    let place = |what: &str, at: u64| json!({"partition": segment.partition, "segment": segment.number, "what": what, "position": at});
    let with = |mut value: Value, more: Value| {
        if let (Value::Object(fields), Value::Object(more)) = (&mut value, more) {
            fields.extend(more);
        }
        value
    };
    match part {
        Part::Header(header) => with(
            place("header", 0),
            json!({
                "topic_id": header.topic_id.uuid().to_string(),
                "start_offset": header.start_offset.0,
                "created_ms": header.created_ms,
            }),
        ),
        Part::Tail { at, len } => with(place("tail", at.0), json!({"bytes": len})),
        Part::Damage(corrupt) => with(
            place("damage", corrupt.at.0),
            json!({"why": corrupt.reason.to_string()}),
        ),
        Part::Batch(batch) => {
            let facts = &batch.head.facts;
            let value = with(
                place(kind_name(facts.kind), batch.at.0),
                json!({
                    "base_offset": batch.head.base_offset().0,
                    "end_offset": batch.head.end_offset().0,
                    "records": facts.record_count,
                    "bytes": batch.head.len(),
                    "leader_epoch": facts.leader_epoch.0,
                    "max_timestamp": facts.max_timestamp,
                    "attributes": facts.attributes,
                    "producer_id": facts.producer.map(|producer| producer.id.0),
                    "producer_epoch": facts.producer.map(|producer| producer.epoch.0),
                    "base_sequence": facts.producer.map(|producer| producer.base_sequence),
                    "damage": batch.verify().err().map(|corrupt| corrupt.to_string()),
                }),
            );
            if !with_records || batch.verify().is_err() {
                return value;
            }
            let (topic, partition) = segment.partition.rsplit_once('-').unwrap_or_default();
            let partition = partition.parse().unwrap_or(-1);
            let list: Vec<Value> = records(batch)
                .iter()
                .map(|one| jsonl::write(topic, partition, one))
                .collect();
            with(value, json!({"content": list}))
        }
    }
}

/// The records of a batch as a consumer gets them; none of a placeholder.
fn records(stored: &StoredBatch<'_>) -> Vec<WireRecord> {
    let mut wire = BytesMut::new();
    let from = stored.head.base_offset();
    // What verified can be written; a batch that a reader cannot take apart again is a bug there.
    if batch::encode(stored, from, usize::MAX, &mut wire).is_err() {
        return Vec::new();
    }
    let batches = batch::read(&wire).unwrap_or_default();
    batches
        .into_iter()
        .flat_map(|batch| batch.records)
        .collect()
}

fn kind_name(kind: BatchKind) -> &'static str {
    match kind {
        BatchKind::Records => "batch",
        BatchKind::Control => "control",
        BatchKind::Placeholder => "placeholder",
        BatchKind::SegmentHeader => "header",
    }
}

/// The codec that the producer used; the log keeps its records as they are.
fn codec_name(attributes: u16) -> Option<&'static str> {
    let codec = Codec::from_wire(attributes)?;
    (codec != Codec::None).then(|| codec.name())
}

fn verify(args: &VerifyArgs) -> Result<(), Failure> {
    let logs = open(&args.folder)?;
    let (mut rows, mut json, mut damage) = (Vec::new(), Vec::new(), Vec::new());
    let mut end: Option<(&str, Option<Offset>)> = None;
    for segment in logs.segments() {
        let before = end.filter(|(partition, _)| *partition == segment.partition);
        let start = before.and_then(|(_, end)| end);
        let verdict = match logs.read(segment) {
            Ok(bytes) => inspect::verify(segment, &bytes, start),
            // A running broker removed it since the folder was listed.
            Err(error) if error.kind == DiskErrorKind::NotFound => continue,
            Err(error) => inspect::Verdict {
                damage: vec![error.to_string()],
                ..Default::default()
            },
        };
        end = Some((&segment.partition, verdict.end));
        damage.extend(
            verdict
                .damage
                .iter()
                .map(|why| format!("{}: {why}", segment.path)),
        );
        rows.push(vec![
            segment.partition.clone(),
            segment.number.to_string(),
            verdict.batches.to_string(),
            verdict.records.to_string(),
            verdict.bytes.to_string(),
            verdict.torn_bytes.to_string(),
            if verdict.damage.is_empty() {
                "good"
            } else {
                "DAMAGED"
            }
            .to_owned(),
        ]);
        json.push(json!({
            "partition": segment.partition,
            "segment": segment.number,
            "batches": verdict.batches,
            "records": verdict.records,
            "bytes": verdict.bytes,
            "torn_bytes": verdict.torn_bytes,
            "end_offset": verdict.end.map(|end| end.0),
            "damage": verdict.damage,
        }));
    }
    let header = [
        "partition",
        "segment",
        "batches",
        "records",
        "bytes",
        "torn",
        "verdict",
    ];
    output::print(
        args.output,
        &json!({"segments": json, "damage": damage}),
        &header,
        &rows,
    )?;
    if damage.is_empty() {
        return Ok(());
    }
    let what = damage.join("\n  ");
    let message = format!(
        "{} of the logs is damaged:\n  {what}\nThe broker serves everything before it. Restore \
         the file from a copy, or delete and create the topic again.",
        args.folder.display()
    );
    Err(Failure {
        code: exit::DAMAGED,
        message,
    })
}
