/** Decimals, two's complement and big-endian on bytes or fixed (Avro spec, "Decimal"; case C07), into unscaled columns. */

import type { TypedColumn } from '../../columns/create-column.ts';
import type { FixedColumn } from '../../columns/fixed-column.ts';
import type { Int32Column } from '../../columns/int32-column.ts';
import type { Int64Column } from '../../columns/int64-column.ts';
import type { AvroInput } from './avro-input.ts';
import type { Op } from './op.ts';

export interface DecimalShape {
  /** Bytes of a value, or -1 where each says its own length. */
  readonly size: number;
  /** Precision of the column. */
  readonly precision: number;
  /** Digits that the column's scale has more than the writer's. */
  readonly moreDigits: number;
}

/** The step that reads decimals of a shape into the column of a decimal type. */
export function decimalOp(column: TypedColumn, shape: DecimalShape): Op {
  if (shape.moreDigits > 0) return new RescaledDecimalOp(column as DecimalColumn, shape);
  if (column.kind === 'int32') return new IntDecimalOp(column, shape);
  if (column.kind === 'int64') return new LongDecimalOp(column, shape);
  return new WideDecimalOp(column as FixedColumn, shape);
}

type DecimalColumn = Int32Column | Int64Column | FixedColumn;

/**
 * Moves over the bytes of a decimal and returns where its digits begin, without the bytes that only repeat the sign as far
 * as `width` bytes allow. What then is longer than `width`, or has another sign, does not fit.
 */
function openDecimal(input: AvroInput, shape: DecimalShape, width: number): number {
  const size = shape.size < 0 ? input.readSize() : shape.size;
  if (size === 0) input.fail('AVRO_DECODE', 'a decimal has no bytes');
  let at = input.take(size);
  const { bytes } = input;
  const sign = bytes[at] & 0x80;
  const filler = sign === 0 ? 0 : 0xff;
  while (input.at - at > width && bytes[at] === filler) at++;
  if (input.at - at > width || (bytes[at] & 0x80) !== sign) tooLarge(input, shape, size);
  return at;
}

function tooLarge(input: AvroInput, shape: DecimalShape, size: number): never {
  input.at -= size;
  return input.fail('OUT_OF_RANGE', `a decimal has more than the ${shape.precision} digits of its column`);
}

/** Up to 9 digits. */
class IntDecimalOp implements Op {
  private readonly column: Int32Column;
  private readonly shape: DecimalShape;
  private readonly most: number;

  constructor(column: Int32Column, shape: DecimalShape) {
    this.column = column;
    this.shape = shape;
    this.most = 10 ** shape.precision - 1;
  }

  run(input: AvroInput): void {
    let at = openDecimal(input, this.shape, 4);
    const { bytes, at: end } = input;
    let value = bytes[at] >= 0x80 ? -1 : 0;
    for (; at < end; at++) value = (value << 8) | bytes[at];
    if (value > this.most || value < -this.most) tooLarge(input, this.shape, 0);
    this.column.append(value);
  }
}

/** 10 to 18 digits. */
class LongDecimalOp implements Op {
  private readonly column: Int64Column;
  private readonly shape: DecimalShape;
  private readonly mostLow: number;
  private readonly mostHigh: number;
  private readonly leastLow: number;
  private readonly leastHigh: number;

  constructor(column: Int64Column, shape: DecimalShape) {
    this.column = column;
    this.shape = shape;
    const most = 10n ** BigInt(shape.precision) - 1n;
    this.mostLow = Number(BigInt.asUintN(32, most));
    this.mostHigh = Number(most >> 32n);
    this.leastLow = Number(BigInt.asUintN(32, -most));
    this.leastHigh = Number(-most >> 32n);
  }

  run(input: AvroInput): void {
    let at = openDecimal(input, this.shape, 8);
    const { bytes, at: end } = input;
    let high = bytes[at] >= 0x80 ? -1 : 0;
    let low = high;
    for (; at < end; at++) {
      high = (high << 8) | (low >>> 24);
      low = (low << 8) | bytes[at];
    }
    const unsigned = low >>> 0;
    if (
      high > this.mostHigh ||
      high < this.leastHigh ||
      (high === this.mostHigh && unsigned > this.mostLow) ||
      (high === this.leastHigh && unsigned < this.leastLow)
    )
      tooLarge(input, this.shape, 0);
    this.column.appendWords(low, high);
  }
}

/** 19 digits and more. */
class WideDecimalOp implements Op {
  private readonly column: FixedColumn;
  private readonly shape: DecimalShape;
  private readonly most: Uint8Array;
  private readonly least: Uint8Array;
  private readonly scratch: Uint8Array;

  constructor(column: FixedColumn, shape: DecimalShape) {
    this.column = column;
    this.shape = shape;
    const most = 10n ** BigInt(shape.precision) - 1n;
    this.most = bigEndian(most, column.width);
    this.least = bigEndian(-most, column.width);
    this.scratch = new Uint8Array(column.width);
  }

  run(input: AvroInput): void {
    const { scratch } = this;
    const width = scratch.length;
    const at = openDecimal(input, this.shape, width);
    const { bytes, at: end } = input;
    const filler = bytes[at] >= 0x80 ? 0xff : 0;
    const missing = width - (end - at);
    for (let i = 0; i < width; i++) scratch[i] = i < missing ? filler : bytes[at + i - missing];
    // Of two numbers with the same sign the greater one has the greater bytes.
    const fits = filler === 0 ? !isAbove(scratch, this.most) : !isAbove(this.least, scratch);
    if (!fits) tooLarge(input, this.shape, 0);
    this.column.append(scratch);
  }
}

function isAbove(a: Uint8Array, b: Uint8Array): boolean {
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return a[i] > b[i];
  return false;
}

/** Of fewer digits after the point than the column has. Rare: through bigints. */
class RescaledDecimalOp implements Op {
  private readonly column: DecimalColumn;
  private readonly shape: DecimalShape;
  private readonly factor: bigint;
  private readonly most: bigint;

  constructor(column: DecimalColumn, shape: DecimalShape) {
    this.column = column;
    this.shape = shape;
    this.factor = 10n ** BigInt(shape.moreDigits);
    this.most = 10n ** BigInt(shape.precision) - 1n;
  }

  run(input: AvroInput): void {
    const { column } = this;
    const at = openDecimal(input, this.shape, 16);
    let value = input.bytes[at] >= 0x80 ? -1n : 0n;
    for (let i = at; i < input.at; i++) value = (value << 8n) | BigInt(input.bytes[i]);
    value *= this.factor;
    if (value > this.most || value < -this.most) tooLarge(input, this.shape, 0);
    if (column.kind === 'int32') column.append(Number(value));
    else if (column.kind === 'int64') column.appendBigInt(value);
    else column.append(bigEndian(value, column.width));
  }
}

function bigEndian(value: bigint, width: number): Uint8Array {
  const bytes = new Uint8Array(width);
  let rest = BigInt.asUintN(width * 8, value);
  for (let i = width - 1; i >= 0; i--) {
    bytes[i] = Number(rest & 0xffn);
    rest >>= 8n;
  }
  return bytes;
}
