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
  /** Null or none: the record has no headers. */
  headers?: readonly (readonly [key: string | Uint8Array, value: Uint8Array | null])[] | null;
}

const bytesOf = (value: string | Uint8Array): Uint8Array =>
  typeof value === 'string' ? new TextEncoder().encode(value) : value;

/** Headers as a record bears them: zigzag varints of the count and the lengths, -1 for no value. */
export function headerBlock(headers: NonNullable<TestRecord['headers']>): Uint8Array {
  const bytes: number[] = [];
  const varint = (value: number): void => {
    let raw = (value << 1) ^ (value >> 31);
    for (; raw > 0x7f; raw >>>= 7) bytes.push((raw & 0x7f) | 0x80);
    bytes.push(raw);
  };
  varint(headers.length);
  for (const [key, value] of headers) {
    const name = bytesOf(key);
    varint(name.length);
    bytes.push(...name);
    varint(value === null ? -1 : value.length);
    bytes.push(...(value ?? []));
  }
  return Uint8Array.from(bytes);
}

/** Records as a decoder would hand them on; rows whose value or key is no UTF-8 are listed as it lists them. */
export function columnsOf(records: readonly TestRecord[]): RecordColumns {
  const columns = new RecordColumns();
  for (const { offset, ms, key = null, value = 'v', headers = null } of records) {
    columns.offsets.appendNumber(offset);
    if (ms === null) columns.timestampsMs.appendNull();
    else columns.timestampsMs.appendNumber(ms);
    if (key === null) columns.keys.appendNull();
    else columns.keys.appendBytes(bytesOf(key));
    if (value === null) columns.values.appendNull();
    else columns.values.appendBytes(bytesOf(value));
    if (headers === null || headers.length === 0) columns.headers.appendNull();
    else columns.headers.appendBytes(headerBlock(headers));
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
    includeHeaders?: boolean;
  } = {},
): TargetTable {
  const {
    partitionBy = ['dt', 'hour'],
    valueType = 'string',
    keyType = 'binary',
    includeHeaders = false,
    ...rest
  } = options;
  const schema = bronzeSchema({ valueType, keyType, includeHeaders });
  return {
    table: 'bronze.t',
    uuid: 'uuid-data',
    role: 'data',
    dataLocation: 'memory://warehouse/bronze/t/data',
    schema,
    spec: buildPartitionSpec(partitionBy, schema),
    sortOrderId: 0,
    sources: bindColumns(schema, includeHeaders).sources,
    defaults: schema.fields.map(() => null),
    timeZone: 'UTC',
    tombstones: 'keep',
    maxRecordBytes: null,
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
      defaults: schema.fields.map(() => null),
    },
    checkUtf8Values: true,
    checkUtf8Keys: false,
    checkUtf8HeaderKeys: false,
    decode: null,
    requiredColumns: { value: null, key: null },
    ...checks,
  };
}
