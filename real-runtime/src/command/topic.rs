//! `highwater topic`: list, describe, create, delete.

use std::io::{self, IsTerminal, Write};

use clap::{Args, Subcommand};
use serde_json::json;

use super::Bootstrap;
use super::failure::Failure;
use super::output::{self, Output};
use crate::client::{Client, ClientError, NewTopic, OffsetSpec};

const LIST_EXAMPLES: &str = "\
Examples:
  highwater topic list
  highwater topic list --internal
  highwater topic list -o json | jq -r '.[].name'";

const DESCRIBE_EXAMPLES: &str = "\
Examples:
  highwater topic describe orders
  highwater topic describe orders payments
  highwater topic describe orders -o json | jq '.[0].partitions[].end_offset'";

const CREATE_EXAMPLES: &str = "\
Examples:
  highwater topic create orders
  highwater topic create orders -p 8 -c retention.ms=86400000
  highwater topic create orders --if-not-exists --dry-run";

const DELETE_EXAMPLES: &str = "\
Examples:
  highwater topic delete orders
  highwater topic delete orders payments --yes
  highwater topic delete orders --dry-run";

/// What to do with topics.
#[derive(Subcommand)]
pub enum TopicCommand {
    /// List the topics.
    #[command(after_help = LIST_EXAMPLES)]
    List(ListArgs),
    /// Show partitions, offsets and settings of topics.
    #[command(after_help = DESCRIBE_EXAMPLES)]
    Describe(DescribeArgs),
    /// Make topics.
    #[command(after_help = CREATE_EXAMPLES)]
    Create(CreateArgs),
    /// Remove topics with all their records.
    #[command(after_help = DELETE_EXAMPLES)]
    Delete(DeleteArgs),
}

/// Arguments of `topic list`.
#[derive(Args)]
pub struct ListArgs {
    #[command(flatten)]
    bootstrap: Bootstrap,
    /// How to write it.
    #[arg(short, long, value_enum, default_value = "table")]
    output: Output,
    /// Also the topics in which the broker keeps its own records.
    #[arg(long)]
    internal: bool,
}

/// Arguments of `topic describe`.
#[derive(Args)]
pub struct DescribeArgs {
    #[command(flatten)]
    bootstrap: Bootstrap,
    /// How to write it.
    #[arg(short, long, value_enum, default_value = "table")]
    output: Output,
    /// The topics.
    #[arg(required = true, value_name = "TOPIC")]
    topics: Vec<String>,
}

/// Arguments of `topic create`.
#[derive(Args)]
pub struct CreateArgs {
    #[command(flatten)]
    bootstrap: Bootstrap,
    /// The topics.
    #[arg(required = true, value_name = "TOPIC")]
    topics: Vec<String>,
    /// How many partitions each gets [default: the broker's num.partitions].
    #[arg(short, long)]
    partitions: Option<i32>,
    /// How many replicas each partition gets [default: the broker's].
    #[arg(short, long)]
    replicas: Option<i16>,
    /// A setting of the topics; may be given several times.
    #[arg(short, long = "config", value_name = "KEY=VALUE", value_parser = key_value)]
    configs: Vec<(String, String)>,
    /// A topic that exists is no failure.
    #[arg(long)]
    if_not_exists: bool,
    /// Only check whether it would work.
    #[arg(long)]
    dry_run: bool,
}

/// Arguments of `topic delete`.
#[derive(Args)]
pub struct DeleteArgs {
    #[command(flatten)]
    bootstrap: Bootstrap,
    /// The topics.
    #[arg(required = true, value_name = "TOPIC")]
    topics: Vec<String>,
    /// Do not ask.
    #[arg(short, long)]
    yes: bool,
    /// Only show what would be removed.
    #[arg(long)]
    dry_run: bool,
}

/// Takes `KEY=VALUE` apart.
///
/// # Errors
/// When there is no `=`.
pub(super) fn key_value(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("write it as KEY=VALUE")?;
    Ok((key.trim().to_owned(), value.to_owned()))
}

/// Runs a topic command.
///
/// # Errors
/// See [`Failure`].
pub fn run(command: TopicCommand) -> Result<(), Failure> {
    match command {
        TopicCommand::List(args) => list(&args),
        TopicCommand::Describe(args) => describe(&args),
        TopicCommand::Create(args) => create(&args),
        TopicCommand::Delete(args) => delete(&args),
    }
}

fn list(args: &ListArgs) -> Result<(), Failure> {
    let cluster = args.bootstrap.connect()?.cluster()?;
    let topics = cluster
        .topics
        .values()
        .filter(|topic| args.internal || !topic.internal);
    let (mut rows, mut json) = (Vec::new(), Vec::new());
    for topic in topics {
        let replicas = topic
            .partitions
            .first()
            .map_or(0, |partition| partition.replicas.len());
        rows.push(vec![
            topic.name.clone(),
            topic.partitions.len().to_string(),
            replicas.to_string(),
            topic.id.to_string(),
        ]);
        json.push(json!({
            "name": topic.name,
            "id": topic.id.to_string(),
            "partitions": topic.partitions.len(),
            "replicas": replicas,
            "internal": topic.internal,
        }));
    }
    output::print(
        args.output,
        &json.into(),
        &["name", "partitions", "replicas", "id"],
        &rows,
    )?;
    Ok(())
}

fn describe(args: &DescribeArgs) -> Result<(), Failure> {
    let mut client = args.bootstrap.connect()?;
    let mut json = Vec::new();
    for (index, name) in args.topics.iter().enumerate() {
        let (described, text) = describe_one(&mut client, name)?;
        json.push(described);
        if args.output == Output::Table {
            let gap = if index > 0 { "\n" } else { "" };
            io::stdout().write_all(format!("{gap}{text}").as_bytes())?;
        }
    }
    if args.output == Output::Json {
        output::print_json(&json.into())?;
    }
    Ok(())
}

fn describe_one(client: &mut Client, name: &str) -> Result<(serde_json::Value, String), Failure> {
    let (cluster, topic) = client.topic(name, false)?;
    let indexes: Vec<i32> = topic
        .partitions
        .iter()
        .map(|partition| partition.index)
        .collect();
    let starts = client.offsets(&cluster, &topic, &indexes, OffsetSpec::Start)?;
    let ends = client.offsets(&cluster, &topic, &indexes, OffsetSpec::End)?;
    let configs = client.topic_configs(name)?;
    let (mut rows, mut partitions) = (Vec::new(), Vec::new());
    for partition in &topic.partitions {
        let (start, end) = (starts.get(&partition.index), ends.get(&partition.index));
        let shown = |offset: Option<&i64>| offset.map_or("?".to_owned(), i64::to_string);
        rows.push(vec![
            partition.index.to_string(),
            partition.leader.to_string(),
            partition.leader_epoch.to_string(),
            output::list(&partition.replicas),
            output::list(&partition.isr),
            shown(start),
            shown(end),
        ]);
        partitions.push(json!({
            "partition": partition.index,
            "leader": partition.leader,
            "leader_epoch": partition.leader_epoch,
            "replicas": partition.replicas,
            "isr": partition.isr,
            "start_offset": start,
            "end_offset": end,
        }));
    }
    let settings: Vec<_> = configs
        .iter()
        .map(|config| json!({"name": config.name, "value": config.value, "source": config.source}))
        .collect();
    let json = json!({
        "name": topic.name,
        "id": topic.id.to_string(),
        "internal": topic.internal,
        "partitions": partitions,
        "configs": settings,
    });
    let header = [
        "partition",
        "leader",
        "epoch",
        "replicas",
        "isr",
        "start",
        "end",
    ];
    let mut text = format!("{}  id {}\n", topic.name, topic.id);
    text.push_str(&output::table(&header, &rows));
    let rows: Vec<_> = configs
        .into_iter()
        .filter(|config| config.source != "default")
        .map(|config| {
            vec![
                config.name,
                config.value.unwrap_or_default(),
                config.source.to_owned(),
            ]
        })
        .collect();
    if !rows.is_empty() {
        text.push('\n');
        text.push_str(&output::table(&["setting", "value", "set by"], &rows));
    }
    Ok((json, text))
}

fn create(args: &CreateArgs) -> Result<(), Failure> {
    let mut client = args.bootstrap.connect()?;
    for name in &args.topics {
        let topic = NewTopic {
            name: name.clone(),
            partitions: args.partitions,
            replicas: args.replicas,
            configs: args.configs.clone(),
        };
        let said = match client.create_topic(&topic, args.dry_run) {
            Ok(()) if args.dry_run => format!("topic {name:?} would be created"),
            Ok(()) => format!("created topic {name:?}"),
            Err(ClientError::Refused { code: 36, .. }) if args.if_not_exists => {
                format!("topic {name:?} exists already")
            }
            Err(error) => return Err(error.into()),
        };
        writeln!(io::stdout(), "{said}")?;
    }
    Ok(())
}

fn delete(args: &DeleteArgs) -> Result<(), Failure> {
    let mut client = args.bootstrap.connect()?;
    for name in &args.topics {
        let (cluster, topic) = client.topic(name, false)?;
        let indexes: Vec<i32> = topic
            .partitions
            .iter()
            .map(|partition| partition.index)
            .collect();
        let starts = client.offsets(&cluster, &topic, &indexes, OffsetSpec::Start)?;
        let ends = client.offsets(&cluster, &topic, &indexes, OffsetSpec::End)?;
        let offsets = ends.values().sum::<i64>() - starts.values().sum::<i64>();
        let plan = format!(
            "topic {name:?}: {} partitions, {offsets} offsets",
            indexes.len()
        );
        if args.dry_run {
            writeln!(io::stdout(), "would delete {plan}")?;
            continue;
        }
        if !args.yes && !confirmed(&plan)? {
            return Err(Failure::failed(format!(
                "nothing was deleted of topic {name:?}"
            )));
        }
        client.delete_topic(name)?;
        writeln!(io::stdout(), "deleted {plan}")?;
    }
    Ok(())
}

fn confirmed(plan: &str) -> Result<bool, Failure> {
    if !io::stdin().is_terminal() {
        return Err(Failure::usage(format!(
            "deleting {plan} needs an answer, and standard input is no terminal. \
             Add --yes to delete without asking, or --dry-run to see more."
        )));
    }
    write!(io::stderr(), "delete {plan}? [y/N] ")?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
