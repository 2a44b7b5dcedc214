/** Integers of every wire form into columns of integers, floats and decimals: exactly, or OUT_OF_RANGE. */

import type { TypedColumn } from '../../columns/create-column.ts';
import type { FixedColumn } from '../../columns/fixed-column.ts';
import type { Float32Column } from '../../columns/float32-column.ts';
import type { Float64Column } from '../../columns/float64-column.ts';
import type { Int32Column } from '../../columns/int32-column.ts';
import type { Int64Column } from '../../columns/int64-column.ts';
import { decimalToFixed } from '../../core/single-value.ts';
import type { ProtoInput } from './proto-input.ts';
import type { Scalar } from './proto-schema.ts';
import type { Step } from './step.ts';

/** Enums are integers too: `int32`. */
export type IntegerScalar = Exclude<Scalar, 'double' | 'float' | 'bool' | 'string' | 'bytes'>;

const TWO_32 = 4_294_967_296;

/**
 * Reads an integer into the words of `input`, of 64 bits with sign; those of `uint64` and `fixed64` are without sign. A
 * varint that is longer than its type is OUT_OF_RANGE, not cut.
 */
function readInteger(input: ProtoInput, scalar: IntegerScalar): void {
  switch (scalar) {
    case 'int32':
      input.readVarint();
      if (input.high !== input.low >> 31) tooLong(input, scalar);
      return;
    case 'uint32':
      input.readVarint();
      if (input.high !== 0) tooLong(input, scalar);
      return;
    case 'sint32':
      input.readVarint();
      if (input.high !== 0) tooLong(input, scalar);
      input.low = (input.low >>> 1) ^ -(input.low & 1);
      input.high = input.low >> 31;
      return;
    case 'int64':
    case 'uint64':
      input.readVarint();
      return;
    case 'sint64': {
      input.readVarint();
      const sign = -(input.low & 1);
      input.low = ((input.low >>> 1) | (input.high << 31)) ^ sign;
      input.high = (input.high >>> 1) ^ sign;
      return;
    }
    case 'fixed32':
      input.low = input.view.getInt32(input.take(4), true);
      input.high = 0;
      return;
    case 'sfixed32':
      input.low = input.view.getInt32(input.take(4), true);
      input.high = input.low >> 31;
      return;
    case 'fixed64':
    case 'sfixed64': {
      const at = input.take(8);
      input.low = input.view.getInt32(at, true);
      input.high = input.view.getInt32(at + 4, true);
    }
  }
}

function tooLong(input: ProtoInput, scalar: IntegerScalar): never {
  return input.fail('OUT_OF_RANGE', `a number is longer than ${scalar}`);
}

/** The step that reads integers into a column; null where the column does not take them. `scale`: of a decimal column. */
export function integerStep(
  column: TypedColumn,
  scalar: IntegerScalar,
  decimal: { precision: number; scale: number } | undefined,
): Step | null {
  const isUnsigned = scalar === 'uint64' || scalar === 'fixed64';
  if (decimal !== undefined) {
    if (decimal.scale === 0 && decimal.precision >= 20)
      return new WideStep(column as FixedColumn, scalar, isUnsigned);
    return new DecimalStep(column as Int32Column | Int64Column | FixedColumn, scalar, isUnsigned, decimal);
  }
  switch (column.kind) {
    case 'int32':
      return new IntStep(column, scalar, isUnsigned);
    case 'int64':
      return new LongStep(column, scalar, isUnsigned);
    case 'float32':
    case 'float64':
      return new RealStep(column, scalar, isUnsigned);
    default:
      return null;
  }
}

class IntStep implements Step {
  private readonly column: Int32Column;
  private readonly scalar: IntegerScalar;
  private readonly isUnsigned: boolean;

  constructor(column: Int32Column, scalar: IntegerScalar, isUnsigned: boolean) {
    this.column = column;
    this.scalar = scalar;
    this.isUnsigned = isUnsigned;
  }

  read(input: ProtoInput): void {
    readInteger(input, this.scalar);
    if (input.high !== input.low >> 31 || (this.isUnsigned && input.high < 0))
      input.fail('OUT_OF_RANGE', `${bigintOf(input, this.isUnsigned)} does not fit an int`);
    this.column.append(input.low);
  }
}

class LongStep implements Step {
  private readonly column: Int64Column;
  private readonly scalar: IntegerScalar;
  private readonly isUnsigned: boolean;

  constructor(column: Int64Column, scalar: IntegerScalar, isUnsigned: boolean) {
    this.column = column;
    this.scalar = scalar;
    this.isUnsigned = isUnsigned;
  }

  read(input: ProtoInput): void {
    readInteger(input, this.scalar);
    if (this.isUnsigned && input.high < 0)
      input.fail('OUT_OF_RANGE', `${bigintOf(input, true)} does not fit a long; a decimal(20, 0) holds it`);
    this.column.appendWords(input.low, input.high);
  }
}

/** A double or float that cannot hold the number exactly is OUT_OF_RANGE. */
class RealStep implements Step {
  private readonly column: Float32Column | Float64Column;
  private readonly scalar: IntegerScalar;
  private readonly isUnsigned: boolean;

  constructor(column: Float32Column | Float64Column, scalar: IntegerScalar, isUnsigned: boolean) {
    this.column = column;
    this.scalar = scalar;
    this.isUnsigned = isUnsigned;
  }

  read(input: ProtoInput): void {
    readInteger(input, this.scalar);
    const high = this.isUnsigned ? input.high >>> 0 : input.high;
    const number = high * TWO_32 + (input.low >>> 0);
    const value = this.column.kind === 'float32' ? Math.fround(number) : number;
    const upper = Math.floor(value / TWO_32);
    if (upper !== high || value - upper * TWO_32 !== input.low >>> 0)
      input.fail('OUT_OF_RANGE', `the column cannot hold ${bigintOf(input, this.isUnsigned)} exactly`);
    this.column.append(value);
  }
}

/** Any 64 bits into a decimal of 20 digits or more and no scale. */
class WideStep implements Step {
  private readonly column: FixedColumn;
  private readonly scalar: IntegerScalar;
  private readonly isUnsigned: boolean;
  private readonly scratch: Uint8Array;
  private readonly view: DataView;

  constructor(column: FixedColumn, scalar: IntegerScalar, isUnsigned: boolean) {
    this.column = column;
    this.scalar = scalar;
    this.isUnsigned = isUnsigned;
    this.scratch = new Uint8Array(column.width);
    this.view = new DataView(this.scratch.buffer);
  }

  read(input: ProtoInput): void {
    readInteger(input, this.scalar);
    const { width } = this.column;
    this.scratch.fill(input.high < 0 && !this.isUnsigned ? 0xff : 0, 0, width - 8);
    this.view.setInt32(width - 8, input.high);
    this.view.setInt32(width - 4, input.low);
    this.column.append(this.scratch);
  }
}

/** Rare: through bigints. */
class DecimalStep implements Step {
  private readonly column: Int32Column | Int64Column | FixedColumn;
  private readonly scalar: IntegerScalar;
  private readonly isUnsigned: boolean;
  private readonly factor: bigint;
  private readonly most: bigint;

  constructor(
    column: Int32Column | Int64Column | FixedColumn,
    scalar: IntegerScalar,
    isUnsigned: boolean,
    { precision, scale }: { precision: number; scale: number },
  ) {
    this.column = column;
    this.scalar = scalar;
    this.isUnsigned = isUnsigned;
    this.factor = 10n ** BigInt(scale);
    this.most = 10n ** BigInt(precision) - 1n;
  }

  read(input: ProtoInput): void {
    readInteger(input, this.scalar);
    const value = bigintOf(input, this.isUnsigned) * this.factor;
    const { column } = this;
    if (value > this.most || value < -this.most)
      input.fail('OUT_OF_RANGE', `${value / this.factor} has more digits than the column`);
    if (column.kind === 'int32') column.append(Number(value));
    else if (column.kind === 'int64') column.appendBigInt(value);
    else column.append(decimalToFixed(value, column.width));
  }
}

function bigintOf(input: ProtoInput, isUnsigned: boolean): bigint {
  const high = isUnsigned ? input.high >>> 0 : input.high;
  return (BigInt(high) << 32n) | BigInt(input.low >>> 0);
}
