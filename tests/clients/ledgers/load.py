"""The load: producers and group members that live through the kills and write the ledger."""

import threading
import time

import confluent_kafka as ck
import confluent_kafka.admin as cka

from .book import Broken

# Topic -> partitions. The second asks for the weaker durability where the broker knows the key.
TOPICS = {"fsync": 3, "replicated": 2, "small-segments": 2}
CONFIGS = {"fsync": {}, "replicated": {"durability": "replicated"},
           "small-segments": {"segment.bytes": "1048576"}}
PARTITIONS = [(topic, p) for topic, count in TOPICS.items() for p in range(count)]
RECONNECT = {"reconnect.backoff.ms": 20, "reconnect.backoff.max.ms": 200, "log_level": 0}


class Load:
    """Starts the threads; `stop` ends them and waits for what is still in flight."""

    def __init__(self, bootstrap, book, rate):
        self.bootstrap, self.book, self.rate = bootstrap, book, rate
        self.end = threading.Event()
        self.threads = []
        self.counts = {"sent": 0, "failed": 0, "commits refused": 0}

    def create_topics(self):
        admin = cka.AdminClient(self.settings())
        for topic, partitions in TOPICS.items():
            try:
                create(admin, topic, partitions, CONFIGS[topic])
            except ck.KafkaException as error:
                if error.args[0].code() != ck.KafkaError.INVALID_CONFIG:
                    raise
                print(f"this broker has no {CONFIGS[topic]}; the topic is created without it")
                create(admin, topic, partitions, {})

    def settings(self, **extra):
        return {"bootstrap.servers": self.bootstrap, **RECONNECT,
                **{key.replace("_", "."): value for key, value in extra.items()}}

    def start(self):
        self.create_topics()
        runs = [(self.produce, ("i0", {"enable.idempotence": True}, "none")),
                (self.produce, ("i1", {"enable.idempotence": True}, "zstd")),
                (self.produce, ("i2", {"enable.idempotence": True, "linger.ms": 0}, "lz4")),
                (self.produce, ("p0", {"acks": "all"}, "gzip")),
                (self.produce, ("p1", {"acks": "1"}, "snappy")),
                (self.consume, ("members", 0)), (self.consume, ("members", 1)),
                (self.commit_alone, ("alone",))]
        for function, arguments in runs:
            thread = threading.Thread(target=self.guarded, args=(function, arguments), daemon=True)
            thread.start()
            self.threads.append(thread)

    def guarded(self, function, arguments):
        try:
            function(*arguments)
        except BaseException as error:  # noqa: B902 - reported by the check
            self.book.faults.append(f"a client of the load failed: {function.__name__}{arguments[:1]}: "
                                    f"{error!r}")

    def stop(self):
        self.end.set()
        for thread in self.threads:
            thread.join(90)
            if thread.is_alive():
                self.book.faults.append("a client of the load did not come to its end within 90 s")

    # Producers

    def produce(self, name, extra, codec):
        """Sends to every partition in turn; the delivery report writes the ledger."""
        settings = self.settings(compression_type=codec, linger_ms=5, message_timeout_ms=60_000,
                                 request_timeout_ms=5_000, queue_buffering_max_messages=20_000)
        settings |= extra
        if "acks" not in extra:
            settings["acks"] = "all"
        fatal = []
        settings["error_cb"] = lambda error: fatal.append(error.str()) if error.fatal() else None
        producer = ck.Producer(settings)

        def delivered(error, message):
            if error is None:
                self.book.record_acked(message.topic(), message.partition(), message.offset(),
                                       message.value().decode().rstrip("."))
            else:
                self.counts["failed"] += 1

        number, begun = 0, time.monotonic()
        while not self.end.is_set():
            for topic, partition in PARTITIONS:
                value = f"{name}-{number}" + "." * (number * 7 % 300)
                try:
                    producer.produce(topic, value.encode(), partition=partition, on_delivery=delivered)
                    number += 1
                except BufferError:
                    producer.poll(0.05)
            producer.poll(0)
            if fatal:
                self.book.fatal.append(f"{name}: {fatal[0]}")
                break
            ahead = begun + number / self.rate - time.monotonic()
            if ahead > 0:
                producer.poll(min(ahead, 0.1))
        self.counts["sent"] += number
        producer.flush(70)

    # Groups

    def consume(self, group, number):
        """A member that commits what it read; commits without an answer stay `unknown`."""
        consumer = ck.Consumer(self.settings(
            group_id=group, enable_auto_commit=False, auto_offset_reset="earliest",
            session_timeout_ms=10_000, heartbeat_interval_ms=1_000, client_id=f"{group}{number}"))
        consumer.subscribe(list(TOPICS))
        while not self.end.is_set():
            ends = {}
            for message in consumer.consume(2_000, 0.1):
                if message.error():
                    continue
                where = message.topic(), message.partition()
                self.book.record_consumed(*where, message.offset(), message.value().decode().rstrip("."))
                ends[where] = message.offset() + 1
            if ends:
                self.commit(consumer, group, ends)
        consumer.close()

    def commit_alone(self, group):
        """A consumer without a subscription that commits rising numbers, as fast as it is answered."""
        consumer = ck.Consumer(self.settings(group_id=group, enable_auto_commit=False))
        offset = 0
        while not self.end.is_set():
            offset += 1
            self.commit(consumer, group, {PARTITIONS[offset % len(PARTITIONS)]: offset})
            time.sleep(0.002)
        consumer.close()

    def commit(self, consumer, group, ends):
        sent = {where: self.book.commit_sent(group, *where, offset) for where, offset in ends.items()}
        where = [ck.TopicPartition(topic, p, offset) for (topic, p), offset in ends.items()]
        try:
            for answer in consumer.commit(offsets=where, asynchronous=False):
                one = sent[answer.topic, answer.partition]
                one.state = "unknown" if answer.error else "acked"
        except ck.KafkaException as error:
            # A rebalance refuses the commit; anything else leaves it open.
            if error.args[0].code() in REFUSED:
                self.counts["commits refused"] += 1
                for one in sent.values():
                    one.state = "refused"
            time.sleep(0.02)


def when_ready(ask, timeout_s=60):
    """Asks again while the broker says that it is not ready yet."""
    end = time.monotonic() + timeout_s
    while True:
        try:
            return ask()
        except ck.KafkaException as error:
            if error.args[0].code() not in NOT_READY or time.monotonic() > end:
                raise Broken(f"the broker still answers {error.args[0]} after its start") from error
            time.sleep(0.1)


NOT_READY = {ck.KafkaError.NOT_COORDINATOR, ck.KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
             ck.KafkaError.COORDINATOR_NOT_AVAILABLE, ck.KafkaError.LEADER_NOT_AVAILABLE,
             ck.KafkaError.NOT_LEADER_FOR_PARTITION, ck.KafkaError._TRANSPORT, ck.KafkaError._TIMED_OUT,
             ck.KafkaError._WAIT_COORD, ck.KafkaError._ALL_BROKERS_DOWN}
REFUSED = {ck.KafkaError.ILLEGAL_GENERATION, ck.KafkaError.UNKNOWN_MEMBER_ID,
           ck.KafkaError.REBALANCE_IN_PROGRESS}


def create(admin, topic, partitions, config):
    new = cka.NewTopic(topic, num_partitions=partitions, replication_factor=1, config=config)
    admin.create_topics([new])[topic].result(timeout=30)


def read_all(bootstrap, timeout_s=120):
    """The log of every partition up to its present end: (topic, partition) -> [(offset, value)]."""
    consumer = ck.Consumer({"bootstrap.servers": bootstrap, "group.id": "reader", **RECONNECT,
                            "enable.auto.commit": False, "check.crcs": True, "auto.offset.reset": "error"})
    try:
        begun = time.monotonic()
        ends, log = {}, {where: [] for where in PARTITIONS}
        for topic, partition in PARTITIONS:
            where = ck.TopicPartition(topic, partition)
            low_high = when_ready(lambda where=where: consumer.get_watermark_offsets(where, timeout=10))
            ends[topic, partition] = low_high[1]
        consumer.assign([ck.TopicPartition(topic, p, 0) for topic, p in PARTITIONS])
        left = {where for where, end in ends.items() if end > 0}
        while left:
            if time.monotonic() - begun > timeout_s:
                raise TimeoutError(f"{sorted(left)} not read to the end within {timeout_s} s")
            for message in consumer.consume(10_000, 0.5):
                if message.error():
                    raise ck.KafkaException(message.error())
                where = message.topic(), message.partition()
                if message.offset() < ends[where]:
                    log[where].append((message.offset(), message.value().decode().rstrip(".")))
                if message.offset() >= ends[where] - 1:
                    left.discard(where)
        return log
    finally:
        consumer.close()


def fetch_commits(bootstrap, groups=("members", "alone")):
    """(group, topic, partition) -> committed offset, -1 where there is none."""
    fetched = {}
    for group in groups:
        consumer = ck.Consumer({"bootstrap.servers": bootstrap, "group.id": group, **RECONNECT})
        try:
            for one in when_ready(lambda: consumer.committed(
                    [ck.TopicPartition(t, p) for t, p in PARTITIONS], timeout=10)):
                fetched[group, one.topic, one.partition] = max(one.offset, -1)
        finally:
            consumer.close()
    return fetched
