import { Command } from 'commander';
import { formatByteSize } from '../../core/byte-size.ts';
import { stringifyJson64 } from '../../core/json64.ts';
import { SluiceError } from '../../errors.ts';
import type { Catalog, LoadedTable } from '../../iceberg/catalog.ts';
import { count } from '../../monitor/progress-line.ts';
import type { CatalogView } from '../catalog-view.ts';
import type { CliContext, OutputFormat } from '../context.ts';
import { loadQuietly, type PipelineFlags, withPipelineOptions } from '../pipeline-option.ts';
import { tableArgument } from '../table-argument.ts';
import { currentSnapshot, summaryOf, type TableSummary } from '../table-summary.ts';
import { textTable } from '../text-table.ts';

interface TableFlags extends PipelineFlags {
  output: OutputFormat;
}

export function command(context: CliContext): Command {
  const sub = (name: string, description: string): Command =>
    withPipelineOptions(new Command(name)).description(description);
  return new Command()
    .description('Look at the tables of a catalog. Nothing is written.')
    .addCommand(
      sub('list', 'List the tables: rows, data files, bytes, snapshot.').action((flags: TableFlags) =>
        list(context, flags),
      ),
    )
    .addCommand(
      sub('show', 'Show a table: columns, partition fields, snapshot, properties.')
        .argument('<table>', 'namespace.name', tableArgument)
        .action((table: string, flags: TableFlags) => show(context, table, flags)),
    )
    .addCommand(
      sub('files', 'List the live files of a table: partition, rows, bytes.')
        .argument('<table>', 'namespace.name', tableArgument)
        .action((table: string, flags: TableFlags) => files(context, table, flags)),
    )
    .addHelpText(
      'after',
      '\nExamples:\n  sluice table list\n  sluice table show bronze.ad_clicks\n  sluice table files bronze.ad_clicks -o json',
    );
}

async function look<T>(
  context: CliContext,
  flags: TableFlags,
  then: (view: CatalogView) => Promise<T>,
): Promise<T> {
  const { config } = await loadQuietly(context, flags);
  const { withCatalog } = await import('../catalog-view.ts');
  return withCatalog(config, then);
}

async function list(context: CliContext, flags: TableFlags): Promise<void> {
  const tables = await look(context, flags, async ({ catalog }) => {
    const found: TableSummary[] = [];
    for (const namespace of await catalog.listNamespaces()) {
      for (const identifier of await catalog.listTables(namespace)) {
        const table = await catalog.loadTable(identifier);
        if (table !== undefined) found.push(summaryOf(identifier, table.metadata));
      }
    }
    return found.sort((a, b) => (a.table < b.table ? -1 : 1));
  });
  if (flags.output === 'json') {
    context.stdout.write(`${stringifyJson64(tables)}\n`);
    return;
  }
  const cell = (value: bigint | null, text: (v: bigint) => string): string =>
    value === null ? '-' : text(value);
  const rows = tables.map((t) => [
    t.table,
    cell(t.rows, count),
    cell(t.dataFiles, count),
    cell(t.bytes, (v) => formatByteSize(Number(v))),
    t.snapshotId === null ? '-' : String(t.snapshotId),
  ]);
  context.stdout.write(textTable(['table', 'rows', 'files', 'bytes', 'snapshot'], rows));
}

async function load(catalog: Catalog, name: string): Promise<LoadedTable> {
  const { parseTableName } = await import('../../engine/target-tables.ts');
  const table = await catalog.loadTable(parseTableName(name));
  if (table === undefined)
    throw new SluiceError(
      'TABLE_NOT_FOUND',
      `table ${name} is not in the catalog ${catalog.name}; sluice table list shows those that are`,
      {
        context: { table: name },
      },
    );
  return table;
}

async function show(context: CliContext, name: string, flags: TableFlags): Promise<void> {
  const [{ currentSchema, defaultSpec }, { columnType }, { fieldRow }] = await Promise.all([
    import('../../iceberg/metadata.ts'),
    import('../../iceberg/partition.ts'),
    import('../schema-text.ts'),
  ]);
  const { identifier, metadata, metadataLocation } = await look(context, flags, ({ catalog }) =>
    load(catalog, name),
  );
  const schema = currentSchema(metadata);
  const spec = defaultSpec(metadata);
  const summary = summaryOf(identifier, metadata);
  const snapshot = currentSnapshot(metadata);
  const partitionBy = spec.fields.map((field) => {
    const source =
      schema.fields.find((column) => column.id === field.sourceId)?.name ??
      (columnType(metadata.schemas, field.sourceId) === undefined
        ? 'a dropped column'
        : `field ${field.sourceId}`);
    return { name: field.name, transform: field.transform, source };
  });
  if (flags.output === 'json') {
    const { properties, tableUuid } = metadata;
    context.stdout.write(
      `${stringifyJson64({ ...summary, tableUuid, metadataLocation, fields: schema.fields, partitionBy, snapshot: snapshot ?? null, properties })}\n`,
    );
    return;
  }
  const facts = [
    ['table', summary.table],
    ['uuid', metadata.tableUuid],
    ['format', `v${metadata.formatVersion}`],
    ['location', metadata.location],
    ['metadata', metadataLocation],
    [
      'partitioned by',
      partitionBy
        .map((f) => (f.transform === 'identity' ? f.source : `${f.transform}(${f.source})`))
        .join(', ') || 'nothing',
    ],
    [
      'snapshot',
      snapshot === undefined
        ? 'none'
        : `${snapshot.snapshotId} of ${new Date(snapshot.timestampMs).toISOString()}`,
    ],
    ['rows', summary.rows === null ? 'unknown' : count(summary.rows)],
    ['data files', summary.dataFiles === null ? 'unknown' : count(summary.dataFiles)],
  ];
  const pad = (pairs: string[][], width: number): string =>
    pairs.map(([key, value]) => `${key.padEnd(width)} ${value}`).join('\n');
  const properties = Object.entries(metadata.properties).sort(([a], [b]) => (a < b ? -1 : 1));
  const columns = textTable(['id', 'column', 'type', '', 'doc'], schema.fields.map(fieldRow));
  context.stdout.write(
    `${pad(facts, 14)}\n\n${columns}${properties.length === 0 ? '' : `\n${pad(properties, Math.max(...properties.map(([key]) => key.length)))}\n`}`,
  );
}

async function files(context: CliContext, name: string, flags: TableFlags): Promise<void> {
  const [{ liveFiles }, { bindPartitionSpec, partitionPath }] = await Promise.all([
    import('../../iceberg/scan.ts'),
    import('../../iceberg/partition.ts'),
  ]);
  const content = ['data', 'position deletes', 'equality deletes'];
  const rows = await look(context, flags, async ({ catalog, io }) => {
    const { metadata } = await load(catalog, name);
    const snapshot = currentSnapshot(metadata);
    if (snapshot === undefined) return [];
    const bound = new Map(
      metadata.partitionSpecs.map((spec) => [spec.specId, bindPartitionSpec(spec, metadata.schemas)]),
    );
    const found = [];
    for await (const { file, snapshotId, sequenceNumber } of liveFiles(io, metadata, snapshot)) {
      const spec = bound.get(file.specId) ?? [];
      found.push({
        partition: partitionPath(spec, file.partition),
        content: content[file.content],
        format: file.fileFormat,
        rows: file.recordCount,
        bytes: file.fileSizeInBytes,
        snapshotId,
        sequenceNumber,
        path: file.filePath,
      });
    }
    return found.sort((a, b) =>
      a.partition === b.partition ? (a.path < b.path ? -1 : 1) : a.partition < b.partition ? -1 : 1,
    );
  });
  if (flags.output === 'json') {
    context.stdout.write(`${stringifyJson64(rows)}\n`);
    return;
  }
  const cells = rows.map((r) => [
    r.partition || '-',
    r.content,
    count(r.rows),
    formatByteSize(Number(r.bytes)),
    r.path,
  ]);
  context.stdout.write(textTable(['partition', 'content', 'rows', 'bytes', 'path'], cells));
}
