//! `highwater consume`: records of a topic to standard output.

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use highwater_protocol::batch::WireRecord;

use super::Bootstrap;
use super::failure::Failure;
use super::format::Format;
use super::jsonl;
use crate::client::{Client, ClientError, Cluster, Fetched, OffsetSpec, TIMEOUT, Topic};
use crate::time;

const EXAMPLES: &str = "\
Examples:
  highwater consume greetings -o start             everything, then wait for more
  highwater consume greetings -o -10 -e            the last 10 of each partition, then stop
  highwater consume orders -o @2026-11-30T10:00 -f '%D %p/%o %k: %v\\n'
  highwater consume orders -o start -o jsonl -e    one JSON object a line

-o takes where to begin: start, end, OFFSET, -COUNT (before the end), @TIME (RFC 3339, UTC, or
milliseconds since 1970); and how to write: lines, table, jsonl, json. It may be given twice.";

/// How long the broker waits for a first record.
const WAIT_MS: i32 = 500;
/// Kafka's code of an offset that is not there.
const OUT_OF_RANGE: i16 = 1;
const RETRY_PAUSE: Duration = Duration::from_millis(200);

/// Arguments of `consume`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct ConsumeArgs {
    #[command(flatten)]
    bootstrap: Bootstrap,
    /// The topic.
    topic: String,
    /// Where to begin, and how to write [default: end, lines].
    #[arg(
        short,
        long = "offset",
        visible_alias = "output",
        value_name = "WHERE|HOW"
    )]
    #[arg(allow_hyphen_values = true, value_parser = parse_o)]
    o: Vec<O>,
    /// Only these partitions; may be given several times.
    #[arg(short, long = "partition", value_name = "PARTITION")]
    partitions: Vec<i32>,
    /// Stop after this many records.
    #[arg(short = 'n', long)]
    count: Option<u64>,
    /// Stop at the end, as it is when the command starts.
    #[arg(short, long)]
    exit: bool,
    /// How to write a record: %t topic, %p partition, %o offset, %k key, %v value, %h headers,
    /// %T milliseconds, %D date, %K and %V lengths.
    #[arg(short, long)]
    format: Option<String>,
}

/// One value of `-o`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum O {
    Place(Place),
    Style(Style),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Named(OffsetSpec),
    At(i64),
    BeforeEnd(i64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    Lines,
    Table,
    Jsonl,
    Json,
}

fn parse_o(text: &str) -> Result<O, String> {
    let place = match text {
        "lines" => return Ok(O::Style(Style::Lines)),
        "table" => return Ok(O::Style(Style::Table)),
        "jsonl" => return Ok(O::Style(Style::Jsonl)),
        "json" => return Ok(O::Style(Style::Json)),
        "start" | "beginning" | "earliest" => Place::Named(OffsetSpec::Start),
        "end" | "latest" => Place::Named(OffsetSpec::End),
        _ => {
            if let Some(at) = text.strip_prefix('@') {
                let ms = at.parse().ok().or_else(|| time::parse(at));
                let ms = ms.ok_or("a time is such as @2026-11-30T10:00 or @1796069847123")?;
                return Ok(O::Place(Place::Named(OffsetSpec::AtTime(ms))));
            }
            let number: i64 = text.parse().map_err(|_| {
                "use start, end, OFFSET, -COUNT, @TIME, lines, table, jsonl or json".to_owned()
            })?;
            if number < 0 || text.starts_with('-') {
                Place::BeforeEnd(number.saturating_neg())
            } else {
                Place::At(number)
            }
        }
    };
    Ok(O::Place(place))
}

/// Runs `consume`.
///
/// # Errors
/// See [`Failure`].
pub fn run(args: &ConsumeArgs) -> Result<(), Failure> {
    let style = args.o.iter().rev().find_map(|o| match o {
        O::Style(style) => Some(*style),
        O::Place(_) => None,
    });
    let place = args.o.iter().rev().find_map(|o| match o {
        O::Place(place) => Some(*place),
        O::Style(_) => None,
    });
    let format = args.format.as_deref().map(Format::parse).transpose()?;
    let mut client = args.bootstrap.connect()?;
    let (cluster, topic) = client.topic(&args.topic, false)?;
    let all = topic.partitions.iter().map(|partition| partition.index);
    let wanted: Vec<i32> = if args.partitions.is_empty() {
        all.collect()
    } else {
        args.partitions.clone()
    };
    let ends = client.offsets(&cluster, &topic, &wanted, OffsetSpec::End)?;
    let place = place.unwrap_or(Place::Named(OffsetSpec::End));
    let positions = positions(&mut client, &cluster, &topic, &ends, place)?;
    let mut sink = Sink::new(style.unwrap_or(Style::Lines), format, &args.topic);
    let reader = Reader {
        args,
        client,
        cluster,
        topic,
        positions,
        ends,
    };
    reader.read(&mut sink)?;
    sink.end()?;
    Ok(())
}

fn positions(
    client: &mut Client,
    cluster: &Cluster,
    topic: &Topic,
    ends: &BTreeMap<i32, i64>,
    place: Place,
) -> Result<BTreeMap<i32, i64>, Failure> {
    let wanted: Vec<i32> = ends.keys().copied().collect();
    Ok(match place {
        Place::Named(OffsetSpec::End) => ends.clone(),
        Place::Named(spec) => client.offsets(cluster, topic, &wanted, spec)?,
        Place::At(offset) => wanted.into_iter().map(|index| (index, offset)).collect(),
        Place::BeforeEnd(count) => {
            let starts = client.offsets(cluster, topic, &wanted, OffsetSpec::Start)?;
            let before = |(index, end): (&i32, &i64)| {
                let start = starts.get(index).copied().unwrap_or(0);
                (*index, end.saturating_sub(count).max(start))
            };
            ends.iter().map(before).collect()
        }
    })
}

struct Reader<'a> {
    args: &'a ConsumeArgs,
    client: Client,
    cluster: Cluster,
    topic: Topic,
    positions: BTreeMap<i32, i64>,
    ends: BTreeMap<i32, i64>,
}

impl Reader<'_> {
    fn read(mut self, sink: &mut Sink) -> Result<(), Failure> {
        let mut left = self.args.count.unwrap_or(u64::MAX);
        let mut trouble: Option<Instant> = None;
        while left > 0 && !self.is_done() {
            let wanted = self.wanted();
            let step = self
                .client
                .fetch(&self.cluster, &self.topic, &wanted, WAIT_MS);
            let step = step.and_then(|fetched| self.take(fetched, &mut left, sink));
            match step {
                Ok(written) => {
                    written?;
                    trouble = None;
                }
                // A restart of the broker, or a new leader: look again, for a while.
                Err(error) if may_pass(&error) => {
                    if trouble.get_or_insert_with(Instant::now).elapsed() > TIMEOUT {
                        return Err(error.into());
                    }
                    thread::sleep(RETRY_PAUSE);
                    if let Ok((cluster, topic)) = self.client.topic(&self.args.topic, false) {
                        (self.cluster, self.topic) = (cluster, topic);
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.args.exit && self.wanted().is_empty()
    }

    /// Where to read on; with `--exit` only what is not at its end yet.
    fn wanted(&self) -> BTreeMap<i32, i64> {
        let open = |(index, at): &(&i32, &i64)| {
            !self.args.exit || self.ends.get(index).is_some_and(|end| *at < end)
        };
        self.positions
            .iter()
            .filter(open)
            .map(|(index, at)| (*index, *at))
            .collect()
    }

    fn take(
        &mut self,
        fetched: Vec<Fetched>,
        left: &mut u64,
        sink: &mut Sink,
    ) -> Result<io::Result<()>, ClientError> {
        for found in fetched {
            let partition = found.partition;
            if found.error != 0 {
                return Err(self.refused(&found));
            }
            let position = self
                .positions
                .get_mut(&partition)
                .expect("only what was asked");
            for batch in &found.batches {
                let plain = if batch.is_control() {
                    &[][..]
                } else {
                    &batch.records[..]
                };
                for record in plain.iter().filter(|record| record.offset >= *position) {
                    if *left == 0 || self.args.exit && record.offset >= self.ends[&partition] {
                        break;
                    }
                    *left -= 1;
                    if let Err(gone) = sink.write(partition, record) {
                        return Ok(Err(gone));
                    }
                }
                *position = (*position).max(batch.end_offset());
            }
        }
        Ok(sink.flush())
    }

    fn refused(&mut self, found: &Fetched) -> ClientError {
        let (name, partition) = (&self.topic.name, found.partition);
        let at = self.positions.get(&partition).copied().unwrap_or(-1);
        let what = format!("read {name}-{partition} at offset {at}");
        let mut message = None;
        if found.error == OUT_OF_RANGE {
            let mut edge = |spec| {
                let found = self
                    .client
                    .offsets(&self.cluster, &self.topic, &[partition], spec);
                found.ok()?.get(&partition).copied()
            };
            if let (Some(start), Some(end)) = (edge(OffsetSpec::Start), edge(OffsetSpec::End)) {
                message = Some(format!("the partition holds [{start}, {end})"));
            }
        }
        ClientError::Refused {
            what,
            code: found.error,
            message,
        }
    }
}

fn may_pass(error: &ClientError) -> bool {
    // Offset out of range is retriable for a consumer that may reset itself; this one was told
    // where to begin.
    let out_of_range = matches!(
        error,
        ClientError::Refused {
            code: OUT_OF_RANGE,
            ..
        }
    );
    !out_of_range && (error.is_retriable() || matches!(error, ClientError::Connect { .. }))
}

/// Where records go.
struct Sink {
    style: Style,
    format: Option<Format>,
    topic: String,
    out: BufWriter<io::Stdout>,
    count: u64,
}

impl Sink {
    fn new(style: Style, format: Option<Format>, topic: &str) -> Self {
        let out = BufWriter::with_capacity(1 << 16, io::stdout());
        Self {
            style,
            format,
            topic: topic.to_owned(),
            out,
            count: 0,
        }
    }

    fn write(&mut self, partition: i32, record: &WireRecord) -> io::Result<()> {
        let first = self.count == 0;
        self.count += 1;
        if let Some(format) = &self.format {
            return format.write(&mut self.out, &self.topic, partition, record);
        }
        match self.style {
            Style::Lines => {
                self.out.write_all(record.value.as_deref().unwrap_or(b""))?;
                self.out.write_all(b"\n")
            }
            Style::Jsonl => writeln!(self.out, "{}", jsonl::write(&self.topic, partition, record)),
            Style::Json => {
                let before = if first { "[\n" } else { ",\n" };
                let json = jsonl::write(&self.topic, partition, record);
                write!(self.out, "{before}  {json}")
            }
            Style::Table => {
                if first {
                    let head = ["PARTITION", "OFFSET", "TIME", "KEY", "VALUE"];
                    let [a, b, c, d, e] = head;
                    writeln!(self.out, "{a:>9}  {b:>10}  {c:24}  {d:16}  {e}")?;
                }
                let text = |bytes: &Option<bytes::Bytes>| {
                    bytes.as_ref().map_or("-".to_owned(), |bytes| {
                        String::from_utf8_lossy(bytes).escape_debug().to_string()
                    })
                };
                let (key, value) = (text(&record.key), text(&record.value));
                let (offset, time) = (record.offset, time::rfc3339(record.timestamp));
                writeln!(
                    self.out,
                    "{partition:>9}  {offset:>10}  {time:24}  {key:16}  {value}"
                )
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    fn end(mut self) -> io::Result<()> {
        if self.style == Style::Json && self.format.is_none() {
            self.out
                .write_all(if self.count == 0 { b"[]\n" } else { b"\n]\n" })?;
        }
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_meanings_of_o_do_not_meet() {
        assert_eq!(
            parse_o("start"),
            Ok(O::Place(Place::Named(OffsetSpec::Start)))
        );
        assert_eq!(parse_o("jsonl"), Ok(O::Style(Style::Jsonl)));
        assert_eq!(parse_o("42"), Ok(O::Place(Place::At(42))));
        assert_eq!(parse_o("-10"), Ok(O::Place(Place::BeforeEnd(10))));
        let at = parse_o("@1970-01-01T00:01");
        assert_eq!(at, Ok(O::Place(Place::Named(OffsetSpec::AtTime(60_000)))));
        assert!(parse_o("yesterday").is_err());
    }
}
