"""The broker under test: started from a command template, killed with SIGKILL, started again."""

import json
import os
import shlex
import signal
import socket
import subprocess
import time
from pathlib import Path

from .book import Broken

HIGHWATER = "{binary} start --data-dir {data} --kafka {kafka} --ready-file {ready}"


class Broker:
    """`command` may use {binary} {data} {kafka} {port} {ready}. With `pid_file` (same template words)
    the command returns once the broker answers, and the file holds its process id."""

    def __init__(self, command, binary, folder, pid_file=None):
        self.folder = Path(folder)
        self.command, self.binary, self.pid_file = command, binary, pid_file
        self.log = self.folder / "broker.log"
        self.ready = self.folder / "ready.json"
        self.port = free_port() if "{port}" in command else 0
        self.process, self.pid, self.starts_s = None, None, []

    def words(self):
        return {"binary": self.binary, "data": self.folder / "data", "ready": self.ready,
                "kafka": f"127.0.0.1:{self.port}", "port": self.port}

    def start(self):
        """Starts and waits until clients can connect. The port stays the same after the first start."""
        self.ready.unlink(missing_ok=True)
        begun = time.monotonic()
        arguments = shlex.split(self.command.format(**self.words()))
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(arguments, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        if self.pid_file:
            if self.process.wait(timeout=120) != 0:
                raise Broken(f"the broker did not start: {self.tail()}")
            self.pid = int(Path(self.pid_file.format(**self.words())).read_text())
        else:
            self.await_ready()
        self.starts_s.append(time.monotonic() - begun)

    def await_ready(self):
        end = time.monotonic() + 60
        while True:
            try:
                told = json.loads(self.ready.read_text())
                break
            except (FileNotFoundError, json.JSONDecodeError):
                pass
            if self.process.poll() is not None:
                raise Broken(f"the broker ended with {self.process.returncode} at its start: {self.tail()}")
            if time.monotonic() > end:
                raise Broken(f"the broker was not ready within 60 s: {self.tail()}")
            time.sleep(0.005)
        self.port = int(told["kafka"].rsplit(":", 1)[1])
        self.pid = told["pid"]
        if self.pid != self.process.pid:
            raise Broken(f"the ready file names process {self.pid}, the broker is {self.process.pid}")

    @property
    def bootstrap(self):
        return f"127.0.0.1:{self.port}"

    def alive(self):
        if self.pid_file:
            return os.path.exists(f"/proc/{self.pid}")
        return self.process.poll() is None

    def kill(self):
        """SIGKILL. A broker that is already gone ended by itself, which is a broken property."""
        if not self.alive():
            raise Broken(f"the broker ended by itself: {self.tail()}")
        os.kill(self.pid, signal.SIGKILL)
        self.await_end()

    def stop(self):
        """SIGTERM, for the end of a run."""
        if self.pid is None or not self.alive():
            return
        os.kill(self.pid, signal.SIGTERM)
        try:
            self.await_end()
        except subprocess.TimeoutExpired:
            os.kill(self.pid, signal.SIGKILL)

    def await_end(self):
        if self.pid_file:
            while self.alive():
                time.sleep(0.02)
        else:
            self.process.wait(timeout=60)

    def tail(self):
        """The last lines of its output, for messages."""
        lines = self.log.read_bytes().decode(errors="replace").splitlines() if self.log.exists() else []
        return " | ".join(lines[-8:]) or "it printed nothing"


def free_port():
    """A port above 20000 whose successor is free too (a KRaft node's controller listens there)."""
    for port in range(21_000 + os.getpid() % 9_000, 65_000, 2):
        with socket.socket() as one, socket.socket() as two:
            try:
                one.bind(("127.0.0.1", port))
                two.bind(("127.0.0.1", port + 1))
                return port
            except OSError:
                continue
    raise RuntimeError("no free port")
