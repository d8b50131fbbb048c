"""What a reader must know of the machine and the run."""

import datetime
import os
import pathlib
import platform
import shutil
import subprocess


def first(path, prefix):
    for line in pathlib.Path(path).read_text().splitlines():
        if line.startswith(prefix):
            return line.split(":", 1)[1].strip()
    return "unknown"


def commit():
    command = ["git", "rev-parse", "--short", "HEAD"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def gather(options):
    memory_gib = int(first("/proc/meminfo", "MemTotal").split()[0]) / 1024 / 1024
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": commit(),
        "cpu": first("/proc/cpuinfo", "model name"),
        "cores": os.cpu_count(),
        "memory_gib": round(memory_gib, 1),
        "disk_free_gb": round(shutil.disk_usage(options.dir or "/tmp").free / 1e9),
        "kernel": platform.release(),
        "load_average": [round(load, 1) for load in os.getloadavg()],
        "nice": options.nice,
        "seconds": options.seconds,
        "burst_mb": options.burst_mb,
        "rounds": options.rounds,
        "restart_mb": options.restart_mb,
    }
