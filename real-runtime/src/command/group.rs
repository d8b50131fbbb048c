//! `highwater group`: list, describe.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use clap::{Args, Subcommand};
use serde_json::json;

use super::Bootstrap;
use super::failure::Failure;
use super::output::{self, Output};
use crate::client::{Client, ClientError, GroupDetail, OffsetSpec};

const LIST_EXAMPLES: &str = "\
Examples:
  highwater group list
  highwater group list --bootstrap broker.example:9092
  highwater group list -o json | jq -r '.[].name'";

const DESCRIBE_EXAMPLES: &str = "\
Examples:
  highwater group describe billing
  highwater group describe billing shipping
  highwater group describe billing -o json | jq '.[0].lag'";

/// What to do with groups.
#[derive(Subcommand)]
pub enum GroupCommand {
    /// List the consumer groups.
    #[command(after_help = LIST_EXAMPLES)]
    List(ListArgs),
    /// Show members, committed offsets and lag of groups.
    #[command(after_help = DESCRIBE_EXAMPLES)]
    Describe(DescribeArgs),
}

/// Arguments of `group list`.
#[derive(Args)]
pub struct ListArgs {
    #[command(flatten)]
    bootstrap: Bootstrap,
    /// How to write it.
    #[arg(short, long, value_enum, default_value = "table")]
    output: Output,
}

/// Arguments of `group describe`.
#[derive(Args)]
pub struct DescribeArgs {
    #[command(flatten)]
    bootstrap: Bootstrap,
    /// How to write it.
    #[arg(short, long, value_enum, default_value = "table")]
    output: Output,
    /// The groups.
    #[arg(required = true, value_name = "GROUP")]
    groups: Vec<String>,
}

/// Runs a group command.
///
/// # Errors
/// See [`Failure`].
pub fn run(command: GroupCommand) -> Result<(), Failure> {
    match command {
        GroupCommand::List(args) => list(&args),
        GroupCommand::Describe(args) => describe(&args),
    }
}

fn list(args: &ListArgs) -> Result<(), Failure> {
    let groups = args.bootstrap.connect()?.groups()?;
    let json = |group: &crate::client::Group| json!({"name": group.name, "state": group.state, "protocol": group.protocol});
    let json = groups.iter().map(json).collect();
    let rows: Vec<_> = groups
        .into_iter()
        .map(|group| vec![group.name, group.state, group.protocol])
        .collect();
    output::print(args.output, &json, &["name", "state", "protocol"], &rows)?;
    Ok(())
}

fn describe(args: &DescribeArgs) -> Result<(), Failure> {
    let mut client = args.bootstrap.connect()?;
    let mut json = Vec::new();
    for (index, name) in args.groups.iter().enumerate() {
        let group = client.group(name)?;
        if group.state == "Dead" && group.committed.is_empty() {
            return Err(Failure::failed(format!(
                "there is no group {name:?}. `highwater group list` shows the groups."
            )));
        }
        let rows = rows(&mut client, &group)?;
        json.push(to_json(&group, &rows));
        if args.output == Output::Table {
            let gap = if index > 0 { "\n" } else { "" };
            io::stdout().write_all(format!("{gap}{}", to_text(&group, &rows)).as_bytes())?;
        }
    }
    if args.output == Output::Json {
        output::print_json(&json.into())?;
    }
    Ok(())
}

/// One partition of a group: what it committed and how far that is from the end.
struct Row {
    topic: String,
    partition: i32,
    committed: Option<i64>,
    end: Option<i64>,
    member: Option<String>,
}

impl Row {
    fn lag(&self) -> Option<i64> {
        Some((self.end? - self.committed?).max(0))
    }
}

fn rows(client: &mut Client, group: &GroupDetail) -> Result<Vec<Row>, Failure> {
    let mut owners = BTreeMap::new();
    for member in &group.members {
        for assigned in &member.assigned {
            owners.insert(assigned.clone(), member.id.clone());
        }
    }
    let places: BTreeSet<_> = group
        .committed
        .keys()
        .chain(owners.keys())
        .cloned()
        .collect();
    let mut ends = BTreeMap::new();
    let topics: BTreeSet<&String> = places.iter().map(|(topic, _)| topic).collect();
    for name in topics {
        let (cluster, topic) = match client.topic(name, false) {
            Ok(found) => found,
            // Deleted since: its offsets are shown without an end.
            Err(ClientError::Refused { .. }) => continue,
            Err(error) => return Err(error.into()),
        };
        let known: Vec<i32> = topic
            .partitions
            .iter()
            .map(|partition| partition.index)
            .collect();
        for (partition, end) in client.offsets(&cluster, &topic, &known, OffsetSpec::End)? {
            ends.insert((name.clone(), partition), end);
        }
    }
    let row = |place: (String, i32)| Row {
        committed: group.committed.get(&place).copied(),
        end: ends.get(&place).copied(),
        member: owners.get(&place).cloned(),
        topic: place.0,
        partition: place.1,
    };
    Ok(places.into_iter().map(row).collect())
}

fn to_json(group: &GroupDetail, rows: &[Row]) -> serde_json::Value {
    let member = |member: &crate::client::GroupMember| {
        json!({
            "id": member.id,
            "instance": member.instance,
            "client": member.client,
            "host": member.host,
        })
    };
    let partition = |row: &Row| {
        json!({
            "topic": row.topic,
            "partition": row.partition,
            "committed_offset": row.committed,
            "end_offset": row.end,
            "lag": row.lag(),
            "member": row.member,
        })
    };
    json!({
        "name": group.name,
        "state": group.state,
        "assignor": group.assignor,
        "members": group.members.iter().map(member).collect::<Vec<_>>(),
        "partitions": rows.iter().map(partition).collect::<Vec<_>>(),
        "lag": rows.iter().filter_map(Row::lag).sum::<i64>(),
    })
}

fn to_text(group: &GroupDetail, rows: &[Row]) -> String {
    let lag: i64 = rows.iter().filter_map(Row::lag).sum();
    let (name, state, members) = (&group.name, &group.state, group.members.len());
    let mut text = format!("{name}  {state}  members {members}  lag {lag}\n");
    let shown = |offset: Option<i64>| offset.map_or("-".to_owned(), |offset| offset.to_string());
    let cells: Vec<_> = rows
        .iter()
        .map(|row| {
            vec![
                row.topic.clone(),
                row.partition.to_string(),
                shown(row.committed),
                shown(row.end),
                shown(row.lag()),
                row.member.clone().unwrap_or_else(|| "-".to_owned()),
            ]
        })
        .collect();
    let header = ["topic", "partition", "committed", "end", "lag", "member"];
    text.push_str(&output::table(&header, &cells));
    if !group.members.is_empty() {
        let cells: Vec<_> = group
            .members
            .iter()
            .map(|member| {
                let instance = member.instance.clone().unwrap_or_else(|| "-".to_owned());
                vec![
                    member.id.clone(),
                    instance,
                    member.client.clone(),
                    member.host.clone(),
                ]
            })
            .collect();
        text.push('\n');
        text.push_str(&output::table(
            &["member", "instance", "client", "host"],
            &cells,
        ));
    }
    text
}
