import type { BytesColumn } from '../../columns/bytes-column.ts';
import { columnBytes } from '../../columns/column-bytes.ts';
import type { TypedColumn } from '../../columns/create-column.ts';
import type { BytesVector } from '../../columns/vector.ts';
import type { NestedField } from '../../core/schema.ts';
import type { JsonFormat } from '../../core/value-format.ts';
import { SluiceError } from '../../errors.ts';
import type { ReasonCode } from '../reasons.ts';
import type { DecodeCounts, DecodeFault, ValueDecoder } from '../value-decoder.ts';
import { compileObject, createColumns } from './compile-plan.ts';
import type { ObjectPlan } from './field-plan.ts';
import { JsonFault } from './json-fault.ts';
import { JsonReader } from './json-reader.ts';
import { SLACK } from './json-scanner.ts';
import type { RecordReader } from './record-reader.ts';
import { RestMembers } from './rest-members.ts';
import { SparkReader } from './spark-reader.ts';

/** Beyond this a copy of a record is not kept for the next one. */
const KEPT_BYTES = 1 << 20;

/** What stands before each document in its value. */
export interface DocumentFrame {
  /** Of the registry, from the last frame that was whole; null where there was none. */
  readonly schemaId: number | null;
  /** Why the last frame was none. */
  readonly fault: { readonly reason: ReasonCode; readonly message: string };
  /** Where the document of the value bytes[start, end) begins; -1 where the frame is at fault. */
  open(bytes: Uint8Array, start: number, end: number): number;
}

/**
 * The decoder of JSON documents into the given columns (spec 40). Throws CONFIG_INVALID for columns that cannot be told
 * apart, for a rest or corrupt-record column that is not there or not a string, for an unknown time zone; UNSUPPORTED for
 * types that JSON cannot be decoded into.
 */
export function createJsonDecoder(
  columns: readonly NestedField[],
  format: JsonFormat,
  frame: DocumentFrame | null = null,
): ValueDecoder {
  return new JsonDecoder(columns, format, frame);
}

class JsonDecoder implements ValueDecoder {
  readonly columns: readonly TypedColumn[];
  faults: DecodeFault[] = [];
  dropped: number[] = [];
  rowsWithUnknownFields: number[] = [];
  readonly counts: DecodeCounts = { duplicateKeys: 0, unknownFields: 0, dropped: 0 };

  private readonly format: JsonFormat;
  private readonly plan: ObjectPlan;
  private readonly reader: RecordReader;
  private readonly rest: RestMembers | null;
  private readonly corrupt: BytesColumn | null;
  /** May every column that takes values hold a null? */
  private readonly nullable: boolean;
  private readonly frame: DocumentFrame | null;
  /** Where the text of the row that is read begins, in its block. */
  private textFrom = 0;
  private scratch = new Uint8Array(1024);

  constructor(columns: readonly NestedField[], format: JsonFormat, frame: DocumentFrame | null) {
    this.format = format;
    this.frame = frame;
    if (format.compat === 'spark' && format.mode === 'dropmalformed')
      throw new SluiceError(
        'CONFIG_INVALID',
        'compat spark and mode dropmalformed: from_json has no such mode; take permissive, failfast or quarantine',
      );
    const restName = typeof format.unknownFields === 'string' ? null : format.unknownFields.restColumn;
    const filled = new Set([restName, format.corruptRecordColumn].filter((name) => name !== null));
    this.columns = createColumns(columns);
    this.plan = compileObject(columns, this.columns, { caseInsensitive: format.caseInsensitive, filled });
    const rest = this.textColumn(columns, restName, 'unknownFields.restColumn');
    this.rest = rest === null ? null : new RestMembers(rest);
    this.corrupt = this.textColumn(columns, format.corruptRecordColumn, 'corruptRecordColumn');
    this.nullable = this.plan.fields.every((field) => field.filled || !field.required);
    const Reader = format.compat === 'spark' ? SparkReader : JsonReader;
    this.reader = new Reader(format, format.mode === 'permissive', this.rest);
  }

  private textColumn(
    columns: readonly NestedField[],
    name: string | null,
    option: string,
  ): BytesColumn | null {
    if (name === null) return null;
    const at = columns.findIndex((column) => column.name === name);
    if (at < 0 || columns[at].type !== 'string' || columns[at].required)
      throw new SluiceError(
        'CONFIG_INVALID',
        `${option} ${JSON.stringify(name)}: expected the name of a string column that is not required, found ${
          at < 0
            ? 'no column of that name'
            : `${columns[at].required ? 'required ' : ''}${String(columns[at].type)}`
        }`,
        { context: { column: name } },
      );
    return this.columns[at] as BytesColumn;
  }

  get byteLength(): number {
    return this.columns.reduce((sum, column) => sum + columnBytes(column), this.scratch.length);
  }

  missingSchemas(): readonly number[] {
    return [];
  }

  decode(values: BytesVector): void {
    const { reader, plan } = this;
    const { length, starts, data } = values;
    this.clear();
    let lastRow = length - 1;
    while (lastRow >= 0 && starts[lastRow] === starts[lastRow + 1]) lastRow--;
    reader.setBytes(data, new DataView(data.buffer, data.byteOffset, data.length));
    let row = 0;
    while (row < length) {
      try {
        for (; row < length; row++) {
          const start = starts[row];
          const end = starts[row + 1];
          if (start === end) {
            this.appendNulls();
          } else if (!this.openFrame(data, start + 4, end)) {
            this.takeFrameFault(row, values);
          } else if (row < lastRow) {
            this.endRow(row, reader.readDocument(plan, this.textFrom, end), values);
          } else {
            // Nothing that follows the last value is known: it is read from a copy.
            this.copyValue(data, this.textFrom, end);
            this.endRow(row, reader.readDocument(plan, 0, end - this.textFrom), values);
          }
        }
      } catch (e) {
        if (!(e instanceof JsonFault)) throw e;
        reader.endFault(e);
        this.takeFault(row, e, values);
        row++;
      }
    }
    this.counts.duplicateKeys = reader.duplicateKeys;
    this.counts.unknownFields = reader.unknownFields;
    this.counts.dropped = this.dropped.length;
    if (this.scratch.length > KEPT_BYTES) this.scratch = new Uint8Array(1024);
  }

  /** False where the frame is at fault; the text of such a record is its whole value. */
  private openFrame(data: Uint8Array, start: number, end: number): boolean {
    this.textFrom = start;
    if (this.frame === null) return true;
    const at = this.frame.open(data, start, end);
    if (at < 0) return false;
    this.textFrom = at;
    return true;
  }

  private takeFrameFault(row: number, values: BytesVector): void {
    const fault = new JsonFault();
    Object.assign(fault, this.frame?.fault);
    this.takeFault(row, fault, values);
  }

  private clear(): void {
    this.reader.clearCounts();
    for (const column of this.columns) column.clear();
    for (const field of this.plan.all) field.stamp = 0;
    if (this.faults.length > 0) this.faults = [];
    if (this.dropped.length > 0) this.dropped = [];
    if (this.rowsWithUnknownFields.length > 0) this.rowsWithUnknownFields = [];
  }

  private copyValue(data: Uint8Array, from: number, until: number): void {
    const length = until - from;
    if (this.scratch.length < length + SLACK) this.scratch = new Uint8Array(length * 2 + SLACK);
    this.scratch.set(data.subarray(from, until));
    this.scratch.fill(0, length, length + SLACK);
    this.reader.setBytes(this.scratch, new DataView(this.scratch.buffer));
  }

  /** Fills the columns that are no fields of the document, behind a document that could be read. */
  private endRow(row: number, isObject: boolean, values: BytesVector): void {
    const { reader, rest, corrupt } = this;
    if (!isObject) {
      this.takeNullDocument(row, values);
      return;
    }
    if (rest !== null) rest.appendRow(reader.bytes);
    if (corrupt !== null) {
      if (reader.fieldFault) this.appendText(corrupt, row, values);
      else corrupt.appendNull();
    }
    if (reader.unknownContent) this.rowsWithUnknownFields.push(row);
  }

  private takeNullDocument(row: number, values: BytesVector): void {
    const fault = new JsonFault();
    if (this.format.nullDocument === 'quarantine' && this.format.compat === 'strict') {
      fault.reason = 'NOT_AN_OBJECT';
      fault.message = 'expected an object, found null';
      this.takeFault(row, fault, values);
    } else if (!this.nullable) {
      fault.reason = 'MISSING_REQUIRED';
      fault.field = this.plan.fields.find((field) => field.required && !field.filled)?.name ?? '';
      fault.message = 'the document is null, and the field is required';
      this.takeFault(row, fault, values);
    } else {
      this.appendNulls();
    }
  }

  /** A record at fault: a row of nulls, and what the mode asks for. */
  private takeFault(row: number, fault: JsonFault, values: BytesVector): void {
    const { mode } = this.format;
    for (const column of this.columns) column.truncate(row);
    this.rest?.clear();
    this.appendNulls();
    if (mode === 'dropmalformed') {
      this.dropped.push(row);
    } else if (mode === 'permissive' && this.nullable) {
      if (this.corrupt !== null) {
        this.corrupt.truncate(row);
        this.appendText(this.corrupt, row, values);
      }
    } else {
      const { reason, field, message } = fault;
      this.faults.push({ row, reason, field, message, schemaId: this.frame?.schemaId ?? null });
    }
  }

  private appendNulls(): void {
    for (const column of this.columns) column.appendNull();
  }

  /** The document as text; what is no UTF-8 in it becomes U+FFFD. */
  private appendText(column: BytesColumn, row: number, values: BytesVector): void {
    const bytes = values.data.subarray(this.textFrom, values.starts[row + 1]);
    column.appendBytes(Buffer.from(new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)));
  }
}
