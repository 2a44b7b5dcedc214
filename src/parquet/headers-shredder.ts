import { isUtf8 } from 'node:buffer';
import { BytesColumn } from '../columns/bytes-column.ts';
import type { HeadersVector } from '../columns/vector.ts';
import type { NestedField } from '../core/schema.ts';
import { SluiceError } from '../errors.ts';
import type { ColumnWriter } from './column-writer.ts';
import { Levels } from './levels.ts';
import { checkValueLength } from './plain-value.ts';

/** Rows that are taken apart before their entries go to the columns: bounds the scratch. */
const BLOCK_ROWS = 1024;
const BLOCK_BYTES = 256 * 1024;

// shared by all columns of a thread: the values of a block stand in its rows 0, 1, 2, ...
let everyRow = new Int32Array(0);

function rowsUpTo(count: number): Int32Array {
  if (count > everyRow.length) everyRow = new Int32Array(count * 2).map((_, row) => row);
  return everyRow;
}

/**
 * Takes raw Kafka header blocks apart into the two leaves of `list<struct<key string, value binary>>`: repetition and
 * definition levels, and dense values. A null row is a null list (an empty one where the list is required), a block of
 * no headers an empty list, a header without a value a null value. Keys that are not UTF-8 are written with U+FFFD in
 * the place of what is not, as Kafka's own client reads them.
 */
export class HeadersShredder {
  private readonly column: string;
  private readonly key: ColumnWriter;
  private readonly value: ColumnWriter;
  private readonly keyIsString: boolean;
  private readonly valueRequired: boolean;
  /** Definition level of an empty list; a null list is 0, an entry is one more and what is optional below it. */
  private readonly emptyDefinition: number;
  private readonly keyLevels = new Levels();
  private readonly valueLevels = new Levels();
  private readonly keys = new BytesColumn(1024, 128);
  private readonly values = new BytesColumn(1024, 128);
  // the block being read
  private data: Uint8Array = new Uint8Array(0);
  private at = 0;
  private until = 0;

  /** Throws INTERNAL where the field is no list of structs of a key and a value. */
  constructor(field: NestedField, leaves: readonly ColumnWriter[]) {
    this.column = field.name;
    const { type } = field;
    const element = typeof type !== 'string' && type.type === 'list' ? type.element : undefined;
    const fields =
      element !== undefined && typeof element !== 'string' && element.type === 'struct' ? element.fields : [];
    const [key, value] = fields;
    const isBytes = (f: NestedField | undefined) => f?.type === 'string' || f?.type === 'binary';
    if (fields.length !== 2 || !isBytes(key) || value.type !== 'binary') {
      throw new SluiceError(
        'INTERNAL',
        `column ${field.name}: headers need list<struct<key string, value binary>>`,
      );
    }
    [this.key, this.value] = leaves;
    this.keyIsString = key.type === 'string';
    this.valueRequired = value.required;
    this.emptyDefinition = field.required ? 0 : 1;
  }

  /** Appends rows [from, until). */
  append(vector: HeadersVector, from: number, until: number): void {
    for (let row = from; row < until; ) {
      this.clear();
      const first = row;
      while (row < until && row - first < BLOCK_ROWS && this.keys.end + this.values.end < BLOCK_BYTES) {
        this.shredRow(vector, row);
        row++;
      }
      const { keyLevels, valueLevels, keys, values } = this;
      this.key.appendEntries(keyLevels, keys, rowsUpTo(keys.length), keys.length);
      this.value.appendEntries(valueLevels, values, rowsUpTo(values.length), values.length);
    }
  }

  private clear(): void {
    this.keyLevels.length = 0;
    this.valueLevels.length = 0;
    this.keys.clear();
    this.values.clear();
  }

  private shredRow(vector: HeadersVector, row: number): void {
    const { data, starts } = vector.raw;
    if (starts[row] === starts[row + 1]) {
      this.keyLevels.append(0, 0);
      this.valueLevels.append(0, 0);
      return;
    }
    this.data = data;
    this.at = starts[row] + 4;
    this.until = starts[row + 1];
    const count = this.varint();
    // a header takes two bytes at least
    if (count < 0 || count * 2 > this.until - this.at) throw this.fault(`a count of ${count}`);
    if (count === 0) {
      this.keyLevels.append(0, this.emptyDefinition);
      this.valueLevels.append(0, this.emptyDefinition);
    }
    for (let i = 0; i < count; i++) this.shredHeader(i === 0 ? 0 : 1);
    if (this.at !== this.until) throw this.fault(`${this.until - this.at} bytes behind the last header`);
  }

  private shredHeader(repetition: number): void {
    const keyLength = this.varint();
    this.keyLevels.append(repetition, this.key.leaf.maxDefinitionLevel);
    this.keys.appendBytes(this.keyBytes(this.take(keyLength)));
    const valueLength = this.varint();
    if (valueLength === -1) {
      if (this.valueRequired) throw this.fault('a header without a value, for a required value');
      this.valueLevels.append(repetition, this.value.leaf.maxDefinitionLevel - 1);
      return;
    }
    checkValueLength(this.value.leaf, valueLength);
    this.valueLevels.append(repetition, this.value.leaf.maxDefinitionLevel);
    this.values.appendBytes(this.take(valueLength));
  }

  private keyBytes(bytes: Uint8Array): Uint8Array {
    if (!this.keyIsString || isUtf8(bytes)) return bytes;
    return Buffer.from(Buffer.from(bytes).toString('utf8'), 'utf8');
  }

  private take(length: number): Uint8Array {
    if (length < 0 || length > this.until - this.at)
      throw this.fault(`a length of ${length}, ${this.until - this.at} bytes left`);
    this.at += length;
    return this.data.subarray(this.at - length, this.at);
  }

  /** A zigzag varint of 32 bits (KIP-82). */
  private varint(): number {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      if (this.at >= this.until) throw this.fault('an end within a number');
      const byte = this.data[this.at++];
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return (value >>> 1) ^ -(value & 1);
    }
    throw this.fault('a number of more than 5 bytes');
  }

  private fault(what: string): SluiceError {
    return new SluiceError('INTERNAL', `column ${this.column}: a block of Kafka headers has ${what}`, {
      context: { column: this.column },
    });
  }
}
