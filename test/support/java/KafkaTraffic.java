import java.io.PrintStream;
import java.io.BufferedOutputStream;
import java.io.FileOutputStream;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.function.Predicate;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Kafka's own clients. Arguments: COMMAND BOOTSTRAP ...
 *
 * `produce BOOTSTRAP`: fills the topics of kafka-traffic.ts (see there), each batch in the hands of this program. Ends without
 * ending its last transaction, in topic `open`.
 *
 * `consume BOOTSTRAP FILE TOPIC...`: waits until the compacted topics among them are compacted, ends their compaction, and writes
 * what a consumer of each isolation level reads to FILE.read_committed and FILE.read_uncommitted: lines of fields with tabs
 * between, `record TOPIC PARTITION OFFSET TIMESTAMP TYPE KEY VALUE HEADERS`, and `range TOPIC PARTITION BEGIN END`. Bytes are `-`
 * for null, hex, or from 25 on `sha256:LENGTH:HEX`; headers are `KEY=VALUE` with commas between.
 */
public class KafkaTraffic {
  private static final String[] CODECS = {"none", "gzip", "snappy", "lz4", "zstd"};
  /** 2024-01-01T00:00:00Z. */
  private static final long START_MS = 1_704_067_200_000L;
  private static final long ROLL_MS = 7_200_000L;
  private static final int MIXED = CODECS.length;

  private final String bootstrap;
  private final Map<String, KafkaProducer<byte[], byte[]>> producers = new HashMap<>();

  private KafkaTraffic(String bootstrap) {
    this.bootstrap = bootstrap;
  }

  public static void main(String[] args) throws Exception {
    KafkaTraffic traffic = new KafkaTraffic(args[1]);
    if (args[0].equals("produce")) {
      traffic.produce();
      // No `close`, which would abort what is open.
      Runtime.getRuntime().halt(0);
    }
    List<String> topics = Arrays.asList(args).subList(3, args.length);
    traffic.endCompaction(topics);
    for (String level : List.of("read_committed", "read_uncommitted")) traffic.consume(topics, level, args[2] + "." + level);
  }

  private void produce() throws Exception {
    for (int c = 0; c < CODECS.length; c++) everyKind(CODECS[c], c);
    appendTime();
    big();
    recompressed();
    mixed();
    longTransactions();
    compacted();
    deleted();
    open();
  }

  // ---- what is produced

  /** Batches of one record and huge ones; without idempotence, with it, in transactions that commit and abort. */
  private void everyKind(String codec, int partition) throws Exception {
    KafkaProducer<byte[], byte[]> plain = producer("plain", codec, null);
    KafkaProducer<byte[], byte[]> idempotent = producer("idempotent", codec, null);
    KafkaProducer<byte[], byte[]> transactional = producer("everyKind", codec, "java-" + codec);
    for (int n = 0; n < 24; n++) {
      plain.send(odd("java", partition, n));
      plain.flush();
    }
    for (int n = 0; n < 12_000; n++) idempotent.send(small("java", partition, n));
    idempotent.flush();
    for (int round = 0; round < 4; round++) {
      transactional.beginTransaction();
      for (int n = 0; n < 30; n++) {
        transactional.send(odd("java", partition, 100 * round + n));
        transactional.send(odd("java", MIXED, 1000 * partition + 100 * round + n));
        if (n % 10 == 9) transactional.flush();
      }
      if (round % 2 == 0) transactional.commitTransaction();
      else transactional.abortTransaction();
      for (int n = 0; n < 7; n++) plain.send(odd("java", MIXED, 500 + n));
      plain.flush();
    }
  }

  private void appendTime() {
    for (String codec : CODECS) {
      for (int n = 0; n < 20; n++) producer("plain", codec, null).send(odd("append-time", 0, n));
      producer("plain", codec, null).flush();
      producer("everyKind", codec, "java-" + codec).beginTransaction();
      for (int n = 0; n < 20; n++) producer("everyKind", codec, "java-" + codec).send(odd("append-time", 0, n));
      producer("everyKind", codec, "java-" + codec).commitTransaction();
    }
  }

  private void big() {
    Random random = new Random(7);
    for (int c = 0; c < CODECS.length; c++) {
      for (int bytes : new int[] {1_100_000, 20, 2_500_000}) {
        byte[] value = new byte[bytes];
        if (c % 2 == 0) random.nextBytes(value);
        else for (int i = 0; i < bytes; i++) value[i] = (byte) (i * 31 >> 9);
        producer("idempotent", CODECS[c], null).send(new ProducerRecord<>("big", 0, START_MS, bytes(CODECS[c]), value));
        producer("idempotent", CODECS[c], null).flush();
      }
    }
  }

  /** Topics whose broker compresses again, whatever comes. */
  private void recompressed() {
    for (int c = 0; c < CODECS.length; c++) {
      String topic = "by-broker-" + (c == 0 ? "uncompressed" : CODECS[c]);
      for (String codec : CODECS) {
        for (int n = 0; n < 300; n++) producer("idempotent", codec, null).send(n % 9 == 0 ? odd(topic, 0, n) : small(topic, 0, n));
        producer("idempotent", codec, null).flush();
      }
    }
  }

  /** On one partition with every other client at the same time. */
  private void mixed() {
    KafkaProducer<byte[], byte[]> first = producer("mixed", "lz4", "java-mixed-1");
    KafkaProducer<byte[], byte[]> second = producer("mixed", "zstd", "java-mixed-2");
    for (int round = 0; round < 12; round++) {
      first.beginTransaction();
      for (int n = 0; n < 9; n++) first.send(odd("mixed", 0, 10_000 + 100 * round + n));
      first.flush();
      second.beginTransaction();
      for (int n = 0; n < 9; n++) second.send(odd("mixed", 0, 20_000 + 100 * round + n));
      second.flush();
      for (int n = 0; n < 3; n++) producer("plain", "gzip", null).send(odd("mixed", 0, 30_000 + 100 * round + n));
      producer("plain", "gzip", null).flush();
      for (int n = 10; n < 14; n++) first.send(odd("mixed", 0, 10_000 + 100 * round + n));
      if (round % 3 == 0) first.abortTransaction();
      else first.commitTransaction();
      if (round % 2 == 0) second.abortTransaction();
      else second.commitTransaction();
    }
  }

  /** An aborted and a committed transaction that take many fetches, and plain records between their batches. */
  private void longTransactions() {
    KafkaProducer<byte[], byte[]> aborted = producer("long", "none", "java-long-1");
    KafkaProducer<byte[], byte[]> committed = producer("long", "lz4", "java-long-2");
    KafkaProducer<byte[], byte[]> shorter = producer("long", "snappy", "java-long-3");
    Random random = new Random(11);
    aborted.beginTransaction();
    committed.beginTransaction();
    for (int n = 0; n < 800; n++) {
      byte[] value = new byte[6_000];
      random.nextBytes(value);
      aborted.send(new ProducerRecord<>("long", 0, START_MS + n, bytes("a" + n), value));
      committed.send(new ProducerRecord<>("long", 0, START_MS + n, bytes("c" + n), Arrays.copyOf(value, 4_000)));
      if (n % 40 != 39) continue;
      aborted.flush();
      committed.flush();
      producer("plain", "none", null).send(odd("long", 0, n));
      producer("plain", "none", null).flush();
      shorter.beginTransaction();
      shorter.send(odd("long", 0, 10_000 + n));
      if (n % 80 == 39) shorter.abortTransaction();
      else shorter.commitTransaction();
    }
    committed.commitTransaction();
    aborted.abortTransaction();
    for (int n = 0; n < 20; n++) producer("plain", "none", null).send(odd("long", 0, 20_000 + n));
    producer("plain", "none", null).flush();
  }

  /**
   * Partition 0: keys again and again and tombstones, by all codecs; compacted twice, so that the tombstones of the first time are
   * gone and some batches stand empty. Partition 1: the same in transactions of which some are aborted.
   */
  private void compacted() throws Exception {
    for (int round = 0; round < 2; round++) {
      for (int n = 0; n < 400; n++) {
        String codec = CODECS[n / 16 % CODECS.length];
        KafkaProducer<byte[], byte[]> producer = producer("idempotent", codec, null);
        producer.send(keyed(0, round, n));
        if (n % 16 == 15) producer.flush();
      }
      for (int n = 0; n < 120; n += 12) {
        KafkaProducer<byte[], byte[]> producer = producer("compacted", CODECS[n / 12 % CODECS.length], "java-compacted-" + n / 12 % 5);
        producer.beginTransaction();
        for (int i = n; i < n + 12; i++) producer.send(keyed(1, round, i));
        if (n % 24 == 0) producer.abortTransaction();
        else producer.commitTransaction();
      }
      for (int partition = 0; partition < 2; partition++) {
        // Its time, later than that of the markers, ends the segment, so that the cleaner may have what lies before.
        long time = System.currentTimeMillis() + (round + 1) * ROLL_MS;
        producer("plain", "none", null).send(new ProducerRecord<>("compacted", partition, time, bytes("roll " + round), bytes("roll")));
        producer("plain", "none", null).flush();
        awaitCompacted(new TopicPartition("compacted", partition));
      }
    }
  }

  private static ProducerRecord<byte[], byte[]> keyed(int partition, int round, int n) {
    // Twenty keys come again and again; every 37th comes only once, and is a tombstone.
    String key = n % 37 == 0 ? "once-" + round + "-" + n : "again-" + n % 20;
    byte[] value = n % 37 == 0 ? null : bytes("value " + n + " " + "x".repeat(n % 50));
    return new ProducerRecord<>("compacted", partition, START_MS + n, bytes(key), value);
  }

  /** The log starts inside a batch, inside an aborted transaction, inside a compressed batch, and behind the last record. */
  private void deleted() throws Exception {
    KafkaProducer<byte[], byte[]> transactional = producer("deleted", "none", "java-deleted");
    for (int partition : new int[] {0, 2, 3}) {
      for (int n = 0; n < 100; n++) producer("idempotent", partition == 2 ? "zstd" : "none", null).send(odd("deleted", partition, n));
      producer("idempotent", partition == 2 ? "zstd" : "none", null).flush();
    }
    for (int round = 0; round < 3; round++) {
      transactional.beginTransaction();
      for (int n = 0; n < 40; n++) {
        transactional.send(odd("deleted", 1, 100 * round + n));
        if (n % 10 == 9) transactional.flush();
      }
      if (round == 1) transactional.commitTransaction();
      else transactional.abortTransaction();
    }
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
      Map<TopicPartition, RecordsToDelete> before = new HashMap<>();
      long[] offsets = {37, 17, 61, 100};
      for (int p = 0; p < 4; p++) before.put(new TopicPartition("deleted", p), RecordsToDelete.beforeOffset(offsets[p]));
      admin.deleteRecords(before).all().get();
    }
  }

  private void open() {
    KafkaProducer<byte[], byte[]> left = producer("open", "lz4", "java-open");
    KafkaProducer<byte[], byte[]> other = producer("everyKind", "none", "java-none");
    for (int n = 0; n < 50; n++) producer("plain", "none", null).send(odd("open", 0, n));
    producer("plain", "none", null).flush();
    left.beginTransaction();
    for (int n = 100; n < 130; n++) left.send(odd("open", 0, n));
    left.flush();
    for (int n = 200; n < 220; n++) producer("plain", "none", null).send(odd("open", 0, n));
    producer("plain", "none", null).flush();
    for (int round = 0; round < 2; round++) {
      other.beginTransaction();
      for (int n = 300; n < 320; n++) other.send(odd("open", 0, n));
      if (round == 0) other.commitTransaction();
      else other.abortTransaction();
    }
  }

  /** Records with null, empty and odd keys and values, tombstones, and headers of every kind; times go back and forth. */
  private static ProducerRecord<byte[], byte[]> odd(String topic, int partition, int n) {
    byte[][] keys = {null, {}, bytes("key " + n), {(byte) 0xff, 0, (byte) n}, bytes("ключ😀".repeat(n % 9 * 20))};
    byte[][] values = {null, {}, bytes("{\"n\":" + n + "}"), {(byte) 0xfe, (byte) n}, bytes("long " + n + " ".repeat(n % 200 + 30)), bytes("€".repeat(2000)), {0}};
    RecordHeaders headers = new RecordHeaders();
    if (n % 3 == 1) headers.add("trace", bytes("t" + n));
    if (n % 3 == 2) headers.add("trace", null).add("trace", bytes("again")).add("", new byte[0]).add("trace", new byte[] {(byte) 0xff}).add("имя😀", bytes("x".repeat(n % 7 * 40)));
    return new ProducerRecord<>(topic, partition, START_MS + (n * 7919L) % 3_600_000 , keys[n % keys.length], values[n % values.length], headers);
  }

  private static ProducerRecord<byte[], byte[]> small(String topic, int partition, int n) {
    return new ProducerRecord<>(topic, partition, START_MS + n, n % 2 == 0 ? null : bytes(Integer.toString(n)), bytes("v" + n % 100));
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  /** The producer of that name, codec and transactional id; made once. Batches are sent at `flush`, or when they are full. */
  private KafkaProducer<byte[], byte[]> producer(String name, String codec, String transactionalId) {
    return producers.computeIfAbsent(name + " " + codec + " " + transactionalId, key -> {
      Map<String, Object> config = new HashMap<>();
      config.put("bootstrap.servers", bootstrap);
      config.put("key.serializer", ByteArraySerializer.class);
      config.put("value.serializer", ByteArraySerializer.class);
      config.put("compression.type", codec);
      config.put("linger.ms", 60_000);
      config.put("delivery.timeout.ms", 120_000);
      config.put("batch.size", 900_000);
      config.put("max.request.size", 8_000_000);
      config.put("enable.idempotence", !name.equals("plain"));
      if (name.equals("plain")) config.put("acks", "1");
      if (transactionalId != null) {
        config.put("transactional.id", transactionalId);
        config.put("transaction.timeout.ms", 900_000);
      }
      KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(config);
      if (transactionalId != null) producer.initTransactions();
      return producer;
    });
  }

  // ---- what is consumed

  private void consume(List<String> topics, String level, String file) throws Exception {
    try (PrintStream out = new PrintStream(new BufferedOutputStream(new FileOutputStream(file), 1 << 20), false, "UTF-8")) {
      MessageDigest sha256 = MessageDigest.getInstance("SHA-256");
      for (TopicPartition partition : partitionsOf(topics)) {
        long[] range = read(partition, level, record -> {
          out.println(line(record, sha256));
          return true;
        });
        out.println(String.join("\t", "range", partition.topic(), "" + partition.partition(), "" + range[0], "" + range[1]));
      }
    }
  }

  private List<TopicPartition> partitionsOf(List<String> topics) {
    List<TopicPartition> partitions = new ArrayList<>();
    try (KafkaConsumer<byte[], byte[]> consumer = consumer("read_uncommitted")) {
      for (String topic : topics) {
        for (PartitionInfo info : consumer.partitionsFor(topic)) partitions.add(new TopicPartition(topic, info.partition()));
      }
    }
    partitions.sort(Comparator.comparing(TopicPartition::toString));
    return partitions;
  }

  private KafkaConsumer<byte[], byte[]> consumer(String level) {
    Map<String, Object> config = new HashMap<>();
    config.put("bootstrap.servers", bootstrap);
    config.put("key.deserializer", ByteArrayDeserializer.class);
    config.put("value.deserializer", ByteArrayDeserializer.class);
    config.put("isolation.level", level);
    config.put("auto.offset.reset", "none");
    config.put("enable.auto.commit", false);
    config.put("max.poll.records", 5000);
    // `close` waits for the fetch behind the last record.
    config.put("fetch.max.wait.ms", 10);
    return new KafkaConsumer<>(config);
  }

  /** Reads a partition from its start to its end for the isolation level while `each` says so. Returns both. */
  private long[] read(TopicPartition partition, String level, Predicate<ConsumerRecord<byte[], byte[]>> each) {
    List<TopicPartition> one = List.of(partition);
    try (KafkaConsumer<byte[], byte[]> consumer = consumer(level)) {
      consumer.assign(one);
      long begin = consumer.beginningOffsets(one).get(partition);
      long end = consumer.endOffsets(one).get(partition);
      consumer.seek(partition, begin);
      while (consumer.position(partition) < end) {
        for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(100))) {
          if (record.offset() < end && !each.test(record)) return new long[] {begin, end};
        }
      }
      return new long[] {begin, end};
    }
  }

  private static String line(ConsumerRecord<byte[], byte[]> record, MessageDigest sha256) {
    List<String> headers = new ArrayList<>();
    for (Header header : record.headers()) headers.add(shown(bytes(header.key()), sha256) + "=" + shown(header.value(), sha256));
    return String.join(
        "\t",
        "record",
        record.topic(),
        "" + record.partition(),
        "" + record.offset(),
        "" + record.timestamp(),
        "" + record.timestampType().id,
        shown(record.key(), sha256),
        shown(record.value(), sha256),
        String.join(",", headers));
  }

  private static String shown(byte[] bytes, MessageDigest sha256) {
    if (bytes == null) return "-";
    if (bytes.length <= 24) return HexFormat.of().formatHex(bytes);
    return "sha256:" + bytes.length + ":" + HexFormat.of().formatHex(sha256.digest(bytes));
  }

  // ---- compaction

  /** Reads the log until no key is there twice: then all segments before the last one are cleaned. */
  private void awaitCompacted(TopicPartition partition) {
    for (boolean twice = true; twice; ) {
      Set<String> keys = new HashSet<>();
      boolean[] again = {false};
      read(partition, "read_uncommitted", record -> {
        again[0] = record.key() == null || !keys.add(HexFormat.of().formatHex(record.key()));
        return !again[0];
      });
      twice = again[0];
    }
  }

  /** What is read from now on stays as it is: all is compacted, and compaction is over. */
  private void endCompaction(List<String> topics) throws Exception {
    for (TopicPartition partition : partitionsOf(topics)) {
      if (partition.topic().equals("compacted")) awaitCompacted(partition);
    }
    if (!topics.contains("compacted")) return;
    ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, "compacted");
    AlterConfigOp delete = new AlterConfigOp(new ConfigEntry("cleanup.policy", "delete"), AlterConfigOp.OpType.SET);
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
      admin.incrementalAlterConfigs(Map.of(resource, List.of(delete))).all().get();
    }
  }
}
