"""What every case works with: records as a client sees them, the registry of cases, waiting."""

import dataclasses
import itertools
import os
import threading
import time

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


@dataclasses.dataclass
class Record:
    """A record to produce. Headers are an ordered list of (name, bytes or None)."""

    value: bytes | None
    key: bytes | None = None
    headers: list = dataclasses.field(default_factory=list)
    timestamp: int | None = None
    partition: int = 0


@dataclasses.dataclass
class Stored:
    """A record as a consumer got it."""

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: list
    timestamp: int
    topic: str = ""


class Refused(Exception):
    """The broker answered a request with an error; `code` is Kafka's number."""

    def __init__(self, code, text=""):
        super().__init__(f"error {code} {text}")
        self.code = code


@dataclasses.dataclass
class Case:
    """One claim about one client. `run` takes the bootstrap address."""

    client: str
    claim: str
    run: object
    timeout_s: int

    @property
    def name(self):
        return f"{self.client}: {self.claim}"


CASES = []


def case(client, timeout_s=60):
    """Registers the decorated function as a case; its name is the claim."""

    def register(function):
        CASES.append(Case(client, function.__name__, function, timeout_s))
        return function

    return register


_counter = itertools.count()


def fresh(prefix):
    """A topic or group name that no other case and no earlier run has used."""
    return f"{prefix}-{os.getpid()}-{time.time_ns() // 1_000_000 % 100_000_000}-{next(_counter)}"


def eventually(check, what, timeout_s=20, pause_s=0.1):
    """Waits until `check()` returns something true and returns that."""
    end = time.monotonic() + timeout_s
    while True:
        got = check()
        if got:
            return got
        if time.monotonic() > end:
            raise AssertionError(f"not seen within {timeout_s} s: {what}")
        time.sleep(pause_s)


def equal(got, want, what):
    """Fails with both values when they differ; long values are cut."""
    if got != want:
        raise AssertionError(f"{what}: got {short(got)}, want {short(want)}")


def refused(action, codes, what):
    """Runs `action` and checks that the broker refuses it with one of `codes`."""
    try:
        got = action()
    except Refused as error:
        if error.code not in codes:
            raise AssertionError(f"{what}: got error {error.code}, want {sorted(codes)}") from error
        return
    raise AssertionError(f"{what}: was accepted ({short(got)}), want error {sorted(codes)}")


def short(value, limit=300):
    """`repr`, cut to `limit` characters."""
    text = repr(value)
    return text if len(text) <= limit else f"{text[:limit]}... ({len(text)} characters)"


def in_threads(functions, timeout_s=50):
    """Runs the functions at once; the first exception of any is raised here."""
    errors = []

    def guarded(function):
        try:
            function()
        except BaseException as error:  # noqa: B902 - handed to the caller below
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(f,), daemon=True) for f in functions]
    for thread in threads:
        thread.start()
    end = time.monotonic() + timeout_s
    for thread in threads:
        thread.join(max(0.0, end - time.monotonic()))
    if errors:
        raise errors[0]
    if any(thread.is_alive() for thread in threads):
        raise AssertionError(f"a thread did not finish within {timeout_s} s")
