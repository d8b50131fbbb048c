//! The command line of `highwater-load`.

use std::collections::BTreeMap;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use highwater_benches::cluster::{self, Led};
use highwater_benches::codec::Codec;
use highwater_benches::window::Span;
use highwater_benches::wire::FetchLimits;
use highwater_benches::{LoadError, fetch, produce};

/// Puts load on any broker that speaks Kafka's protocol, and says what it did.
///
/// MB are 10^6 bytes: of record values where records are produced, of batches where they are
/// fetched. With --broker-pid the broker's CPU time and memory are read from /proc.
#[derive(Debug, Parser)]
#[command(name = "highwater-load", version)]
pub struct Arguments {
    /// Print one JSON object instead of a line for people
    #[arg(long, global = true)]
    pub json: bool,
    /// What to do
    #[command(subcommand)]
    pub load: Load,
}

/// The loads.
#[derive(Debug, Subcommand)]
pub enum Load {
    /// Send batches, several in flight on each connection
    Produce(ProduceArguments),
    /// As produce; with --batch-bytes 0 --connections 50 --in-flight 1: one record a request
    Requests(ProduceArguments),
    /// Read a topic from its start to its present end, or again and again
    Fetch(FetchArguments),
    /// Read at the tail while writing
    Tail(TailArguments),
    /// Latency from the due moment of a message to its arrival, in an open loop
    E2e(E2eArguments),
    /// Make topics and wait for their leaders
    CreateTopics(CreateArguments),
    /// Start a broker (or wait for one) until its first record is acknowledged
    Start(StartArguments),
    /// Print CPU time and memory of a process
    Usage(UsageArguments),
}

/// Where to.
#[derive(Args, Clone, Debug)]
pub struct Target {
    /// A broker
    #[arg(long, default_value = "127.0.0.1:9092", value_name = "HOST:PORT")]
    pub bootstrap: String,
    /// The topic; the broker makes a missing one if it does that
    #[arg(long, default_value = "load")]
    pub topic: String,
}

/// How long.
#[derive(Args, Clone, Debug)]
pub struct SpanArguments {
    /// Run so long before measuring
    #[arg(long, default_value_t = 1.0, value_name = "SECONDS")]
    pub warmup: f64,
    /// Measure so long
    #[arg(long, default_value_t = 5.0, value_name = "SECONDS")]
    pub seconds: f64,
    /// The broker's process on this machine
    #[arg(long, value_name = "PID")]
    pub broker_pid: Option<u32>,
}

impl SpanArguments {
    pub fn warmup(&self) -> Duration {
        Duration::from_secs_f64(self.warmup.clamp(0.0, 86_400.0))
    }

    pub fn measured(&self) -> Duration {
        Duration::from_secs_f64(self.seconds.clamp(0.0, 86_400.0))
    }

    pub fn span(&self) -> Span {
        Span {
            warmup: self.warmup(),
            measured: self.measured(),
            broker: self.broker_pid,
        }
    }
}

/// Whose acknowledgement is waited for.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Acks {
    /// Nobody's
    #[value(name = "0")]
    None,
    /// The leader's
    #[value(name = "1")]
    Leader,
    /// Every in-sync replica's
    #[value(name = "all", alias = "-1")]
    All,
}

impl Acks {
    pub fn code(self) -> i16 {
        match self {
            Self::None => 0,
            Self::Leader => 1,
            Self::All => -1,
        }
    }
}

#[derive(Args, Clone, Debug)]
pub struct ProduceArguments {
    #[command(flatten)]
    pub target: Target,
    #[command(flatten)]
    pub span: SpanArguments,
    /// Make the topic with so many partitions if it is missing
    #[arg(long, value_name = "COUNT")]
    pub partitions: Option<i32>,
    /// Setting of a topic that is made
    #[arg(long = "config", value_name = "KEY=VALUE")]
    pub configs: Vec<String>,
    /// Connections
    #[arg(long, default_value_t = 4)]
    pub connections: usize,
    /// Requests open at once on each connection
    #[arg(long, default_value_t = 5)]
    pub in_flight: usize,
    /// Bytes of a value
    #[arg(long, default_value_t = 1024)]
    pub record_bytes: usize,
    /// Bytes of a batch before compression; 0 sends one record a batch
    #[arg(long, default_value_t = 65_536)]
    pub batch_bytes: usize,
    /// Whose acknowledgement is waited for
    #[arg(long, default_value = "1")]
    pub acks: Acks,
    /// Compression of the batches
    #[arg(long, default_value = "none")]
    pub codec: Codec,
    /// End after so many bytes of values, if --seconds has not ended it before
    #[arg(long, value_name = "BYTES")]
    pub bytes: Option<u64>,
    /// Send at most so many MB/s of values
    #[arg(long, value_name = "MB")]
    pub mb_per_second: Option<f64>,
    /// Threads of this program that the connections share
    #[arg(long, default_value_t = 1)]
    pub threads: usize,
}

impl ProduceArguments {
    /// Makes the topic if asked to and finds its leaders.
    pub fn plan(&self) -> Result<produce::Plan, LoadError> {
        let Target { bootstrap, topic } = &self.target;
        if let Some(partitions) = self.partitions {
            cluster::create(
                bootstrap,
                std::slice::from_ref(topic),
                partitions,
                &self.configs,
            )?;
        }
        Ok(produce::Plan {
            topic: topic.clone(),
            led: cluster::leaders(bootstrap, topic)?,
            connections: self.connections,
            in_flight: self.in_flight,
            record_bytes: self.record_bytes,
            batch_bytes: self.batch_bytes,
            acks: self.acks.code(),
            codec: self.codec,
            bytes_max: self.bytes,
            bytes_per_second: self.mb_per_second.map(|mb| mb * 1e6),
            threads: self.threads,
        })
    }
}

#[derive(Args, Clone, Debug)]
pub struct FetchArguments {
    #[command(flatten)]
    pub target: Target,
    #[command(flatten)]
    pub span: SpanArguments,
    #[command(flatten)]
    pub limits: LimitArguments,
    /// Consumers, each with its own connection
    #[arg(long, default_value_t = 1)]
    pub consumers: usize,
    /// Divide the partitions among the consumers instead of giving all to each
    #[arg(long)]
    pub divide: bool,
    /// Begin again at the end of the topic until the time is over
    #[arg(long)]
    pub again: bool,
    /// Check the CRC of every batch, at this program's cost
    #[arg(long)]
    pub check: bool,
    /// Threads of this program that the consumers share
    #[arg(long, default_value_t = 1)]
    pub threads: usize,
}

/// Kafka's consumer settings of the same names.
#[derive(Args, Clone, Debug)]
pub struct LimitArguments {
    /// Bytes of one answer
    #[arg(long, default_value_t = 50 << 20)]
    pub max_bytes: i32,
    /// Bytes of one partition in an answer
    #[arg(long, default_value_t = 1 << 20)]
    pub partition_max_bytes: i32,
    /// Bytes worth an answer
    #[arg(long, default_value_t = 1)]
    pub min_bytes: i32,
}

impl LimitArguments {
    fn limits(&self) -> FetchLimits {
        FetchLimits {
            max_wait_ms: 500,
            min_bytes: self.min_bytes,
            max_bytes: self.max_bytes,
            partition_max_bytes: self.partition_max_bytes,
        }
    }
}

impl FetchArguments {
    pub fn plan(
        &self,
        led: Vec<Led>,
        from: BTreeMap<i32, i64>,
        until: Option<BTreeMap<i32, i64>>,
    ) -> fetch::Plan {
        fetch::Plan {
            topic: self.target.topic.clone(),
            led,
            from,
            until,
            again: self.again,
            consumers: self.consumers,
            divide: self.divide,
            limits: self.limits.limits(),
            check: self.check,
            threads: self.threads,
        }
    }
}

#[derive(Args, Clone, Debug)]
pub struct TailArguments {
    #[command(flatten)]
    pub produce: ProduceArguments,
    #[command(flatten)]
    pub limits: LimitArguments,
    /// Consumers, each with its own connection
    #[arg(long, default_value_t = 1)]
    pub consumers: usize,
}

impl TailArguments {
    pub fn consumers_plan(
        &self,
        producers: &produce::Plan,
        from: BTreeMap<i32, i64>,
    ) -> fetch::Plan {
        fetch::Plan {
            topic: producers.topic.clone(),
            led: producers.led.clone(),
            from,
            until: None,
            again: false,
            consumers: self.consumers,
            divide: false,
            limits: self.limits.limits(),
            check: false,
            threads: self.produce.threads,
        }
    }
}

#[derive(Args, Clone, Debug)]
pub struct E2eArguments {
    #[command(flatten)]
    pub target: Target,
    #[command(flatten)]
    pub span: SpanArguments,
    /// Messages a second
    #[arg(long, default_value_t = 1_000.0)]
    pub rate: f64,
    /// Bytes of a value
    #[arg(long, default_value_t = 100)]
    pub record_bytes: usize,
    /// Whose acknowledgement is asked for
    #[arg(long, default_value = "1")]
    pub acks: Acks,
}

#[derive(Args, Clone, Debug)]
pub struct CreateArguments {
    #[command(flatten)]
    pub target: Target,
    /// Topics; more than one are numbered
    #[arg(long, default_value_t = 1)]
    pub topics: usize,
    /// Topics of one request
    #[arg(long, default_value_t = 100)]
    pub topics_per_request: usize,
    /// Partitions of each
    #[arg(long, default_value_t = 1)]
    pub partitions: i32,
    /// A setting of each
    #[arg(long = "config", value_name = "KEY=VALUE")]
    pub configs: Vec<String>,
    /// Delete topics of these names first
    #[arg(long)]
    pub delete: bool,
}

#[derive(Args, Clone, Debug)]
pub struct StartArguments {
    #[command(flatten)]
    pub target: Target,
    /// Wait until every partition of the topic answers for its end
    #[arg(long)]
    pub all_partitions: bool,
    /// Give up after so long
    #[arg(long, default_value_t = 300, value_name = "SECONDS")]
    pub limit_seconds: u64,
    /// The broker's command; none waits for one that is being started
    #[arg(last = true)]
    pub command: Vec<String>,
}

#[derive(Args, Clone, Debug)]
pub struct UsageArguments {
    /// The process
    pub pid: u32,
}
