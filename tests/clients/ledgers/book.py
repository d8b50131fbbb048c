"""The ledger: what the broker acknowledged, what it sent to consumers, and the check against the log."""

import collections
import dataclasses
import threading


class Broken(Exception):
    """A property of the broker that does not hold, in one sentence."""


@dataclasses.dataclass
class Commit:
    """One offset commit that was sent; `state` is `unknown` until its answer came."""

    sequence: int
    offset: int
    state: str = "unknown"


class Book:
    """Written by the client threads, read by the check. A value is `{kind}{producer}-{number}`."""

    def __init__(self):
        self.lock = threading.Lock()
        self.acked = {}  # (topic, partition, offset) -> value
        self.consumed = {}  # (topic, partition, offset) -> value
        self.commits = collections.defaultdict(list)  # (group, topic, partition) -> [Commit]
        self.fatal = []  # what ended an idempotent producer for good
        self.faults = []  # broken properties that a client met itself
        self.sequence = 0

    def record_acked(self, topic, partition, offset, value):
        with self.lock:
            before = self.acked.setdefault((topic, partition, offset), value)
        if before != value:
            self.faults.append(f"{place(topic, partition, offset)} was acknowledged for "
                               f"{before!r} and for {value!r}")

    def record_consumed(self, topic, partition, offset, value):
        with self.lock:
            before = self.consumed.setdefault((topic, partition, offset), value)
        if before != value:
            self.faults.append(f"{place(topic, partition, offset)} was consumed as {before!r} "
                               f"and as {value!r}")

    def commit_sent(self, group, topic, partition, offset):
        with self.lock:
            self.sequence += 1
            commit = Commit(self.sequence, offset)
            self.commits[group, topic, partition].append(commit)
            return commit

    def copy(self):
        """A ledger of this moment, to be compared with a log read afterwards."""
        with self.lock:
            other = Book()
            other.acked, other.consumed = dict(self.acked), dict(self.consumed)
            for where, commits in self.commits.items():
                other.commits[where] = [dataclasses.replace(one) for one in commits]
            other.fatal, other.faults = list(self.fatal), list(self.faults)
            return other


def place(topic, partition, offset):
    return f"{topic}-{partition} offset {offset}"


def check_log(book, log):
    """Compares the ledger with `log`: (topic, partition) -> [(offset, value)] as a consumer read it.

    Raises `Broken` with the first property that does not hold.
    """
    if book.faults:
        raise Broken(book.faults[0])
    if book.fatal:
        raise Broken(f"an idempotent producer met a fatal error: {book.fatal[0]}")
    stored, last = {}, {}
    once = set()
    for (topic, partition), records in log.items():
        previous = -1
        for offset, value in records:
            if offset <= previous:
                raise Broken(f"offsets are not unique: {place(topic, partition, offset)} was read "
                             f"after {previous}")
            previous = offset
            stored[topic, partition, offset] = value
            if not value.startswith("i"):
                continue
            if value in once:
                raise Broken(f"an idempotent producer's record is doubled: {value!r} again at "
                             f"{place(topic, partition, offset)}")
            once.add(value)
            producer, number = value.split("-")
            if int(number) < last.get((producer, topic, partition), -1):
                raise Broken(f"an idempotent producer's records changed order: {value!r} at "
                             f"{place(topic, partition, offset)} follows a later one")
            last[producer, topic, partition] = int(number)
    compare(book.acked, stored, "an acknowledged")
    compare(book.consumed, stored, "a consumed")


def compare(ledger, stored, how):
    """Each record of the ledger stands in the log at its offset."""
    elsewhere = None
    for (topic, partition, offset), value in ledger.items():
        found = stored.get((topic, partition, offset))
        if found == value:
            continue
        elsewhere = elsewhere or {v: where for where, v in stored.items()}
        where = elsewhere.get(value)
        if where is None:
            raise Broken(f"{how} record is lost: {value!r} at {place(topic, partition, offset)}, "
                         f"where the log has {found!r}")
        raise Broken(f"{how} record stands elsewhere: {value!r} at {place(topic, partition, offset)} "
                     f"is at {place(*where)}")


def check_commits(before, after, fetched):
    """Each fetched offset is the last acknowledged commit, or a later one that was sent.

    `before` is the ledger copied before `fetched` was asked for, `after` the one copied afterwards.
    """
    for where, offset in fetched.items():
        known = [one for one in before.commits.get(where, []) if one.state == "acked"]
        floor = known[-1] if known else None
        possible = {one.offset for one in after.commits.get(where, [])
                    if one.state != "refused" and (floor is None or one.sequence >= floor.sequence)}
        if floor is None:
            possible.add(-1)
        if offset not in possible:
            group, topic, partition = where
            last = "nothing" if floor is None else floor.offset
            raise Broken(f"group {group!r} has committed offset {offset} for {topic}-{partition}, but "
                         f"the last acknowledged commit is {last}, later ones {sorted(possible)[:5]}")
