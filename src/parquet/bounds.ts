import { isUtf8 } from 'node:buffer';
import { type IcebergType, parseDecimal, parseFixed } from '../core/schema.ts';

/**
 * Bounds of columns as manifests hold them (Iceberg spec: "Data File Fields", appendix D "Single-value serialization").
 * A lower bound may be lower than every value, an upper bound higher, never the other way round.
 */

/** Length to which Iceberg cuts bounds by default (`truncate(16)`): code points of strings, bytes of binary. */
export const BOUND_LENGTH = 16;

/** Four bytes per code point: what a cut string can take at most. */
export const MAX_STRING_BOUND_BYTES = BOUND_LENGTH * 4;

/**
 * Length in bytes of the first 16 code points of the UTF-8 string `data[from, until)`, at most 64 bytes (which only a
 * string that is not UTF-8 reaches before its 17th code point begins).
 */
export function stringBoundLength(data: Uint8Array, from: number, until: number): number {
  const length = until - from;
  if (length <= BOUND_LENGTH) return length;
  const stop = Math.min(length, MAX_STRING_BOUND_BYTES);
  let codePoints = 0;
  for (let i = 0; i < stop; i++) {
    if ((data[from + i] & 0xc0) !== 0x80 && ++codePoints > BOUND_LENGTH) return i;
  }
  return stop;
}

/** The lower bound of a string, cut to 16 code points; undefined where the bytes are not UTF-8. */
export function stringLowerBound(utf8: Uint8Array): Uint8Array | undefined {
  const bound = copyOf(utf8, stringBoundLength(utf8, 0, utf8.length));
  return isUtf8(bound) ? bound : undefined;
}

/** The upper bound of a string (case C20): itself when it is short, else cut and incremented; undefined where there is none. */
export function stringUpperBound(utf8: Uint8Array): Uint8Array | undefined {
  const length = stringBoundLength(utf8, 0, utf8.length);
  const cut = copyOf(utf8, length);
  if (!isUtf8(cut)) return undefined;
  return length === utf8.length ? cut : incrementString(cut);
}

/** The lower bound of binary, cut to 16 bytes. */
export function binaryLowerBound(bytes: Uint8Array): Uint8Array {
  return copyOf(bytes, BOUND_LENGTH);
}

/** The upper bound of binary: itself when it is short, else cut and incremented; undefined where all 16 bytes are 0xff. */
export function binaryUpperBound(bytes: Uint8Array): Uint8Array | undefined {
  const cut = copyOf(bytes, BOUND_LENGTH);
  return bytes.length <= BOUND_LENGTH ? cut : incrementBinary(cut);
}

/**
 * The smallest string of at most as many code points that is greater than every string beginning with `utf8`: the last
 * code point that can be incremented is, surrogates are skipped, what follows it is cut off. Undefined where every code
 * point is U+10FFFF, or where the bytes are not UTF-8.
 */
export function incrementString(utf8: Uint8Array): Uint8Array | undefined {
  if (!isUtf8(utf8)) return undefined;
  const codePoints = Array.from(Buffer.from(utf8).toString('utf8'), (c) => c.codePointAt(0)!);
  for (let i = codePoints.length - 1; i >= 0; i--) {
    let next = codePoints[i] + 1;
    if (next >= 0xd800 && next <= 0xdfff) next = 0xe000;
    if (next > 0x10ffff) continue;
    const kept = codePoints.slice(0, i);
    return new Uint8Array(Buffer.from(String.fromCodePoint(...kept, next), 'utf8'));
  }
  return undefined;
}

/** The same for bytes: 0xff cannot be incremented. */
export function incrementBinary(bytes: Uint8Array): Uint8Array | undefined {
  for (let i = bytes.length - 1; i >= 0; i--) {
    if (bytes[i] === 0xff) continue;
    const next = copyOf(bytes, i + 1);
    next[i]++;
    return next;
  }
  return undefined;
}

/** The first `length` bytes, copied also where `bytes` is a Buffer, whose `slice` is a view. */
function copyOf(bytes: Uint8Array, length: number): Uint8Array {
  return new Uint8Array(bytes.subarray(0, length));
}

/** The shortest two's complement big-endian form of an integer: -1 is `ff`, 128 is `00 80` (case C26). */
export function minimalTwosComplement(value: bigint): Uint8Array {
  let length = 1;
  while (value < -(1n << BigInt(8 * length - 1)) || value >= 1n << BigInt(8 * length - 1)) length++;
  return signedBigEndian(value, length);
}

/** `value` as two's complement, big-endian, in exactly `length` bytes. Throws RangeError where it does not fit. */
export function signedBigEndian(value: bigint, length: number): Uint8Array {
  if (BigInt.asIntN(8 * length, value) !== value)
    throw new RangeError(`${value} does not fit ${length} bytes`);
  const bytes = new Uint8Array(length);
  let rest = value;
  for (let i = length - 1; i >= 0; i--) {
    bytes[i] = Number(rest & 0xffn);
    rest >>= 8n;
  }
  return bytes;
}

/** Reads two's complement, big-endian. No bytes are 0. */
export function readSignedBigEndian(bytes: Uint8Array): bigint {
  let value = 0n;
  for (const byte of bytes) value = (value << 8n) | BigInt(byte);
  return BigInt.asIntN(8 * bytes.length, value);
}

export type SingleValue = boolean | number | bigint | string | Uint8Array;

/**
 * Iceberg's single-value serialisation (appendix D). `value` in the form of `PartitionValue`: number for int, date,
 * float and double, bigint (or a safe integer) for long, time and timestamps, the unscaled bigint for decimals, bytes or
 * the 8-4-4-4-12 text for uuid. Throws RangeError for a value that its type does not hold.
 */
export function singleValueBytes(type: IcebergType, value: SingleValue): Uint8Array {
  const bytes = fixedWidthBytes(type, value);
  if (bytes !== undefined) return bytes;
  if (type === 'string') return new Uint8Array(Buffer.from(String(value), 'utf8'));
  if (type === 'uuid' && typeof value === 'string') return uuidBytes(value);
  if (parseDecimal(type) !== undefined) return minimalTwosComplement(BigInt(value as bigint | number));
  if (
    value instanceof Uint8Array &&
    (type === 'binary' || type === 'uuid' || parseFixed(type) !== undefined)
  ) {
    const length = type === 'uuid' ? 16 : parseFixed(type);
    if (length !== undefined && value.length !== length)
      throw new RangeError(`${value.length} bytes for ${type}`);
    return copyOf(value, value.length);
  }
  throw new RangeError(
    `no single-value form of ${typeof value} as ${typeof type === 'string' ? type : type.type}`,
  );
}

function fixedWidthBytes(type: IcebergType, value: SingleValue): Uint8Array | undefined {
  switch (type) {
    case 'boolean':
      return Uint8Array.of(value === true ? 1 : 0);
    case 'int':
    case 'date':
      return le(4, (view) => view.setInt32(0, Number(value), true));
    case 'float':
      return le(4, (view) => view.setFloat32(0, Number(value), true));
    case 'double':
      return le(8, (view) => view.setFloat64(0, Number(value), true));
    case 'long':
    case 'time':
    case 'timestamp':
    case 'timestamptz':
    case 'timestamp_ns':
    case 'timestamptz_ns': {
      const integer = BigInt(value as bigint | number);
      if (BigInt.asIntN(64, integer) !== integer) throw new RangeError(`${integer} does not fit 64 bits`);
      return le(8, (view) => view.setBigInt64(0, integer, true));
    }
    default:
      return undefined;
  }
}

function le(length: number, write: (view: DataView) => void): Uint8Array {
  const bytes = new Uint8Array(length);
  write(new DataView(bytes.buffer));
  return bytes;
}

/** The 16 bytes, big-endian, of `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx`. Throws RangeError for any other text. */
export function uuidBytes(text: string): Uint8Array {
  if (!/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i.test(text)) {
    throw new RangeError(`not a uuid: ${text.slice(0, 60)}`);
  }
  return new Uint8Array(Buffer.from(text.replaceAll('-', ''), 'hex'));
}
