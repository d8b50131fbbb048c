"""aiokafka behind the interface that the shared claims use: each object owns an event loop."""

import asyncio
import time

import aiokafka
import aiokafka.errors
from aiokafka import TopicPartition
from aiokafka.admin import (AIOKafkaAdminClient, NewPartitions, NewTopic, RecordsToDelete)
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from .model import Refused, Stored

NAME = "aiokafka"
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
FEATURES = {"idempotence", "static", "describe_groups", "null_header", "binary_header"}


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
            settings |= {"max_request_size": 20_000_000, "max_batch_size": 1_000_000}

        async def send():
            producer = aiokafka.AIOKafkaProducer(bootstrap_servers=self.bootstrap, **settings)
            await producer.start()
            try:
                sent = [await producer.send(topic, value=one.value, key=one.key,
                                            headers=one.headers or None, partition=one.partition,
                                            timestamp_ms=one.timestamp) for one in records]
                got = await asyncio.wait_for(asyncio.gather(*sent), 45)
                return [(one.partition, one.offset) if one else (0, -1) for one in got]
            finally:
                await producer.stop()

        return run(send())

    # Consuming

    def with_consumer(self, action, **settings):
        """Runs `action(consumer)` on a started consumer."""

        async def inside():
            consumer = aiokafka.AIOKafkaConsumer(bootstrap_servers=self.bootstrap,
                                                 enable_auto_commit=False, **settings)
            await consumer.start()
            try:
                return await action(consumer)
            finally:
                await consumer.stop()

        return run(inside())

    def read(self, topic, count, partitions=(0,), start=0, timeout_s=30, isolation="read_uncommitted"):
        """The first `count` records from offset `start` of each partition."""

        async def action(consumer):
            where = [TopicPartition(topic, p) for p in partitions]
            consumer.assign(where)
            for one in where:
                consumer.seek(one, start)
            return await take(consumer, count, timeout_s)

        return self.with_consumer(action, isolation_level=isolation)

    def read_from_time(self, topic, timestamp, count):
        """Asks for the offset of `timestamp`, seeks there and reads `count` records."""

        async def action(consumer):
            where = TopicPartition(topic, 0)
            consumer.assign([where])
            consumer.seek(where, 0)
            await take(consumer, 1, 10)
            found = (await consumer.offsets_for_times({where: timestamp}))[where].offset
            consumer.seek(where, found)
            return found, await take(consumer, count, 10)

        return self.with_consumer(action)

    def offset_for_time(self, topic, timestamp):
        """The offset of the first record at or after `timestamp`, or -1."""

        async def action(consumer):
            where = TopicPartition(topic, 0)
            found = (await consumer.offsets_for_times({where: timestamp}))[where]
            return found.offset if found else -1

        return self.with_consumer(action)

    def watermarks(self, topic, partition=0):
        """(log start, high watermark)."""

        async def action(consumer):
            where = TopicPartition(topic, partition)
            start = await consumer.beginning_offsets([where])
            end = await consumer.end_offsets([where])
            return start[where], end[where]

        return self.with_consumer(action)

    def member(self, group, topic, instance=None, session_ms=10_000):
        return Member(self, group, topic, instance, session_ms)

    def committed(self, group, topic, partitions):
        """The committed offset of each partition, -1 where there is none."""

        async def action(consumer):
            got = {p: await consumer.committed(TopicPartition(topic, p)) for p in partitions}
            return {p: -1 if offset is None else offset for p, offset in got.items()}

        return self.with_consumer(action, group_id=group)

    def commit_alone(self, group, topic, offsets):
        """Commits without joining the group (a simple consumer)."""

        async def action(consumer):
            consumer.assign([TopicPartition(topic, p) for p in offsets])
            await consumer.commit({TopicPartition(topic, p): o for p, o in offsets.items()})

        return self.with_consumer(action, group_id=group)

    # Admin

    def admin(self, action):
        """Runs `action(admin)` on a started admin client."""

        async def inside():
            admin = AIOKafkaAdminClient(bootstrap_servers=self.bootstrap)
            await admin.start()
            try:
                return await action(admin)
            finally:
                await admin.close()

        return run(inside())

    def create_topic(self, name, partitions=1, configs=None):
        new = NewTopic(name, num_partitions=partitions, replication_factor=1,
                       topic_configs=configs or {})
        got = self.admin(lambda admin: admin.create_topics([new]))
        demand(got.topic_errors[0][1])

    def delete_topic(self, name):
        got = self.admin(lambda admin: admin.delete_topics([name]))
        demand(got.topic_error_codes[0][1])

    def create_partitions(self, name, total):
        got = self.admin(lambda admin: admin.create_partitions({name: NewPartitions(total)}))
        demand(got.topic_errors[0][1])

    def topics(self):
        """Topic name -> partition count."""
        described = self.admin(lambda admin: admin.describe_topics())
        return {one["topic"]: len(one["partitions"]) for one in described}

    def topic_configs(self, name):
        """Every config of the topic, as strings."""
        resource = ConfigResource(ConfigResourceType.TOPIC, name)
        got = self.admin(lambda admin: admin.describe_configs([resource]))
        code, _text, _kind, _name, entries = got[0].resources[0][:5]
        demand(code)
        return {entry[0]: entry[1] for entry in entries}

    def alter_topic(self, name, key, value):
        resource = ConfigResource(ConfigResourceType.TOPIC, name, configs={key: value})
        got = self.admin(lambda admin: admin.alter_configs([resource]))
        demand(got[0].resources[0][0])

    def delete_records(self, topic, offset):
        """Returns the new log start."""
        where = TopicPartition(topic, 0)
        return self.admin(lambda admin: admin.delete_records({where: RecordsToDelete(offset)}))[where]

    def groups(self):
        """Group id -> state; this client does not list states."""
        listed = self.admin(lambda admin: admin.list_consumer_groups())
        return {one[0]: "" for one in listed}

    def group_members(self, group):
        """(state, member count, -1: this client does not decode assignments)."""
        got = self.admin(lambda admin: admin.describe_consumer_groups([group]))
        code, _group, state, _kind, _protocol, members = got[0].groups[0][:6]
        demand(code)
        return state.lower(), len(members), -1

    def list_offset(self, topic, spec):
        """(offset, -1) for `earliest` or `latest`."""
        start, end = self.watermarks(topic)
        return {"earliest": start, "latest": end}[spec], -1

    def cluster(self):
        """(cluster id, broker count, controller id)."""
        got = self.admin(lambda admin: admin.describe_cluster())
        return got.get("cluster_id"), len(got["brokers"]), got.get("controller_id")


class Member:
    """A group member that the caller polls; heartbeats run while it polls."""

    def __init__(self, client, group, topic, instance, session_ms):
        self.loop = asyncio.new_event_loop()

        async def start():
            consumer = aiokafka.AIOKafkaConsumer(
                topic, bootstrap_servers=client.bootstrap, group_id=group, enable_auto_commit=False,
                auto_offset_reset="earliest", session_timeout_ms=session_ms, heartbeat_interval_ms=500,
                group_instance_id=instance, metadata_max_age_ms=5_000)
            await consumer.start()
            return consumer

        self.consumer = self.loop.run_until_complete(start())

    def poll(self):
        """What has arrived, waiting at most 0.2 s."""
        return stored(self.loop.run_until_complete(self.consumer.getmany(timeout_ms=200)))

    def assignment(self):
        return {one.partition for one in self.consumer.assignment()}

    def commit(self, topic, offsets):
        where = {TopicPartition(topic, p): o for p, o in offsets.items()}
        try:
            self.loop.run_until_complete(self.consumer.commit(where))
        except aiokafka.errors.KafkaError as error:
            raise Refused(getattr(error, "errno", None) or -1, str(error)) from error

    def close(self):
        self.loop.run_until_complete(self.consumer.stop())
        self.loop.close()


def demand(code):
    if code:
        raise Refused(code)


def run(coroutine):
    """Runs on a loop of its own and turns the client's error classes into `Refused`."""
    try:
        return asyncio.run(coroutine)
    except aiokafka.errors.KafkaError as error:
        if getattr(error, "errno", None) is None:
            raise
        raise Refused(error.errno, str(error)) from error


def stored(polled):
    return [Stored(m.partition, m.offset, m.key, m.value, list(m.headers), m.timestamp, m.topic)
            for messages in polled.values() for m in messages]


async def take(consumer, count, timeout_s):
    """The next `count` records of an assigned consumer."""
    end = time.monotonic() + timeout_s
    records = []
    while len(records) < count:
        if time.monotonic() > end:
            raise AssertionError(f"got {len(records)} of {count} records within {timeout_s} s")
        records += stored(await consumer.getmany(timeout_ms=500, max_records=count - len(records)))
    return records
