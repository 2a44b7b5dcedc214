import type { BytesColumn } from '../../columns/bytes-column.ts';
import type { TypedColumn } from '../../columns/create-column.ts';
import type { RecordColumns } from '../../columns/record-columns.ts';
import type { NestedField } from '../../core/schema.ts';
import type { RegisteredSchema, ValueFormat } from '../../core/value-format.ts';
import type { recordName } from '../../decode/avro/record-name.ts';
import { createDecoder, takesSchemas } from '../../decode/create-decoder.ts';
import type { ValueDecoder } from '../../decode/value-decoder.ts';
import { SluiceError } from '../../errors.ts';
import type { RoutePlan, TargetTable, TopicTargets } from './batch-task.ts';
import { ByteMap } from './byte-map.ts';
import type { ExcludedRow, RowBlock } from './row-block.ts';
import type { SchemaLookup } from './row-decoders.ts';

export const NO_DESTINATION = -1;
/** Values that lead nowhere are kept up to this many: names from data must not take memory without bound. */
const MAX_UNKNOWN = 10_000;
/** Longer values are no names. */
const MAX_VALUE_BYTES = 200;

/** Where the rows of a block go. Reused from block to block. */
export interface RoutedRows {
  /** Index of the destination, or NO_DESTINATION, by row. */
  destinations: Int32Array;
  /** Rows by destination. */
  counts: Int32Array;
  /** Rows without a destination, in order. */
  excluded: ExcludedRow[];
}

/** Finds for each record of a topic which of several tables it goes to. */
export class Router {
  /** The tables of what fails before its destination is known. */
  readonly unrouted: TopicTargets;
  private readonly plan: RoutePlan;
  private readonly keys: RouteKeys;
  private readonly known = new ByteMap();
  private readonly unknown = new Map<string, true>();
  private readonly routed: RoutedRows;

  private constructor(topic: string, plan: RoutePlan, keys: RouteKeys, quarantine: TargetTable) {
    this.plan = plan;
    this.keys = keys;
    this.unrouted = unroutedTargets(topic, plan, quarantine);
    for (const [index, { value }] of plan.destinations.entries())
      this.known.set(Buffer.from(value, 'utf8'), index);
    this.routed = {
      destinations: new Int32Array(1024),
      counts: new Int32Array(plan.destinations.length),
      excluded: [],
    };
  }

  static async create(topic: string, plan: RoutePlan, quarantine: TargetTable): Promise<Router> {
    const keys =
      plan.by === '$recordName' ? await RecordNames.create() : await FieldValues.create(plan.by, plan.format);
    return new Router(topic, plan, keys, quarantine);
  }

  misses(columns: RecordColumns): boolean {
    return this.keys.missing(columns).length > 0;
  }

  async lookUp(columns: RecordColumns, lookup: SchemaLookup): Promise<void> {
    for (const id of [...this.keys.missing(columns)]) this.keys.learn(id, await lookup(id));
  }

  /** `block` was loaded for `unrouted`: what it excludes has no destination either. */
  route(block: RowBlock): RoutedRows {
    const { columns } = block;
    const { routed, keys } = this;
    const rows = columns.length;
    if (routed.destinations.length < rows) routed.destinations = new Int32Array(rows * 2);
    routed.counts.fill(0);
    routed.excluded = [];
    keys.load(columns);
    let next = 0;
    for (let row = 0; row < rows; row++) {
      const before =
        next < block.excluded.length && block.excluded[next].row === row ? block.excluded[next++] : null;
      const index = before !== null ? NO_DESTINATION : this.destinationOf(row);
      routed.destinations[row] = index;
      if (index >= 0) routed.counts[index]++;
      else routed.excluded.push(before ?? this.withoutDestination(row, block));
    }
    return routed;
  }

  /** Values that led nowhere, first met first, where their tables may be made. */
  unknownValues(): string[] {
    return this.plan.unknown === 'create' ? [...this.unknown.keys()] : [];
  }

  private destinationOf(row: number): number {
    const { keys } = this;
    if (!keys.find(row)) return NO_DESTINATION;
    return this.known.get(keys.bytes, keys.from, keys.until);
  }

  private withoutDestination(row: number, block: RowBlock): ExcludedRow {
    const { keys, plan } = this;
    const fault = keys.fault(row);
    if (fault !== undefined) return fault;
    const what = plan.by === '$recordName' ? 'the name of the record' : `the field ${plan.by}`;
    let message = `${what} is missing or null, so that nothing says where the record goes`;
    if (keys.find(row)) {
      const bytes = keys.bytes.subarray(keys.from, Math.min(keys.until, keys.from + MAX_VALUE_BYTES));
      const value = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8');
      const isName = keys.until > keys.from && keys.until - keys.from <= MAX_VALUE_BYTES;
      if (isName && this.unknown.size < MAX_UNKNOWN) this.unknown.set(value, true);
      message = `${what} is ${JSON.stringify(value)}, which leads to no table`;
    }
    const excluded: ExcludedRow = { row, reason: 'ROUTE_UNKNOWN', field: plan.by, message };
    if (plan.unknown === 'stop') throw unknownRoute(block, excluded);
    return excluded;
  }
}

function unknownRoute(block: RowBlock, { row, message }: ExcludedRow): SluiceError {
  const offset = block.columns.offsets.getBigInt(row);
  return new SluiceError(
    'DECODE_ERROR',
    `${block.topic}-${block.partition}, offset ${offset}: ROUTE_UNKNOWN: ${message}; nothing of the batch was committed (\`route.unknown: stop\`)`,
    { context: { topic: block.topic, partition: block.partition, offset, reason: 'ROUTE_UNKNOWN' } },
  );
}

/** The targets of records without a destination: only their quarantine is ever written. */
function unroutedTargets(topic: string, plan: RoutePlan, quarantine: TargetTable): TopicTargets {
  const { topicId, tombstones, maxRecordBytes } = plan;
  return {
    topic,
    topicId,
    data: { ...quarantine, tombstones, maxRecordBytes },
    quarantine,
    checkUtf8Values: false,
    checkUtf8Keys: false,
    checkUtf8HeaderKeys: false,
    decode: null,
    requiredColumns: { value: null, key: null },
  };
}

/** What a record is routed by, row by row of the block that was loaded last. */
interface RouteKeys {
  bytes: Uint8Array;
  from: number;
  until: number;
  missing(columns: RecordColumns): readonly number[];
  learn(id: number, schema: RegisteredSchema | null): void;
  load(columns: RecordColumns): void;
  /** Sets bytes[from, until) to the value of a row; false where it has none. */
  find(row: number): boolean;
  /** Why the record could not be read at all. */
  fault(row: number): ExcludedRow | undefined;
}

/** The text of one field of the value. */
class FieldValues implements RouteKeys {
  bytes: Uint8Array = new Uint8Array(0);
  from = 0;
  until = 0;
  private readonly decoder: ValueDecoder;
  private readonly depth: number;
  private readonly faults = new Map<number, ExcludedRow>();

  private constructor(decoder: ValueDecoder, depth: number) {
    this.decoder = decoder;
    this.depth = depth;
  }

  static async create(path: string, format: ValueFormat): Promise<FieldValues> {
    const names = path.split('.');
    const decoder = await createDecoder([stringAt(names)], routingFormat(format));
    return new FieldValues(decoder, names.length);
  }

  missing(columns: RecordColumns): readonly number[] {
    return this.decoder.missingSchemas(columns.values);
  }

  learn(id: number, schema: RegisteredSchema | null): void {
    if (!takesSchemas(this.decoder)) return;
    if (schema === null) this.decoder.markUnknown(id);
    else this.decoder.addSchema(schema);
  }

  load(columns: RecordColumns): void {
    this.decoder.decode(columns.values);
    this.faults.clear();
    for (const { row, reason, field, message, schemaId } of this.decoder.faults)
      this.faults.set(row, { row, reason, field: field === '' ? 'value' : field, message, schemaId });
  }

  find(row: number): boolean {
    let column: TypedColumn = this.decoder.columns[0];
    for (let level = 1; level < this.depth; level++) {
      if (column.kind !== 'struct' || column.isNull(row)) return false;
      column = column.fields[0] as TypedColumn;
    }
    const bytes = column as BytesColumn;
    if (bytes.isNull(row)) return false;
    this.bytes = bytes.data;
    this.from = bytes.starts[row] + 4;
    this.until = bytes.starts[row + 1];
    return true;
  }

  fault(row: number): ExcludedRow | undefined {
    return this.faults.get(row);
  }
}

/** A string at the end of structs. */
function stringAt(names: readonly string[]): NestedField {
  const [name, ...rest] = names;
  if (rest.length === 0) return { id: 0, name, required: false, type: 'string' };
  return { id: 0, name, required: false, type: { type: 'struct', fields: [stringAt(rest)] } };
}

/** Numbers and truth values lead somewhere too, by their text: as from_json reads them into a string column. */
function routingFormat(format: ValueFormat): ValueFormat {
  const base = { ...format, mode: 'quarantine' as const, corruptRecordColumn: null };
  if (base.format === 'json' || base.format === 'json-schema')
    return { ...base, unknownFields: 'ignore', compat: 'spark', nullDocument: 'quarantine' };
  return base;
}

/** The full name of the Avro record that a value was written as. */
class RecordNames implements RouteKeys {
  bytes: Uint8Array = new Uint8Array(0);
  from = 0;
  until = 0;
  private readonly nameOf: typeof recordName;
  private readonly names = new Map<number, Uint8Array | null>();
  /** Of the registry, and no Avro schemas that can be used: why. */
  private readonly unusable = new Map<number, string>();
  private columns: RecordColumns | undefined;

  private constructor(nameOf: typeof recordName) {
    this.nameOf = nameOf;
  }

  static async create(): Promise<RecordNames> {
    return new RecordNames((await import('../../decode/avro/record-name.ts')).recordName);
  }

  missing(columns: RecordColumns): readonly number[] {
    const ids = new Set<number>();
    for (let row = 0; row < columns.length; row++) {
      const id = frameId(columns, row);
      if (id !== null && !this.names.has(id)) ids.add(id);
    }
    return [...ids];
  }

  learn(id: number, schema: RegisteredSchema | null): void {
    const name = schema === null ? null : this.nameOf(schema);
    this.names.set(id, name === null || 'unusable' in name ? null : Buffer.from(name.fullName, 'utf8'));
    if (name !== null && 'unusable' in name) this.unusable.set(id, name.unusable);
  }

  load(columns: RecordColumns): void {
    this.columns = columns;
  }

  find(row: number): boolean {
    const id = frameId(this.columns!, row);
    const name = id === null ? null : (this.names.get(id) ?? null);
    if (name === null) return false;
    this.bytes = name;
    this.from = 0;
    this.until = name.length;
    return true;
  }

  fault(row: number): ExcludedRow | undefined {
    const id = frameId(this.columns!, row);
    if (id === null) {
      if (this.columns!.values.isNull(row)) return undefined;
      const message =
        'the value does not begin with the frame of a registry: a zero byte and the id of a schema';
      return { row, reason: 'BAD_MAGIC', field: 'value', message };
    }
    if (this.names.get(id) !== null) return undefined;
    const why = this.unusable.get(id);
    if (why !== undefined)
      return { row, reason: 'AVRO_RESOLUTION', field: 'value', message: why, schemaId: id };
    const message = `the registry does not know schema ${id}`;
    return { row, reason: 'UNKNOWN_SCHEMA_ID', field: 'value', message, schemaId: id };
  }
}

/** The schema id of a value in the frame of a registry; null where it is in none. */
function frameId({ values }: RecordColumns, row: number): number | null {
  const at = values.starts[row] + 4;
  const { data } = values;
  if (values.starts[row + 1] - at < 5 || data[at] !== 0) return null;
  return (data[at + 1] << 24) | (data[at + 2] << 16) | (data[at + 3] << 8) | data[at + 4];
}
