"""confluent-kafka (librdkafka) behind the interface that the shared claims use."""

import confluent_kafka as ck
import confluent_kafka.admin as cka

from .model import Refused, Stored

NAME = "confluent-kafka"
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
# What this client can do beyond the common interface.
FEATURES = {"idempotence", "static", "list_offsets_max_timestamp", "delete_groups", "describe_groups",
            "incremental_alter", "null_header", "cluster_id", "binary_header"}


def wanted(error):
    """Turns a librdkafka error into `Refused`."""
    inner = error.args[0] if isinstance(error, ck.KafkaException) else error
    return Refused(inner.code(), inner.str())


class Client:
    """One bootstrap address; every method opens what it needs and closes it."""

    def __init__(self, bootstrap):
        self.bootstrap = bootstrap
        self.opened = None

    def base(self, **extra):
        settings = {k.replace("_", "."): v for k, v in extra.items()}
        return {"bootstrap.servers": self.bootstrap, "log_level": 0, **settings}

    # Producing

    def produce(self, topic, records, codec="none", acks="all", idempotent=False, linger_ms=20,
                large=False):
        """Sends all and waits; returns (partition, offset) in the order of `records`."""
        settings = self.base(acks=acks, linger_ms=linger_ms, compression_type=codec,
                             message_timeout_ms=30_000)
        if idempotent:
            settings["enable.idempotence"] = True
        if large:
            settings |= {"message.max.bytes": 20_000_000, "batch.size": 4_000_000}
        producer = ck.Producer(settings)
        answers = [None] * len(records)

        def at(index):
            def delivered(error, message):
                answers[index] = error or (message.partition(), message.offset())

            return delivered

        for index, record in enumerate(records):
            arguments = {"key": record.key, "value": record.value, "partition": record.partition,
                         "headers": record.headers or None, "on_delivery": at(index)}
            if record.timestamp is not None:
                arguments["timestamp"] = record.timestamp
            while True:
                try:
                    producer.produce(topic, **arguments)
                    break
                except BufferError:
                    producer.poll(0.1)
        left = producer.flush(45)
        if left:
            raise AssertionError(f"{left} records still unanswered after 45 s")
        for answer in answers:
            if not isinstance(answer, tuple):
                raise wanted(answer)
        return answers

    # Consuming

    def read(self, topic, count, partitions=(0,), start=0, timeout_s=30, isolation="read_uncommitted"):
        """The first `count` records from offset `start` of each partition."""
        consumer = ck.Consumer(self.base(group_id="unused", enable_auto_commit=False,
                                         auto_offset_reset="earliest", isolation_level=isolation))
        try:
            consumer.assign([ck.TopicPartition(topic, p, start) for p in partitions])
            return take(consumer, count, timeout_s)
        finally:
            consumer.close()

    def read_from_time(self, topic, timestamp, count):
        """Asks for the offset of `timestamp`, seeks there and reads `count` records."""
        consumer = ck.Consumer(self.base(group_id="unused", enable_auto_commit=False))
        try:
            found = consumer.offsets_for_times([ck.TopicPartition(topic, 0, timestamp)], timeout=10)[0]
            consumer.assign([ck.TopicPartition(topic, 0, 0)])
            take(consumer, 1, 10)
            consumer.seek(ck.TopicPartition(topic, 0, found.offset))
            return found.offset, take(consumer, count, 10)
        finally:
            consumer.close()

    def offset_for_time(self, topic, timestamp):
        """The offset of the first record at or after `timestamp`, or -1."""
        consumer = ck.Consumer(self.base(group_id="unused"))
        try:
            found = consumer.offsets_for_times([ck.TopicPartition(topic, 0, timestamp)], timeout=10)[0]
            return found.offset if found.offset >= 0 else -1
        finally:
            consumer.close()

    def watermarks(self, topic, partition=0):
        """(log start, high watermark)."""
        consumer = ck.Consumer(self.base(group_id="unused"))
        try:
            return consumer.get_watermark_offsets(ck.TopicPartition(topic, partition), timeout=10)
        finally:
            consumer.close()

    def member(self, group, topic, instance=None, session_ms=10_000):
        return Member(self, group, topic, instance, session_ms)

    def committed(self, group, topic, partitions):
        """The committed offset of each partition, -1 where there is none."""
        consumer = ck.Consumer(self.base(group_id=group))
        try:
            got = consumer.committed([ck.TopicPartition(topic, p) for p in partitions], timeout=15)
            return {one.partition: max(one.offset, -1) for one in got}
        finally:
            consumer.close()

    def commit_alone(self, group, topic, offsets):
        """Commits without joining the group (a simple consumer)."""
        consumer = ck.Consumer(self.base(group_id=group, enable_auto_commit=False))
        try:
            consumer.commit(offsets=[ck.TopicPartition(topic, p, o) for p, o in offsets.items()],
                            asynchronous=False)
        finally:
            consumer.close()

    # Admin

    def admin(self):
        """One admin client for the case: its futures die with it."""
        self.opened = self.opened or cka.AdminClient(self.base())
        return self.opened

    def create_topic(self, name, partitions=1, configs=None):
        new = cka.NewTopic(name, num_partitions=partitions, replication_factor=1, config=configs or {})
        result(self.admin().create_topics([new], operation_timeout=15), name)

    def delete_topic(self, name):
        result(self.admin().delete_topics([name], operation_timeout=15), name)

    def create_partitions(self, name, total):
        result(self.admin().create_partitions([cka.NewPartitions(name, total)]), name)

    def topics(self):
        """Topic name -> partition count."""
        listed = self.admin().list_topics(timeout=10).topics
        return {name: len(topic.partitions) for name, topic in listed.items()}

    def topic_configs(self, name):
        """Every config of the topic, as strings."""
        resource = cka.ConfigResource(cka.ConfigResource.Type.TOPIC, name)
        got = result(self.admin().describe_configs([resource]), resource)
        return {key: entry.value for key, entry in got.items()}

    def alter_topic(self, name, key, value):
        resource = cka.ConfigResource(cka.ConfigResource.Type.TOPIC, name)
        resource.add_incremental_config(
            cka.ConfigEntry(key, value, incremental_operation=cka.AlterConfigOpType.SET))
        result(self.admin().incremental_alter_configs([resource]), resource)

    def delete_records(self, topic, offset):
        """Returns the new log start."""
        where = ck.TopicPartition(topic, 0, offset)
        return result(self.admin().delete_records([where]), where).low_watermark

    def groups(self):
        """Group id -> state, lower case."""
        listed = self.admin().list_consumer_groups(request_timeout=10).result()
        return {one.group_id: one.state.name.lower() for one in listed.valid}

    def group_members(self, group):
        """(state, member count, partition count assigned in total)."""
        got = result(self.admin().describe_consumer_groups([group]), group)
        assigned = sum(len(member.assignment.topic_partitions) for member in got.members)
        return got.state.name.lower(), len(got.members), assigned

    def delete_group(self, group):
        result(self.admin().delete_consumer_groups([group]), group)

    def list_offset(self, topic, spec):
        """(offset, timestamp) for `earliest`, `latest` or `max_timestamp`."""
        kind = {"earliest": cka.OffsetSpec.earliest(), "latest": cka.OffsetSpec.latest(),
                "max_timestamp": cka.OffsetSpec.max_timestamp()}[spec]
        where = ck.TopicPartition(topic, 0)
        got = result(self.admin().list_offsets({where: kind}), where)
        return got.offset, got.timestamp

    def cluster(self):
        """(cluster id, broker count, controller id)."""
        got = self.admin().describe_cluster().result()
        return got.cluster_id, len(got.nodes), got.controller.id


class Member:
    """A group member that the caller polls."""

    def __init__(self, client, group, topic, instance, session_ms):
        settings = client.base(group_id=group, enable_auto_commit=False, auto_offset_reset="earliest",
                               session_timeout_ms=session_ms, heartbeat_interval_ms=1_000)
        if instance:
            settings["group.instance.id"] = instance
        self.consumer = ck.Consumer(settings)
        self.consumer.subscribe([topic])

    def poll(self):
        """What has arrived, waiting at most 0.2 s."""
        got = self.consumer.consume(500, 0.2)
        return [stored(message) for message in got if checked(message)]

    def assignment(self):
        return {one.partition for one in self.consumer.assignment()}

    def commit(self, topic, offsets):
        self.consumer.commit(offsets=[ck.TopicPartition(topic, p, o) for p, o in offsets.items()],
                             asynchronous=False)

    def close(self):
        self.consumer.close()


def checked(message):
    """False for events that are not records; raises on errors."""
    error = message.error()
    if error is None:
        return True
    if error.code() == ck.KafkaError._PARTITION_EOF:
        return False
    raise wanted(error)


def stored(message):
    return Stored(message.partition(), message.offset(), message.key(), message.value(),
                  message.headers() or [], message.timestamp()[1], message.topic())


def take(consumer, count, timeout_s):
    """The next `count` records of an assigned consumer."""
    import time

    end = time.monotonic() + timeout_s
    records = []
    while len(records) < count:
        if time.monotonic() > end:
            raise AssertionError(f"got {len(records)} of {count} records within {timeout_s} s")
        for message in consumer.consume(min(1000, count - len(records)), 0.5):
            if checked(message):
                records.append(stored(message))
    return records


def result(futures, key):
    """The answer for one key of an admin call, or `Refused`."""
    try:
        return futures[key].result(timeout=30)
    except ck.KafkaException as error:
        raise wanted(error) from error
