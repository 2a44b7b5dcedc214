import type { BytesColumn } from '../../columns/bytes-column.ts';
import { columnBytes } from '../../columns/column-bytes.ts';
import type { TypedColumn } from '../../columns/create-column.ts';
import type { BytesVector } from '../../columns/vector.ts';
import { isPrimitive, type NestedField } from '../../core/schema.ts';
import type { CsvFormat } from '../../core/value-format.ts';
import { SluiceError } from '../../errors.ts';
import { compileObject, createColumns } from '../json/compile-plan.ts';
import type { FieldPlan } from '../json/field-plan.ts';
import { JsonFault } from '../json/json-fault.ts';
import type { ReasonCode } from '../reasons.ts';
import { firstInvalidUtf8 } from '../utf8.ts';
import type { DecodeCounts, DecodeFault, ValueDecoder } from '../value-decoder.ts';
import { CsvRecord } from './csv-record.ts';
import { CsvValues } from './csv-values.ts';

/**
 * The decoder of CSV, one line per record, its fields by position into the given columns (as Spark's from_csv). A field
 * that is not quoted and holds `nullValue` is null; a default never takes its place, because no field is missing. Fewer or
 * more fields than columns are INVALID_CSV; under `permissive` those that are there are read, as Spark does. Texts mean
 * what they mean in JSON. Throws CONFIG_INVALID for columns that a line cannot hold, marks that are not one character each,
 * an unknown time zone.
 */
export function createCsvDecoder(columns: readonly NestedField[], format: CsvFormat): ValueDecoder {
  return new CsvDecoder(columns, format);
}

class CsvDecoder implements ValueDecoder {
  readonly columns: readonly TypedColumn[];
  faults: DecodeFault[] = [];
  dropped: number[] = [];
  readonly rowsWithUnknownFields: readonly number[] = [];
  readonly counts: DecodeCounts = { duplicateKeys: 0, unknownFields: 0, dropped: 0 };

  private readonly mode: CsvFormat['mode'];
  /** Those that fields go to, in the order of the fields. */
  private readonly fields: readonly FieldPlan[];
  private readonly corrupt: BytesColumn | null;
  private readonly nullable: boolean;
  private readonly nullValue: Uint8Array;
  private readonly record: CsvRecord;
  private readonly values: CsvValues;
  /** Has a field of the record been given up (`permissive`)? */
  private fieldFault = false;

  constructor(columns: readonly NestedField[], format: CsvFormat) {
    refuseNested(columns);
    const corruptName = format.corruptRecordColumn;
    const filled = new Set(corruptName === null ? [] : [corruptName]);
    this.mode = format.mode;
    this.columns = createColumns(columns);
    this.fields = compileObject(columns, this.columns, { caseInsensitive: false, filled }).fields.filter(
      (field) => !field.filled,
    );
    this.corrupt = corruptName === null ? null : this.corruptColumn(columns, corruptName);
    this.nullable = this.fields.every((field) => !field.required);
    this.nullValue = Buffer.from(format.nullValue);
    this.record = new CsvRecord(format, this.fields.length);
    this.values = new CsvValues(format);
  }

  private corruptColumn(columns: readonly NestedField[], name: string): BytesColumn {
    const at = columns.findIndex((column) => column.name === name);
    if (at < 0 || columns[at].type !== 'string' || columns[at].required)
      throw new SluiceError(
        'CONFIG_INVALID',
        `corruptRecordColumn ${JSON.stringify(name)}: expected the name of a string column that is not required`,
        { context: { column: name } },
      );
    return this.columns[at] as BytesColumn;
  }

  get byteLength(): number {
    return this.columns.reduce((sum, column) => sum + columnBytes(column), this.record.unescaped.length);
  }

  missingSchemas(): readonly number[] {
    return [];
  }

  decode(values: BytesVector): void {
    const { length, starts } = values;
    for (const column of this.columns) column.clear();
    if (this.faults.length > 0) this.faults = [];
    if (this.dropped.length > 0) this.dropped = [];
    for (let row = 0; row < length; row++) {
      if (starts[row] === starts[row + 1]) this.appendNulls();
      else this.decodeRow(values, row);
    }
    this.counts.dropped = this.dropped.length;
  }

  private decodeRow(values: BytesVector, row: number): void {
    const { data, starts } = values;
    const from = starts[row] + 4;
    const end = starts[row + 1];
    const { record, fields } = this;
    if (from === end || (end - from <= 2 && isLineBreak(data, from, end))) {
      this.takeFault(values, row, 'EMPTY_VALUE', '', 'expected a line of CSV, found nothing');
      return;
    }
    if (!record.split(data, from, end)) {
      this.takeFault(values, row, 'INVALID_CSV', '', `${record.fault}, at byte ${record.faultAt - from}`);
      return;
    }
    if (record.multiByte && this.refusesText(values, row)) return;
    if (record.count !== fields.length && this.mode !== 'permissive') {
      const message = `expected ${fields.length} fields, one for each column, found ${record.count}`;
      this.takeFault(values, row, 'INVALID_CSV', '', message);
      return;
    }
    try {
      this.fieldFault = record.count !== fields.length;
      for (let i = 0; i < fields.length; i++) this.appendField(i, data, from);
    } catch (e) {
      if (!(e instanceof JsonFault)) throw e;
      this.takeFault(values, row, e.reason, e.field, e.message);
      return;
    }
    if (this.corrupt === null) return;
    if (this.fieldFault) this.appendText(this.corrupt, values, row);
    else this.corrupt.appendNull();
  }

  private appendField(i: number, data: Uint8Array, recordAt: number): void {
    const { record, values } = this;
    const field = this.fields[i];
    if (i >= record.count) {
      values.appendNull(field, 0);
      return;
    }
    const bytes = record.escaped[i] === 1 ? record.unescaped : data;
    const from = record.from[i];
    const until = record.until[i];
    const position = record.start[i] - recordAt;
    if (record.quoted[i] === 0 && this.isNull(bytes, from, until)) {
      values.appendNull(field, position);
    } else if (this.mode !== 'permissive' || field.required) {
      values.append(field, bytes, from, until, position);
    } else {
      this.appendPartial(field, bytes, from, until, position);
    }
  }

  /** Appends a value; null where that does not work. */
  private appendPartial(
    field: FieldPlan,
    bytes: Uint8Array,
    from: number,
    until: number,
    position: number,
  ): void {
    try {
      this.values.append(field, bytes, from, until, position);
    } catch (e) {
      if (!(e instanceof JsonFault)) throw e;
      this.fieldFault = true;
      field.column.appendNull();
    }
  }

  private isNull(bytes: Uint8Array, from: number, until: number): boolean {
    const { nullValue } = this;
    if (until - from !== nullValue.length) return false;
    for (let i = 0; i < nullValue.length; i++) if (bytes[from + i] !== nullValue[i]) return false;
    return true;
  }

  /** True where the record is no UTF-8, or begins with a byte order mark: then it is at fault. */
  private refusesText(values: BytesVector, row: number): boolean {
    const bytes = values.data.subarray(values.starts[row] + 4, values.starts[row + 1]);
    const at = firstInvalidUtf8(bytes);
    if (at >= 0) {
      this.takeFault(values, row, 'INVALID_UTF8', '', `no well-formed UTF-8 at byte ${at}`);
      return true;
    }
    if (bytes[0] !== 0xef || bytes[1] !== 0xbb || bytes[2] !== 0xbf) return false;
    this.takeFault(values, row, 'INVALID_CSV', '', 'a byte order mark at byte 0');
    return true;
  }

  /** A record at fault: a row of nulls, and what the mode asks for. */
  private takeFault(
    values: BytesVector,
    row: number,
    reason: ReasonCode,
    field: string,
    message: string,
  ): void {
    for (const column of this.columns) column.truncate(row);
    this.appendNulls();
    if (this.mode === 'dropmalformed') {
      this.dropped.push(row);
    } else if (this.mode === 'permissive' && this.nullable) {
      if (this.corrupt === null) return;
      this.corrupt.truncate(row);
      this.appendText(this.corrupt, values, row);
    } else {
      this.faults.push({ row, reason, field, message, schemaId: null });
    }
  }

  private appendNulls(): void {
    for (const column of this.columns) column.appendNull();
  }

  /** The whole value as text; what is no UTF-8 in it becomes U+FFFD. */
  private appendText(column: BytesColumn, values: BytesVector, row: number): void {
    const bytes = values.data.subarray(values.starts[row] + 4, values.starts[row + 1]);
    column.appendBytes(Buffer.from(new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)));
  }
}

function isLineBreak(bytes: Uint8Array, from: number, end: number): boolean {
  const last = bytes[end - 1];
  if (end - from === 1) return last === 0x0a || last === 0x0d;
  return bytes[from] === 0x0d && last === 0x0a;
}

function refuseNested(columns: readonly NestedField[]): void {
  if (columns.length === 0) throw new SluiceError('CONFIG_INVALID', 'CSV needs at least one column');
  const nested = columns.find((column) => !isPrimitive(column.type));
  if (nested === undefined) return;
  throw new SluiceError(
    'CONFIG_INVALID',
    `column ${nested.name}: a field of CSV holds no ${typeof nested.type === 'string' ? nested.type : nested.type.type}; give it a plain type, or use another format`,
    { context: { column: nested.name } },
  );
}
