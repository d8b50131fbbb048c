"""The rows of the comparison, in the order in which they run."""

import sys
import time

from brokers import Highwater, Kafka, Load

# Shape of the produce rows: as docs/benchmarks.md says.
PARTITIONS = 8
CONNECTIONS = 4
IN_FLIGHT = 5

RECORD_BYTES = (100, 1024, 10240)

# Kafka counts as warm when its last bursts differ by less than this from each other.
FLAT = 0.15
WARM_SECONDS_MAX = 90


class Bench:
    """Both brokers, and what was measured so far."""

    def __init__(self, options, folder):
        self.options = options
        self.load = Load(options.load)
        self.sides = [Highwater(options.highwater, folder / "highwater", self.load)]
        if options.kafka_peer:
            self.sides.append(Kafka(options.kafka_peer, folder / "kafka", self.load))
        self.measurements = []
        self.failures = []
        self.warm = False

    def record(self, row, side, figures):
        self.measurements.append({"row": row, "side": side.side, **figures})
        shown = {key: value for key, value in figures.items() if key in SHOWN}
        print(f"   {row} {side.side}: {shown}", file=sys.stderr, flush=True)

    def turns(self):
        """A B B A, as often as asked for."""
        for _ in range(self.options.rounds):
            yield from self.sides
            yield from reversed(self.sides)

    def stop(self):
        for side in self.sides:
            side.stop()
            side.wipe()
        self.warm = False

    def running(self):
        """Both brokers run, and Kafka's code is compiled."""
        for side in self.sides:
            if side.pid is None:
                side.wipe()
                side.start()
                self.warm = False
        if not self.warm:
            for side in self.sides:
                self.warm_up(side)
            self.warm = True

    def warm_up(self, side):
        """Bursts of each kind until the CPU cost of the last three is flat."""
        begun, costs = time.monotonic(), []
        while time.monotonic() - begun < WARM_SECONDS_MAX:
            for record_bytes in (100, 1024):
                figures = self.produce(side, "warm", record_bytes, side.no_sync, seconds=1.5)
            side.measured("fetch", "warm", "--warmup", 0, "--seconds", 1)
            side.measured("requests", "warm", "--warmup", 0, "--seconds", 1, "--batch-bytes", 0,
                          "--record-bytes", 100, "--connections", 50, "--in-flight", 1)
            costs.append(figures["broker_cpu_s_gb"])
            last = costs[-3:]
            if len(last) == 3 and max(last) < (1 + FLAT) * min(last):
                break
        print(f"   warm {side.side}: CPU s/GB {costs}", file=sys.stderr, flush=True)
        side.run("create-topics", "warm", "--delete", "--partitions", PARTITIONS)

    def produce(self, side, topic, record_bytes, configs, *more, seconds=None, warmup=0.3,
                connections=CONNECTIONS, in_flight=IN_FLIGHT):
        """One burst of 64 KiB batches, bounded in time and bytes."""
        seconds = seconds or self.options.seconds
        return side.measured(
            "produce", topic, "--partitions", PARTITIONS, *configs, "--warmup", warmup,
            "--seconds", seconds, "--bytes", self.options.burst_mb * 1_000_000,
            "--record-bytes", record_bytes, "--connections", connections,
            "--in-flight", in_flight, *more,
        )

    def fresh(self, side, topic, configs=(), partitions=PARTITIONS):
        """An empty topic: the data of the burst before must not fill the disk."""
        side.run("create-topics", topic, "--delete", "--partitions", partitions, *configs)
        # Deleted files are removed in the background.
        time.sleep(0.2)


def start(bench):
    """Cold start, from exec to the first acknowledged record, in an empty data folder; idle memory.

    Kafka's folder was formatted before. The record goes to a topic that the broker makes.
    """
    for side in bench.sides * bench.options.starts:
        side.stop()
        side.wipe()
        side.format()
        figures = side.start()
        bench.record("start", side, figures)
        time.sleep(5)
        bench.record("idle_memory", side, side.usage())
        side.stop()


def produce(bench):
    """MB/s and broker CPU of 64 KiB batches; no fsync, and fsync before the acknowledgement."""
    bench.running()
    for sync in (False, True):
        for record_bytes in RECORD_BYTES:
            row = f"produce_{'sync' if sync else 'nosync'}_{record_bytes}"
            for side in bench.turns():
                configs = side.sync if sync else side.no_sync
                bench.fresh(side, row, configs)
                acks = ("--acks", "all" if sync else "1")
                bench.record(row, side, bench.produce(side, row, record_bytes, configs, *acks))
            for side in bench.sides:
                bench.fresh(side, row, partitions=1)


def produce_sync_many(bench):
    """fsync before the acknowledgement: 64 producers with one request each, 32 partitions."""
    bench.running()
    for side in bench.turns():
        bench.fresh(side, "many_sync", side.sync, partitions=32)
        figures = bench.produce(side, "many_sync", 1024, side.sync, "--acks", "all",
                                "--batch-bytes", 16384, connections=64, in_flight=1)
        bench.record("produce_sync_many", side, figures)


def produce_compressed(bench):
    """Compressed 64 KiB batches of 1 KiB records; MB/s count the values before compression."""
    bench.running()
    for codec in ("lz4", "zstd"):
        row = f"produce_{codec}"
        for side in bench.turns():
            bench.fresh(side, row, side.no_sync)
            figures = bench.produce(side, row, 1024, side.no_sync, "--codec", codec)
            bench.record(row, side, figures)


def requests(bench):
    """One 100 B record a request, 50 connections, one request open on each."""
    bench.running()
    for side in bench.turns():
        bench.fresh(side, "requests", side.no_sync)
        figures = side.measured("requests", "requests", "--warmup", 0.5, "--seconds",
                                bench.options.seconds, "--batch-bytes", 0, "--record-bytes", 100,
                                "--connections", 50, "--in-flight", 1)
        bench.record("requests", side, figures)


def tail(bench):
    """Consumers at the tail of 8 partitions that are written at 40 MB/s."""
    bench.running()
    for consumers in (1, 10):
        row = f"tail_{consumers}"
        for side in bench.turns():
            bench.fresh(side, row, side.no_sync)
            figures = side.measured(
                "tail", row, "--warmup", 0.5, "--seconds", bench.options.seconds,
                "--consumers", consumers, "--mb-per-second", 40)
            bench.record(row, side, figures)


def fetch(bench):
    """One consumer reads 1 KiB records: again and again from the page cache, then from disk."""
    bench.running()
    for side in bench.turns():
        bench.fresh(side, "read", side.no_sync)
        bench.produce(side, "read", 1024, side.no_sync, seconds=60, warmup=0)
        figures = side.measured("fetch", "read", "--again", "--warmup", 0.3,
                                "--seconds", bench.options.seconds)
        bench.record("fetch_hot", side, figures)
        side.before_cold_read()
        figures = side.measured("fetch", "read", "--warmup", 0, "--seconds", 60)
        bench.record("fetch_cold", side, figures)


def e2e(bench):
    """End-to-end latency at 1,000 messages of 100 B a second, open loop, acks=1, no fsync."""
    bench.running()
    for side in bench.turns():
        bench.fresh(side, "e2e", side.no_sync, partitions=1)
        seconds = max(5.0, bench.options.seconds)
        figures = side.measured("e2e", "e2e", "--warmup", 2, "--seconds", seconds)
        bench.record("e2e", side, figures)


def e2e_sync(bench):
    """As e2e, with fsync before the acknowledgement and before a consumer sees the message."""
    bench.running()
    for side in bench.turns():
        bench.fresh(side, "e2e_sync", side.sync, partitions=1)
        seconds = max(5.0, bench.options.seconds)
        figures = side.measured("e2e", "e2e_sync", "--warmup", 2, "--seconds", seconds,
                                "--acks", "all", "--rate", 200)
        bench.record("e2e_sync", side, figures)


def restart(bench):
    """kill -9 under load with 1,000 partitions; the start until every partition answers."""
    for side in bench.sides:
        side.stop()
        side.wipe()
        side.start()
        figures = side.run("create-topics", "many", "--partitions", 1000, *side.no_sync)
        bench.record("create_1000", side, figures)
        mb = bench.options.restart_mb
        side.measured("produce", "many", "--connections", 4, "--in-flight", 5, "--warmup", 0,
                      "--seconds", 300, "--bytes", mb * 1_000_000, "--batch-bytes", 65536)
        bench.record("loaded_memory", side, side.usage())
        bench.record("disk", side, {"disk_bytes": side.disk_bytes(), "payload_bytes": mb * 1e6})
        under_load = bench.load.background(
            "produce", "--bootstrap", side.bootstrap, "--topic", "many", "--seconds", 30)
        time.sleep(1.0)
        side.kill()
        under_load.wait(timeout=120)
        for row, end in (("restart_crash", lambda: None), ("restart_clean", side.stop)):
            end()
            figures = side.start("--all-partitions", topic="many")
            bench.record(row, side, {**figures, "cpu_s": side.usage()["cpu_s"]})
        side.stop()
        side.wipe()
    bench.warm = False


ROWS = {row.__name__: row for row in (
    start, produce, produce_sync_many, produce_compressed, requests, tail, fetch, e2e, e2e_sync,
    restart)}

# What a run prints of each measurement while it goes on.
SHOWN = {"mb_s", "records_s", "requests_s", "broker_cpu_s_gb", "broker_cpu_s_mrec", "p50_ms",
         "p99_ms", "p999_ms", "late_p99_ms", "rss_mib", "cpu_s", "acknowledged_ms", "answered_ms",
         "disk_bytes", "partitions_s"}
