//! The command line: nouns first, the same verbs everywhere.
//!
//! What a command answers goes to standard output, everything else to standard error. Exit codes
//! are in [`failure`].

pub mod config;
pub mod consume;
pub mod failure;
pub mod format;
pub mod group;
pub mod jsonl;
pub mod log;
pub mod output;
pub mod partitioner;
pub mod produce;
pub mod start;
pub mod topic;

use clap::{Args, Parser, Subcommand};

use crate::client::Client;
use failure::Failure;

const EXAMPLES: &str = "\
Examples:
  highwater start                                  run a broker, data in ./highwater-data
  echo hello | highwater produce greetings         write one record to topic greetings
  highwater consume greetings -o start             read it, and wait for more

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 cannot connect, 4 not authorised, 5 timed out,
6 data damaged.";

/// A message broker: Kafka clients read and write it, one binary runs it.
#[derive(Parser)]
#[command(name = "highwater", version, after_help = EXAMPLES, max_term_width = 100)]
#[command(disable_help_subcommand = true, arg_required_else_help = true)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run a broker.
    Start(start::StartArgs),
    /// List, describe, create and delete topics.
    #[command(subcommand)]
    Topic(topic::TopicCommand),
    /// Write records from standard input to a topic.
    Produce(produce::ProduceArgs),
    /// Read records of a topic.
    Consume(consume::ConsumeArgs),
    /// List and describe consumer groups.
    #[command(subcommand)]
    Group(group::GroupCommand),
    /// Look into a data folder, without a broker; nothing is changed.
    #[command(subcommand)]
    Log(log::LogCommand),
    /// Show and check the broker's settings.
    #[command(subcommand)]
    Config(config::ConfigCommand),
}

impl Cli {
    /// Whether it runs a broker.
    #[must_use]
    pub fn is_start(&self) -> bool {
        matches!(self.command, Command::Start(_))
    }
}

/// Where the broker is.
#[derive(Args)]
pub struct Bootstrap {
    /// Any broker of the cluster.
    #[arg(
        long,
        short,
        value_name = "HOST:PORT",
        default_value = "127.0.0.1:9092"
    )]
    bootstrap: String,
}

impl Bootstrap {
    fn connect(&self) -> Result<Client, Failure> {
        Ok(Client::connect(&self.bootstrap)?)
    }
}

/// Runs what the arguments say.
///
/// # Errors
/// [`Failure`]: its message for standard error, its exit code.
pub fn run(cli: Cli) -> Result<(), Failure> {
    match cli.command {
        Command::Start(args) => start::run(&args),
        Command::Topic(command) => topic::run(command),
        Command::Produce(args) => produce::run(&args),
        Command::Consume(args) => consume::run(&args),
        Command::Group(command) => group::run(command),
        Command::Log(command) => log::run(command),
        Command::Config(command) => config::run(command),
    }
}
