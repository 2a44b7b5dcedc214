/** Values of the primitive types into columns of the same type, or of a wider one. */

import { isUtf8 } from 'node:buffer';
import type { BooleanColumn } from '../../columns/boolean-column.ts';
import type { BytesColumn } from '../../columns/bytes-column.ts';
import type { FixedColumn } from '../../columns/fixed-column.ts';
import type { Float32Column } from '../../columns/float32-column.ts';
import type { Float64Column } from '../../columns/float64-column.ts';
import type { Int32Column } from '../../columns/int32-column.ts';
import type { Int64Column } from '../../columns/int64-column.ts';
import { appendText } from '../append-bytes.ts';
import { firstInvalidUtf8 } from '../utf8.ts';
import type { AvroInput } from './avro-input.ts';
import type { Op } from './op.ts';
import { BytesMover, takeFixed } from './take-bytes.ts';

export class BooleanOp implements Op {
  private readonly column: BooleanColumn;

  constructor(column: BooleanColumn) {
    this.column = column;
  }

  run(input: AvroInput): void {
    this.column.append(input.readBoolean());
  }
}

export class IntOp implements Op {
  private readonly column: Int32Column;

  constructor(column: Int32Column) {
    this.column = column;
  }

  run(input: AvroInput): void {
    this.column.append(input.readInt());
  }
}

/** A long into an int column: what does not fit is OUT_OF_RANGE. */
export class NarrowLongOp implements Op {
  private readonly column: Int32Column;

  constructor(column: Int32Column) {
    this.column = column;
  }

  run(input: AvroInput): void {
    const { at } = input;
    input.readLong();
    if (input.low >> 31 !== input.high) {
      input.at = at;
      input.fail('OUT_OF_RANGE', `${input.number} does not fit an int`);
    }
    this.column.append(input.low);
  }
}

export class LongOp implements Op {
  private readonly column: Int64Column;

  constructor(column: Int64Column) {
    this.column = column;
  }

  run(input: AvroInput): void {
    input.readLong();
    this.column.appendWords(input.low, input.high);
  }
}

export class WidenIntOp implements Op {
  private readonly column: Int64Column;

  constructor(column: Int64Column) {
    this.column = column;
  }

  run(input: AvroInput): void {
    const value = input.readInt();
    this.column.appendWords(value, value >> 31);
  }
}

export class FloatOp implements Op {
  private readonly column: Float32Column | Float64Column;

  constructor(column: Float32Column | Float64Column) {
    this.column = column;
  }

  run(input: AvroInput): void {
    this.column.append(input.view.getFloat32(input.take(4), true));
  }
}

export class DoubleOp implements Op {
  private readonly column: Float64Column;

  constructor(column: Float64Column) {
    this.column = column;
  }

  run(input: AvroInput): void {
    this.column.append(input.view.getFloat64(input.take(8), true));
  }
}

/** What becomes of an integer that a float or double cannot hold. */
export type Rounding =
  /** The column asks for it: OUT_OF_RANGE, so that nothing is rounded unasked. */
  | 'refuse'
  /** The reader's schema asks for a float or a double: rounded to the nearest, as Avro promotes. */
  | 'float'
  | 'double';

/** An int or a long into a column of floats or doubles. */
export class IntegerToFloatOp implements Op {
  private readonly column: Float32Column | Float64Column;
  private readonly wire: 'int' | 'long';
  private readonly rounding: Rounding;

  constructor(column: Float32Column | Float64Column, wire: 'int' | 'long', rounding: Rounding) {
    this.column = column;
    this.wire = wire;
    this.rounding = rounding;
  }

  run(input: AvroInput): void {
    const { at } = input;
    if (this.wire === 'int') input.readIntWords();
    else input.readLong();
    if (this.rounding === 'float') this.column.append(nearestFloat(input.low, input.high));
    else if (this.rounding === 'double') this.column.append(input.number);
    else this.appendExact(input, at);
  }

  private appendExact(input: AvroInput, at: number): void {
    const value = this.column.kind === 'float32' ? Math.fround(input.number) : input.number;
    const high = Math.floor(value / 4_294_967_296);
    if (high !== input.high || value - high * 4_294_967_296 !== input.low >>> 0) {
      input.at = at;
      const type = this.column.kind === 'float32' ? 'float' : 'double';
      input.fail('OUT_OF_RANGE', `a ${type} cannot hold ${input.number} exactly`);
    }
    this.column.append(value);
  }
}

/** Rounds once: a long that goes through a double would be rounded twice. What is below the float's digits only counts as more than nothing. */
function nearestFloat(low: number, high: number): number {
  const rest = (low & 0xffff) === 0 ? 0 : 0x1_0000;
  const reduced = high >= -0x20_0000 && high < 0x20_0000 ? low : (low & ~0xffff) | rest;
  return Math.fround(high * 4_294_967_296 + (reduced >>> 0));
}

/** Bytes of a string, or those of bytes that are read as one, into a text column. */
export class TextOp implements Op {
  private readonly mover: BytesMover;

  constructor(column: BytesColumn) {
    this.mover = new BytesMover(column);
  }

  run(input: AvroInput): void {
    const size = input.readSize();
    if (input.checksText) checkText(input, size);
    this.mover.move(input, size, 0);
  }
}

function checkText(input: AvroInput, size: number): void {
  const text = input.bytes.subarray(input.at, input.at + size);
  if (isUtf8(text)) return;
  input.at += firstInvalidUtf8(text);
  input.fail('INVALID_UTF8', 'a text is not UTF-8');
}

export class BinaryOp implements Op {
  private readonly mover: BytesMover;

  constructor(column: BytesColumn) {
    this.mover = new BytesMover(column);
  }

  run(input: AvroInput): void {
    const size = input.readSize();
    this.mover.move(input, size, size);
  }
}

/** A fixed into a column of the same width: also a uuid, a duration. */
export class FixedOp implements Op {
  private readonly column: FixedColumn;

  constructor(column: FixedColumn) {
    this.column = column;
  }

  run(input: AvroInput): void {
    takeFixed(this.column, input);
  }
}

export class FixedToBinaryOp implements Op {
  private readonly mover: BytesMover;
  private readonly size: number;

  constructor(column: BytesColumn, size: number) {
    this.mover = new BytesMover(column);
    this.size = size;
  }

  run(input: AvroInput): void {
    input.at = input.take(this.size);
    this.mover.move(input, this.size, this.size);
  }
}

/** The text of each symbol that the writer may name; null where the reader's enum has neither it nor a default. */
export class EnumOp implements Op {
  private readonly column: BytesColumn;
  private readonly texts: readonly (Uint8Array | null)[];
  private readonly symbols: readonly string[];

  constructor(column: BytesColumn, symbols: readonly string[], texts: readonly (Uint8Array | null)[]) {
    this.column = column;
    this.symbols = symbols;
    this.texts = texts;
  }

  run(input: AvroInput): void {
    const { at } = input;
    const index = input.readInt();
    const text = this.texts[index];
    if (text === undefined || text === null) {
      input.at = at;
      if (text === undefined)
        input.fail('AVRO_DECODE', `an enum of ${this.symbols.length} symbols has the index ${index}`);
      input.fail('AVRO_RESOLUTION', `the reader's enum has neither ${this.symbols[index]} nor a default`);
    }
    appendText(this.column, text, 0, text.length);
  }
}

/** The text form of a UUID into its 16 bytes. */
export class UuidTextOp implements Op {
  private readonly column: FixedColumn;
  private readonly scratch = new Uint8Array(16);

  constructor(column: FixedColumn) {
    this.column = column;
  }

  run(input: AvroInput): void {
    const size = input.readSize();
    const { at } = input;
    if (size !== 36 || !parseUuid(input.bytes, at, this.scratch))
      input.fail('TYPE_MISMATCH', 'a text is no UUID of the form 8-4-4-4-12');
    this.column.append(this.scratch);
    input.at = at + size;
  }
}

/** Whether bytes[at, at + 36) are a UUID, which is then in `target`. */
function parseUuid(bytes: Uint8Array, at: number, target: Uint8Array): boolean {
  let digits = 0;
  for (let i = 0; i < 36; i++) {
    const char = bytes[at + i];
    if (i === 8 || i === 13 || i === 18 || i === 23) {
      if (char !== 0x2d) return false;
      continue;
    }
    const digit = hexDigit(char);
    if (digit < 0) return false;
    const byte = digits >> 1;
    target[byte] = (digits & 1) === 0 ? digit << 4 : target[byte] | digit;
    digits++;
  }
  return true;
}

function hexDigit(char: number): number {
  if (char >= 0x30 && char <= 0x39) return char - 0x30;
  const lower = char | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}
