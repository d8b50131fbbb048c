//! Claims about the rdkafka crate: `highwater-client-cases BOOTSTRAP CLAIM`; exit code 1 and a
//! line when the claim does not hold.

mod world;

use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

use rdkafka::Offset;
use rdkafka::consumer::Consumer;
use rdkafka::message::{Header, Headers, Message, OwnedHeaders};
use rdkafka::producer::BaseRecord;
use rdkafka::topic_partition_list::TopicPartitionList;
use world::World;

const LIMIT: Duration = Duration::from_secs(30);

macro_rules! claims {
    ($($claim:ident),* $(,)?) => {
        fn run(name: &str, world: &World) {
            match name {
                $(stringify!($claim) => $claim(world),)*
                _ => panic!("no claim {name}"),
            }
        }
    };
}

claims! {
    batches_come_back_whole_without_a_codec,
    batches_come_back_whole_with_gzip,
    batches_come_back_whole_with_snappy,
    batches_come_back_whole_with_lz4,
    batches_come_back_whole_with_zstd,
    headers_keep_their_order_and_nulls,
    null_and_empty_keys_and_values_stay_apart,
    eight_producers_of_one_partition_agree_with_its_consumer,
    a_group_of_three_reads_each_record_once_and_resumes_at_its_commits,
    offsets_are_found_by_time,
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (Some(bootstrap), Some(claim)) = (arguments.next(), arguments.next()) else {
        eprintln!("usage: highwater-client-cases BOOTSTRAP CLAIM");
        std::process::exit(2);
    };
    run(&claim, &World::new(bootstrap));
}

fn batches_come_back_whole_without_a_codec(world: &World) {
    round_trip(world, "none");
}

fn batches_come_back_whole_with_gzip(world: &World) {
    round_trip(world, "gzip");
}

fn batches_come_back_whole_with_snappy(world: &World) {
    round_trip(world, "snappy");
}

fn batches_come_back_whole_with_lz4(world: &World) {
    round_trip(world, "lz4");
}

fn batches_come_back_whole_with_zstd(world: &World) {
    round_trip(world, "zstd");
}

fn round_trip(world: &World, codec: &str) {
    let topic = world.topic("codec", 1);
    let producer = world.producer(&[("compression.type", codec), ("linger.ms", "20")]);
    let value = |i: usize| format!("value-{i}-{}", "x".repeat(i % 300));
    for i in 0..1000 {
        let (key, value) = (format!("k{}", i % 7), value(i));
        let record = BaseRecord::to(&topic).partition(0).key(&key).payload(&value);
        producer.send(record.timestamp(1_700_000_000_000 + i as i64)).expect("it queues");
    }
    world.flush(&producer);
    let got = world.read(&topic, 1000);
    for (i, record) in got.iter().enumerate() {
        assert_eq!(record.offset(), i as i64);
        assert_eq!(record.key(), Some(format!("k{}", i % 7).as_bytes()));
        assert_eq!(record.payload(), Some(value(i).as_bytes()));
        assert_eq!(record.timestamp().to_millis(), Some(1_700_000_000_000 + i as i64));
    }
}

fn headers_keep_their_order_and_nulls(world: &World) {
    let topic = world.topic("headers", 1);
    let producer = world.producer(&[]);
    let bytes: Vec<u8> = (0..=255).collect();
    let sent: [(&str, Option<&[u8]>); 4] =
        [("many", Some(b"1")), ("null", None), ("many", Some(&bytes)), ("empty", Some(b""))];
    let headers = sent.iter().fold(OwnedHeaders::new(), |headers, (key, value)| {
        headers.insert(Header { key, value: *value })
    });
    let record: BaseRecord<'_, (), str> = BaseRecord::to(&topic).payload("v").headers(headers);
    producer.send(record).expect("it queues");
    world.flush(&producer);
    let got = world.read(&topic, 1);
    let headers = got[0].headers().expect("it has headers");
    let got: Vec<(&str, Option<&[u8]>)> =
        headers.iter().map(|header| (header.key, header.value)).collect();
    assert_eq!(got, sent);
}

fn null_and_empty_keys_and_values_stay_apart(world: &World) {
    let topic = world.topic("null", 1);
    let producer = world.producer(&[]);
    let sent: [(Option<&str>, Option<&str>); 4] =
        [(None, Some("v")), (Some(""), Some("v")), (Some("k"), None), (Some("k"), Some(""))];
    for (key, value) in sent {
        let mut record: BaseRecord<'_, str, str> = BaseRecord::to(&topic).partition(0);
        record.key = key;
        record.payload = value;
        producer.send(record).expect("it queues");
    }
    world.flush(&producer);
    let got = world.read(&topic, 4);
    let text = |bytes: Option<&[u8]>| bytes.map(|b| String::from_utf8_lossy(b).into_owned());
    for (record, (key, value)) in got.iter().zip(sent) {
        assert_eq!(text(record.key()).as_deref(), key);
        assert_eq!(text(record.payload()).as_deref(), value);
    }
}

fn eight_producers_of_one_partition_agree_with_its_consumer(world: &World) {
    const EACH: usize = 500;
    let topic = world.topic("eight", 1);
    let told: Vec<BTreeMap<i64, String>> = thread::scope(|scope| {
        let producers: Vec<_> = (0..8)
            .map(|who| {
                let topic = &topic;
                scope.spawn(move || world.produce_and_tell(topic, who_values(who, EACH)))
            })
            .collect();
        producers.into_iter().map(|one| one.join().expect("no producer fails")).collect()
    });
    let mut offsets = BTreeMap::new();
    for (offset, value) in told.into_iter().flatten() {
        let before = offsets.insert(offset, value);
        assert_eq!(before, None, "two producers were told offset {offset}");
    }
    let got = world.read(&topic, 8 * EACH);
    let got: BTreeMap<i64, String> = got
        .iter()
        .map(|record| {
            let value = record.payload().expect("it has a value");
            (record.offset(), String::from_utf8_lossy(value).into_owned())
        })
        .collect();
    assert_eq!(got, offsets);
}

fn who_values(who: usize, count: usize) -> Vec<String> {
    (0..count).map(|i| format!("{who}-{i}")).collect()
}

fn a_group_of_three_reads_each_record_once_and_resumes_at_its_commits(world: &World) {
    let topic = world.topic("group", 6);
    let group = world.fresh("group");
    let producer = world.producer(&[]);
    let send = |from: usize, to: usize| {
        for i in from..to {
            let value = i.to_string();
            let partition = (i % 6) as i32;
            let record: BaseRecord<'_, (), str> =
                BaseRecord::to(&topic).partition(partition).payload(&value);
            producer.send(record).expect("it queues");
        }
        world.flush(&producer);
    };
    let of = (topic.as_str(), 6);
    let first = world.consume_as_group(of, &group, 3, 600, || send(0, 600));
    assert_eq!(first, (0..600).map(|i| i.to_string()).collect());
    let second = world.consume_as_group(of, &group, 2, 300, || send(600, 900));
    assert_eq!(second, (600..900).map(|i| i.to_string()).collect(), "it resumes at its commits");
}

fn offsets_are_found_by_time(world: &World) {
    let topic = world.topic("time", 1);
    let producer = world.producer(&[]);
    for i in 0..100i64 {
        let record: BaseRecord<'_, (), str> =
            BaseRecord::to(&topic).partition(0).payload("v").timestamp(1_700_000_000_000 + 10 * i);
        producer.send(record).expect("it queues");
    }
    world.flush(&producer);
    let consumer = world.consumer(&world.fresh("time"), &[]);
    let mut asked = TopicPartitionList::new();
    asked
        .add_partition_offset(&topic, 0, Offset::Offset(1_700_000_000_000 + 415))
        .expect("a valid partition");
    let found = consumer.offsets_for_times(asked, LIMIT).expect("the broker answers");
    let found = found.find_partition(&topic, 0).expect("it was asked for");
    assert_eq!(found.offset(), Offset::Offset(42));
    let (low, high) = consumer.fetch_watermarks(&topic, 0, LIMIT).expect("the broker answers");
    assert_eq!((low, high), (0, 100));
}
