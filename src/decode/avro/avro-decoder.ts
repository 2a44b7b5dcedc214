import { isUtf8 } from 'node:buffer';
import type { BytesColumn } from '../../columns/bytes-column.ts';
import { columnBytes } from '../../columns/column-bytes.ts';
import { createColumn, type TypedColumn } from '../../columns/create-column.ts';
import { StructColumn } from '../../columns/struct-column.ts';
import type { BytesVector } from '../../columns/vector.ts';
import type { NestedField } from '../../core/schema.ts';
import type { AvroFormat, RegisteredSchema } from '../../core/value-format.ts';
import { SluiceError } from '../../errors.ts';
import {
  CONFLUENT_FRAME,
  confluentFault,
  type FrameFault,
  hasConfluentFrame,
  SINGLE_OBJECT_FRAME,
  schemaIdAt,
  singleObjectFault,
} from '../frame.ts';
import type { ReasonCode } from '../reasons.ts';
import { MissingSchemas } from '../registry/missing-schemas.ts';
import { RejectedRows, textColumns } from '../registry/rejected-rows.ts';
import type { DecodeCounts, DecodeFault, ValueDecoder } from '../value-decoder.ts';
import { AvroFault, AvroInput } from './avro-input.ts';
import { type AvroSchema, AvroSchemaFault } from './avro-schema.ts';
import { schemaFingerprint } from './canonical-form.ts';
import { checkDefaults } from './default-bytes.ts';
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

/** Plans that are kept from block to block; beyond it, those that the next block does not need go. */
const MAX_PLANS = 1000;
const NO_PLANS: ReadonlyMap<number, Plan> = new Map();

interface Plan {
  /** Of the registry; null where there is none. */
  readonly id: number | null;
  readonly op: Op;
  readonly leastBytes: number;
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
  readonly faults: readonly DecodeFault[];
  readonly dropped: readonly number[];
  readonly rowsWithUnknownFields: number[] = [];
  readonly counts: DecodeCounts = { duplicateKeys: 0, unknownFields: 0, dropped: 0 };

  private readonly root: StructColumn;
  private readonly texts: readonly BytesColumn[];
  private readonly rejected: RejectedRows;
  private readonly missing = new MissingSchemas();
  private readonly compiler: PlanCompiler;
  private readonly reader: AvroSchema | null;
  private readonly plans = new Map<number, Plan>();
  /** Without a registry: the one plan, and the fingerprint that single-object values must name. */
  private readonly only: Plan | null = null;
  private readonly fingerprint: Uint8Array | null = null;
  private readonly frameBytes: number;
  private readonly input = new AvroInput();
  private last: Plan | null = null;

  constructor(columns: readonly NestedField[], format: AvroFormat) {
    this.frameBytes = FRAME_BYTES[format.framing];
    this.columns = columns.map((field) => createColumn(field.type));
    this.root = new StructColumn(this.columns);
    this.texts = columns.flatMap((field, i) => textColumns(field.type, this.columns[i]));
    this.rejected = new RejectedRows(columns, this.root, format);
    this.faults = this.rejected.faults;
    this.dropped = this.rejected.dropped;
    this.compiler = new PlanCompiler({
      type: { type: 'struct', fields: columns },
      column: this.root,
      required: columns.some((field) => field.required && field.name !== format.corruptRecordColumn),
      except: format.corruptRecordColumn,
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
    this.only = { id: null, ...this.compiler.compile(writer, this.reader) };
  }

  get byteLength(): number {
    return this.columns.reduce((sum, column) => sum + columnBytes(column), 0);
  }

  addSchema(schema: RegisteredSchema): void {
    this.missing.known(schema.id);
    this.last = null;
    this.plans.set(schema.id, this.registeredPlan(schema));
  }

  markUnknown(id: number): void {
    this.missing.markUnknown(id);
  }

  missingSchemas(values: BytesVector): readonly number[] {
    if (this.only !== null) return [];
    if (this.plans.size > MAX_PLANS) this.forgetPlans(values);
    return this.missing.of(values, this.plans);
  }

  decode(values: BytesVector): void {
    this.pass(values);
    if (!this.texts.every(isValidText)) {
      // Rare: the rows at fault are found by looking at each text.
      this.input.checksText = true;
      this.pass(values);
      this.input.checksText = false;
    }
    for (const column of this.texts) column.seal(0);
    this.missing.forget();
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
      this.last = plan;
      return plan;
    }
    this.missing.assertUnknown(id);
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
    const value = this.input.bytes.subarray(start, end);
    this.rejected.reject({ row, reason, field, message, schemaId }, value);
    this.counts.dropped = this.dropped.length;
  }

  private clear(): void {
    this.last = null;
    this.root.clear();
    this.rejected.clear();
    this.rowsWithUnknownFields.length = 0;
    this.counts.duplicateKeys = 0;
    this.counts.unknownFields = 0;
    this.counts.dropped = 0;
  }

  private registeredPlan(schema: RegisteredSchema): Plan {
    const { id } = schema;
    try {
      if (schema.type !== 'AVRO') throw new AvroSchemaFault('', `it is a schema of type ${schema.type}`);
      const writer = parseAvroSchema(schema.schema, schema.references);
      return { id, ...this.compiler.compile(writer, this.reader) };
    } catch (e) {
      // Schemas that hold one another in a long row may ask for more stack than there is.
      if (!(e instanceof AvroSchemaFault) && !(e instanceof RangeError)) throw e;
      const op = new FaultOp('AVRO_RESOLUTION', `schema ${id} of the registry cannot be used: ${e.message}`);
      return { id, op, leastBytes: 0 };
    }
  }

  /** Not after a block: it may be a part of one, and the other parts need plans of their own. */
  private forgetPlans(values: BytesVector): void {
    const needed = new Set(this.missing.of(values, NO_PLANS));
    for (const id of this.plans.keys()) if (!needed.has(id)) this.plans.delete(id);
    this.last = null;
  }
}

/** All rows at once: their length prefixes are zero yet. */
function isValidText(column: BytesColumn): boolean {
  return isUtf8(column.data.subarray(0, column.end));
}

function configuredSchema(text: string, role: 'reader' | 'writer'): AvroSchema {
  try {
    const schema = parseAvroSchema(text);
    if (role === 'reader') checkDefaults(schema);
    return schema;
  } catch (e) {
    if (!(e instanceof AvroSchemaFault)) throw e;
    throw new SluiceError('CONFIG_INVALID', `the ${role} schema is no usable Avro schema: ${e.message}`, {
      cause: e,
    });
  }
}
