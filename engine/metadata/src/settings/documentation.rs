//! `docs/configuration.md`, made from the tables of keys.

use std::fmt::Write;

use super::broker_keys::BROKER_KEYS;
use super::key::{Key, Update};
use super::topic_keys::TOPIC_KEYS;

const HEAD: &str = "\
# Settings

Every setting that Highwater accepts. A key that is not here is refused with the nearest match: nothing is
accepted and ignored. This page is made from the code; make it again with
`cargo run -p highwater-metadata --example configuration > docs/configuration.md`.

A topic's effective value is the first that is set of: the topic's own, the broker's dynamic value, the
cluster's dynamic value, the file or the command line, the default. Set a broker setting in the file
(`--config FILE`, TOML), with `-c KEY=VALUE`, or while the broker runs with any Kafka tool
(`kafka-configs.sh --alter --entity-type brokers`), where the table says so. Set a topic setting when the
topic is created or with `kafka-configs.sh --alter --entity-type topics`; both act at once.
";

/// The whole page.
#[must_use]
pub fn configuration_page() -> String {
    let mut page = HEAD.to_owned();
    page.push_str("\n## Topic settings\n\n| key | values | default | broker setting behind it | what it does |\n|---|---|---|---|---|\n");
    for key in TOPIC_KEYS {
        let behind: Vec<String> = key
            .synonyms
            .iter()
            .map(|synonym| format!("`{}`", synonym.key))
            .collect();
        row(&mut page, key, &behind.join(", "));
    }
    page.push_str("\n## Broker settings\n\n| key | values | default | changes | what it does |\n|---|---|---|---|---|\n");
    for key in BROKER_KEYS {
        row(
            &mut page,
            key,
            match key.update {
                Update::Dynamic => "while it runs",
                Update::AtStart => "at the next start",
            },
        );
    }
    page
}

fn row(page: &mut String, key: &Key, fourth: &str) {
    let names: Vec<String> = std::iter::once(&key.name)
        .chain(key.aliases)
        .map(|name| format!("`{name}`"))
        .collect();
    let default = key
        .default
        .map_or("none".to_owned(), |value| format!("`{value}`"));
    let (names, bounds, doc) = (names.join(", also "), key.kind.bounds_text(), key.doc);
    writeln!(
        page,
        "| {names} | {bounds} | {default} | {fourth} | {doc} |"
    )
    .expect("a string takes every write");
}
