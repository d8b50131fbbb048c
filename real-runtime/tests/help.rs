//! What `--help` says of every command, word by word.

mod harness;

use harness::stdout_of;

const COMMANDS: [&[&str]; 18] = [
    &[],
    &["start"],
    &["topic"],
    &["topic", "list"],
    &["topic", "describe"],
    &["topic", "create"],
    &["topic", "delete"],
    &["produce"],
    &["consume"],
    &["group"],
    &["group", "list"],
    &["group", "describe"],
    &["log"],
    &["log", "dump"],
    &["log", "verify"],
    &["config"],
    &["config", "default"],
    &["config", "check"],
];

/// Words that only lead to commands.
const NOUNS: [&str; 4] = ["topic", "group", "log", "config"];

#[test]
fn help_is_what_the_snapshots_say() {
    for command in COMMANDS {
        let mut args = command.to_vec();
        args.push("--help");
        let name = format!(
            "help{}",
            command
                .iter()
                .map(|word| format!("-{word}"))
                .collect::<String>()
        );
        insta::assert_snapshot!(name, stdout_of(&args));
    }
}

#[test]
fn help_of_a_command_that_reads_or_writes_has_examples() {
    let is_group = |words: &&&[&str]| matches!(words, [noun] if NOUNS.contains(noun));
    for command in COMMANDS.iter().filter(|words| !is_group(words)) {
        let mut args = command.to_vec();
        args.push("--help");
        assert!(stdout_of(&args).contains("\nExamples:\n"), "{command:?}");
    }
}
