import { isUtf8 } from 'node:buffer';
import type { BytesColumn } from '../../columns/bytes-column.ts';
import { createColumn, type TypedColumn } from '../../columns/create-column.ts';
import { StructColumn } from '../../columns/struct-column.ts';
import type { BytesVector } from '../../columns/vector.ts';
import type { IcebergType, NestedField } from '../../core/schema.ts';
import type { AvroFormat, RegisteredSchema } from '../../core/value-format.ts';
import { SluiceError } from '../../errors.ts';
import type { ReasonCode } from '../reasons.ts';
import type { DecodeCounts, DecodeFault, ValueDecoder } from '../value-decoder.ts';
import { appendText } from './append-bytes.ts';
import { AvroFault, AvroInput } from './avro-input.ts';
import { type AvroSchema, AvroSchemaFault } from './avro-schema.ts';
import { schemaFingerprint } from './canonical-form.ts';
import { columnBytes } from './column-bytes.ts';
import {
  CONFLUENT_FRAME,
  confluentFault,
  type FrameFault,
  hasConfluentFrame,
  SINGLE_OBJECT_FRAME,
  schemaIdAt,
  singleObjectFault,
} from './frame.ts';
import { FaultOp, type Op } from './op.ts';
import { PlanCompiler } from './plan-compiler.ts';
import { parseAvroSchema } from './schema-parser.ts';

/** Decodes Avro values; given the schemas of the registry that `missingSchemas` asks for. */
export interface AvroDecoder extends ValueDecoder {
  /**
   * Compiles a writer's schema. Never throws for what the registry holds: records of a schema that cannot be used are
   * AVRO_RESOLUTION faults.
   */
  addSchema(schema: RegisteredSchema): void;
  /** The registry does not know the id: its records of the next block are UNKNOWN_SCHEMA_ID; then it is asked for again. */
  markUnknown(id: number): void;
}

const FRAME_BYTES = { confluent: CONFLUENT_FRAME, plain: 0, singleObject: SINGLE_OBJECT_FRAME } as const;

/** Plans that are kept from block to block; those that the last block did not use go first. */
const MAX_PLANS = 1000;

interface Plan {
  /** Of the registry; null where there is none. */
  readonly id: number | null;
  readonly op: Op;
  readonly leastBytes: number;
  /** The number of the block that used it last. */
  block: number;
}

/**
 * The decoder of Avro values into columns. Throws CONFIG_INVALID where `writerSchema` or `readerSchema` is no Avro schema,
 * or `writerSchema` is missing where there is no registry.
 */
export function createAvroDecoder(
  columns: readonly NestedField[],
  format: AvroFormat,
  schemas: Iterable<RegisteredSchema> = [],
): AvroDecoder {
  const decoder = new ColumnarAvroDecoder(columns, format);
  for (const schema of schemas) decoder.addSchema(schema);
  return decoder;
}

class ColumnarAvroDecoder implements AvroDecoder {
  readonly columns: readonly TypedColumn[];
  readonly faults: DecodeFault[] = [];
  readonly dropped: number[] = [];
  readonly rowsWithUnknownFields: number[] = [];
  readonly counts: DecodeCounts = { duplicateKeys: 0, unknownFields: 0, dropped: 0 };

  private readonly format: AvroFormat;
  private readonly root: StructColumn;
  private readonly texts: readonly BytesColumn[];
  private readonly corrupt: { at: number; isText: boolean } | null;
  /** Whether a row of nulls can stand for a record at fault. */
  private readonly takesNullRows: boolean;
  private readonly compiler: PlanCompiler;
  private readonly reader: AvroSchema | null;
  private readonly plans = new Map<number, Plan>();
  private readonly unknownIds = new Set<number>();
  /** Without a registry: the one plan, and the fingerprint that single-object values must name. */
  private readonly only: Plan | null = null;
  private readonly fingerprint: Uint8Array | null = null;
  private readonly frameBytes: number;
  private readonly input = new AvroInput();
  private block = 0;
  private last: Plan | null = null;

  constructor(columns: readonly NestedField[], format: AvroFormat) {
    this.format = format;
    this.frameBytes = FRAME_BYTES[format.framing];
    this.columns = columns.map((field) => createColumn(field.type));
    this.root = new StructColumn(this.columns);
    this.texts = columns.flatMap((field, i) => textColumns(field.type, this.columns[i]));
    const corruptAt = columns.findIndex((field) => field.name === format.corruptRecordColumn);
    this.corrupt = corruptAt < 0 ? null : { at: corruptAt, isText: columns[corruptAt].type === 'string' };
    checkCorruptColumn(columns[corruptAt]);
    const required = columns.some((field, i) => field.required && i !== corruptAt);
    this.takesNullRows = format.mode === 'permissive' && !required;
    this.compiler = new PlanCompiler({
      type: { type: 'struct', fields: columns },
      column: this.root,
      required,
      except: corruptAt < 0 ? null : format.corruptRecordColumn,
    });
    this.reader = format.readerSchema === null ? null : configuredSchema(format.readerSchema, 'reader');
    if (format.framing === 'confluent') return;
    if (format.writerSchema === null)
      throw new SluiceError(
        'CONFIG_INVALID',
        `Avro values with framing ${format.framing} need a writer schema`,
      );
    const writer = configuredSchema(format.writerSchema, 'writer');
    if (format.framing === 'singleObject') this.fingerprint = schemaFingerprint(writer);
    this.only = this.configuredPlan(writer);
  }

  get byteLength(): number {
    return this.columns.reduce((sum, column) => sum + columnBytes(column), 0);
  }

  addSchema(schema: RegisteredSchema): void {
    this.unknownIds.delete(schema.id);
    this.last = null;
    this.plans.set(schema.id, this.registeredPlan(schema));
  }

  markUnknown(id: number): void {
    this.unknownIds.add(id);
  }

  missingSchemas(values: BytesVector): readonly number[] {
    const missing: number[] = [];
    if (this.format.framing !== 'confluent') return missing;
    const { data, starts, length } = values;
    let last: number | undefined;
    for (let row = 0; row < length; row++) {
      const start = starts[row] + 4;
      const end = starts[row + 1];
      if (!hasConfluentFrame(data, start, end)) continue;
      const id = schemaIdAt(data, start);
      if (id === last) continue;
      last = id;
      if (id >= 0 && !this.plans.has(id) && !this.unknownIds.has(id) && !missing.includes(id))
        missing.push(id);
    }
    return missing;
  }

  decode(values: BytesVector): void {
    this.block++;
    this.pass(values);
    if (!this.texts.every(isValidText)) {
      // Rare: the rows at fault are found by looking at each text.
      this.input.checksText = true;
      this.pass(values);
      this.input.checksText = false;
    }
    for (const column of this.texts) column.seal(0);
    this.unknownIds.clear();
    this.forgetPlans();
  }

  private pass(values: BytesVector): void {
    this.clear();
    const { starts, length } = values;
    for (const column of this.columns) if ('reserve' in column) column.reserve(length, 0);
    this.input.attach(values.data);
    for (let row = 0; row < length; row++) {
      const start = starts[row];
      const end = starts[row + 1];
      if (start === end) this.root.appendNull();
      else this.decodeRow(row, start + 4, end);
    }
  }

  private decodeRow(row: number, start: number, end: number): void {
    const { input } = this;
    const plan = this.planOf(row, start, end);
    if (plan === null) return;
    const body = start + this.frameBytes;
    if (body === end && plan.leastBytes > 0) {
      const reason = this.frameBytes === 0 ? 'EMPTY_VALUE' : 'EMPTY_BODY';
      this.reject(row, start, end, reason, '', 'no byte follows where the schema needs some', plan.id);
      return;
    }
    try {
      input.open(start, body, end);
      plan.op.run(input);
      if (input.at !== end) input.fail('AVRO_DECODE', `${end - input.at} bytes are left after the value`);
    } catch (e) {
      if (!(e instanceof AvroFault)) throw e;
      this.reject(row, start, end, e.reason, e.path, e.message, plan.id);
      return;
    }
    if (input.unknownFields > 0) {
      this.counts.unknownFields += input.unknownFields;
      this.rowsWithUnknownFields.push(row);
    }
    this.counts.duplicateKeys += input.duplicateKeys;
  }

  /** The plan of a value, or null where its frame is at fault; the row is then told and filled. */
  private planOf(row: number, start: number, end: number): Plan | null {
    const { bytes } = this.input;
    if (this.only !== null) {
      if (this.fingerprint === null) return this.only;
      const fault = singleObjectFault(bytes, start, end, this.fingerprint);
      return fault === undefined ? this.only : this.rejectFrame(row, start, end, fault);
    }
    if (!hasConfluentFrame(bytes, start, end))
      return this.rejectFrame(row, start, end, confluentFault(bytes, start, end));
    const id = schemaIdAt(bytes, start);
    if (this.last?.id === id) return this.last;
    const plan = this.plans.get(id);
    if (plan !== undefined) {
      plan.block = this.block;
      this.last = plan;
      return plan;
    }
    // No registry gives negative ids, so that none needs to be asked.
    if (id >= 0 && !this.unknownIds.has(id))
      throw new SluiceError(
        'INTERNAL',
        `schema ${id} was neither given to the Avro decoder nor marked as unknown`,
      );
    this.reject(
      row,
      start,
      end,
      'UNKNOWN_SCHEMA_ID',
      '',
      `the registry does not know the schema id ${id}`,
      id,
    );
    return null;
  }

  private rejectFrame(row: number, start: number, end: number, fault: FrameFault): null {
    this.reject(row, start, end, fault.reason, '', fault.message, null);
    return null;
  }

  /** Fills the row of a record at fault and tells it as the mode says. */
  private reject(
    row: number,
    start: number,
    end: number,
    reason: ReasonCode,
    field: string,
    message: string,
    schemaId: number | null,
  ): void {
    this.root.truncate(row);
    if (this.takesNullRows) {
      this.appendCorrupt(start, end);
      return;
    }
    this.root.appendNull();
    if (this.format.mode === 'dropmalformed') {
      this.dropped.push(row);
      this.counts.dropped++;
    } else this.faults.push({ row, reason, field, message, schemaId });
  }

  /** A row of nulls with the record's bytes: as they are in a binary column, in base64 in a text column. */
  private appendCorrupt(start: number, end: number): void {
    const { corrupt, columns, input } = this;
    columns.forEach((column, at) => {
      if (at !== corrupt?.at) column.appendNull();
      else if (corrupt.isText) {
        const bytes = Buffer.from(input.bytes.buffer, input.bytes.byteOffset + start, end - start);
        const text = Buffer.from(bytes.toString('base64'), 'latin1');
        appendText(column as BytesColumn, text, 0, text.length);
      } else (column as BytesColumn).appendFrom(input.bytes, start, end - start, true);
    });
    this.root.endRow();
  }

  private clear(): void {
    this.root.clear();
    this.faults.length = 0;
    this.dropped.length = 0;
    this.rowsWithUnknownFields.length = 0;
    this.counts.duplicateKeys = 0;
    this.counts.unknownFields = 0;
    this.counts.dropped = 0;
  }

  private configuredPlan(writer: AvroSchema): Plan {
    try {
      return { id: null, block: 0, ...this.compiler.compile(writer, this.reader) };
    } catch (e) {
      throw configFault('reader', e);
    }
  }

  private registeredPlan(schema: RegisteredSchema): Plan {
    const { id } = schema;
    try {
      if (schema.type !== 'AVRO') throw new AvroSchemaFault('', `it is a schema of type ${schema.type}`);
      const writer = parseAvroSchema(schema.schema, schema.references);
      return { id, block: this.block, ...this.compiler.compile(writer, this.reader) };
    } catch (e) {
      // Schemas that hold one another in a long row may ask for more stack than there is.
      if (!(e instanceof AvroSchemaFault) && !(e instanceof RangeError)) throw e;
      const op = new FaultOp('AVRO_RESOLUTION', `schema ${id} of the registry cannot be used: ${e.message}`);
      return { id, block: this.block, op, leastBytes: 0 };
    }
  }

  private forgetPlans(): void {
    if (this.plans.size <= MAX_PLANS) return;
    for (const [id, plan] of this.plans) if (plan.block !== this.block) this.plans.delete(id);
    this.last = null;
  }
}

/** The columns that hold text, at every level. */
function textColumns(type: IcebergType, column: TypedColumn): BytesColumn[] {
  if (typeof type === 'string') return type === 'string' ? [column as BytesColumn] : [];
  if (type.type === 'struct' && column.kind === 'struct')
    return type.fields.flatMap((field, i) => textColumns(field.type, column.fields[i] as TypedColumn));
  if (type.type === 'list' && column.kind === 'list')
    return textColumns(type.element, column.element as TypedColumn);
  if (type.type === 'map' && column.kind === 'map')
    return [
      ...textColumns(type.key, column.key as TypedColumn),
      ...textColumns(type.value, column.value as TypedColumn),
    ];
  return [];
}

/** All rows at once: their length prefixes are zero yet. */
function isValidText(column: BytesColumn): boolean {
  return isUtf8(column.data.subarray(0, column.end));
}

function checkCorruptColumn(field: NestedField | undefined): void {
  if (field === undefined || field.type === 'string' || field.type === 'binary') return;
  throw new SluiceError(
    'CONFIG_INVALID',
    `the column ${field.name} for corrupt records is no string and no binary`,
  );
}

function configuredSchema(text: string, role: 'reader' | 'writer'): AvroSchema {
  try {
    return parseAvroSchema(text);
  } catch (e) {
    throw configFault(role, e);
  }
}

function configFault(role: 'reader' | 'writer', e: unknown): unknown {
  if (!(e instanceof AvroSchemaFault)) return e;
  return new SluiceError('CONFIG_INVALID', `the ${role} schema is no usable Avro schema: ${e.message}`, {
    cause: e,
  });
}
