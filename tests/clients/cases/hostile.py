"""Hostile input: every frame ends in a typed error or a closed connection, in bounded memory.

Apache Kafka 4.3.1 fails some of these on purpose of its own (bombs, offset deltas, half frames of a claimed
size, absurd metadata): they say where this broker must be stricter.
"""

import gzip
import random
import resource
import struct
import time

import cramjam

from . import wire
from .model import CASES, Case, equal, fresh
from .wire import Closed, Connection, Memory

INVALID_RECORD, CORRUPT, TOO_LARGE = 87, 2, 10
HUGE = 2**31 - 1


def claim(timeout_s=60):
    def register(function):
        CASES.append(Case("hostile", function.__name__, function, timeout_s))
        return function

    return register


def serves(bootstrap, within_s=5):
    """A new connection is answered in time."""
    begun = time.monotonic()
    with Connection(bootstrap, within_s) as connection:
        answer = connection.ask(wire.API_VERSIONS, 0)
    equal(struct.unpack_from(">h", answer)[0], 0, "error code of ApiVersions")
    took = time.monotonic() - begun
    if took > within_s:
        raise AssertionError(f"ApiVersions took {took:.1f} s")


def topic_of(bootstrap, prefix, **configs):
    from .confluent import Client

    topic = fresh(prefix)
    Client(bootstrap).create_topic(topic, configs={k.replace("_", "."): v for k, v in configs.items()})
    return topic


def survives(bootstrap, frame, memory_mib=32):
    """Sends one frame; whatever the broker does with it, it stays small and goes on serving."""
    memory = Memory(bootstrap, memory_mib)
    with Connection(bootstrap) as connection:
        connection.socket.settimeout(1)
        try:
            connection.send(frame)
            connection.receive()
        except (Closed, TimeoutError):
            pass
    memory.check()
    serves(bootstrap)


@claim()
def a_metadata_body_of_four_bytes_asks_for_two_billion_topics(bootstrap):
    for version in (0, 1, 4, 8):
        survives(bootstrap, wire.header(wire.METADATA, version) + struct.pack(">i", HUGE))
    # The flexible version: an unsigned varint of 2^32 - 1, after the header's empty tags.
    survives(bootstrap, wire.header(wire.METADATA, 12) + b"\0" + b"\xff\xff\xff\xff\x0f")


@claim()
def a_batch_with_a_valid_crc_claims_two_billion_records(bootstrap):
    topic = topic_of(bootstrap, "claims")
    memory = Memory(bootstrap, 32)
    for count in (HUGE, HUGE - 1, 1_000_000, 2):
        code = wire.produce_error(bootstrap, topic, wire.batch(count=count))
        equal(code in (INVALID_RECORD, CORRUPT), True, f"error {code} for {count} records is 87 or 2")
    memory.check()
    equal(wire.produce_error(bootstrap, topic, wire.batch()), 0, "a good batch afterwards")


@claim()
def short_frames_and_wrong_lengths_close_or_fail(bootstrap):
    for size in (0, -1, -(2**31), 100 * 1024 * 1024 + 1, HUGE):
        with Connection(bootstrap) as connection:
            connection.send_raw(struct.pack(">i", size))
            equal(connection.closes(), True, f"a frame of size {size} closes the connection")
    for length in range(1, 14):
        survives(bootstrap, (wire.header(wire.METADATA, 1) + b"\xff" * 20)[:length])
    survives(bootstrap, struct.pack(">hhih", wire.METADATA, 1, 1, 32767) + b"short")
    survives(bootstrap, struct.pack(">hhih", wire.METADATA, 1, 1, -2) + b"short")


@claim(120)
def every_prefix_and_bit_flip_of_a_request_is_survived(bootstrap):
    topic = topic_of(bootstrap, "prefix")
    requests = [wire.header(wire.PRODUCE, 7) + wire.produce(topic, wire.batch()),
                wire.header(wire.FETCH, 4) + wire.fetch(topic),
                wire.header(wire.METADATA, 4) + wire.array([wire.string(topic)]) + b"\0",
                wire.header(wire.CREATE_TOPICS, 2) + wire.array([
                    wire.string(topic) + struct.pack(">ih", 1, 1) + wire.array([]) + wire.array(
                        [wire.string("retention.ms") + wire.string("1")])]) + struct.pack(">ib", 100, 0),
                wire.header(wire.JOIN, 0) + wire.string("g") + struct.pack(">i", 10_000) + wire.string("")
                + wire.string("consumer") + wire.array([wire.string("range") + wire.data(b"x")])]
    memory = Memory(bootstrap, 64)
    chance = random.Random(11)
    for request in requests:
        frames = [request[:cut] for cut in range(len(request))]
        for _ in range(150):
            at = chance.randrange(8, len(request))
            frames.append(request[:at] + bytes([request[at] ^ (1 << chance.randrange(8))]) + request[at + 1:])
        for frame in frames:
            with Connection(bootstrap) as connection:
                connection.send(frame)
    serves(bootstrap)
    memory.check()


@claim(90)
def random_frames_are_survived(bootstrap):
    chance = random.Random(5)
    memory = Memory(bootstrap, 64)
    for _ in range(1_500):
        body = chance.randbytes(chance.choice((4, 20, 60, 300)))
        with Connection(bootstrap) as connection:
            connection.send(struct.pack(">hhi", chance.randrange(-1, 93), chance.randrange(0, 18), 1)
                            + wire.string("x") + body)
    serves(bootstrap)
    memory.check()


@claim(120)
def compression_bombs_are_refused_in_bounded_memory(bootstrap):
    topic = topic_of(bootstrap, "bomb", max_message_bytes="2000000")
    # One record whose value is 700 MB of zeros, then thousands of small ones that inflate as far.
    size = 700_000_000
    body = b"\0" + wire.varint(0) + wire.varint(0) + wire.varint(-1) + wire.varint(size)
    front = wire.varint(len(body) + size + 1) + body
    bombs = {"gzip": (1, squeeze_gzip(front, size)), "zstd": (4, squeeze_zstd(front, size)),
             "lz4": (3, squeeze_lz4(front, min(size, 400_000_000)))}
    for name, (codec, raw) in bombs.items():
        memory = Memory(bootstrap, 96)
        code = wire.produce_error(bootstrap, topic, wire.batch(count=1, attributes=codec, raw=raw))
        equal(code in (TOO_LARGE, INVALID_RECORD, CORRUPT), True, f"error {code} for the {name} bomb")
        memory.check()
        serves(bootstrap)
    equal(wire.produce_error(bootstrap, topic, wire.batch()), 0, "a good batch afterwards")


def squeeze_gzip(front, size):
    import zlib

    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    out = packer.compress(front)
    for _ in range(size // 1_000_000):
        out += packer.compress(bytes(1_000_000))
    return out + packer.compress(b"\0") + packer.flush()


def squeeze_zstd(front, size):
    import zstandard

    packer = zstandard.ZstdCompressor(level=3).compressobj()
    out = packer.compress(front)
    for _ in range(size // 1_000_000):
        out += packer.compress(bytes(1_000_000))
    return out + packer.compress(b"\0") + packer.flush()


def squeeze_lz4(front, size):
    import lz4.frame

    packer = lz4.frame.LZ4FrameCompressor(block_size=lz4.frame.BLOCKSIZE_MAX4MB, block_linked=False)
    out = packer.begin() + packer.compress(front)
    for _ in range(size // 4_000_000):
        out += packer.compress(bytes(4_000_000))
    return out + packer.flush()


@claim()
def compressed_garbage_and_false_lengths_are_refused(bootstrap):
    topic = topic_of(bootstrap, "garbage")
    chance = random.Random(3)
    good = wire.record()
    wrong = {"gzip garbage": (1, chance.randbytes(200)), "snappy garbage": (2, chance.randbytes(200)),
             "lz4 garbage": (3, chance.randbytes(200)), "zstd garbage": (4, chance.randbytes(200)),
             "an empty gzip": (1, b""), "a cut gzip": (1, gzip.compress(good * 50)[:-12]),
             "codec 5": (5, good), "codec 6": (6, good), "codec 7": (7, good),
             "snappy that claims 4 GB": (2, b"\xff\xff\xff\xff\x0f" + b"\0" * 20),
             "zstd that claims 2^63 bytes": (4, b"\x28\xb5\x2f\xfd\xe0" + struct.pack("<Q", 2**63 - 1) + b"\1\0\0"),
             "raw snappy of nothing": (2, bytes(cramjam.snappy.compress_raw(b"")))}
    memory = Memory(bootstrap, 32)
    for name, (codec, raw) in wrong.items():
        code = wire.produce_error(bootstrap, topic, wire.batch(count=1, attributes=codec, raw=raw))
        equal(code in (INVALID_RECORD, CORRUPT, 76), True, f"{name}: error {code} is 87, 2 or 76")
    memory.check()


@claim()
def malformed_batches_get_the_error_that_says_what_is_wrong(bootstrap):
    topic = topic_of(bootstrap, "malformed")
    good = wire.batch()
    two = [wire.record(0), wire.record(1)]
    cases = [("base offset 7", wire.batch(base_offset=7), {87}),
             ("a wrong CRC", wire.batch(crc=1), {2}),
             ("magic 0", wire.batch(magic=0), {87}), ("magic 1", wire.batch(magic=1), {87}),
             ("magic 3", wire.batch(magic=3), {2}),
             ("a control batch", wire.batch(attributes=0x20), {87}),
             ("no records", wire.batch(records=[], count=0), {87}),
             ("a last delta that is not the count", wire.batch(two, last_delta=5), {87}),
             ("equal offset deltas", wire.batch([wire.record(0), wire.record(0)]), {87}),
             ("descending offset deltas", wire.batch([wire.record(1), wire.record(0)]), {87}),
             ("an offset delta of 2^31-1", wire.batch([wire.record(HUGE)]), {87}),
             ("half a batch", good[:len(good) // 2], {87, 2}), ("three bytes", b"abc", {87, 2}),
             ("two batches", good + good, {87}), ("batch length 2^31-1", wire.batch(length=HUGE), {87, 2}),
             ("batch length 0", wire.batch(length=0), {87, 2}),
             ("batch length below the header", wire.batch(length=20), {87, 2}),
             ("null records", None, {87, 2}), ("empty records", b"", {87, 2}),
             ("a producer without a sequence", wire.batch(producer=(7, 0, -1)), {87}),
             ("a varint of ten bytes", wire.batch(raw=b"\xff" * 9 + b"\1", count=1), {87, 2}),
             ("a record longer than the batch", wire.batch(raw=wire.varint(5000) + b"\0" * 20, count=1), {87, 2}),
             ("a negative record length", wire.batch(raw=wire.varint(-5) + b"\0" * 20, count=1), {87, 2}),
             ("acks 5", good, {21})]
    for name, records, wanted in cases:
        code = wire.produce_error(bootstrap, topic, records, acks=5 if name == "acks 5" else -1)
        equal(code in wanted, True, f"{name}: error {code} is one of {sorted(wanted)}")
    equal(wire.produce_error(bootstrap, topic, good), 0, "a good batch afterwards")


@claim()
def what_kafka_accepts_is_accepted(bootstrap):
    topic = topic_of(bootstrap, "accepted")
    cases = [("a negative producer id", wire.batch(producer=(-5, 3, 9))),
             ("a header key that is not UTF-8", wire.batch([wire.record(headers=[(b"\xff\xfe", b"x")])])),
             ("null key and value", wire.batch([wire.record(key=None, value=None)])),
             ("unused attribute bits", wire.batch(attributes=0x4000))]
    for name, records in cases:
        equal(wire.produce_error(bootstrap, topic, records), 0, name)


@claim()
def acks_0_with_an_error_closes_the_connection(bootstrap):
    topic = topic_of(bootstrap, "acks0")
    with Connection(bootstrap) as connection:
        connection.send(wire.header(wire.PRODUCE, 7) + wire.produce(topic, wire.batch(crc=1), acks=0))
        equal(connection.closes(), True, "a corrupt batch with acks=0 closes the connection")


@claim()
def unknown_versions_close_and_api_versions_answers_35(bootstrap):
    for key, version in ((wire.METADATA, 99), (wire.PRODUCE, 2), (wire.FETCH, 3), (999, 0), (-1, 0), (4, 0)):
        with Connection(bootstrap) as connection:
            connection.send(wire.header(key, version) + wire.string("x"))
            equal(connection.closes(), True, f"key {key} version {version} closes the connection")
    with Connection(bootstrap) as connection:
        # The v2 header: tagged fields after the client id; then the compact software names.
        answer = connection.ask(wire.API_VERSIONS, 99, b"\0" + b"\2x\2y\0")
        code, count, key, low, high = struct.unpack_from(">hihhh", answer)
        equal((code, count, key, low), (35, 1, 18, 0), "error, entries, key and lowest version")
        equal(high, 4, "highest version")
        answer = connection.ask(wire.API_VERSIONS, 3, b"\0" + b"\2x\2y\0")
        equal(struct.unpack_from(">h", answer)[0], 0, "error of version 3 on the same connection")


@claim()
def absurd_topic_requests_are_refused_quickly(bootstrap):
    memory = Memory(bootstrap, 64)

    def create(name, partitions, replication=1):
        body = wire.array([wire.string(name) + struct.pack(">ih", partitions, replication) + wire.array([])
                           + wire.array([])]) + struct.pack(">ib", 20_000, 0)
        with Connection(bootstrap, 10) as connection:
            answer = connection.ask(wire.CREATE_TOPICS, 2, body)
        return struct.unpack_from(">h", answer, 4 + 4 + 2 + len(name))[0]

    for partitions in (HUGE, 10_000_000, 1_000_000):
        code = create(fresh("absurd"), partitions)
        equal(code in (37, 44, 42), True, f"error {code} for {partitions} partitions is 37, 44 or 42")
    equal(create("x" * 250, 1), 17, "a name of 250 characters")
    equal(create("..", 1), 17, "the name ..")
    serves(bootstrap)
    memory.check()


@claim()
def metadata_for_300000_unknown_topics_creates_nothing(bootstrap):
    names = [wire.string(f"flood-{i}") for i in range(300_000)]
    memory = Memory(bootstrap, 256)
    with Connection(bootstrap, 30) as connection:
        try:
            connection.ask(wire.METADATA, 4, wire.array(names) + b"\1")
        except Closed:
            pass
    serves(bootstrap)
    memory.check()
    from .confluent import Client

    made = sum(name.startswith("flood-") for name in Client(bootstrap).topics())
    equal(made <= 1_000, True, f"{made} topics were created")


@claim()
def pipelined_requests_are_answered_in_order(bootstrap):
    with Connection(bootstrap) as connection:
        for correlation in range(1_000):
            connection.send(wire.header(wire.API_VERSIONS, 0, correlation))
        for correlation in range(1_000):
            size, got = struct.unpack(">ii", connection.exactly(8))
            equal(got, correlation, "correlation id")
            connection.exactly(size - 4)


@claim()
def slow_senders_hold_nobody_up(bootstrap):
    frame = wire.header(wire.API_VERSIONS, 0)
    raw = struct.pack(">i", len(frame)) + frame
    slow = [Connection(bootstrap) for _ in range(50)]
    try:
        for at in range(len(raw)):
            for connection in slow:
                connection.send_raw(raw[at:at + 1])
            if at % 5 == 0:
                serves(bootstrap, 2)
        for connection in slow:
            connection.receive()
    finally:
        for connection in slow:
            connection.socket.close()


@claim(90)
def half_frames_of_a_claimed_100_mib_on_500_connections_cost_what_they_sent(bootstrap):
    memory = Memory(bootstrap, 64)
    half = []
    try:
        for _ in range(500):
            connection = Connection(bootstrap)
            half.append(connection)
            connection.send_raw(struct.pack(">i", 100 * 1024 * 1024 - 1) + wire.header(wire.PRODUCE, 7)
                                + b"\0" * 10_000)
        serves(bootstrap)
        memory.check()
    finally:
        for connection in half:
            connection.socket.close()
    serves(bootstrap)


@claim(90)
def readers_that_never_read_cost_bounded_memory(bootstrap):
    from .confluent import Client
    from .model import Record

    topic = topic_of(bootstrap, "unread", max_message_bytes="4000000")
    client = Client(bootstrap)
    client.produce(topic, [Record(bytes(900_000)) for _ in range(12)], large=True)
    memory = Memory(bootstrap, 256)
    readers = []
    try:
        request = wire.header(wire.FETCH, 4) + wire.fetch(topic, 0)
        raw = (struct.pack(">i", len(request)) + request) * 200
        for _ in range(10):
            connection = Connection(bootstrap)
            connection.socket.settimeout(0.2)
            readers.append(connection)
            try:
                connection.send_raw(raw)
            except (TimeoutError, Closed):
                pass
        for _ in range(10):
            serves(bootstrap)
            time.sleep(0.3)
        memory.check()
    finally:
        for connection in readers:
            connection.socket.close()


@claim(120)
def ten_thousand_idle_connections_are_cheap(bootstrap):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 11_000), hard))
    memory = Memory(bootstrap, 160)
    idle = []
    try:
        for _ in range(10_000):
            idle.append(Connection(bootstrap))
        serves(bootstrap)
        grown = memory.check()
        print(f"     10,000 idle connections: {grown / 10_000:.1f} KiB each", flush=True)
        with idle[5_000] as one:
            equal(struct.unpack_from(">h", one.ask(wire.API_VERSIONS, 0))[0], 0, "an idle one is answered")
    finally:
        for connection in idle:
            connection.socket.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    serves(bootstrap)
