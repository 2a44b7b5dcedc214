import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataFiles;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.HasTableOperations;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.UpdateProperties;
import org.apache.iceberg.catalog.Catalog;
import org.apache.iceberg.catalog.Namespace;
import org.apache.iceberg.catalog.SupportsNamespaces;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.data.IcebergGenerics;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.hadoop.HadoopCatalog;
import org.apache.iceberg.jdbc.JdbcCatalog;

/**
 * Iceberg's Java library over an SQLite catalog, or over directories where DATABASE is `hadoop`. Arguments: DATABASE WAREHOUSE CATALOG, then
 * one of `list NAMESPACE`, `namespaces`, `read TABLE`, `set TABLE KEY=VALUE...`, `drop TABLE`,
 * `append TABLE FILE` (FILE is a copy of a data file of the table: it is added with that file's metrics), `create TABLE LIKE` (an empty
 * table with the schema of another). Prints one JSON object.
 */
public class IcebergJava {
  public static void main(String[] args) throws Exception {
    Catalog catalog = open(args);
    Map<String, Object> result = new LinkedHashMap<>();
    if (args[3].equals("namespaces")) {
      List<String> names = new ArrayList<>();
      for (Namespace namespace : ((SupportsNamespaces) catalog).listNamespaces()) names.add(namespace.toString());
      result.put("namespaces", names);
    } else if (args[3].equals("list")) {
      List<String> names = new ArrayList<>();
      for (TableIdentifier id : catalog.listTables(Namespace.of(args[4].split("\\.")))) names.add(id.toString());
      result.put("tables", names);
    } else {
      TableIdentifier id = TableIdentifier.parse(args[4]);
      if (args[3].equals("append")) append(catalog.loadTable(id), args[5]);
      if (args[3].equals("set")) set(catalog.loadTable(id), Arrays.copyOfRange(args, 5, args.length));
      if (args[3].equals("drop")) catalog.dropTable(id, false);
      if (args[3].equals("create")) catalog.createTable(id, catalog.loadTable(TableIdentifier.parse(args[5])).schema());
      if (!args[3].equals("drop")) describe(catalog.loadTable(id), result);
    }
    System.out.println(new ObjectMapper().writeValueAsString(result));
  }

  private static Catalog open(String[] args) {
    if (args[0].equals("hadoop")) return new HadoopCatalog(new Configuration(), args[1]);
    JdbcCatalog catalog = new JdbcCatalog();
    catalog.setConf(new Configuration());
    catalog.initialize(args[2], Map.of("uri", "jdbc:sqlite:" + args[0], "warehouse", args[1]));
    return catalog;
  }

  private static void set(Table table, String[] pairs) {
    UpdateProperties update = table.updateProperties();
    for (String pair : pairs) update.set(pair.substring(0, pair.indexOf('=')), pair.substring(pair.indexOf('=') + 1));
    update.commit();
  }

  private static void append(Table table, String path) throws Exception {
    try (CloseableIterable<FileScanTask> tasks = table.newScan().includeColumnStats().planFiles()) {
      DataFile first = tasks.iterator().next().file();
      table.newAppend().appendFile(DataFiles.builder(table.spec()).copy(first).withPath(path).build()).commit();
    }
  }

  private static void describe(Table table, Map<String, Object> result) throws Exception {
    result.put("formatVersion", ((HasTableOperations) table).operations().current().formatVersion());
    result.put("properties", table.properties());
    List<Object> snapshots = new ArrayList<>();
    for (Snapshot s : table.snapshots()) {
      snapshots.add(Map.of("id", String.valueOf(s.snapshotId()), "sequenceNumber", s.sequenceNumber(), "operation", s.operation(), "summary", s.summary()));
    }
    result.put("snapshots", snapshots);
    List<Object> files = new ArrayList<>();
    List<String> rows = new ArrayList<>();
    if (table.currentSnapshot() != null) {
      try (CloseableIterable<FileScanTask> tasks = table.newScan().includeColumnStats().planFiles()) {
        for (FileScanTask task : tasks) {
          DataFile file = task.file();
          Map<String, Object> one = new LinkedHashMap<>();
          one.put("path", file.location());
          one.put("partitionPath", table.specs().get(file.specId()).partitionToPath(file.partition()));
          one.put("records", file.recordCount());
          one.put("sequenceNumber", file.dataSequenceNumber());
          one.put("firstRowId", file.firstRowId());
          files.add(one);
        }
      }
      try (CloseableIterable<Record> records = IcebergGenerics.read(table).build()) {
        for (Record record : records) rows.add(String.valueOf(record.getField(table.schema().columns().get(0).name())));
      }
    }
    result.put("files", files);
    result.put("rows", rows);
  }
}
