import { isUtf8 } from 'node:buffer';
import type { BytesColumn } from '../../columns/bytes-column.ts';
import { columnBytes } from '../../columns/column-bytes.ts';
import { createColumn, type TypedColumn } from '../../columns/create-column.ts';
import { StructColumn } from '../../columns/struct-column.ts';
import type { BytesVector } from '../../columns/vector.ts';
import type { NestedField } from '../../core/schema.ts';
import type { ProtobufFormat, RegisteredSchema } from '../../core/value-format.ts';
import { CONFLUENT_FRAME, confluentFault, hasConfluentFrame, schemaIdAt } from '../frame.ts';
import type { ReasonCode } from '../reasons.ts';
import { MissingSchemas } from '../registry/missing-schemas.ts';
import { RejectedRows, textColumns } from '../registry/rejected-rows.ts';
import type { DecodeCounts, DecodeFault, ValueDecoder } from '../value-decoder.ts';
import type { Target } from './message-compiler.ts';
import { MessageIndexes } from './message-indexes.ts';
import { ProtoFault, ProtoInput } from './proto-input.ts';
import { RegisteredMessages } from './registered-messages.ts';

/** Decodes Protobuf values in the frame of a registry; given the schemas that `missingSchemas` asks for. */
export interface ProtobufDecoder extends ValueDecoder {
  /** Never throws for what the registry holds: records of a schema that cannot be used are PROTOBUF_DECODE faults. */
  addSchema(schema: RegisteredSchema): void;
  /** The registry does not know the id: its records of the next block are UNKNOWN_SCHEMA_ID; then it is asked for again. */
  markUnknown(id: number): void;
}

/** Schemas that are kept from block to block; those that the last block did not use go first. */
const MAX_SCHEMAS = 1000;

/**
 * The decoder of Protobuf messages into columns, matched by the names of the fields as the .proto file has them.
 *
 * A field without presence (proto3 without `optional`) that does not stand in the message has the value zero: the format
 * does not tell the two apart (as Confluent's converter and Spark's `emit.default.values` have it; Spark's default is null).
 * A field with presence that is missing has its declared default (proto2), else the column's, else null. Lists and maps are
 * never null. Enums are the names of their numbers; a number that an open enum does not name is
 * `UNKNOWN_ENUM_VALUE_Color_7`, as in Java; one of a closed enum is an unknown field. `google.protobuf.Timestamp` is a
 * timestamp, `Duration` micros in a long, wrappers are their values; each may also be a struct of its fields. Groups are
 * moved over. A number that does not fit its column, or is longer than its type, is OUT_OF_RANGE.
 *
 * Throws CONFIG_INVALID where the column for corrupt records cannot hold them.
 */
export function createProtobufDecoder(
  columns: readonly NestedField[],
  format: ProtobufFormat,
  schemas: Iterable<RegisteredSchema> = [],
): ProtobufDecoder {
  const decoder = new ColumnarProtobufDecoder(columns, format);
  for (const schema of schemas) decoder.addSchema(schema);
  return decoder;
}

class ColumnarProtobufDecoder implements ProtobufDecoder {
  readonly columns: readonly TypedColumn[];
  readonly rowsWithUnknownFields: number[] = [];
  readonly counts: DecodeCounts = { duplicateKeys: 0, unknownFields: 0, dropped: 0 };

  private readonly format: ProtobufFormat;
  private readonly root: StructColumn;
  private readonly texts: readonly BytesColumn[];
  private readonly target: Target;
  private readonly rejected: RejectedRows;
  private readonly schemas = new Map<number, RegisteredMessages>();
  private readonly missing = new MissingSchemas();
  private readonly input = new ProtoInput();
  private readonly indexes = new MessageIndexes();
  private block = 0;

  constructor(columns: readonly NestedField[], format: ProtobufFormat) {
    this.format = format;
    this.columns = columns.map((field) => createColumn(field.type));
    this.root = new StructColumn(this.columns);
    this.texts = columns.flatMap((field, i) => textColumns(field.type, this.columns[i]));
    this.rejected = new RejectedRows(columns, this.root, format);
    // No message fills the column for corrupt records.
    const corrupt = columns.findIndex((field) => field.name === format.corruptRecordColumn);
    const fields = columns.map((field, i) =>
      i === corrupt ? { ...field, name: '', required: false } : field,
    );
    this.target = { fields, columns: this.columns };
  }

  get faults(): readonly DecodeFault[] {
    return this.rejected.faults;
  }

  get dropped(): readonly number[] {
    return this.rejected.dropped;
  }

  get byteLength(): number {
    return this.columns.reduce((sum, column) => sum + columnBytes(column), 0);
  }

  addSchema(schema: RegisteredSchema): void {
    this.missing.known(schema.id);
    const messages = new RegisteredMessages(schema, this.target, this.format.message);
    messages.block = this.block;
    this.schemas.set(schema.id, messages);
  }

  markUnknown(id: number): void {
    this.missing.markUnknown(id);
  }

  missingSchemas(values: BytesVector): readonly number[] {
    return this.missing.of(values, this.schemas);
  }

  decode(values: BytesVector): void {
    this.block++;
    this.pass(values);
    if (!this.texts.every((column) => isUtf8(column.data.subarray(0, column.end)))) {
      // Rare: the rows at fault are found by looking at each text.
      this.input.checksAllTexts = true;
      this.pass(values);
      this.input.checksAllTexts = false;
    }
    for (const column of this.texts) column.seal(0);
    this.missing.forget();
    this.counts.dropped = this.rejected.dropped.length;
    if (this.schemas.size > MAX_SCHEMAS)
      for (const [id, messages] of this.schemas) if (messages.block !== this.block) this.schemas.delete(id);
  }

  private pass(values: BytesVector): void {
    this.root.clear();
    this.rejected.clear();
    this.rowsWithUnknownFields.length = 0;
    this.counts.duplicateKeys = 0;
    this.counts.unknownFields = 0;
    const { starts, length } = values;
    this.input.attach(values.data);
    for (let row = 0; row < length; row++) {
      const start = starts[row];
      const end = starts[row + 1];
      if (start === end) this.root.appendNull();
      else this.decodeRow(row, start + 4, end);
    }
  }

  private decodeRow(row: number, start: number, end: number): void {
    const { input, indexes } = this;
    input.open(start, end);
    const { bytes } = input;
    if (!hasConfluentFrame(bytes, start, end)) {
      const { reason, message } = confluentFault(bytes, start, end);
      this.reject(row, start, end, reason, '', message, null);
      return;
    }
    const id = schemaIdAt(bytes, start);
    const messages = this.schemas.get(id);
    if (messages === undefined) {
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
      return;
    }
    messages.block = this.block;
    const frame = indexes.read(bytes, start + CONFLUENT_FRAME, end);
    if (frame !== undefined) {
      this.reject(row, start, end, frame.reason, '', frame.message, id);
      return;
    }
    const entry = messages.entryOf(indexes);
    if (entry.plan === null) {
      this.reject(row, start, end, 'PROTOBUF_DECODE', '', entry.fault, id);
      return;
    }
    try {
      input.at = indexes.end;
      entry.plan.read(input, end);
    } catch (e) {
      if (!(e instanceof ProtoFault)) throw e;
      this.reject(row, start, end, e.reason, e.path, e.message, id);
      return;
    }
    this.root.endRow();
    if (input.passedFields > 0) this.rowsWithUnknownFields.push(row);
    this.counts.unknownFields += input.unknownFields;
    this.counts.duplicateKeys += input.duplicateKeys;
  }

  private reject(
    row: number,
    start: number,
    end: number,
    reason: ReasonCode,
    field: string,
    message: string,
    schemaId: number | null,
  ): void {
    const value = this.input.valueAt(start, end);
    this.rejected.reject({ row, reason, field, message, schemaId }, value);
  }
}
