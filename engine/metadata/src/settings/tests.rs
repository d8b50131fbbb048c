//! Settings from outside: parsing, layers, descriptions and the generated page.

use super::*;

fn statics(pairs: &[(&str, &str)]) -> StaticSettings {
    StaticSettings::parse(pairs.iter().copied(), SettingsLimits::default()).expect("they are right")
}

fn errors(pairs: &[(&str, &str)]) -> Vec<String> {
    StaticSettings::parse(pairs.iter().copied(), SettingsLimits::default())
        .expect_err("they are wrong")
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[test]
fn tables_are_sorted_and_their_defaults_and_synonyms_hold() {
    for table in [TOPIC_KEYS, BROKER_KEYS] {
        assert!(table.is_sorted_by_key(|key| key.name), "sorted by name");
        for key in table {
            let limits = SettingsLimits::default();
            let kept = key.default.map(|value| key.check(value, limits));
            assert!(
                kept.is_none_or(|kept| kept.is_ok()),
                "default of {}",
                key.name
            );
            for synonym in key.synonyms {
                broker_key(synonym.key).expect("a synonym is a broker key");
            }
        }
    }
    let behind_itself = |key: &Key| key.synonyms.iter().any(|synonym| synonym.key == key.name);
    assert!(
        BROKER_KEYS
            .iter()
            .all(|key| key.synonyms.is_empty() || behind_itself(key))
    );
}

#[test]
fn topic_defaults_are_those_of_the_broker_keys_behind_them() {
    let none = statics(&[]);
    let layers = Layers::of_statics(&none);
    for key in TOPIC_KEYS {
        let behind = key.synonyms.iter().find_map(|synonym| {
            let value = broker_key(synonym.key).expect("it is there").default?;
            match synonym.factor {
                1 => Some(value.to_owned()),
                factor => Some((value.parse::<i64>().expect("a number") * factor).to_string()),
            }
        });
        let value = layers.topic_value(key.name, &Configs::new()).value;
        assert_eq!(Some(value), behind, "{}", key.name);
    }
}

#[test]
fn refusals_say_what_is_wrong_and_what_is_near() {
    for (key, value, text) in [
        (
            "log.retention.mss",
            "1",
            "Unknown broker setting \"log.retention.mss\"; did you mean \"log.retention.ms\"?",
        ),
        (
            "qqqqqqqqqqqqqq",
            "1",
            "Unknown broker setting \"qqqqqqqqqqqqqq\"",
        ),
        (
            "num.partitions",
            "many",
            "Invalid value many for setting num.partitions: it must be a whole number from 1 to 2147483647",
        ),
        (
            "num.partitions",
            "0",
            "Invalid value 0 for setting num.partitions: it must be from 1 to 2147483647",
        ),
        (
            "log.segment.bytes",
            "1048575",
            "Invalid value 1048575 for setting log.segment.bytes: it must be from 1048576 to 2147483647",
        ),
        (
            "delete.topic.enable",
            "yes",
            "Invalid value yes for setting delete.topic.enable: it must be true or false",
        ),
        (
            "durability",
            "none",
            "Invalid value none for setting durability: it must be one of fsync, replicated",
        ),
        (
            "compression.type",
            "gzip",
            "Invalid value gzip for setting compression.type: only 'producer' acts: records are kept and served as the producer sent them, never recompressed",
        ),
        (
            "listeners",
            "SSL://a:1",
            "Invalid value SSL://a:1 for setting listeners: listener protocol \"SSL\" is not served; use PLAINTEXT",
        ),
    ] {
        assert_eq!(errors(&[(key, value)]), [text]);
    }
    assert_eq!(
        errors(&[("group.min.session.timeout.ms", "2000000")]),
        [
            "Setting group.min.session.timeout.ms (2000000) must not be larger than group.max.session.timeout.ms (1800000)"
        ]
    );
}

#[test]
fn other_spellings_and_the_command_line_count() {
    let file = statics(&[
        ("data_fold", "/a"),
        ("max_segment_size", "2097152"),
        ("log.retention.ms", "5"),
    ]);
    let both = file
        .overridden_by([("log.retention.hours", "1"), ("log.dirs", "/b")])
        .expect("right");
    let layers = Layers::of_statics(&both);
    let settings = layers.topic_settings(&Configs::new());
    assert_eq!(settings.segment_bytes, 2_097_152);
    assert_eq!(
        settings.retention_ms,
        Some(3_600_000),
        "the command line hides the file's synonym"
    );
    assert_eq!(layers.broker_settings().data_dir, "/b");
}

#[test]
fn the_topic_then_the_broker_then_the_cluster_then_the_file_counts() {
    let statics = statics(&[("log.retention.hours", "-1")]);
    let (mut cluster, mut broker, mut topic) = (Configs::new(), Configs::new(), Configs::new());
    let effective = |cluster: &Configs, broker: &Configs, topic: &Configs| {
        let layers = Layers {
            statics: &statics,
            cluster,
            broker,
        };
        let value = layers.topic_value("retention.ms", topic);
        (value.value, value.source)
    };
    let pair = |value: &str, source| (value.to_owned(), source);
    assert_eq!(
        effective(&cluster, &broker, &topic),
        pair("-1", Source::Static)
    );
    cluster.insert("log.retention.minutes".to_owned(), "2".to_owned());
    assert_eq!(
        effective(&cluster, &broker, &topic),
        pair("120000", Source::DynamicDefaultBroker)
    );
    broker.insert("log.retention.ms".to_owned(), "3".to_owned());
    assert_eq!(
        effective(&cluster, &broker, &topic),
        pair("3", Source::DynamicBroker)
    );
    topic.insert("retention.ms".to_owned(), "4".to_owned());
    assert_eq!(
        effective(&cluster, &broker, &topic),
        pair("4", Source::DynamicTopic)
    );
}

#[test]
fn a_description_lists_every_level_that_is_set() {
    let statics = statics(&[("log.segment.bytes", "2097152")]);
    let topic = Configs::from([("segment.bytes".to_owned(), "3145728".to_owned())]);
    let described = Layers::of_statics(&statics).describe_topic(&topic);
    let segment = described
        .iter()
        .find(|one| one.name == "segment.bytes")
        .expect("it is there");
    let chain: Vec<(&str, &str, Source)> = segment
        .synonyms
        .iter()
        .map(|one| (one.key, one.value.as_str(), one.source))
        .collect();
    assert_eq!(
        chain,
        [
            ("segment.bytes", "3145728", Source::DynamicTopic),
            ("log.segment.bytes", "2097152", Source::Static),
            ("log.segment.bytes", "1073741824", Source::Default),
        ]
    );
    assert_eq!(
        (segment.value.as_deref(), segment.source),
        (Some("3145728"), Source::DynamicTopic)
    );
    assert_eq!(described.len(), TOPIC_KEYS.len());
}

#[test]
fn a_topic_that_compacts_and_does_not_delete_keeps_everything() {
    let none = statics(&[]);
    let topic = Configs::from([("cleanup.policy".to_owned(), "compact".to_owned())]);
    let settings = Layers::of_statics(&none).topic_settings(&topic);
    assert_eq!(
        (settings.retention_ms, settings.retention_bytes),
        (None, None)
    );
}

#[test]
fn tiny_segments_are_for_those_who_ask_for_them() {
    let tiny = StaticSettings::parse([("log.segment.bytes", "100")], SettingsLimits::TINY);
    let settings = tiny.expect("allowed");
    assert_eq!(
        Layers::of_statics(&settings)
            .topic_settings(&Configs::new())
            .segment_bytes,
        100
    );
}

#[test]
fn the_page_of_all_settings_is_current() {
    let page = include_str!("../../../../docs/configuration.md");
    assert!(
        page == configuration_page(),
        "make it again: cargo run -p highwater-metadata --example configuration > docs/configuration.md"
    );
}
