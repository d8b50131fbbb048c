"""Kafka's console tools, as scripts and habits use them."""

import re

from .external import JVM, program
from .model import CASES, Case, equal, fresh

TOOLS = {"topics": "org.apache.kafka.tools.TopicCommand", "configs": "kafka.admin.ConfigCommand",
         "groups": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
         "producer": "org.apache.kafka.tools.ConsoleProducer",
         "consumer": "org.apache.kafka.tools.consumer.ConsoleConsumer",
         "offsets": "org.apache.kafka.tools.GetOffsetShell",
         "versions": "org.apache.kafka.tools.BrokerApiVersionsCommand",
         "cluster": "org.apache.kafka.tools.ClusterTool"}


def tool(bootstrap, name, *arguments, **more):
    before = ["cluster-id"] if name == "cluster" else []
    return program([*JVM, TOOLS[name], *before, "--bootstrap-server", bootstrap, *arguments], **more)


def claim(function):
    CASES.append(Case("console tools", function.__name__, function, 120))
    return function


@claim
def kafka_topics_creates_describes_alters_and_deletes(bootstrap):
    topic = fresh("console")
    tool(bootstrap, "topics", "--create", "--topic", topic, "--partitions", "2",
         "--config", "retention.ms=7200000")
    described = tool(bootstrap, "topics", "--describe", "--topic", topic)
    equal(bool(re.search(r"PartitionCount: 2\b", described)), True, "partition count in the description")
    equal("retention.ms=7200000" in described, True, "the config in the description")
    equal(described.count("Leader: 1"), 2, "leaders in the description")
    tool(bootstrap, "topics", "--alter", "--topic", topic, "--partitions", "3")
    described = tool(bootstrap, "topics", "--describe", "--topic", topic)
    equal(bool(re.search(r"PartitionCount: 3\b", described)), True, "partition count after the change")
    equal(topic in tool(bootstrap, "topics", "--list").split(), True, "the topic is listed")
    tool(bootstrap, "topics", "--delete", "--topic", topic)
    equal(topic in tool(bootstrap, "topics", "--list").split(), False, "the deleted topic is listed")


@claim
def kafka_configs_changes_a_topic_and_the_broker(bootstrap):
    topic = fresh("console-configs")
    tool(bootstrap, "topics", "--create", "--topic", topic)
    at = ("--entity-type", "topics", "--entity-name", topic)
    tool(bootstrap, "configs", "--alter", *at, "--add-config", "max.message.bytes=77777")
    described = tool(bootstrap, "configs", "--describe", *at)
    equal("max.message.bytes=77777" in described, True, "the config in the description")
    tool(bootstrap, "configs", "--alter", *at, "--delete-config", "max.message.bytes")
    described = tool(bootstrap, "configs", "--describe", *at)
    equal("max.message.bytes" in described, False, "the deleted config in the description")
    everything = tool(bootstrap, "configs", "--describe", "--all", "--entity-type", "brokers",
                      "--entity-name", "1")
    equal("num.partitions=1" in everything, True, "num.partitions in the broker's description")


@claim
def console_producer_and_consumer_pass_keys_headers_and_nulls(bootstrap):
    topic = fresh("console-io")
    tool(bootstrap, "topics", "--create", "--topic", topic)
    # With this marker the line reader sends a null value.
    lines = b"a:1,b:2\tk1\tv1\na:1\tk2\tNULL\n"
    tool(bootstrap, "producer", "--topic", topic, "--reader-property", "parse.key=true",
         "--reader-property", "parse.headers=true", "--reader-property", "null.marker=NULL", stdin=lines)
    got = tool(bootstrap, "consumer", "--topic", topic, "--from-beginning", "--max-messages", "2",
               "--formatter-property", "print.key=true", "--formatter-property", "print.headers=true",
               "--formatter-property", "print.offset=true")
    equal(got.splitlines(), ["Offset:0\ta:1,b:2\tk1\tv1", "Offset:1\ta:1\tk2\tnull"], "consumed lines")


@claim
def kafka_consumer_groups_describes_lag_and_resets_by_time(bootstrap):
    topic, group = fresh("console-group"), fresh("console-g")
    tool(bootstrap, "topics", "--create", "--topic", topic)
    tool(bootstrap, "producer", "--topic", topic, stdin=b"".join(b"%d\n" % i for i in range(10)))
    tool(bootstrap, "consumer", "--topic", topic, "--group", group, "--from-beginning", "--max-messages", "4",
         "--command-property", "auto.commit.interval.ms=100", "--command-property", "max.poll.records=4")
    equal(group in tool(bootstrap, "groups", "--list").split(), True, "the group is listed")
    described = tool(bootstrap, "groups", "--describe", "--group", group)
    row = next(line.split() for line in described.splitlines() if topic in line)
    equal(row[:6], [group, topic, "0", "4", "10", "6"], "group, topic, partition, offset, end, lag")
    tool(bootstrap, "groups", "--reset-offsets", "--group", group, "--topic", topic,
         "--to-datetime", "2020-01-01T00:00:00.000", "--execute")
    described = tool(bootstrap, "groups", "--describe", "--group", group)
    row = next(line.split() for line in described.splitlines() if topic in line)
    equal(row[3], "0", "offset after the reset")
    state = tool(bootstrap, "groups", "--describe", "--group", group, "--state")
    equal("Empty" in state, True, "the state is Empty")
    tool(bootstrap, "groups", "--delete", "--group", group)
    equal(group in tool(bootstrap, "groups", "--list").split(), False, "the deleted group is listed")


@claim
def kafka_get_offsets_and_cluster_and_versions_answer(bootstrap):
    topic = fresh("console-offsets")
    tool(bootstrap, "topics", "--create", "--topic", topic, "--partitions", "2")
    tool(bootstrap, "producer", "--topic", topic, stdin=b"1\n2\n3\n")
    got = tool(bootstrap, "offsets", "--topic", topic)
    ends = sorted(line.split(":")[2] for line in got.split())
    equal(sum(map(int, ends)), 3, "sum of the end offsets")
    equal("Cluster ID:" in tool(bootstrap, "cluster"), True, "a cluster id")
    versions = tool(bootstrap, "versions")
    equal("Produce(0): 0 to 13" in versions, True, "Produce 0 to 13 in the versions")
    equal("Fetch(1): 4 to 18" in versions, True, "Fetch 4 to 18 in the versions")


