// Claims about the Java admin client.

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.DescribeConfigsOptions;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.GroupState;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.GroupNotEmptyException;
import org.apache.kafka.common.errors.InvalidConfigurationException;
import org.apache.kafka.common.errors.InvalidPartitionsException;
import org.apache.kafka.common.errors.InvalidReplicationFactorException;
import org.apache.kafka.common.errors.InvalidTopicException;
import org.apache.kafka.common.errors.OffsetOutOfRangeException;
import org.apache.kafka.common.errors.TopicExistsException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;

class Administration {
    static void a_topic_is_described_with_its_id_and_a_new_one_after_creation(World world) throws Exception {
        String topic = world.topic("described", 3);
        var first = world.admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic);
        World.equal(first.partitions().size(), 3, "partitions");
        World.equal(first.partitions().get(2).leader().id(), 1, "leader");
        World.equal(first.partitions().get(2).isr().size(), 1, "in-sync replicas");
        World.equal(first.isInternal(), false, "internal");
        World.check(!first.topicId().equals(Uuid.ZERO_UUID), "the topic id is zero");
        world.admin.deleteTopics(List.of(topic)).all().get();
        World.refused(() -> world.admin.describeTopics(List.of(topic)).allTopicNames().get(),
            UnknownTopicOrPartitionException.class, "describing a deleted topic");
        world.admin.createTopics(List.of(new NewTopic(topic, 1, (short) 1))).all().get();
        Uuid second = world.admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).topicId();
        World.check(!second.equals(first.topicId()), "the new topic has the old id");
    }

    static void bad_topics_are_refused_by_name(World world) throws Exception {
        String topic = world.topic("exists", 1);
        World.refused(() -> create(world, new NewTopic(topic, 1, (short) 1)), TopicExistsException.class, "twice");
        World.refused(() -> create(world, new NewTopic("a b", 1, (short) 1)), InvalidTopicException.class, "a space");
        World.refused(() -> create(world, new NewTopic(World.fresh("x"), 0, (short) 1)),
            InvalidPartitionsException.class, "no partitions");
        World.refused(() -> create(world, new NewTopic(World.fresh("x"), 1, (short) 3)),
            InvalidReplicationFactorException.class, "three replicas of one broker");
        World.refused(() -> create(world, new NewTopic(World.fresh("x"), 1, (short) 1).configs(Map.of("no.such", "1"))),
            InvalidConfigurationException.class, "an unknown config");
        World.refused(() -> world.admin.deleteTopics(List.of(World.fresh("x"))).all().get(),
            UnknownTopicOrPartitionException.class, "deleting what is not there");
    }

    static Object create(World world, NewTopic topic) throws Exception {
        return world.admin.createTopics(List.of(topic)).all().get();
    }

    static void create_tells_the_configs_it_set(World world) throws Exception {
        String topic = World.fresh("told");
        var result = world.admin.createTopics(List.of(new NewTopic(topic, 2, (short) 1)
            .configs(Map.of("retention.ms", "3600000"))));
        World.equal(result.numPartitions(topic).get(), 2, "partitions");
        World.equal(result.replicationFactor(topic).get(), 1, "replication factor");
        World.equal(result.config(topic).get().get("retention.ms").value(), "3600000", "retention.ms");
        World.check(!result.topicId(topic).get().equals(Uuid.ZERO_UUID), "the topic id is zero");
    }

    static void partitions_are_added(World world) throws Exception {
        String topic = world.topic("add", 1);
        world.admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(4))).all().get();
        World.eventually(() -> world.admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic)
            .partitions().size() == 4, "four partitions");
        var producer = world.producer(Map.of());
        World.equal(producer.send(new ProducerRecord<>(topic, 3, null, new byte[1])).get().offset(), 0L, "offset");
        World.refused(() -> world.admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(2))).all().get(),
            InvalidPartitionsException.class, "fewer partitions");
    }

    static void configs_are_set_and_deleted_one_by_one(World world) throws Exception {
        String topic = world.topic("configs", 1, Map.of("retention.ms", "1000000"));
        ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
        alter(world, resource, "max.message.bytes", "60000", AlterConfigOp.OpType.SET);
        World.eventually(() -> "60000".equals(value(world, resource, "max.message.bytes")), "the new value");
        World.equal(value(world, resource, "retention.ms"), "1000000", "the other value");
        alter(world, resource, "retention.ms", null, AlterConfigOp.OpType.DELETE);
        World.eventually(() -> "604800000".equals(value(world, resource, "retention.ms")), "the default again");
        World.refused(() -> alter(world, resource, "segment.bytes", "-5", AlterConfigOp.OpType.SET),
            InvalidConfigurationException.class, "a value out of bounds");
        var options = new DescribeConfigsOptions().includeSynonyms(true).includeDocumentation(true);
        ConfigEntry entry = world.admin.describeConfigs(List.of(resource), options).all().get().get(resource)
            .get("max.message.bytes");
        World.equal(entry.source(), ConfigEntry.ConfigSource.DYNAMIC_TOPIC_CONFIG, "source");
        World.equal(entry.synonyms().get(0).value(), "60000", "first synonym");
        World.equal(entry.synonyms().get(entry.synonyms().size() - 1).value(), "1048588", "last synonym");
        World.check(entry.documentation() != null && !entry.documentation().isEmpty(), "no documentation");
    }

    static void broker_configs_are_altered_dynamically(World world) throws Exception {
        ConfigResource resource = new ConfigResource(ConfigResource.Type.BROKER, "1");
        String before = value(world, resource, "log.retention.ms");
        alter(world, resource, "log.retention.ms", "86400001", AlterConfigOp.OpType.SET);
        World.eventually(() -> "86400001".equals(value(world, resource, "log.retention.ms")), "the new value");
        String topic = world.topic("inherits", 1);
        World.equal(value(world, new ConfigResource(ConfigResource.Type.TOPIC, topic), "retention.ms"), "86400001",
            "the topic's inherited value");
        alter(world, resource, "log.retention.ms", null, AlterConfigOp.OpType.DELETE);
        World.eventually(() -> java.util.Objects.equals(before, value(world, resource, "log.retention.ms")), "the old");
    }

    static Object alter(World world, ConfigResource resource, String key, String value, AlterConfigOp.OpType how)
        throws Exception {
        var op = new AlterConfigOp(new ConfigEntry(key, value), how);
        return world.admin.incrementalAlterConfigs(Map.of(resource, List.of(op))).all().get();
    }

    static String value(World world, ConfigResource resource, String key) throws Exception {
        Config config = world.admin.describeConfigs(List.of(resource)).all().get().get(resource);
        World.check(config.get(key) != null, "no config " + key);
        return config.get(key).value();
    }

    static void records_are_deleted_and_offsets_listed(World world) throws Exception {
        String topic = world.topic("trim", 1);
        TopicPartition where = new TopicPartition(topic, 0);
        long now = System.currentTimeMillis();
        try (var producer = world.producer(Map.of())) {
            for (int i = 0; i < 100; i++) {
                producer.send(new ProducerRecord<>(topic, 0, now - 1000 + (i * 37) % 100, null, new byte[10]));
            }
        }
        World.equal(world.admin.deleteRecords(Map.of(where, RecordsToDelete.beforeOffset(40))).lowWatermarks()
            .get(where).get().lowWatermark(), 40L, "low watermark");
        World.equal(offset(world, where, OffsetSpec.earliest()), 40L, "earliest");
        World.equal(offset(world, where, OffsetSpec.latest()), 100L, "latest");
        // (i * 37) % 100 is 99 for i = 27, deleted by now or not: 27 stands in the stored batches.
        long largest = offset(world, where, OffsetSpec.maxTimestamp());
        World.check(largest >= 40 || largest == 27, "offset of the largest timestamp is " + largest);
        World.equal(offset(world, where, OffsetSpec.earliestLocal()), 40L, "earliest local");
        World.refused(() -> world.admin.deleteRecords(Map.of(where, RecordsToDelete.beforeOffset(101))).all().get(),
            OffsetOutOfRangeException.class, "beyond the end");
    }

    static long offset(World world, TopicPartition where, OffsetSpec spec) throws Exception {
        return world.admin.listOffsets(Map.of(where, spec)).partitionResult(where).get().offset();
    }

    static void groups_are_listed_described_altered_and_deleted(World world) throws Exception {
        String topic = world.topic("groups", 6);
        String group = World.fresh("g");
        List<Integer> seen = java.util.Collections.synchronizedList(new ArrayList<>());
        Groups.Member member = new Groups.Member(world, group, topic, seen, Map.of("client.id", "mine"));
        Groups.settled(List.of(member), 1);
        var listed = world.admin.listGroups().all().get().stream().map(one -> one.groupId())
            .collect(Collectors.toSet());
        World.check(listed.contains(group), "the group is not listed");
        var described = world.admin.describeConsumerGroups(List.of(group)).all().get().get(group);
        World.equal(described.groupState(), GroupState.STABLE, "state");
        var one = described.members().iterator().next();
        World.equal(one.clientId(), "mine", "client id");
        World.equal(one.assignment().topicPartitions().size(), 6, "assigned partitions");
        World.refused(() -> world.admin.deleteConsumerGroups(List.of(group)).all().get(),
            GroupNotEmptyException.class, "deleting a group with a member");
        member.end();
        World.eventually(() -> world.admin.describeConsumerGroups(List.of(group)).all().get().get(group)
            .groupState() == GroupState.EMPTY, "an empty group");
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        offsets.put(new TopicPartition(topic, 0), new OffsetAndMetadata(5));
        world.admin.alterConsumerGroupOffsets(group, offsets).all().get();
        World.equal(world.admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get()
            .get(new TopicPartition(topic, 0)).offset(), 5L, "altered offset");
        world.admin.deleteConsumerGroups(List.of(group)).all().get();
        World.equal(world.admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get().isEmpty(), true,
            "offsets of the deleted group");
    }

    static void the_cluster_describes_itself(World world) throws Exception {
        var cluster = world.admin.describeCluster();
        World.equal(cluster.nodes().get().size(), 1, "nodes");
        World.equal(cluster.controller().get().id(), 1, "controller");
        World.check(!cluster.clusterId().get().isEmpty(), "no cluster id");
        World.equal(world.admin.describeCluster().clusterId().get(), cluster.clusterId().get(), "cluster id again");
    }

    static void many_topics_are_listed_and_described_together(World world) throws Exception {
        Set<String> names = new java.util.HashSet<>();
        List<NewTopic> topics = new ArrayList<>();
        for (int i = 0; i < 120; i++) {
            String name = World.fresh("many");
            names.add(name);
            topics.add(new NewTopic(name, 2, (short) 1));
        }
        world.admin.createTopics(topics).all().get();
        World.check(world.admin.listTopics().names().get().containsAll(names), "a topic is not listed");
        World.equal(world.admin.describeTopics(names).allTopicNames().get().size(), 120, "described topics");
        world.admin.deleteTopics(names).all().get();
        World.eventually(() -> world.admin.listTopics().names().get().stream().noneMatch(names::contains),
            "none is left");
    }
}
