"""Claims about the admin operations, as each client sends them."""

import time

from .model import Record, equal, eventually, fresh, refused
from .shared import claim

TOPIC_EXISTS, UNKNOWN_TOPIC, INVALID_TOPIC = {36}, {3}, {17}
INVALID_PARTITIONS, INVALID_CONFIG, OUT_OF_RANGE = {37}, {40}, {1}


@claim()
def a_created_topic_is_seen_at_once_and_refused_twice(client):
    topic = fresh("create")
    client.create_topic(topic, partitions=5)
    equal(client.topics().get(topic), 5, "partitions")
    refused(lambda: client.create_topic(topic), TOPIC_EXISTS, "creating it again")
    refused(lambda: client.create_topic("no/slashes"), INVALID_TOPIC, "an invalid name")


@claim()
def a_deleted_name_created_again_is_a_new_empty_topic(client):
    topic = fresh("again")
    for turn in range(3):
        client.create_topic(topic, partitions=turn + 1)
        offsets = client.produce(topic, [Record(b"%d-%d" % (turn, i)) for i in range(10)])
        equal(offsets, [(0, i) for i in range(10)], f"offsets of turn {turn}")
        got = client.read(topic, 10)
        equal([one.value for one in got], [b"%d-%d" % (turn, i) for i in range(10)], f"values of {turn}")
        client.delete_topic(topic)
        eventually(lambda: topic not in client.topics(), "the topic is gone", 10)
    refused(lambda: client.delete_topic(topic), UNKNOWN_TOPIC, "deleting it once more")


@claim()
def added_partitions_take_records_at_once(client):
    topic = fresh("add")
    client.create_topic(topic, partitions=1)
    client.produce(topic, [Record(b"first")])
    client.create_partitions(topic, 4)
    eventually(lambda: client.topics().get(topic) == 4, "four partitions", 10)
    equal(client.produce(topic, [Record(b"new", partition=3)]), [(3, 0)], "offset in the new partition")
    equal(client.read(topic, 1)[0].value, b"first", "the old partition's record")
    refused(lambda: client.create_partitions(topic, 2), INVALID_PARTITIONS, "fewer partitions")


@claim()
def topic_configs_are_described_and_altered(client):
    topic = fresh("configs")
    client.create_topic(topic, configs={"retention.ms": "123456789"})
    configs = client.topic_configs(topic)
    equal(configs["retention.ms"], "123456789", "retention.ms as created")
    equal(configs["max.message.bytes"], "1048588", "max.message.bytes by default")
    equal(configs["cleanup.policy"], "delete", "cleanup.policy by default")
    client.alter_topic(topic, "max.message.bytes", "50000")
    eventually(lambda: client.topic_configs(topic)["max.message.bytes"] == "50000", "the new value", 10)
    refused(lambda: client.produce(topic, [Record(b"x" * 60_000)]), {10}, "a batch above the new limit")
    refused(lambda: client.alter_topic(topic, "retention.ms", "soon"), INVALID_CONFIG, "a bad value")
    refused(lambda: client.alter_topic(topic, "no.such.key", "1"), INVALID_CONFIG, "an unknown key")


@claim()
def a_topic_with_a_bad_config_is_not_created(client):
    topic = fresh("bad-config")
    refused(lambda: client.create_topic(topic, configs={"retention.ms": "x"}), INVALID_CONFIG, "bad value")
    refused(lambda: client.create_topic(topic, configs={"nonsense": "1"}), INVALID_CONFIG, "unknown key")
    equal(topic in client.topics(), False, "it exists")


@claim()
def deleted_records_move_the_log_start(client):
    topic = fresh("trim")
    client.create_topic(topic)
    client.produce(topic, [Record(b"%d" % i) for i in range(100)])
    equal(client.delete_records(topic, 40), 40, "low watermark")
    equal(client.watermarks(topic), (40, 100), "watermarks")
    equal(client.read(topic, 60, start=40)[0].value, b"40", "first record left")
    refused(lambda: client.delete_records(topic, 101), OUT_OF_RANGE, "above the high watermark")
    equal(client.delete_records(topic, -1), 100, "low watermark for -1")
    equal(client.watermarks(topic), (100, 100), "watermarks of the emptied log")
    equal(client.produce(topic, [Record(b"next")]), [(0, 100)], "offset after deletion")


@claim()
def earliest_and_latest_offsets_are_listed(client):
    topic = fresh("list-offsets")
    client.create_topic(topic)
    equal(client.list_offset(topic, "latest")[0], 0, "latest of an empty partition")
    client.produce(topic, [Record(b"v") for _ in range(7)])
    equal(client.list_offset(topic, "earliest")[0], 0, "earliest")
    equal(client.list_offset(topic, "latest")[0], 7, "latest")


@claim("list_offsets_max_timestamp")
def the_offset_of_the_largest_timestamp_is_listed(client):
    topic = fresh("max-timestamp")
    client.create_topic(topic)
    now = int(time.time() * 1000)
    client.produce(topic, [Record(b"a", timestamp=now - 500), Record(b"b", timestamp=now),
                           Record(b"c", timestamp=now - 900), Record(b"d", timestamp=now)])
    equal(client.list_offset(topic, "max_timestamp"), (1, now), "offset and timestamp")


@claim()
def the_cluster_is_one_broker_with_a_stable_id(client):
    cluster_id, brokers, controller = client.cluster()
    equal(brokers, 1, "brokers")
    equal(controller, 1, "controller")
    equal(client.cluster()[0], cluster_id, "cluster id of a second request")
