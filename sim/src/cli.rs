//! The command line of `highwater-sim`.

use std::process::ExitCode;

use crate::mutant::Mutant;
use crate::report::line;
use crate::run::Options;
use crate::{doctor, report, run, swarm};

const HELP: &str = "\
highwater-sim: the broker in simulated worlds, seed by seed

  highwater-sim swarm --seeds N [--first S] [--jobs J] [--mutant NAME]
      Runs N seeds from S (default 1), J at a time (default: one a CPU).
  highwater-sim replay --seed S [--mutant NAME] [--quiet]
      Repeats one seed and prints every event.
  highwater-sim doctor [--seed S]
      Checks that this build simulates, and that a seed repeats in another process.
  highwater-sim mutants [--seeds N]
      Plants one bug after the other; each must be found within N seeds (default 60).

Exit codes: 0 clean, 1 a property broke, 2 wrong usage, 3 a seed does not repeat,
5 a rare event never happened in a large batch.";

/// Runs the command line; `args` without the program's name.
pub fn main(args: Vec<String>) -> ExitCode {
    match dispatch(&args) {
        Ok(code) => ExitCode::from(code),
        Err(usage) => {
            line(&format!("{usage}\n\n{HELP}"));
            ExitCode::from(2)
        }
    }
}

fn dispatch(args: &[String]) -> Result<u8, String> {
    let (command, rest) = args.split_first().ok_or("What shall it do?")?;
    match command.as_str() {
        "swarm" => {
            let flags = Flags::parse(rest, &["seeds", "first", "jobs", "mutant"])?;
            let cpus = std::thread::available_parallelism().map_or(1, usize::from) as u64;
            swarm::swarm(swarm::Batch {
                first: flags.number("first")?.unwrap_or(1),
                seeds: flags.number("seeds")?.ok_or("swarm needs --seeds N")?,
                jobs: flags.number("jobs")?.unwrap_or(cpus).max(1),
                mutant: flags.mutant()?,
            })
        }
        "replay" => {
            let flags = Flags::parse(rest, &["seed", "mutant", "quiet"])?;
            let seed = flags.number("seed")?.ok_or("replay needs --seed S")?;
            let mutant = flags.mutant()?;
            let print = flags.value("quiet").is_none();
            let outcome = run::run(seed, Options { print, mutant });
            report::failure(&outcome, mutant.map(Mutant::name));
            line(&doctor::fingerprint(&outcome));
            Ok(u8::from(outcome.failure.is_some()))
        }
        "doctor" => {
            let flags = Flags::parse(rest, &["seed"])?;
            Ok(doctor::doctor(flags.number("seed")?.unwrap_or(1)))
        }
        "mutants" => {
            let flags = Flags::parse(rest, &["seeds"])?;
            Ok(swarm::mutants(flags.number("seeds")?.unwrap_or(60)))
        }
        "help" | "--help" | "-h" => {
            line(HELP);
            Ok(0)
        }
        other => Err(format!("There is no command {other:?}.")),
    }
}

/// `--name value` pairs.
struct Flags(Vec<(String, String)>);

impl Flags {
    fn parse(args: &[String], known: &[&str]) -> Result<Self, String> {
        let mut flags = Vec::new();
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let name = arg.strip_prefix("--").filter(|name| known.contains(name));
            let name = name.ok_or_else(|| format!("{arg:?} is not a flag of this command."))?;
            let value = match name {
                "quiet" => String::new(),
                _ => args
                    .next()
                    .ok_or_else(|| format!("--{name} needs a value."))?
                    .clone(),
            };
            flags.push((name.to_owned(), value));
        }
        Ok(Self(flags))
    }

    fn value(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(flag, _)| flag == name)
            .map(|(_, value)| value.as_str())
    }

    fn number(&self, name: &str) -> Result<Option<u64>, String> {
        let parse = |value: &str| {
            value
                .parse()
                .map_err(|_| format!("--{name} {value:?}: no number."))
        };
        self.value(name).map(parse).transpose()
    }

    fn mutant(&self) -> Result<Option<Mutant>, String> {
        let Some(name) = self.value("mutant") else {
            return Ok(None);
        };
        let names: Vec<&str> = Mutant::ALL.iter().map(|mutant| mutant.name()).collect();
        let known = || {
            format!(
                "There is no mutant {name:?}; there are {}.",
                names.join(", ")
            )
        };
        Mutant::named(name).map(Some).ok_or_else(known)
    }
}
