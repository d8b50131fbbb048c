"""The two brokers and the load generator as processes."""

import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time


class Failed(Exception):
    """A process did not do what the row needs."""


given_ports = set()


def free_port():
    """A port above 22,000 that nobody listens on, with its neighbour free too (KRaft)."""
    for port in range(22000 + os.getpid() % 5000 * 2, 60000, 2):
        if port in given_ports:
            continue
        try:
            for candidate in (port, port + 1):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", candidate))
            given_ports.add(port)
            return port
        except OSError:
            continue
    raise Failed("no free port")


def gone(pid):
    """Whether the process has ended (a zombie has)."""
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return True
    return state == "Z"


def await_end(pid, seconds=60):
    deadline = time.monotonic() + seconds
    while not gone(pid):
        if time.monotonic() > deadline:
            raise Failed(f"process {pid} did not end")
        time.sleep(0.01)
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        pass


class Load:
    """The generator; every call gives the figures of its JSON line."""

    def __init__(self, binary):
        self.binary = binary

    def __call__(self, *arguments, limit=600):
        command = [self.binary, "--json", *map(str, arguments)]
        # A file, not a pipe: a broker that the generator starts keeps it open.
        with tempfile.TemporaryFile("w+") as errors:
            try:
                done = subprocess.run(command, stdout=subprocess.PIPE, stderr=errors, text=True,
                                      timeout=limit)
            except subprocess.TimeoutExpired as error:
                raise Failed(f"{command[2]} took more than {limit} s") from error
            errors.seek(0)
            said = errors.read().strip()
        if done.returncode != 0:
            raise Failed(f"{' '.join(command[2:])}: {said[-400:]}")
        return json.loads(done.stdout)

    def background(self, *arguments):
        command = [self.binary, "--json", *map(str, arguments)]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class Broker:
    """What both sides have; `command()` starts the process, in this class's subclasses."""

    def __init__(self, folder, load):
        self.folder = pathlib.Path(folder)
        self.load = load
        self.port = free_port()
        self.pid = None
        self.folder.mkdir(parents=True, exist_ok=True)

    @property
    def bootstrap(self):
        return f"127.0.0.1:{self.port}"

    def start(self, *probe):
        """Starts it and gives the figures of the `start` load: ms to the first record, ..."""
        raise NotImplementedError

    def kill(self):
        """Ends it as a crash of the process does."""
        os.kill(self.pid, signal.SIGKILL)
        await_end(self.pid)
        self.pid = None

    def stop(self):
        if self.pid is not None and not gone(self.pid):
            os.kill(self.pid, signal.SIGTERM)
            await_end(self.pid)
        self.pid = None

    def wipe(self):
        """Removes the data; the broker must not run."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True, exist_ok=True)

    def run(self, load, topic, *arguments, **options):
        target = ("--bootstrap", self.bootstrap, "--topic", topic)
        return self.load(load, *target, *arguments, **options)

    def measured(self, load, topic, *arguments, **options):
        return self.run(load, topic, "--broker-pid", self.pid, *arguments, **options)

    def usage(self):
        return self.load("usage", self.pid)

    def drop_page_cache(self):
        """Writes the data out and lets the page cache go of it."""
        for path in self.folder.rglob("*"):
            if path.is_file():
                with open(path, "rb") as file:
                    os.fsync(file.fileno())
                    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

    def disk_bytes(self):
        """Blocks on the disk: Kafka's index files are long and mostly holes."""
        return sum(path.stat().st_blocks * 512 for path in self.folder.rglob("*") if path.is_file())


class Highwater(Broker):
    """One Highwater broker with its defaults."""

    side = "highwater"
    no_sync = ("--config", "durability=replicated")
    sync = ("--config", "durability=fsync")

    def __init__(self, binary, folder, load):
        super().__init__(folder, load)
        self.binary = binary

    def start(self, *probe, topic="first"):
        command = (self.binary, "start", "--data-dir", self.folder / "data")
        command += ("--kafka", self.bootstrap)
        figures = self.run("start", topic, *probe, "--", *command, limit=900)
        self.pid = figures["pid"]
        return figures

    def format(self):
        """Nothing: a start makes its folder, and that is charged to it."""

    def before_cold_read(self):
        """A mapped file stays in the page cache: start again, then drop it."""
        self.stop()
        self.drop_page_cache()
        self.start()


class Kafka(Broker):
    """One Apache Kafka node, controller and broker, with its defaults and a 1 GiB heap."""

    side = "kafka"
    no_sync = ()
    sync = ("--config", "flush.messages=1")

    def __init__(self, peer, folder, load):
        super().__init__(folder, load)
        self.peer = peer

    def format(self):
        """Makes the data folder: a command of its own, not charged to a cold start."""
        with open(self.folder / "peer.log", "ab") as log:
            start = [self.peer, "start", str(self.folder), str(self.port)]
            # The script gives up on a slow start; the process goes on, and `stop` finds it.
            subprocess.run(start, check=False, stdout=log, stderr=log, timeout=300)
            stop = [self.peer, "stop", str(self.folder)]
            subprocess.run(stop, check=True, stdout=log, stderr=log, timeout=120)

    def start(self, *probe, topic="first"):
        (self.folder / "log").unlink(missing_ok=True)
        with open(self.folder / "peer.log", "ab") as log:
            start = [self.peer, "start", str(self.folder), str(self.port)]
            process = subprocess.Popen(start, stdout=log, stderr=log)
        figures = self.run("start", topic, "--limit-seconds", 300, *probe, limit=900)
        process.wait(timeout=300)
        self.pid = int((self.folder / "pid").read_text())
        return figures

    def before_cold_read(self):
        """Kafka sends files without mapping them, and a restart would cost it its warm code."""
        self.drop_page_cache()
