// Claims about records: what the Java producer sent is what the Java consumer gets, where it was told.

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.record.TimestampType;

class Records {
    static void batches_come_back_whole_without_a_codec(World world) throws Exception {
        roundTrip(world, "none");
    }

    static void batches_come_back_whole_with_gzip(World world) throws Exception {
        roundTrip(world, "gzip");
    }

    static void batches_come_back_whole_with_snappy(World world) throws Exception {
        roundTrip(world, "snappy");
    }

    static void batches_come_back_whole_with_lz4(World world) throws Exception {
        roundTrip(world, "lz4");
    }

    static void batches_come_back_whole_with_zstd(World world) throws Exception {
        roundTrip(world, "zstd");
    }

    static void roundTrip(World world, String codec) throws Exception {
        String topic = world.topic("codec", 1);
        List<ProducerRecord<byte[], byte[]>> sent = new ArrayList<>();
        Random random = new Random(7);
        for (int i = 0; i < 2000; i++) {
            byte[] value = new byte[random.nextInt(400)];
            random.nextBytes(value);
            List<Header> headers = List.of(new RecordHeader("h", bytes("" + i)), new RecordHeader("h", bytes("again")));
            sent.add(new ProducerRecord<>(topic, 0, 1_700_000_000_000L + i, bytes("k" + i % 7), value, headers));
        }
        List<Future<RecordMetadata>> answers = new ArrayList<>();
        try (var producer = world.producer(Map.of("compression.type", codec))) {
            for (var record : sent) {
                answers.add(producer.send(record));
            }
        }
        List<ConsumerRecord<byte[], byte[]>> got = world.read(topic, 2000);
        for (int i = 0; i < 2000; i++) {
            World.equal(answers.get(i).get().offset(), (long) i, "returned offset");
            World.equal(got.get(i).offset(), (long) i, "consumed offset");
            World.equal(got.get(i).value(), sent.get(i).value(), "value of " + i);
            World.equal(got.get(i).key(), sent.get(i).key(), "key of " + i);
            World.equal(got.get(i).timestamp(), sent.get(i).timestamp(), "timestamp of " + i);
            World.equal(got.get(i).timestampType(), TimestampType.CREATE_TIME, "timestamp type");
            World.equal(got.get(i).headers().toArray(), sent.get(i).headers().toArray(), "headers of " + i);
        }
    }

    static void headers_keep_order_duplicates_nulls_and_bytes(World world) throws Exception {
        String topic = world.topic("headers", 1);
        byte[] all = new byte[256];
        for (int i = 0; i < 256; i++) {
            all[i] = (byte) i;
        }
        List<Header> headers = List.of(new RecordHeader("b", bytes("2")), new RecordHeader("a", bytes("1")),
            new RecordHeader("b", null), new RecordHeader("", bytes("")), new RecordHeader("\u00fc", all));
        try (var producer = world.producer(Map.of())) {
            producer.send(new ProducerRecord<>(topic, 0, null, null, bytes("v"), headers)).get();
        }
        World.equal(world.read(topic, 1).get(0).headers().toArray(), headers.toArray(), "headers");
    }

    static void null_and_empty_keys_and_values_stay_apart(World world) throws Exception {
        String topic = world.topic("null", 1);
        byte[][][] sent = {{null, bytes("v")}, {bytes(""), bytes("v")}, {bytes("k"), null}, {bytes("k"), bytes("")},
            {null, null}};
        try (var producer = world.producer(Map.of())) {
            for (byte[][] one : sent) {
                producer.send(new ProducerRecord<>(topic, 0, one[0], one[1])).get();
            }
        }
        var got = world.read(topic, sent.length);
        for (int i = 0; i < sent.length; i++) {
            World.equal(got.get(i).key(), sent[i][0], "key of " + i);
            World.equal(got.get(i).value(), sent[i][1], "value of " + i);
        }
    }

    static void append_time_is_told_to_producer_and_consumer(World world) throws Exception {
        String topic = world.topic("append", 1, Map.of("message.timestamp.type", "LogAppendTime"));
        long told;
        try (var producer = world.producer(Map.of())) {
            told = producer.send(new ProducerRecord<>(topic, 0, 1L, null, bytes("v"))).get().timestamp();
        }
        var got = world.read(topic, 1).get(0);
        World.equal(got.timestampType(), TimestampType.LOG_APPEND_TIME, "timestamp type");
        World.equal(got.timestamp(), told, "timestamp");
        World.check(Math.abs(told - System.currentTimeMillis()) < 60_000, "the time is " + told);
    }

    static void records_arrive_with_acks_0_1_and_all(World world) throws Exception {
        for (String acks : List.of("0", "1", "all")) {
            String topic = world.topic("acks" + acks, 1);
            try (var producer = world.producer(Map.of("acks", acks, "enable.idempotence", acks.equals("all")))) {
                for (int i = 0; i < 100; i++) {
                    producer.send(new ProducerRecord<>(topic, 0, null, bytes("" + i)));
                }
            }
            var got = world.read(topic, 100);
            for (int i = 0; i < 100; i++) {
                World.equal(new String(got.get(i).value()), "" + i, "value with acks=" + acks);
            }
        }
    }

    static void eight_producers_on_one_partition_read_at_their_returned_offsets(World world) throws Exception {
        String topic = world.topic("eight", 1);
        Map<Long, String> returned = new ConcurrentHashMap<>();
        List<Thread> threads = new ArrayList<>();
        for (int p = 0; p < 8; p++) {
            String name = "p" + p;
            var producer = world.producer(Map.of("linger.ms", 1));
            threads.add(new Thread(() -> {
                for (int i = 0; i < 1000; i++) {
                    String value = name + "-" + i;
                    producer.send(new ProducerRecord<>(topic, 0, null, bytes(value)), (told, error) -> {
                        if (error == null) {
                            returned.put(told.offset(), value);
                        }
                    });
                }
                producer.flush();
            }));
        }
        threads.forEach(Thread::start);
        for (Thread thread : threads) {
            thread.join();
        }
        World.equal(returned.size(), 8000, "distinct returned offsets");
        Map<String, Integer> last = new ConcurrentHashMap<>();
        for (var one : world.read(topic, 8000)) {
            String value = new String(one.value());
            World.equal(returned.get(one.offset()), value, "value at " + one.offset());
            int number = Integer.parseInt(value.split("-")[1]);
            Integer before = last.put(value.split("-")[0], number);
            World.equal(number, before == null ? 0 : before + 1, "order of " + value);
        }
    }

    static void a_record_above_max_message_bytes_is_refused(World world) throws Exception {
        String topic = world.topic("large", 1, Map.of("max.message.bytes", "50000"));
        var producer = world.producer(Map.of());
        World.refused(() -> producer.send(new ProducerRecord<>(topic, 0, null, new byte[60_000])).get(),
            RecordTooLargeException.class, "a large record");
        World.equal(producer.send(new ProducerRecord<>(topic, 0, null, bytes("v"))).get().offset(), 0L, "next offset");
    }

    static void a_batch_that_is_too_large_is_split_and_stored(World world) throws Exception {
        String topic = world.topic("split", 1, Map.of("max.message.bytes", "50000"));
        List<Future<RecordMetadata>> answers = new ArrayList<>();
        try (var producer = world.producer(Map.of("batch.size", 400_000, "linger.ms", 300))) {
            for (int i = 0; i < 300; i++) {
                answers.add(producer.send(new ProducerRecord<>(topic, 0, null, new byte[1000])));
            }
        }
        for (int i = 0; i < 300; i++) {
            World.equal(answers.get(i).get().offset(), (long) i, "offset");
        }
    }

    static void thirty_megabytes_come_back_through_small_and_large_fetches(World world) throws Exception {
        String topic = world.topic("thirty", 3, Map.of("max.message.bytes", "4000000"));
        byte[] value = new byte[1_000_000];
        new Random(3).nextBytes(value);
        try (var producer = world.producer(Map.of("max.request.size", 4_000_000, "batch.size", 3_500_000))) {
            for (int i = 0; i < 30; i++) {
                byte[] mine = value.clone();
                mine[0] = (byte) i;
                producer.send(new ProducerRecord<>(topic, i % 3, null, mine));
            }
        }
        for (int limit : new int[] {1000, 1_500_000, 50_000_000}) {
            var got = world.read(topic, 3, 30, Map.of("max.partition.fetch.bytes", limit, "fetch.max.bytes", limit));
            boolean[] seen = new boolean[30];
            for (var one : got) {
                World.equal(Arrays.equals(one.value(), 1, value.length, value, 1, value.length), true, "bytes");
                seen[one.value()[0]] = true;
                World.equal(one.value()[0] / 3, (int) one.offset(), "offset");
            }
            World.equal(Arrays.toString(seen).contains("false"), false, "a record is missing");
        }
    }

    static void seek_time_and_end_offsets_agree(World world) throws Exception {
        String topic = world.topic("times", 1);
        try (var producer = world.producer(Map.of())) {
            for (int i = 0; i < 100; i++) {
                producer.send(new ProducerRecord<>(topic, 0, 1_700_000_000_000L + i * 1000L, null, bytes("" + i)));
                if (i % 10 == 9) {
                    producer.flush();
                }
            }
        }
        TopicPartition where = new TopicPartition(topic, 0);
        try (var consumer = world.consumer(Map.of())) {
            var found = consumer.offsetsForTimes(Map.of(where, 1_700_000_041_500L)).get(where);
            World.equal(found.offset(), 42L, "offset for the time");
            World.equal(found.timestamp(), 1_700_000_042_000L, "timestamp there");
            World.equal(consumer.offsetsForTimes(Map.of(where, 1_800_000_000_000L)).get(where), null, "after the end");
            World.equal(consumer.beginningOffsets(List.of(where)).get(where), 0L, "beginning");
            World.equal(consumer.endOffsets(List.of(where)).get(where), 100L, "end");
            consumer.assign(List.of(where));
            consumer.seek(where, found.offset());
            World.equal(new String(World.take(consumer, 1).get(0).value()), "42", "first value");
            consumer.seekToEnd(List.of(where));
            World.equal(consumer.position(where), 100L, "position at the end");
            consumer.poll(Duration.ofMillis(300));
            World.equal(consumer.currentLag(where).orElse(-1), 0L, "lag at the end");
        }
    }

    static void a_topic_is_created_by_the_first_send(World world) throws Exception {
        String topic = World.fresh("auto");
        var producer = world.producer(Map.of());
        World.equal(producer.send(new ProducerRecord<>(topic, null, bytes("v"))).get().offset(), 0L, "offset");
    }

    static void a_consumer_follows_its_topic_through_deletion_and_creation(World world) throws Exception {
        String topic = world.topic("follow", 1);
        var producer = world.producer(Map.of());
        producer.send(new ProducerRecord<>(topic, 0, null, bytes("old"))).get();
        try (var consumer = world.consumer(Map.of("group.id", World.fresh("g"), "metadata.max.age.ms", 1000))) {
            consumer.subscribe(List.of(topic));
            World.equal(new String(World.take(consumer, 1).get(0).value()), "old", "first value");
            world.admin.deleteTopics(List.of(topic)).all().get();
            World.eventually(() -> !world.admin.listTopics().names().get().contains(topic), "the topic is gone");
            world.admin.createTopics(List.of(new org.apache.kafka.clients.admin.NewTopic(topic, 1, (short) 1)))
                .all().get();
            World.eventually(() -> {
                producer.send(new ProducerRecord<>(topic, 0, null, bytes("new"))).get();
                for (var one : consumer.poll(Duration.ofMillis(500))) {
                    World.equal(new String(one.value()), "new", "value after creation");
                    return true;
                }
                return false;
            }, "a record of the new topic");
        }
    }

    static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
