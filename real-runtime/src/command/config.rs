//! `highwater config`: the settings a broker takes, and a check of a file.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::PathBuf;

use clap::{Args, Subcommand};
use highwater_metadata::settings::{BROKER_KEYS, Key, Update};
use serde_json::json;

use super::failure::Failure;
use super::output::{self, Output};
use super::topic::key_value;
use crate::settings_file;

const DEFAULT_EXAMPLES: &str = "\
Examples:
  highwater config default > highwater.toml
  highwater config default -o json | jq -r '.[].name'";

const CHECK_EXAMPLES: &str = "\
Examples:
  highwater config check highwater.toml
  highwater config check highwater.toml -c num.partitions=8
  highwater config check highwater.toml -o json";

/// What to do with settings.
#[derive(Subcommand)]
pub enum ConfigCommand {
    /// Print every setting with its default, as a file for `start --config`.
    #[command(after_help = DEFAULT_EXAMPLES)]
    Default(DefaultArgs),
    /// Check a settings file without starting a broker.
    #[command(after_help = CHECK_EXAMPLES)]
    Check(CheckArgs),
}

/// Arguments of `config default`.
#[derive(Args)]
pub struct DefaultArgs {
    /// How to write it; a table is TOML here.
    #[arg(short, long, value_enum, default_value = "table")]
    output: Output,
}

/// Arguments of `config check`.
#[derive(Args)]
pub struct CheckArgs {
    /// The file.
    file: PathBuf,
    /// A setting above the file's; may be given several times.
    #[arg(short, value_name = "KEY=VALUE", value_parser = key_value)]
    c: Vec<(String, String)>,
    /// How to write the settings that the file sets.
    #[arg(short, long, value_enum, default_value = "table")]
    output: Output,
}

/// Runs a config command.
///
/// # Errors
/// See [`Failure`].
pub fn run(command: ConfigCommand) -> Result<(), Failure> {
    match command {
        ConfigCommand::Default(args) => default(&args),
        ConfigCommand::Check(args) => check(&args),
    }
}

fn default(args: &DefaultArgs) -> Result<(), Failure> {
    match args.output {
        Output::Table => io::stdout().write_all(default_file().as_bytes())?,
        Output::Json => {
            let json = |key: &Key| {
                json!({
                    "name": key.name,
                    "aliases": key.aliases,
                    "default": key.default,
                    "values": key.kind.bounds_text().replace('`', ""),
                    "changes": changes(key),
                    "doc": key.doc.replace('`', ""),
                })
            };
            output::print_json(&BROKER_KEYS.iter().map(json).collect())?;
        }
    }
    Ok(())
}

/// Every key commented out, so that the file changes nothing until one is set.
fn default_file() -> String {
    let mut text = "# Settings of a Highwater broker: `highwater start --config FILE`.\n\
                    # Every line is a default; take the `#` away to change it.\n"
        .to_owned();
    for key in BROKER_KEYS {
        let (doc, bounds) = (
            key.doc.replace('`', ""),
            key.kind.bounds_text().replace('`', ""),
        );
        let _ = write!(text, "\n# {doc}\n# {bounds}; changes {}.\n", changes(key));
        let value = key.default.unwrap_or_default();
        let plain = value.parse::<i64>().is_ok() || matches!(value, "true" | "false");
        let quote = if plain { "" } else { "\"" };
        let _ = writeln!(text, "#{} = {quote}{value}{quote}", key.name);
    }
    text
}

fn changes(key: &Key) -> &'static str {
    match key.update {
        Update::Dynamic => "while the broker runs",
        Update::AtStart => "at the next start",
    }
}

fn check(args: &CheckArgs) -> Result<(), Failure> {
    let flags = args
        .c
        .iter()
        .map(|(key, value)| (format!("-c {key}={value}"), key.clone(), value.clone()));
    let file =
        settings_file::placed(&args.file).map_err(|error| Failure::failed(error.to_string()))?;
    let settings = settings_file::check(&[file, flags.collect()]).map_err(|errors| {
        let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
        Failure::failed(lines.join("\n"))
    })?;
    let values = settings.values();
    let rows: Vec<_> = values
        .iter()
        .map(|(key, value)| vec![key.clone(), value.clone()])
        .collect();
    output::print(args.output, &json!(values), &["setting", "value"], &rows)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_file_with_every_line_active_is_accepted() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("highwater.toml");
        let active = |line: &str| match line.strip_prefix('#') {
            // A key without a default has no value to take.
            Some(rest) if !rest.starts_with(' ') && !rest.ends_with("\"\"") => rest.to_owned(),
            _ => String::new(),
        };
        let text: Vec<String> = default_file().lines().map(active).collect();
        std::fs::write(&path, text.join("\n")).expect("it can be written");
        let placed = settings_file::placed(&path).expect("it is TOML");
        assert!(placed.len() > 20, "{placed:?}");
        settings_file::check(&[placed]).expect("every default is allowed");
    }
}
