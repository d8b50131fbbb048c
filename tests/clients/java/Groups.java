// Claims about consumer groups of the Java client, eager and cooperative, dynamic and static.

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.RebalanceInProgressException;

class Groups {
    static final int PARTITIONS = 6;

    /** A member in its own thread: polls, commits what it got, then counts it as seen. */
    static class Member extends Thread {
        final KafkaConsumer<byte[], byte[]> consumer;
        final List<Integer> seen;
        volatile Set<TopicPartition> assignment = Set.of();
        volatile boolean stop;
        volatile Exception failed;

        Member(World world, String group, String topic, List<Integer> seen, Map<String, Object> extra) {
            Map<String, Object> settings = new HashMap<>(extra);
            settings.put("group.id", group);
            this.consumer = world.consumer(settings);
            this.seen = seen;
            consumer.subscribe(List.of(topic));
            setDaemon(true);
            start();
        }

        @Override
        public void run() {
            try (consumer) {
                while (!stop) {
                    List<Integer> values = new ArrayList<>();
                    consumer.poll(Duration.ofMillis(100)).forEach(one -> values.add(Integer.parseInt(new String(one.value()))));
                    assignment = new HashSet<>(consumer.assignment());
                    try {
                        if (!values.isEmpty()) {
                            consumer.commitSync();
                            seen.addAll(values);
                        }
                    } catch (CommitFailedException | RebalanceInProgressException error) {
                        // The next owner reads these again.
                    }
                }
            } catch (Exception error) {
                failed = error;
            }
            assignment = Set.of();
        }

        void end() throws InterruptedException {
            stop = true;
            join(20_000);
        }
    }

    static void settled(List<Member> members, int count) throws Exception {
        World.eventually(() -> {
            List<Integer> all = new ArrayList<>();
            int owning = 0;
            for (Member member : members) {
                if (member.failed != null) {
                    throw member.failed;
                }
                member.assignment.forEach(one -> all.add(one.partition()));
                owning += member.assignment.isEmpty() ? 0 : 1;
            }
            Collections.sort(all);
            return owning == count && all.equals(List.of(0, 1, 2, 3, 4, 5));
        }, count + " members share all partitions");
    }

    static void three_members_share_a_group_with_the_default_assignors(World world) throws Exception {
        comeAndGo(world, Map.of());
    }

    static void three_members_share_a_group_cooperatively(World world) throws Exception {
        comeAndGo(world, Map.of("partition.assignment.strategy",
            "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"));
    }

    static void comeAndGo(World world, Map<String, Object> extra) throws Exception {
        String topic = world.topic("group", PARTITIONS);
        String group = World.fresh("g");
        List<Integer> seen = Collections.synchronizedList(new ArrayList<>());
        AtomicInteger sent = new AtomicInteger();
        produce(world, topic, sent);
        List<Member> members = new ArrayList<>();
        members.add(new Member(world, group, topic, seen, extra));
        members.add(new Member(world, group, topic, seen, extra));
        settled(members, 2);
        produce(world, topic, sent);
        members.add(new Member(world, group, topic, seen, extra));
        settled(members, 3);
        produce(world, topic, sent);
        World.eventually(() -> seen.size() >= sent.get(), "every record so far");
        members.remove(0).end();
        settled(members, 2);
        produce(world, topic, sent);
        World.eventually(() -> seen.size() >= sent.get(), "every record after one left");
        for (Member member : members) {
            member.end();
        }
        Collections.sort(seen);
        for (int i = 0; i < sent.get(); i++) {
            World.equal(seen.get(i), i, "each record once in the group");
        }
        World.equal(seen.size(), sent.get(), "records");
        var committed = world.admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get();
        for (int p = 0; p < PARTITIONS; p++) {
            World.equal(committed.get(new TopicPartition(topic, p)).offset(), (long) sent.get() / PARTITIONS, "commit");
        }
    }

    static void produce(World world, String topic, AtomicInteger sent) {
        try (var producer = world.producer(Map.of())) {
            for (int i = 0; i < 300; i++) {
                producer.send(new ProducerRecord<>(topic, i % PARTITIONS, null,
                    Records.bytes("" + sent.getAndIncrement())));
            }
        }
    }

    static void a_static_member_restarts_without_a_rebalance(World world) throws Exception {
        String topic = world.topic("static", PARTITIONS);
        String group = World.fresh("g");
        List<Integer> seen = Collections.synchronizedList(new ArrayList<>());
        List<Member> members = new ArrayList<>();
        for (String name : List.of("one", "two")) {
            members.add(new Member(world, group, topic, seen, Map.of("group.instance.id", name)));
        }
        settled(members, 2);
        var before = members.get(0).assignment;
        members.get(0).end();
        // Nobody takes over while the session of the static member lasts.
        World.equal(members.get(1).assignment.size(), PARTITIONS - before.size(), "partitions of the other");
        members.set(0, new Member(world, group, topic, seen, Map.of("group.instance.id", "one")));
        settled(members, 2);
        World.equal(members.get(0).assignment, before, "partitions after the restart");
        for (Member member : members) {
            member.end();
        }
    }

    static void commits_carry_metadata_and_survive_a_new_consumer(World world) throws Exception {
        String topic = world.topic("commit", 2);
        String group = World.fresh("g");
        TopicPartition where = new TopicPartition(topic, 1);
        try (var consumer = world.consumer(Map.of("group.id", group))) {
            consumer.assign(List.of(where));
            consumer.commitSync(Map.of(where, new OffsetAndMetadata(77, "note \u00fc")));
        }
        try (var consumer = world.consumer(Map.of("group.id", group))) {
            var got = consumer.committed(Set.of(where, new TopicPartition(topic, 0)));
            World.equal(got.get(where).offset(), 77L, "offset");
            World.equal(got.get(where).metadata(), "note \u00fc", "metadata");
            World.equal(got.get(new TopicPartition(topic, 0)), null, "a partition without a commit");
        }
    }

    static void a_group_starts_at_the_time_asked_for(World world) throws Exception {
        String topic = world.topic("by-time", 1);
        try (var producer = world.producer(Map.of())) {
            for (int i = 0; i < 100; i++) {
                long time = System.currentTimeMillis() - (100 - i) * 60_000L;
                producer.send(new ProducerRecord<>(topic, 0, time, null, Records.bytes("" + i)));
            }
        }
        // Since Kafka 4: the reset policy may be a duration back from now.
        Map<String, Object> extra = Map.of("group.id", World.fresh("g"), "auto.offset.reset", "by_duration:PT30M30S");
        try (var consumer = world.consumer(extra)) {
            consumer.subscribe(List.of(topic));
            World.equal(new String(World.take(consumer, 1).get(0).value()), "70", "first value");
        }
    }
}
