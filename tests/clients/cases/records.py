"""Claims about records: what was produced is what every consumer gets, at the acknowledged offset."""

import os
import time

from .model import Record, equal, fresh, in_threads, refused
from .shared import claim

MESSAGE_TOO_LARGE = {10}
INVALID_TIMESTAMP = {32}


def codecs(module):
    return module.CODECS


def payload(index, size=200):
    """Half repetitive, half random, so that every codec has something to do."""
    return f"value-{index:08}-".encode() + b"a" * (size // 2) + os.urandom(size // 2)


def same(got, sent, offsets):
    """Each sent record stands at its acknowledged offset, whole."""
    by_place = {(one.partition, one.offset): one for one in got}
    equal(len(by_place), len(got), "records with one offset each")
    for record, place in zip(sent, offsets):
        stored = by_place[place]
        equal(stored.key, record.key, f"key at {place}")
        equal(stored.value, record.value, f"value at {place}")
        equal([(n, v) for n, v in stored.headers], [tuple(h) for h in record.headers], f"headers at {place}")
        if record.timestamp is not None:
            equal(stored.timestamp, record.timestamp, f"timestamp at {place}")


@claim(each=codecs)
def batches_come_back_whole_with_codec(client, codec):
    topic = fresh("codec")
    client.create_topic(topic)
    sent = [Record(payload(i), key=b"k%d" % (i % 7), headers=[("h", b"%d" % i)],
                   timestamp=1_700_000_000_000 + i) for i in range(2_000)]
    offsets = client.produce(topic, sent, codec=codec)
    equal(offsets, [(0, i) for i in range(2_000)], "returned offsets")
    same(client.read(topic, 2_000), sent, offsets)


@claim()
def a_consumer_that_starts_inside_a_compressed_batch_gets_the_rest(client):
    topic = fresh("inside")
    client.create_topic(topic)
    sent = [Record(payload(i)) for i in range(500)]
    client.produce(topic, sent, codec="gzip", linger_ms=300)
    got = client.read(topic, 500 - 123, start=123)
    equal([one.offset for one in got], list(range(123, 500)), "offsets")
    equal(got[0].value, sent[123].value, "first value")


@claim("binary_header")
def headers_keep_order_duplicates_and_bytes(client):
    topic = fresh("headers")
    client.create_topic(topic)
    headers = [("b", b"2"), ("a", b"1"), ("b", b"3"), ("b", b"2"), ("", b"no name"),
               ("bytes", bytes(range(256))), ("empty", b""), ("\u00fcml\u00e4ut", "\u20ac".encode())]
    sent = [Record(b"v", headers=headers), Record(b"no headers")]
    same(client.read(topic, 2) if client.produce(topic, sent) else [], sent, [(0, 0), (0, 1)])


@claim("null_header")
def a_null_header_value_is_not_an_empty_one(client):
    topic = fresh("null-header")
    client.create_topic(topic)
    sent = [Record(b"v", headers=[("null", None), ("empty", b""), ("null", b"now set")])]
    same(client.read(topic, 1) if client.produce(topic, sent) else [], sent, [(0, 0)])


@claim()
def null_and_empty_keys_and_values_stay_apart(client):
    topic = fresh("null")
    client.create_topic(topic)
    sent = [Record(v, key=k) for k in (None, b"", b"k") for v in (b"", b"v")]
    sent += [Record(None, key=b"deleted"), Record(None, key=b"")]
    offsets = client.produce(topic, sent)
    same(client.read(topic, len(sent)), sent, offsets)


@claim()
def explicit_timestamps_survive_in_any_order(client):
    topic = fresh("timestamps")
    client.create_topic(topic)
    times = [1_700_000_000_000, 1_600_000_000_000, 1_700_000_000_000, 1, 1_650_000_000_123]
    sent = [Record(b"%d" % i, timestamp=t) for i, t in enumerate(times)]
    offsets = client.produce(topic, sent)
    same(client.read(topic, len(sent)), sent, offsets)


@claim()
def append_time_topics_stamp_the_brokers_time(client):
    topic = fresh("append-time")
    client.create_topic(topic, configs={"message.timestamp.type": "LogAppendTime"})
    before = time.time() * 1000 - 1
    client.produce(topic, [Record(b"v", timestamp=1_600_000_000_000) for _ in range(10)], codec="gzip")
    for one in client.read(topic, 10):
        if not before <= one.timestamp <= time.time() * 1000 + 1:
            raise AssertionError(f"timestamp {one.timestamp} is not the time of the append")


@claim()
def a_timestamp_far_in_the_future_is_refused(client):
    topic = fresh("future")
    client.create_topic(topic)
    far = int(time.time() * 1000) + 2 * 3600 * 1000
    refused(lambda: client.produce(topic, [Record(b"v", timestamp=far)]), INVALID_TIMESTAMP, "produce")


@claim(each=lambda module: ["0", "1", "all"])
def records_arrive_with_acks(client, acks):
    topic = fresh("acks")
    client.create_topic(topic)
    sent = [Record(b"%d" % i) for i in range(200)]
    offsets = client.produce(topic, sent, acks=acks if acks == "all" else int(acks))
    got = client.read(topic, 200)
    equal([one.value for one in got], [one.value for one in sent], "values in order")
    if acks != "0":
        same(got, sent, offsets)


@claim("idempotence")
def idempotent_producers_get_contiguous_offsets(client):
    topic = fresh("idempotent")
    client.create_topic(topic, partitions=3)
    sent = [Record(b"%d" % i, partition=i % 3) for i in range(3_000)]
    offsets = client.produce(topic, sent, idempotent=True, linger_ms=1)
    for partition in range(3):
        mine = [offset for p, offset in offsets if p == partition]
        equal(mine, list(range(1_000)), f"offsets of partition {partition}")
    same(client.read(topic, 3_000, partitions=(0, 1, 2)), sent, offsets)


@claim()
def eight_producers_on_one_partition_read_at_their_returned_offsets(client):
    topic = fresh("eight")
    client.create_topic(topic)
    returned = {}

    def producer(number):
        def run():
            sent = [Record(f"{number}-{i}".encode()) for i in range(500)]
            offsets = client.produce(topic, sent, linger_ms=2)
            returned.update({place: one.value for place, one in zip(offsets, sent)})

        return run

    in_threads([producer(n) for n in range(8)])
    equal(len(returned), 4_000, "distinct returned offsets")
    consumed = {(one.partition, one.offset): one.value for one in client.read(topic, 4_000)}
    equal(consumed == returned, True, "consumed offsets and values are the returned ones")
    equal(client.watermarks(topic), (0, 4_000), "watermarks")


@claim(timeout_s=90)
def ten_megabytes_of_large_records_come_back(client):
    topic = fresh("large")
    client.create_topic(topic, configs={"max.message.bytes": "6000000"})
    sent = [Record(os.urandom(1_000_000)) for _ in range(8)] + [Record(os.urandom(4_000_000))]
    offsets = client.produce(topic, sent, large=True)
    same(client.read(topic, len(sent)), sent, offsets)


@claim()
def a_batch_above_max_message_bytes_is_refused_and_the_next_one_taken(client):
    topic = fresh("too-large")
    client.create_topic(topic, configs={"max.message.bytes": "100000"})
    refused(lambda: client.produce(topic, [Record(os.urandom(200_000))]), MESSAGE_TOO_LARGE, "produce")
    equal(client.produce(topic, [Record(b"small")]), [(0, 0)], "offset of the next record")


@claim()
def a_compressed_batch_larger_than_a_fetch_comes_back(client):
    topic = fresh("inflated")
    client.create_topic(topic)
    sent = [Record(b"%08d" % i + b"z" * 20_000) for i in range(150)]
    offsets = client.produce(topic, sent, codec="gzip", linger_ms=500, large=True)
    same(client.read(topic, 150), sent, offsets)


@claim()
def seek_and_offsets_for_times_find_the_first_record_at_or_after(client):
    topic = fresh("times")
    client.create_topic(topic)
    start = 1_700_000_000_000
    sent = [Record(b"%d" % i, timestamp=start + 1000 * i) for i in range(100)]
    for first in range(0, 100, 20):
        client.produce(topic, sent[first:first + 20])
    found, got = client.read_from_time(topic, start + 41_500, 58)
    equal(found, 42, "offset for the time")
    equal([one.value for one in got], [b"%d" % i for i in range(42, 100)], "records from there")
    equal(client.offset_for_time(topic, start), 0, "offset for the first time")
    equal(client.offset_for_time(topic, start - 1), 0, "offset before the first time")
    equal(client.offset_for_time(topic, start + 99_001), -1, "offset after the last time")


@claim()
def a_topic_is_created_by_the_first_produce(client):
    topic = fresh("auto")
    equal(client.produce(topic, [Record(b"v")]), [(0, 0)], "offset in a topic nobody created")
    equal(client.read(topic, 1)[0].value, b"v", "value")


@claim()
def read_committed_reads_plain_records(client):
    topic = fresh("committed")
    client.create_topic(topic)
    client.produce(topic, [Record(b"%d" % i) for i in range(50)])
    got = client.read(topic, 50, isolation="read_committed")
    equal(len(got), 50, "records")
