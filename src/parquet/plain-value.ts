import type { ConstantVector } from '../columns/vector.ts';
import { SluiceError } from '../errors.ts';
import { signedBigEndian, singleValueBytes, uuidBytes } from './bounds.ts';
import { MAX_VALUE_BYTES, PHYSICAL_TYPE } from './format.ts';
import type { LeafColumn } from './leaf-column.ts';

/**
 * One value in the PLAIN encoding of its column; byte arrays with their 4-byte length. Booleans are one byte here.
 * Throws INTERNAL for a value that the column's type does not hold.
 */
export function plainValue(leaf: LeafColumn, value: NonNullable<ConstantVector['value']>): Uint8Array {
  try {
    return encode(leaf, value);
  } catch (cause) {
    throw new SluiceError(
      'INTERNAL',
      `column ${leaf.path.join('.')} of type ${leaf.type} was given ${describe(value)}`,
      { cause },
    );
  }
}

function encode(leaf: LeafColumn, value: NonNullable<ConstantVector['value']>): Uint8Array {
  switch (leaf.physicalType) {
    case PHYSICAL_TYPE.BYTE_ARRAY: {
      const bytes = typeof value === 'string' ? Buffer.from(value, 'utf8') : value;
      if (!(bytes instanceof Uint8Array)) throw new TypeError('text or bytes are needed');
      return withLength(leaf, bytes);
    }
    case PHYSICAL_TYPE.FIXED_LEN_BYTE_ARRAY: {
      if (typeof value === 'bigint') return signedBigEndian(value, leaf.width);
      const bytes = typeof value === 'string' ? uuidBytes(value) : value;
      if (!(bytes instanceof Uint8Array) || bytes.length !== leaf.width)
        throw new TypeError(`${leaf.width} bytes are needed`);
      return new Uint8Array(bytes);
    }
    case PHYSICAL_TYPE.BOOLEAN:
      if (typeof value !== 'boolean') throw new TypeError('a boolean is needed');
      return Uint8Array.of(value ? 1 : 0);
    case PHYSICAL_TYPE.INT32: {
      const integer = toInteger(value);
      if (BigInt.asIntN(32, integer) !== integer) throw new RangeError('it does not fit 32 bits');
      return singleValueBytes('int', Number(integer));
    }
    case PHYSICAL_TYPE.INT64:
      return singleValueBytes('long', toInteger(value));
    default:
      if (typeof value !== 'number') throw new TypeError('a number is needed');
      return singleValueBytes(leaf.physicalType === PHYSICAL_TYPE.FLOAT ? 'float' : 'double', value);
  }
}

function withLength(leaf: LeafColumn, bytes: Uint8Array): Uint8Array {
  checkValueLength(leaf, bytes.length);
  const plain = new Uint8Array(bytes.length + 4);
  new DataView(plain.buffer).setUint32(0, bytes.length, true);
  plain.set(bytes, 4);
  return plain;
}

/** Throws UNSUPPORTED for a value of more than 1 GiB: no page can hold it. */
export function checkValueLength(leaf: LeafColumn, length: number): void {
  if (length <= MAX_VALUE_BYTES) return;
  throw new SluiceError(
    'UNSUPPORTED',
    `column ${leaf.path.join('.')}: a value of ${length} bytes; a Parquet page holds at most ${MAX_VALUE_BYTES}. Split the value before it is written`,
    { context: { column: leaf.path.join('.'), length, most: MAX_VALUE_BYTES } },
  );
}

function toInteger(value: unknown): bigint {
  if (typeof value === 'bigint') return value;
  if (typeof value === 'number' && Number.isSafeInteger(value)) return BigInt(value);
  throw new TypeError('an integer is needed');
}

function describe(value: unknown): string {
  if (value instanceof Uint8Array) return `${value.length} bytes`;
  return `${typeof value} ${String(value).slice(0, 60)}`;
}
