"""The measurements as a table: medians of each side, their ratio, and where Highwater loses."""

import statistics

# row, figure, what it says, unit, whether more is better
LINES = [
    ("start", "acknowledged_ms", "cold start to the first acknowledged record", "ms", False),
    ("idle_memory", "rss_mib", "idle memory (VmRSS)", "MiB", False),
    ("idle_memory", "cpu_s", "CPU of the start and 5 s of idling", "s", False),
    *[
        (f"produce_{sync}_{size}", figure, f"produce {name}, {words}: {label}", unit, more)
        for sync, words in (("nosync", "no fsync"), ("sync", "fsync before ack"))
        for size, name in ((100, "100 B"), (1024, "1 KiB"), (10240, "10 KiB"))
        for figure, label, unit, more in (
            ("mb_s", "rate", "MB/s", True),
            ("broker_cpu_s_gb", "broker CPU", "s/GB", False),
            ("p99_ms", "ack p99", "ms", False),
        )
    ],
    ("produce_sync_many", "mb_s", "produce, fsync, 64 producers, 32 partitions: rate", "MB/s", True),
    ("produce_sync_many", "broker_cpu_s_gb", "the same: broker CPU", "s/GB", False),
    ("produce_sync_many", "p99_ms", "the same: ack p99", "ms", False),
    ("produce_lz4", "mb_s", "produce 1 KiB, lz4: rate before compression", "MB/s", True),
    ("produce_lz4", "broker_cpu_s_gb", "the same: broker CPU", "s/GB", False),
    ("produce_zstd", "mb_s", "produce 1 KiB, zstd: rate before compression", "MB/s", True),
    ("produce_zstd", "broker_cpu_s_gb", "the same: broker CPU", "s/GB", False),
    ("requests", "requests_s", "1 record a request, 50 connections: rate", "requests/s", True),
    ("requests", "broker_cpu_s_mreq", "the same: broker CPU", "s/M requests", False),
    ("requests", "p99_ms", "the same: ack p99", "ms", False),
    ("tail_1", "mb_s", "tail fetch, 1 consumer at 40 MB/s produced: rate", "MB/s", True),
    ("tail_1", "broker_cpu_s_gb", "the same: broker CPU, both directions", "s/GB", False),
    ("tail_10", "mb_s", "tail fetch, 10 consumers at 40 MB/s produced: rate", "MB/s", True),
    ("tail_10", "broker_cpu_s_gb", "the same: broker CPU, both directions", "s/GB", False),
    ("fetch_hot", "mb_s", "hot fetch 1 KiB, 1 consumer: rate", "MB/s", True),
    ("fetch_hot", "broker_cpu_s_gb", "the same: broker CPU", "s/GB", False),
    ("fetch_cold", "mb_s", "cold fetch 1 KiB, 1 consumer: rate", "MB/s", True),
    ("fetch_cold", "broker_cpu_s_gb", "the same: broker CPU", "s/GB", False),
    *[
        (row, figure, f"{name}: {label}", unit, False)
        for row, name in (
            ("e2e", "end to end, 1,000 messages/s, no fsync"),
            ("e2e_sync", "end to end, 200 messages/s, fsync before ack"),
        )
        for figure, label, unit in (
            ("p50_ms", "p50", "ms"), ("p99_ms", "p99", "ms"), ("p999_ms", "p999", "ms"),
            ("late_p99_ms", "(generator's own lateness p99)", "ms"),
            ("broker_cpu_s_mrec", "broker CPU", "s/M messages"),
        )
    ],
    ("create_1000", "answered_ms", "create a topic of 1,000 partitions", "ms", False),
    ("loaded_memory", "anon_mib", "memory under 1,000 partitions after load (RssAnon)", "MiB", False),
    ("restart_crash", "acknowledged_ms", "kill -9 and start, 1,000 partitions: first record", "ms", False),
    ("restart_crash", "answered_ms", "the same: every partition answers", "ms", False),
    ("restart_crash", "cpu_s", "the same: broker CPU", "s", False),
    ("restart_clean", "answered_ms", "clean restart, 1,000 partitions: every partition answers", "ms", False),
    ("disk", "disk_bytes", "bytes in the data folder after --restart-mb of 1 KiB records", "bytes", False),
]


def values(result, row, side, figure):
    return [
        measured[figure]
        for measured in result["measurements"]
        if measured["row"] == row and measured["side"] == side and figure in measured
    ]


def number(value):
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def cell(found):
    if not found:
        return "-"
    middle = number(statistics.median(found))
    if len(found) == 1 or min(found) == max(found):
        return middle
    return f"{middle} ({number(min(found))}-{number(max(found))})"


def markdown(result):
    """The table and the facts of the run."""
    facts = result["facts"]
    lines = [
        f"{facts['date']}, commit {facts['commit']}; {facts['cores']} cores of {facts['cpu']}, "
        f"{facts['memory_gib']} GiB, kernel {facts['kernel']}; load average at the end "
        f"{facts['load_average']}, nice {facts['nice']}. Bursts of {facts['seconds']} s or {facts['burst_mb']} MB, "
        f"A B B A x {facts['rounds']}; median (least-most).",
        "",
        "| row | unit | Highwater | Kafka | ratio | |",
        "|---|---|---|---|---|---|",
    ]
    for row, figure, words, unit, more in LINES:
        ours = values(result, row, "highwater", figure)
        theirs = values(result, row, "kafka", figure)
        if not ours and not theirs:
            continue
        ratio, verdict = "-", ""
        if ours and theirs and statistics.median(theirs):
            quotient = statistics.median(ours) / statistics.median(theirs)
            ratio = f"{quotient:.2f}x"
            lost = quotient < 1 if more else quotient > 1
            verdict = "loses" if lost and not words.startswith("(") else ""
        lines.append(f"| {words} | {unit} | {cell(ours)} | {cell(theirs)} | {ratio} | {verdict} |")
    for failure in result["failures"]:
        lines.append(f"| {failure['row']} | | not measured: {failure['error'][:200]} | | | |")
    return "\n".join(lines) + "\n"
