"""kcat (Debian's, on librdkafka 2.0.2): the client most people try first."""

import json
import subprocess
import time

from .external import program
from .model import CASES, CODECS, Case, equal, eventually, fresh

BASE = ["-X", "message.timeout.ms=20000", "-X", "allow.auto.create.topics=true"]


def kcat(bootstrap, *arguments, stdin=None, **more):
    text = stdin.encode() if isinstance(stdin, str) else stdin
    return program(["kcat", "-b", bootstrap, *BASE, *arguments], stdin=text, **more)


def claim(function):
    CASES.append(Case("kcat", function.__name__, function, 60))
    return function


def read(bootstrap, topic, *more):
    """Every record of the topic as kcat's JSON envelope."""
    lines = kcat(bootstrap, "-C", "-t", topic, "-o", "beginning", "-e", "-q", "-J", *more).splitlines()
    return [json.loads(line) for line in lines]


def batches_come_back_whole_with_codec(codec):
    def run(bootstrap):
        topic = fresh("kcat-codec")
        lines = [f"{i:06}-{'x' * (i % 200)}" for i in range(3_000)]
        kcat(bootstrap, "-P", "-t", topic, "-z", codec, "-p", "0", stdin="\n".join(lines) + "\n")
        got = read(bootstrap, topic)
        equal([one["payload"] for one in got], lines, "values")
        equal([one["offset"] for one in got], list(range(3_000)), "offsets")

    return run


for _codec in CODECS:
    CASES.append(Case("kcat", f"batches_come_back_whole_with_codec[{_codec}]",
                      batches_come_back_whole_with_codec(_codec), 60))


@claim
def metadata_lists_the_broker_and_its_topics(bootstrap):
    topic = fresh("kcat-list")
    kcat(bootstrap, "-P", "-t", topic, stdin="v\n")
    listed = json.loads(kcat(bootstrap, "-L", "-J"))
    equal([broker["id"] for broker in listed["brokers"]], [1], "brokers")
    equal(listed["brokers"][0]["name"], bootstrap, "the advertised address")
    mine = [one for one in listed["topics"] if one["topic"] == topic]
    equal([len(one["partitions"]) for one in mine], [1], "partitions of the topic")
    equal(mine[0]["partitions"][0]["leader"], 1, "leader")


@claim
def headers_keep_order_and_duplicates(bootstrap):
    topic = fresh("kcat-headers")
    kcat(bootstrap, "-P", "-t", topic, "-H", "b=2", "-H", "a=1", "-H", "b=3", "-H", "empty=",
         stdin="v\n")
    equal(read(bootstrap, topic)[0]["headers"], ["b", "2", "a", "1", "b", "3", "empty", ""], "headers")


@claim
def keys_and_null_values_survive(bootstrap):
    topic = fresh("kcat-null")
    kcat(bootstrap, "-P", "-t", topic, "-p", "0", "-K", ":", "-Z", stdin="k1:v1\nk2:\n:v3\n")
    got = [(one.get("key"), one.get("payload")) for one in read(bootstrap, topic)]
    # -Z sends empty keys and values as null.
    equal(got, [("k1", "v1"), ("k2", None), (None, "v3")], "keys and values")


@claim
def reading_starts_at_an_offset_from_the_end_and_at_a_time(bootstrap):
    topic = fresh("kcat-offsets")
    kcat(bootstrap, "-P", "-t", topic, "-p", "0", stdin="".join(f"{i}\n" for i in range(100)))
    time.sleep(0.05)
    middle = int(time.time() * 1000)
    time.sleep(0.05)
    kcat(bootstrap, "-P", "-t", topic, "-p", "0", stdin="".join(f"{i}\n" for i in range(100, 150)))

    def from_(start):
        got = kcat(bootstrap, "-C", "-t", topic, "-p", "0", "-o", start, "-e", "-q", "-f", "%o ")
        return [int(one) for one in got.split()]

    equal(from_("120"), list(range(120, 150)), "from offset 120")
    equal(from_("-7"), list(range(143, 150)), "the last seven")
    equal(from_(f"s@{middle}"), list(range(100, 150)), "from the time between")
    asked = kcat(bootstrap, "-Q", "-t", f"{topic}:0:{middle}")
    equal(asked.split()[-1], "100", "offset for the time")


@claim
def acks_0_1_and_all_are_served(bootstrap):
    for acks in ("0", "1", "-1"):
        topic = fresh(f"kcat-acks{acks}")
        kcat(bootstrap, "-P", "-t", topic, "-X", f"acks={acks}", stdin="a\nb\nc\n")
        eventually(lambda: [one["payload"] for one in read(bootstrap, topic)] == ["a", "b", "c"],
                   f"three records with acks={acks}", 10)


@claim
def an_idempotent_producer_is_served(bootstrap):
    topic = fresh("kcat-idempotent")
    lines = [str(i) for i in range(5_000)]
    kcat(bootstrap, "-P", "-t", topic, "-p", "0", "-X", "enable.idempotence=true",
         "-X", "batch.num.messages=100", stdin="\n".join(lines) + "\n")
    equal([one["payload"] for one in read(bootstrap, topic)], lines, "values in order")


@claim
def three_group_members_read_each_record_once(bootstrap):
    topic, group = fresh("kcat-group"), fresh("kcat-g")
    # Nine partitions: created by the broker's admin, since kcat only creates the default count.
    from .confluent import Client

    Client(bootstrap).create_topic(topic, partitions=9)
    command = ["kcat", "-b", bootstrap, *BASE, "-X", "auto.offset.reset=earliest", "-q", "-u", "-f", "%s\n",
               "-G", group, topic]
    members = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) for _ in range(3)]
    try:
        time.sleep(6)
        for partition in range(9):
            kcat(bootstrap, "-P", "-t", topic, "-p", str(partition),
                 stdin="".join(f"{partition}-{i}\n" for i in range(50)))
        time.sleep(3)
    finally:
        for member in members:
            member.terminate()
        outputs = [member.communicate(timeout=20)[0].decode().split() for member in members]
    equal(sorted(sum(outputs, [])), sorted(f"{p}-{i}" for p in range(9) for i in range(50)), "values")
    equal([len(one) for one in outputs], [150, 150, 150], "records of each member")
    committed = Client(bootstrap).committed(group, topic, range(9))
    equal(committed, {p: 50 for p in range(9)}, "committed offsets")
