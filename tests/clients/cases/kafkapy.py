"""kafka-python behind the interface that the shared claims use."""

import re
import time

import kafka
import kafka.errors
from kafka import TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType, NewTopic
from kafka.structs import OffsetAndMetadata

from .model import Refused, Stored

NAME = "kafka-python"
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
FEATURES = {"idempotence", "static", "list_offsets_max_timestamp", "delete_groups", "describe_groups",
            "cluster_id", "binary_header"}


class Client:
    """One bootstrap address; every method opens what it needs and closes it."""

    def __init__(self, bootstrap):
        self.bootstrap = bootstrap

    # Producing

    def produce(self, topic, records, codec="none", acks="all", idempotent=False, linger_ms=20,
                large=False):
        """Sends all and waits; returns (partition, offset) in the order of `records`."""
        settings = {"acks": acks, "linger_ms": linger_ms, "enable_idempotence": idempotent,
                    "compression_type": None if codec == "none" else codec}
        if large:
            settings |= {"max_request_size": 20_000_000, "batch_size": 1_000_000}
        producer = kafka.KafkaProducer(bootstrap_servers=self.bootstrap, **settings)
        try:
            sent = [producer.send(topic, value=one.value, key=one.key, headers=one.headers or None,
                                  partition=one.partition, timestamp_ms=one.timestamp)
                    for one in records]
            producer.flush(timeout=45)
            return [(got.partition, got.offset) for got in (answer(future.get, 30) for future in sent)]
        finally:
            producer.close(timeout=5)

    # Consuming

    def consumer(self, **settings):
        return kafka.KafkaConsumer(bootstrap_servers=self.bootstrap, **settings)

    def read(self, topic, count, partitions=(0,), start=0, timeout_s=30, isolation="read_uncommitted"):
        """The first `count` records from offset `start` of each partition."""
        consumer = self.consumer(enable_auto_commit=False, isolation_level=isolation)
        try:
            where = [TopicPartition(topic, p) for p in partitions]
            consumer.assign(where)
            for one in where:
                consumer.seek(one, start)
            return take(consumer, count, timeout_s)
        finally:
            consumer.close()

    def read_from_time(self, topic, timestamp, count):
        """Asks for the offset of `timestamp`, seeks there and reads `count` records."""
        consumer = self.consumer(enable_auto_commit=False)
        try:
            where = TopicPartition(topic, 0)
            consumer.assign([where])
            consumer.seek(where, 0)
            take(consumer, 1, 10)
            found = consumer.offsets_for_times({where: timestamp})[where].offset
            consumer.seek(where, found)
            return found, take(consumer, count, 10)
        finally:
            consumer.close()

    def offset_for_time(self, topic, timestamp):
        """The offset of the first record at or after `timestamp`, or -1."""
        consumer = self.consumer()
        try:
            where = TopicPartition(topic, 0)
            found = consumer.offsets_for_times({where: timestamp})[where]
            return found.offset if found else -1
        finally:
            consumer.close()

    def watermarks(self, topic, partition=0):
        """(log start, high watermark)."""
        consumer = self.consumer()
        try:
            where = TopicPartition(topic, partition)
            return consumer.beginning_offsets([where])[where], consumer.end_offsets([where])[where]
        finally:
            consumer.close()

    def member(self, group, topic, instance=None, session_ms=10_000):
        return Member(self, group, topic, instance, session_ms)

    def committed(self, group, topic, partitions):
        """The committed offset of each partition, -1 where there is none."""
        consumer = self.consumer(group_id=group, enable_auto_commit=False)
        try:
            got = {p: consumer.committed(TopicPartition(topic, p)) for p in partitions}
            return {p: -1 if offset is None else offset for p, offset in got.items()}
        finally:
            consumer.close()

    def commit_alone(self, group, topic, offsets):
        """Commits without joining the group (a simple consumer)."""
        consumer = self.consumer(group_id=group, enable_auto_commit=False)
        try:
            consumer.assign([TopicPartition(topic, p) for p in offsets])
            consumer.commit(at(topic, offsets))
        finally:
            consumer.close()

    # Admin

    def admin(self, action):
        """Runs `action` with an admin client; errors become `Refused`."""
        client = kafka.KafkaAdminClient(bootstrap_servers=self.bootstrap)
        try:
            return answer(action, client)
        finally:
            client.close()

    def create_topic(self, name, partitions=1, configs=None):
        new = NewTopic(name, num_partitions=partitions, replication_factor=1,
                       topic_configs=configs or {})
        self.admin(lambda admin: admin.create_topics([new]))

    def delete_topic(self, name):
        self.admin(lambda admin: admin.delete_topics([name]))

    def create_partitions(self, name, total):
        self.admin(lambda admin: admin.create_partitions({name: kafka.admin.NewPartitions(total)}))

    def topics(self):
        """Topic name -> partition count."""
        described = self.admin(lambda admin: admin.describe_topics())
        return {one["name"]: len(one["partitions"]) for one in described}

    def topic_configs(self, name):
        """Every config of the topic, as strings."""
        resource = ConfigResource(ConfigResourceType.TOPIC, name)
        got = self.admin(lambda admin: admin.describe_configs([resource], config_filter="all"))
        entries = got[resource] if resource in got else next(iter(got.values()))
        entries = entries.get(name, entries)
        return {key: entry["value"] if isinstance(entry, dict) else entry
                for key, entry in entries.items()}

    def alter_topic(self, name, key, value):
        resource = ConfigResource(ConfigResourceType.TOPIC, name, configs={key: value})
        got = self.admin(lambda admin: admin.alter_configs([resource], raise_on_unknown=False))
        outcome = got["topic"][name]
        if outcome != "OK":
            raise Refused(int(re.match(r"\[Error (\d+)\]", outcome)[1]), outcome)

    def delete_records(self, topic, offset):
        """Returns the new log start."""
        where = TopicPartition(topic, 0)
        got = self.admin(lambda admin: admin.delete_records({where: offset}))[where]
        return got["low_watermark"] if isinstance(got, dict) else got.low_watermark

    def groups(self):
        """Group id -> state, lower case."""
        listed = self.admin(lambda admin: admin.list_groups())
        return {one["group_id"]: one.get("group_state", "").lower() for one in listed}

    def group_members(self, group):
        """(state, member count, partition count assigned in total)."""
        got = self.admin(lambda admin: admin.describe_groups([group]))[group]
        members = got["members"]
        assigned = sum(len(partitions)
                       for member in members
                       for topic in [member["member_assignment"]]
                       for partitions in assigned_of(topic))
        return got["group_state"].lower(), len(members), assigned

    def delete_group(self, group):
        got = self.admin(lambda admin: admin.delete_groups([group]))
        outcome = got[group] if isinstance(got, dict) else got[0][1]
        number = getattr(outcome, "errno", 0) if not isinstance(outcome, str) else outcome != "OK"
        if number:
            code = getattr(kafka.errors, outcome).errno if isinstance(outcome, str) else number
            raise Refused(code, str(outcome))

    def list_offset(self, topic, spec):
        """(offset, timestamp) for `earliest`, `latest` or `max_timestamp`."""
        kind = {"earliest": kafka.admin.OffsetSpec.EARLIEST, "latest": kafka.admin.OffsetSpec.LATEST,
                "max_timestamp": kafka.admin.OffsetSpec.MAX_TIMESTAMP}[spec]
        where = TopicPartition(topic, 0)
        got = self.admin(lambda admin: admin.list_partition_offsets({where: kind}))[where]
        return got.offset, got.timestamp

    def cluster(self):
        """(cluster id, broker count, controller id)."""
        got = self.admin(lambda admin: admin.describe_cluster())
        return got["cluster_id"], len(got["brokers"]), got["controller_id"]


class Member:
    """A group member that the caller polls."""

    def __init__(self, client, group, topic, instance, session_ms):
        self.consumer = client.consumer(
            group_id=group, enable_auto_commit=False, auto_offset_reset="earliest",
            session_timeout_ms=session_ms, heartbeat_interval_ms=1_000, group_instance_id=instance)
        self.consumer.subscribe([topic])

    def poll(self):
        """What has arrived, waiting at most 0.2 s."""
        return stored(self.consumer.poll(timeout_ms=200))

    def assignment(self):
        return {one.partition for one in self.consumer.assignment()}

    def commit(self, topic, offsets):
        answer(self.consumer.commit, at(topic, offsets))

    def close(self):
        self.consumer.close(autocommit=False)


def assigned_of(assignment):
    """The partition lists of one member's assignment, whichever shape the client gives it."""
    if isinstance(assignment, dict):
        assignment = assignment.get("assigned_partitions", assignment.get("assignment", []))
    return [one["partitions"] if isinstance(one, dict) else one[1] for one in assignment]


def at(topic, offsets):
    return {TopicPartition(topic, p): OffsetAndMetadata(o, "", -1) for p, o in offsets.items()}


def answer(function, *arguments):
    """Calls and turns the client's error classes into `Refused`."""
    try:
        return function(*arguments)
    except kafka.errors.KafkaError as error:
        if getattr(error, "errno", None) is None:
            raise
        raise Refused(error.errno, str(error)) from error


def stored(polled):
    return [Stored(m.partition, m.offset, m.key, m.value, list(m.headers), m.timestamp, m.topic)
            for messages in polled.values() for m in messages]


def take(consumer, count, timeout_s):
    """The next `count` records of an assigned consumer."""
    end = time.monotonic() + timeout_s
    records = []
    while len(records) < count:
        if time.monotonic() > end:
            raise AssertionError(f"got {len(records)} of {count} records within {timeout_s} s")
        records += stored(consumer.poll(timeout_ms=500, max_records=count - len(records)))
    return records
