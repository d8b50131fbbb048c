"""Kafka's bytes by hand, for frames that no client would send, and a look at the broker's memory."""

import os
import socket
import struct

from kafka.record.util import calc_crc32c

PRODUCE, FETCH, LIST_OFFSETS, METADATA, JOIN, API_VERSIONS, CREATE_TOPICS = 0, 1, 2, 3, 11, 18, 19


def string(text):
    """A nullable string with a 16-bit length."""
    if text is None:
        return struct.pack(">h", -1)
    raw = text.encode()
    return struct.pack(">h", len(raw)) + raw


def data(raw):
    """Nullable bytes with a 32-bit length."""
    return struct.pack(">i", -1) if raw is None else struct.pack(">i", len(raw)) + raw


def array(items):
    return struct.pack(">i", len(items)) + b"".join(items)


def varint(value):
    """A zigzag variable-length integer."""
    value = (value << 1) ^ (value >> 63)
    out = bytearray()
    while True:
        if value < 0x80:
            out.append(value)
            return bytes(out)
        out.append((value & 0x7F) | 0x80)
        value >>= 7


def header(key, version, correlation=1, client="hostile"):
    """Request header version 1."""
    return struct.pack(">hhi", key, version, correlation) + string(client)


def record(offset_delta=0, key=None, value=b"v", headers=(), timestamp_delta=0):
    """One record of a v2 batch."""
    body = b"\0" + varint(timestamp_delta) + varint(offset_delta)
    for part in (key, value):
        body += varint(-1) if part is None else varint(len(part)) + part
    body += varint(len(headers))
    for name, content in headers:
        body += varint(len(name)) + name + (varint(-1) if content is None else varint(len(content)) + content)
    return varint(len(body)) + body


def batch(records=None, count=None, base_offset=0, magic=2, attributes=0, last_delta=None, crc=None,
          length=None, producer=(-1, -1, -1), timestamp=1_700_000_000_000, raw=None):
    """A v2 batch; every field can be made wrong. `raw` replaces the (compressed) records."""
    records = [record()] if records is None else records
    count = len(records) if count is None else count
    last_delta = count - 1 if last_delta is None else last_delta
    body = b"".join(records) if raw is None else raw
    tail = struct.pack(">hiqqqhii", attributes, last_delta, timestamp, timestamp, *producer, count) + body
    checksum = calc_crc32c(tail) if crc is None else crc
    inner = struct.pack(">ibI", 0, magic, checksum) + tail
    size = len(inner) if length is None else length
    return struct.pack(">qi", base_offset, size) + inner


def produce(topic, records, partition=0, acks=-1, version=7, timeout=5000):
    """The body of a Produce request."""
    part = struct.pack(">i", partition) + data(records)
    return string(None) + struct.pack(">hi", acks, timeout) + array([string(topic) + array([part])])


def fetch(topic, offset=0, max_bytes=50_000_000, wait=0, version=4):
    """The body of a Fetch request of version 4."""
    part = struct.pack(">iqi", 0, offset, max_bytes)
    return struct.pack(">iiiib", -1, wait, 1, max_bytes, 0) + array([string(topic) + array([part])])


class Closed(Exception):
    """The broker closed the connection instead of answering."""


class Connection:
    """A socket to the broker that speaks in frames."""

    def __init__(self, bootstrap, timeout_s=10):
        host, port = bootstrap.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), timeout_s)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send_raw(self, raw):
        try:
            self.socket.sendall(raw)
        except (ConnectionResetError, BrokenPipeError) as error:
            raise Closed from error

    def send(self, frame):
        self.send_raw(struct.pack(">i", len(frame)) + frame)

    def exactly(self, count):
        got = b""
        while len(got) < count:
            try:
                more = self.socket.recv(min(1 << 20, count - len(got)))
            except ConnectionResetError as error:
                raise Closed from error
            if not more:
                raise Closed
            got += more
        return got

    def receive(self):
        """The body of the next response, after its correlation id."""
        size, = struct.unpack(">i", self.exactly(4))
        return self.exactly(size)[4:]

    def ask(self, key, version, body=b""):
        self.send(header(key, version) + body)
        return self.receive()

    def closes(self, within_s=10):
        """True when the broker closes within the time."""
        self.socket.settimeout(within_s)
        try:
            while self.socket.recv(65536):
                pass
            return True
        except ConnectionResetError:
            return True
        except TimeoutError:
            return False


def produce_error(bootstrap, topic, records, acks=-1, version=7):
    """The error code of a produce of `records`."""
    with Connection(bootstrap, 20) as connection:
        answer = connection.ask(PRODUCE, version, produce(topic, records, acks=acks))
    at = 4 + 2 + len(topic) + 4 + 4
    return struct.unpack_from(">h", answer, at)[0]


def process_of(bootstrap):
    """The id of the local process that listens on the bootstrap port."""
    port = int(bootstrap.rsplit(":", 1)[1])
    wanted = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with open(table, encoding="ascii") as lines:
            for line in list(lines)[1:]:
                fields = line.split()
                if fields[3] == "0A" and int(fields[1].rsplit(":", 1)[1], 16) == port:
                    wanted.add(f"socket:[{fields[9]}]")
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            for descriptor in os.scandir(f"/proc/{pid}/fd"):
                if os.readlink(descriptor.path) in wanted:
                    return int(pid)
        except OSError:
            continue
    raise AssertionError(f"no local process listens on port {port}")


class Memory:
    """Checks that the broker's memory grows by no more than a bound over a block."""

    def __init__(self, bootstrap, mib):
        self.pid, self.bound = process_of(bootstrap), mib * 1024
        # Peak since the reset, so that a short allocation is seen too.
        with open(f"/proc/{self.pid}/clear_refs", "w", encoding="ascii") as peak:
            peak.write("5")
        self.before = self.read("VmRSS")

    def read(self, field):
        with open(f"/proc/{self.pid}/status", encoding="ascii") as lines:
            for line in lines:
                if line.startswith(field + ":"):
                    return int(line.split()[1])
        raise AssertionError(f"no {field} in /proc/{self.pid}/status")

    def check(self):
        grown = self.read("VmHWM") - self.before
        if grown > self.bound:
            raise AssertionError(f"the broker grew by {grown // 1024} MiB, at most {self.bound // 1024} allowed")
        return grown
