// What the claims work with: clients with short timeouts, fresh names, waiting; everything is closed at the end.

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

class World implements AutoCloseable {
    private static final AtomicInteger COUNTER = new AtomicInteger();
    final String bootstrap;
    final Admin admin;
    private final List<AutoCloseable> opened = new ArrayList<>();

    World(String bootstrap) {
        this.bootstrap = bootstrap;
        this.admin = Admin.create(Map.of("bootstrap.servers", bootstrap, "default.api.timeout.ms", 30000));
    }

    @Override
    public void close() {
        for (AutoCloseable one : opened) {
            try {
                one.close();
            } catch (Exception ignored) {
                // The claim is decided.
            }
        }
        admin.close(Duration.ofSeconds(1));
    }

    static String fresh(String prefix) {
        return prefix + "-java-" + ProcessHandle.current().pid() + "-" + System.currentTimeMillis() % 100_000_000
            + "-" + COUNTER.incrementAndGet();
    }

    String topic(String prefix, int partitions, Map<String, String> configs) throws Exception {
        String name = fresh(prefix);
        admin.createTopics(List.of(new NewTopic(name, partitions, (short) 1).configs(configs))).all().get();
        return name;
    }

    String topic(String prefix, int partitions) throws Exception {
        return topic(prefix, partitions, Map.of());
    }

    KafkaProducer<byte[], byte[]> producer(Map<String, Object> extra) {
        Map<String, Object> settings = new HashMap<>(Map.of("bootstrap.servers", bootstrap, "linger.ms", 10));
        settings.putAll(extra);
        var producer = new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
        opened.add(() -> producer.close(Duration.ofSeconds(5)));
        return producer;
    }

    /** Not closed here: a consumer belongs to the thread that polls it. */
    KafkaConsumer<byte[], byte[]> consumer(Map<String, Object> extra) {
        Map<String, Object> settings = new HashMap<>(Map.of(
            "bootstrap.servers", bootstrap, "enable.auto.commit", false, "auto.offset.reset", "earliest",
            "heartbeat.interval.ms", 500, "session.timeout.ms", 10000));
        settings.putAll(extra);
        return new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    /** The first {@code count} records of the partitions 0 until {@code partitions}. */
    List<ConsumerRecord<byte[], byte[]>> read(String topic, int partitions, int count, Map<String, Object> extra) {
        try (var consumer = consumer(extra)) {
            List<TopicPartition> all = new ArrayList<>();
            for (int i = 0; i < partitions; i++) {
                all.add(new TopicPartition(topic, i));
            }
            consumer.assign(all);
            consumer.seekToBeginning(all);
            return take(consumer, count);
        }
    }

    List<ConsumerRecord<byte[], byte[]>> read(String topic, int count) {
        return read(topic, 1, count, Map.of());
    }

    static List<ConsumerRecord<byte[], byte[]>> take(KafkaConsumer<byte[], byte[]> consumer, int count) {
        List<ConsumerRecord<byte[], byte[]>> got = new ArrayList<>();
        long end = System.currentTimeMillis() + 30_000;
        while (got.size() < count) {
            check(System.currentTimeMillis() < end, "got " + got.size() + " of " + count + " records within 30 s");
            consumer.poll(Duration.ofMillis(500)).forEach(got::add);
        }
        return got;
    }

    static void check(boolean holds, String what) {
        if (!holds) {
            throw new AssertionError(what);
        }
    }

    static void equal(Object got, Object want, String what) {
        check(java.util.Objects.deepEquals(got, want), what + ": got " + got + ", want " + want);
    }

    static void eventually(Callable<Boolean> holds, String what) throws Exception {
        long end = System.currentTimeMillis() + 30_000;
        while (!holds.call()) {
            check(System.currentTimeMillis() < end, "not seen within 30 s: " + what);
            Thread.sleep(50);
        }
    }

    /** The exception of the given type with which the broker refuses the action. */
    static void refused(Callable<?> action, Class<? extends Exception> type, String what) throws Exception {
        try {
            action.call();
        } catch (ExecutionException error) {
            check(type.isInstance(error.getCause()), what + ": got " + error.getCause() + ", want " + type);
            return;
        } catch (Exception error) {
            check(type.isInstance(error), what + ": got " + error + ", want " + type);
            return;
        }
        throw new AssertionError(what + ": was accepted, want " + type.getSimpleName());
    }
}
