import { RecordColumns } from '../../src/columns/record-columns.ts';
import { bindColumns } from '../../src/engine/bind-columns.ts';
import { bronzeSchema, quarantineSchema } from '../../src/engine/bronze-layout.ts';
import type { TargetTable, TopicTargets } from '../../src/engine/local/batch-task.ts';
import { buildPartitionSpec } from '../../src/iceberg/partition.ts';

export interface TestRecord {
  offset: number;
  /** Null: no timestamp. */
  ms: number | null;
  key?: string | Uint8Array | null;
  value?: string | Uint8Array | null;
}

const bytesOf = (value: string | Uint8Array): Uint8Array =>
  typeof value === 'string' ? new TextEncoder().encode(value) : value;

/** Records as a decoder would hand them on; rows whose value or key is no UTF-8 are listed as it lists them. */
export function columnsOf(records: readonly TestRecord[]): RecordColumns {
  const columns = new RecordColumns();
  for (const { offset, ms, key = null, value = 'v' } of records) {
    columns.offsets.appendNumber(offset);
    if (ms === null) columns.timestampsMs.appendNull();
    else columns.timestampsMs.appendNumber(ms);
    if (key === null) columns.keys.appendNull();
    else columns.keys.appendBytes(bytesOf(key));
    if (value === null) columns.values.appendNull();
    else columns.values.appendBytes(bytesOf(value));
    columns.headers.appendNull();
  }
  const invalid = (field: 'key' | 'value'): number[] =>
    records.flatMap((r, row) =>
      r[field] instanceof Uint8Array &&
      !Buffer.from(r[field]).equals(Buffer.from(Buffer.from(r[field]).toString('utf8')))
        ? [row]
        : [],
    );
  columns.invalidUtf8Values = invalid('value');
  columns.invalidUtf8Keys = invalid('key');
  return columns;
}

/** A bronze table that was never in a catalog. */
export function bronzeTarget(
  options: Partial<TargetTable> & {
    partitionBy?: string[];
    valueType?: 'string' | 'binary';
    keyType?: 'string' | 'binary';
  } = {},
): TargetTable {
  const { partitionBy = ['dt', 'hour'], valueType = 'string', keyType = 'binary', ...rest } = options;
  const schema = bronzeSchema({ valueType, keyType, includeHeaders: false });
  return {
    table: 'bronze.t',
    uuid: 'uuid-data',
    role: 'data',
    dataLocation: 'memory://warehouse/bronze/t/data',
    schema,
    spec: buildPartitionSpec(partitionBy, schema),
    sortOrderId: 0,
    sources: bindColumns('bronze.t', schema),
    timeZone: 'UTC',
    tombstones: 'keep',
    codec: 'zstd',
    codecLevel: 1,
    targetFileSizeBytes: 128 * 1024 * 1024,
    ...rest,
  };
}

export function topicTargets(
  data: TargetTable = bronzeTarget(),
  checks: Partial<TopicTargets> = {},
): TopicTargets {
  const schema = quarantineSchema();
  return {
    topic: 't',
    topicId: 'topic-id',
    data,
    quarantine: {
      ...data,
      table: `${data.table}__quarantine`,
      uuid: 'uuid-quarantine',
      role: 'quarantine',
      dataLocation: `${data.dataLocation}-quarantine`,
      schema,
      spec: buildPartitionSpec(['days(quarantined_at)'], schema),
      sources: [],
    },
    checkUtf8Values: true,
    checkUtf8Keys: false,
    ...checks,
  };
}
