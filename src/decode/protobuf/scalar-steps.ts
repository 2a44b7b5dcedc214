/** Scalars and enums into columns of the same type, or of a wider one. */

import { isUtf8 } from 'node:buffer';
import type { BooleanColumn } from '../../columns/boolean-column.ts';
import type { BytesColumn } from '../../columns/bytes-column.ts';
import type { FixedColumn } from '../../columns/fixed-column.ts';
import type { Float32Column } from '../../columns/float32-column.ts';
import type { Float64Column } from '../../columns/float64-column.ts';
import { appendBinary, appendFixed, appendText } from '../append-bytes.ts';
import { firstInvalidUtf8 } from '../utf8.ts';
import type { ProtoInput } from './proto-input.ts';
import type { ProtoEnum } from './proto-schema.ts';
import type { Step } from './step.ts';

export class BooleanStep implements Step {
  private readonly column: BooleanColumn;

  constructor(column: BooleanColumn) {
    this.column = column;
  }

  read(input: ProtoInput): void {
    input.readVarint();
    this.column.append(input.low !== 0 || input.high !== 0);
  }
}

export class FloatStep implements Step {
  private readonly column: Float32Column | Float64Column;

  constructor(column: Float32Column | Float64Column) {
    this.column = column;
  }

  read(input: ProtoInput): void {
    this.column.append(input.view.getFloat32(input.take(4), true));
  }
}

export class DoubleStep implements Step {
  private readonly column: Float64Column;

  constructor(column: Float64Column) {
    this.column = column;
  }

  read(input: ProtoInput): void {
    this.column.append(input.view.getFloat64(input.take(8), true));
  }
}

export class TextStep implements Step {
  private readonly column: BytesColumn;

  constructor(column: BytesColumn) {
    this.column = column;
  }

  read(input: ProtoInput): void {
    const size = input.readSize();
    const { at } = input;
    if (input.checksText) checkText(input, size);
    appendText(this.column, input.bytes, at, size);
    input.at = at + size;
  }
}

function checkText(input: ProtoInput, size: number): void {
  const text = input.bytes.subarray(input.at, input.at + size);
  if (isUtf8(text)) return;
  input.at += firstInvalidUtf8(text);
  input.fail('INVALID_UTF8', 'a text is not UTF-8');
}

export class BinaryStep implements Step {
  private readonly column: BytesColumn;

  constructor(column: BytesColumn) {
    this.column = column;
  }

  read(input: ProtoInput): void {
    const size = input.readSize();
    appendBinary(this.column, input.bytes, input.at, size);
    input.at += size;
  }
}

/** Bytes into a column of one width. */
export class FixedStep implements Step {
  private readonly column: FixedColumn;

  constructor(column: FixedColumn) {
    this.column = column;
  }

  read(input: ProtoInput): void {
    const { at } = input;
    const size = input.readSize();
    if (size !== this.column.width) {
      input.at = at;
      input.fail('TYPE_MISMATCH', `${size} bytes for a column of ${this.column.width}`);
    }
    appendFixed(this.column, input.bytes, input.at);
    input.at += size;
  }
}

/** Names of numbers that have none are kept for so many of them. */
const MAX_UNNAMED = 1000;

/**
 * The name of an enum's number. A number that an open enum does not name becomes `UNKNOWN_ENUM_VALUE_Color_7`, as Java's
 * DynamicMessage, and so Spark's from_protobuf, has it.
 */
export class EnumTextStep implements Step {
  private readonly column: BytesColumn;
  private readonly name: string;
  private readonly texts = new Map<number, Uint8Array>();
  private readonly unnamed = new Map<number, Uint8Array>();

  constructor(column: BytesColumn, type: ProtoEnum) {
    this.column = column;
    this.name = type.name;
    const utf8 = new TextEncoder();
    for (const [number, name] of type.names) this.texts.set(number, utf8.encode(name));
  }

  read(input: ProtoInput): void {
    const { at } = input;
    input.readVarint();
    if (input.high !== input.low >> 31) {
      input.at = at;
      input.fail('OUT_OF_RANGE', 'the number of an enum is longer than 32 bits');
    }
    const text = this.texts.get(input.low) ?? this.unnamedText(input.low);
    appendText(this.column, text, 0, text.length);
  }

  private unnamedText(number: number): Uint8Array {
    let text = this.unnamed.get(number);
    if (text === undefined) {
      if (this.unnamed.size === MAX_UNNAMED) this.unnamed.clear();
      text = new TextEncoder().encode(`UNKNOWN_ENUM_VALUE_${this.name}_${number}`);
      this.unnamed.set(number, text);
    }
    return text;
  }
}
