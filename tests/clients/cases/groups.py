"""Claims about consumer groups: every record once per group, commits exact, members come and go."""

import threading
import time

from .model import Record, equal, eventually, fresh, in_threads
from .shared import claim

PARTITIONS = 6


class Crowd:
    """Members that poll in threads; each commits what it has seen before it polls again."""

    def __init__(self, client, group, topic):
        self.client, self.group, self.topic = client, group, topic
        self.lock = threading.Lock()
        self.seen = []
        self.committed = {}
        self.members = []
        self.errors = []

    def join(self, instance=None, session_ms=10_000):
        one = {"stop": threading.Event(), "assignment": set(), "seen": 0}
        one["thread"] = threading.Thread(target=self._guarded, args=(one, instance, session_ms), daemon=True)
        one["thread"].start()
        self.members.append(one)
        return one

    def _guarded(self, one, instance, session_ms):
        try:
            self._run(one, instance, session_ms)
        except BaseException as error:  # noqa: B902 - raised by `settled`
            self.errors.append(error)

    def _run(self, one, instance, session_ms):
        member = self.client.member(self.group, self.topic, instance, session_ms)
        try:
            while not one["stop"].is_set():
                records = member.poll()
                one["assignment"] = member.assignment()
                if not records:
                    continue
                ends = {}
                for record in records:
                    ends[record.partition] = record.offset + 1
                try:
                    member.commit(self.topic, ends)
                except Exception:  # a rebalance came first: the next owner reads these again
                    one["refused_commits"] = one.get("refused_commits", 0) + 1
                    continue
                with self.lock:
                    self.seen += records
                    one["seen"] += len(records)
                    for partition, end in ends.items():
                        self.committed[partition] = max(end, self.committed.get(partition, 0))
        finally:
            member.close()

    def leave(self, one):
        one["stop"].set()
        one["thread"].join(20)
        one["assignment"] = set()

    def settled(self, count, timeout_s=40):
        """Waits until `count` members share all partitions and none twice."""

        def shared():
            if self.errors:
                raise self.errors[0]
            parts = [one["assignment"] for one in self.members if one["assignment"]]
            return len(parts) == count and sorted(sum(map(sorted, parts), [])) == list(range(PARTITIONS))

        eventually(shared, f"{count} members share the {PARTITIONS} partitions", timeout_s)

    def close(self):
        for one in self.members:
            one["stop"].set()
        for one in self.members:
            one["thread"].join(20)


@claim(timeout_s=150)
def three_members_share_a_group_while_members_join_and_leave(client):
    topic, group = fresh("group"), fresh("g")
    client.create_topic(topic, partitions=PARTITIONS)
    sent = 0

    def produce(count):
        nonlocal sent
        client.produce(topic, [Record(b"%d" % (sent + i), partition=i % PARTITIONS) for i in range(count)])
        sent += count

    produce(600)
    crowd = Crowd(client, group, topic)
    try:
        first, _second = crowd.join(), crowd.join()
        crowd.settled(2)
        produce(600)
        crowd.join()
        crowd.settled(3)
        produce(600)
        eventually(lambda: len(crowd.seen) >= sent, "every record so far", 30)
        crowd.leave(first)
        crowd.settled(2)
        produce(600)
        eventually(lambda: len(crowd.seen) >= sent, "every record after one left", 30)
        time.sleep(0.5)
    finally:
        crowd.close()
    if crowd.errors:
        raise crowd.errors[0]
    values = sorted(int(one.value) for one in crowd.seen)
    equal(values, list(range(sent)), "each record once in the group")
    committed = client.committed(group, topic, range(PARTITIONS))
    equal(committed, {p: sent // PARTITIONS for p in range(PARTITIONS)}, "committed offsets")
    equal(crowd.committed, committed, "acknowledged commits")


@claim()
def a_group_resumes_at_its_committed_offset(client):
    topic, group = fresh("resume"), fresh("g")
    client.create_topic(topic)
    client.produce(topic, [Record(b"%d" % i) for i in range(100)])
    client.commit_alone(group, topic, {0: 60})
    member = client.member(group, topic)
    try:
        got = []
        eventually(lambda: got.extend(member.poll()) or len(got) >= 40, "40 records", 30)
        equal(got[0].offset, 60, "first offset")
    finally:
        member.close()
    equal(client.committed(group, topic, [0]), {0: 60}, "committed offset")


@claim()
def a_simple_consumer_commits_and_reads_back(client):
    topic, group = fresh("simple"), fresh("g")
    client.create_topic(topic, partitions=3)
    client.produce(topic, [Record(b"v")])
    client.commit_alone(group, topic, {0: 1, 2: 0})
    equal(client.committed(group, topic, [0, 1, 2]), {0: 1, 1: -1, 2: 0}, "committed offsets")
    client.commit_alone(group, topic, {0: 0})
    equal(client.committed(group, topic, [0]), {0: 0}, "a commit may go back")


@claim("static", timeout_s=90)
def a_static_member_that_restarts_keeps_its_partitions_without_a_rebalance(client):
    topic, group = fresh("static"), fresh("g")
    client.create_topic(topic, partitions=2)
    members = {}

    def poll(name, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            members[name].poll()

    def start(name):
        members[name] = client.member(group, topic, instance=name, session_ms=20_000)

    def both_assigned():
        in_threads([lambda name=name: poll(name, 0.5) for name in members], 30)
        return all(len(member.assignment()) == 1 for member in members.values())

    in_threads([lambda: start("one"), lambda: start("two")], 30)
    eventually(both_assigned, "one partition each", 40)
    before = members["one"].assignment()
    members["one"].close()
    start("one")
    eventually(both_assigned, "one partition each after the restart", 15)
    equal(members["one"].assignment(), before, "partitions of the restarted member")
    for member in members.values():
        member.close()


@claim("describe_groups", timeout_s=90)
def groups_are_listed_described_and_deleted(client):
    topic, group = fresh("described"), fresh("g")
    client.create_topic(topic, partitions=2)
    client.produce(topic, [Record(b"v")])
    member = client.member(group, topic)
    try:
        eventually(lambda: member.poll() or member.assignment(), "an assignment", 30)
        equal(group in client.groups(), True, "the group is listed")
        state, members, assigned = client.group_members(group)
        equal(state, "stable", "state")
        equal(members, 1, "members")
        equal(assigned in (2, -1), True, f"assigned partitions ({assigned}) are all two")
        member.commit(topic, {0: 1})
        if hasattr(client, "delete_group"):
            refuse_deletion(client, group)
    finally:
        member.close()
    if hasattr(client, "delete_group"):
        eventually(lambda: client.group_members(group)[0] == "empty", "an empty group", 20)
        client.delete_group(group)
        equal(group in client.groups(), False, "the deleted group is listed")
        equal(client.committed(group, topic, [0]), {0: -1}, "offset of the deleted group")


def refuse_deletion(client, group):
    from .model import refused

    refused(lambda: client.delete_group(group), {68}, "deleting a group with a member")
