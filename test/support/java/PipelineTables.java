import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.ByteBuffer;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.AppendFiles;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.PartitionKey;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.catalog.Namespace;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.data.GenericAppenderFactory;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.data.IcebergGenerics;
import org.apache.iceberg.data.InternalRecordWrapper;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.io.DataWriter;
import org.apache.iceberg.io.OutputFileFactory;
import org.apache.iceberg.jdbc.JdbcCatalog;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;

/**
 * Tables of a pipeline, with all their values. Arguments: DATABASE WAREHOUSE CATALOG SCHEMA_VERSION (V0 or V1 of the JDBC catalog), then
 * commands with `;` between: `list NAMESPACE`, `create TABLE` (of columns and partitions of its own), `rows TABLE [COLUMN OP VALUE]` (OP = or >=; VALUE an
 * integer, hex for binary, microseconds for timestamps), `append TABLE COUNT FIRST_OFFSET` (rows of topic `by-java`, partition 0).
 * Prints a JSON list with an object per command; binary in hex, timestamps in microseconds.
 */
public class PipelineTables {
  private static final OffsetDateTime EPOCH = OffsetDateTime.of(1970, 1, 1, 0, 0, 0, 0, ZoneOffset.UTC);

  public static void main(String[] args) throws Exception {
    JdbcCatalog catalog = new JdbcCatalog();
    catalog.setConf(new Configuration());
    Map<String, String> properties = Map.of("uri", "jdbc:sqlite:" + args[0], "warehouse", args[1], "jdbc.schema-version", args[3]);
    catalog.initialize(args[2], properties);
    List<Object> results = new ArrayList<>();
    for (int from = 4, until; from < args.length; from = until + 1) {
      for (until = from; until < args.length && !args[until].equals(";");) until++;
      results.add(run(catalog, Arrays.copyOfRange(args, from, until)));
    }
    System.out.println(new ObjectMapper().writeValueAsString(results));
  }

  private static Map<String, Object> run(JdbcCatalog catalog, String[] command) throws Exception {
    Map<String, Object> result = new LinkedHashMap<>();
    TableIdentifier id = command[0].equals("list") ? null : TableIdentifier.parse(command[1]);
    switch (command[0]) {
      case "list" -> {
        List<String> names = new ArrayList<>();
        for (TableIdentifier found : catalog.listTables(Namespace.of(command[1].split("\\.")))) names.add(found.toString());
        result.put("tables", names);
      }
      case "create" -> create(catalog, id);
      case "append" -> append(catalog.loadTable(id), Integer.parseInt(command[2]), Long.parseLong(command[3]));
      default -> {
        Table table = catalog.loadTable(id);
        describe(table, command.length > 2 ? condition(table, command) : Expressions.alwaysTrue(), result);
      }
    }
    return result;
  }

  private static void create(JdbcCatalog catalog, TableIdentifier id) {
    Schema schema = new Schema(
        Types.NestedField.optional(1, "note", Types.StringType.get()),
        Types.NestedField.required(2, "kafka_offset", Types.LongType.get()),
        Types.NestedField.required(3, "kafka_partition", Types.IntegerType.get()),
        Types.NestedField.required(4, "topic", Types.StringType.get()),
        Types.NestedField.optional(5, "kafka_timestamp", Types.TimestampType.withZone()),
        Types.NestedField.optional(6, "key", Types.BinaryType.get()),
        Types.NestedField.optional(7, "value", Types.StringType.get()));
    PartitionSpec spec = PartitionSpec.builderFor(schema).hour("kafka_timestamp").bucket("key", 16).build();
    if (!catalog.namespaceExists(id.namespace())) catalog.createNamespace(id.namespace());
    catalog.createTable(id, schema, spec);
  }

  private static Expression condition(Table table, String[] command) {
    Object value = switch (table.schema().findType(command[2]).typeId()) {
      case BINARY -> ByteBuffer.wrap(HexFormat.of().parseHex(command[4]));
      case STRING -> command[4];
      default -> Long.parseLong(command[4]);
    };
    return command[3].equals("=") ? Expressions.equal(command[2], value) : Expressions.greaterThanOrEqual(command[2], value);
  }

  private static void describe(Table table, Expression filter, Map<String, Object> result) throws Exception {
    List<Object> snapshots = new ArrayList<>();
    for (Snapshot s : table.snapshots()) snapshots.add(Map.of("sequenceNumber", s.sequenceNumber(), "summary", s.summary()));
    result.put("snapshots", snapshots);
    int files = 0;
    try (CloseableIterable<FileScanTask> tasks = table.newScan().filter(filter).planFiles()) {
      for (FileScanTask task : tasks) files++;
    }
    result.put("files", files);
    List<Map<String, Object>> rows = new ArrayList<>();
    try (CloseableIterable<Record> records = IcebergGenerics.read(table).where(filter).build()) {
      for (Record record : records) rows.add(row(record));
    }
    result.put("rows", rows);
  }

  private static Map<String, Object> row(Record record) {
    Map<String, Object> row = new LinkedHashMap<>();
    for (Types.NestedField field : record.struct().fields()) row.put(field.name(), plain(record.getField(field.name())));
    return row;
  }

  private static Object plain(Object value) {
    if (value instanceof ByteBuffer bytes) {
      byte[] copy = new byte[bytes.remaining()];
      bytes.duplicate().get(copy);
      return HexFormat.of().formatHex(copy);
    }
    if (value instanceof OffsetDateTime time) return ChronoUnit.MICROS.between(EPOCH, time);
    if (value instanceof Record record) return row(record);
    if (value instanceof List<?> list) return list.stream().map(PipelineTables::plain).toList();
    return value;
  }

  private static Object text(Table table, String column, String text) {
    return table.schema().findType(column).typeId() == Type.TypeID.BINARY ? ByteBuffer.wrap(text.getBytes()) : text;
  }

  /** One data file per row, each in its partition. */
  private static void append(Table table, int count, long first) throws Exception {
    GenericAppenderFactory factory = new GenericAppenderFactory(table.schema(), table.spec());
    OutputFileFactory outputs = OutputFileFactory.builderFor(table, 1, first).format(FileFormat.PARQUET).build();
    AppendFiles append = table.newAppend();
    for (long offset = first; offset < first + count; offset++) {
      Record record = GenericRecord.create(table.schema());
      OffsetDateTime time = EPOCH.plusHours(500_000 + offset);
      Map<String, Object> values = Map.of(
          "value", text(table, "value", "row " + offset), "key", ByteBuffer.wrap(("k" + offset).getBytes()), "topic", "by-java", "kafka_partition", 0,
          "kafka_offset", offset, "kafka_timestamp", time, "ingested_at", time, "dt", time.toString().substring(0, 10), "hour", time.getHour());
      for (Types.NestedField field : table.schema().columns()) record.setField(field.name(), values.get(field.name()));
      PartitionKey partition = new PartitionKey(table.spec(), table.schema());
      partition.partition(new InternalRecordWrapper(table.schema().asStruct()).wrap(record));
      DataWriter<Record> writer = factory.newDataWriter(outputs.newOutputFile(partition), FileFormat.PARQUET, partition);
      try (writer) {
        writer.write(record);
      }
      append.appendFile(writer.toDataFile());
    }
    append.commit();
  }
}
