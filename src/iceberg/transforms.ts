/** Partition transforms (Iceberg spec, "Partition Transforms" and appendix B). Values are in the forms of `PartitionValue`. */
import type { PartitionValue } from '../core/data-file.ts';
import {
  civilFromDays,
  dateText,
  floorDiv,
  hoursText,
  monthsText,
  timestampText,
  yearsText,
} from '../core/iso-time.ts';
import type { IcebergType, PrimitiveType } from '../core/schema.ts';
import { parseDecimal, parseFixed } from '../core/schema.ts';
import { decimalText, decimalToBytes, uuidText } from '../core/single-value.ts';
import { SluiceError } from '../errors.ts';
import { murmur3, murmur3Long } from './murmur3.ts';

export type Transform =
  | { kind: 'identity' | 'year' | 'month' | 'day' | 'hour' | 'void' }
  /** n: 1..2^31-1 buckets. */
  | { kind: 'bucket'; n: number }
  /** width: 1..2^31-1. */
  | { kind: 'truncate'; width: number }
  /** A transform of a newer writer: read around, never written with. */
  | { kind: 'unknown'; text: string };

const INT_MAX = 2 ** 31 - 1;
const utf8 = new TextEncoder();

/** Reads `identity`, `bucket[16]`, `truncate[4]`, `year`, `month`, `day`, `hour`, `void`; anything else is unknown. */
export function parseTransform(text: string): Transform {
  const lower = text.toLowerCase();
  if (
    lower === 'identity' ||
    lower === 'year' ||
    lower === 'month' ||
    lower === 'day' ||
    lower === 'hour' ||
    lower === 'void'
  ) {
    return { kind: lower };
  }
  const match = /^(bucket|truncate)\[(\d{1,10})\]$/.exec(lower);
  const parameter = match === null ? 0 : Number(match[2]);
  if (match === null || parameter < 1 || parameter > INT_MAX) return { kind: 'unknown', text };
  return match[1] === 'bucket' ? { kind: 'bucket', n: parameter } : { kind: 'truncate', width: parameter };
}

export function transformText(transform: Transform): string {
  if (transform.kind === 'bucket') return `bucket[${transform.n}]`;
  if (transform.kind === 'truncate') return `truncate[${transform.width}]`;
  return transform.kind === 'unknown' ? transform.text : transform.kind;
}

const DATES = ['date'];
const TIMESTAMPS = ['timestamp', 'timestamptz', 'timestamp_ns', 'timestamptz_ns'];
const HASHED = ['int', 'long', 'time', 'string', 'uuid', 'binary', ...DATES, ...TIMESTAMPS];

/** Can the transform be applied to a column of this type? */
export function transformAccepts(transform: Transform, source: IcebergType): boolean {
  if (typeof source !== 'string') return false;
  const decimal = parseDecimal(source) !== undefined;
  switch (transform.kind) {
    case 'identity':
      return isKnownPrimitive(source);
    case 'void':
      return true;
    case 'bucket':
      return decimal || parseFixed(source) !== undefined || HASHED.includes(source);
    case 'truncate':
      return decimal || ['int', 'long', 'string', 'binary'].includes(source);
    case 'year':
    case 'month':
    case 'day':
      return DATES.includes(source) || TIMESTAMPS.includes(source);
    case 'hour':
      return TIMESTAMPS.includes(source);
    default:
      return false;
  }
}

function isKnownPrimitive(type: PrimitiveType): boolean {
  return (
    HASHED.includes(type) ||
    ['boolean', 'float', 'double'].includes(type) ||
    parseDecimal(type) !== undefined ||
    parseFixed(type) !== undefined
  );
}

/** The type of the partition value. `day` gives a date, as the spec says and every reader takes. */
export function transformResultType(transform: Transform, source: IcebergType): PrimitiveType {
  switch (transform.kind) {
    case 'bucket':
    case 'year':
    case 'month':
    case 'hour':
      return 'int';
    case 'day':
      return 'date';
    case 'identity':
    case 'truncate':
    case 'void':
      return source as PrimitiveType;
    default:
      // Java reads the values of an unknown transform as strings.
      return 'string';
  }
}

/**
 * The function that a transform is over one source type; null gives null. Throws UNSUPPORTED where the transform is
 * unknown (the spec forbids writing with it) or does not take the type.
 */
export function bindTransform(
  transform: Transform,
  source: IcebergType,
): (value: PartitionValue) => PartitionValue {
  if (!transformAccepts(transform, source)) {
    const type = typeof source === 'string' ? source : source.type;
    throw new SluiceError(
      'UNSUPPORTED',
      `transform ${transformText(transform)} does not take a column of type ${type}`,
    );
  }
  const apply = applyFunction(transform, source as PrimitiveType);
  return (value) => (value === null ? null : apply(value));
}

function applyFunction(
  transform: Transform,
  source: PrimitiveType,
): (value: Exclude<PartitionValue, null>) => PartitionValue {
  switch (transform.kind) {
    case 'identity':
      return (value) => value;
    case 'void':
      return () => null;
    case 'bucket': {
      const hash = hashFunction(source);
      return (value) => (hash(value) & INT_MAX) % transform.n;
    }
    case 'truncate':
      return truncateFunction(transform.width, source);
    case 'hour': {
      const perHour = 3600n * unitsPerSecond(source);
      return (value) => Number(floorDiv(value as bigint, perHour));
    }
    default: {
      const toDays = daysFunction(source);
      if (transform.kind === 'day') return (value) => toDays(value);
      if (transform.kind === 'month') return (value) => monthsOf(toDays(value));
      return (value) => civilFromDays(toDays(value)).year - 1970;
    }
  }
}

function monthsOf(days: number): number {
  const { year, month } = civilFromDays(days);
  return (year - 1970) * 12 + month - 1;
}

function unitsPerSecond(source: PrimitiveType): bigint {
  return source.endsWith('_ns') ? 1_000_000_000n : 1_000_000n;
}

/** Floor, not truncation: the last second of 1969 is day -1 (case C19). */
function daysFunction(source: PrimitiveType): (value: unknown) => number {
  if (source === 'date') return (value) => value as number;
  const perDay = 86_400n * unitsPerSecond(source);
  return (value) => Number(floorDiv(value as bigint, perDay));
}

/** The 32-bit hash of appendix B, before the modulus. */
export function hashFunction(source: PrimitiveType): (value: Exclude<PartitionValue, null>) => number {
  switch (source) {
    case 'int':
    case 'date':
      return (value) => murmur3Long(BigInt(value as number));
    case 'long':
    case 'time':
    case 'timestamp':
    case 'timestamptz':
      return (value) => murmur3Long(value as bigint);
    case 'timestamp_ns':
    case 'timestamptz_ns':
      return (value) => murmur3Long(floorDiv(value as bigint, 1000n));
    case 'string':
      return (value) => murmur3(utf8.encode(value as string));
    default:
      // Decimals are hashed over the fewest bytes of the unscaled value, without padding (case C18).
      if (parseDecimal(source) !== undefined) return (value) => murmur3(decimalToBytes(value as bigint));
      return (value) => murmur3(value as Uint8Array);
  }
}

function truncateFunction(
  width: number,
  source: PrimitiveType,
): (value: Exclude<PartitionValue, null>) => PartitionValue {
  switch (source) {
    case 'int':
      return (value) => {
        const v = value as number;
        // An int below the smallest multiple wraps around, as Java's 32-bit arithmetic does.
        return (v - (((v % width) + width) % width)) | 0;
      };
    case 'string':
      return (value) => firstCodePoints(value as string, width);
    case 'binary':
      return (value) => (value as Uint8Array).subarray(0, width);
    default: {
      const w = BigInt(width);
      const isLong = source === 'long';
      return (value) => {
        const v = value as bigint;
        const result = v - (((v % w) + w) % w);
        return isLong ? BigInt.asIntN(64, result) : result;
      };
    }
  }
}

function firstCodePoints(text: string, count: number): string {
  // Never more code points than code units: short texts need no walk.
  if (text.length <= count) return text;
  let end = 0;
  for (let i = 0; i < count && end < text.length; i++) end += text.codePointAt(end)! > 0xffff ? 2 : 1;
  return text.slice(0, end);
}

/** The value as Java's partition paths show it (`Transform.toHumanString`): `null`, 2024-05-01, 2024-05-01-13, base64. */
export function humanText(transform: Transform, resultType: PrimitiveType, value: PartitionValue): string {
  if (value === null) return 'null';
  if (transform.kind === 'year') return yearsText(value as number);
  if (transform.kind === 'month') return monthsText(value as number);
  if (transform.kind === 'hour') return hoursText(value as number);
  switch (resultType) {
    case 'date':
      return dateText(value as number);
    case 'time':
      return javaTime(value as bigint);
    case 'timestamp':
      return javaTimestamp(value as bigint, 6);
    case 'timestamptz':
      return `${javaTimestamp(value as bigint, 6)}+00:00`;
    case 'timestamp_ns':
      return javaTimestamp(value as bigint, 9);
    case 'timestamptz_ns':
      return `${javaTimestamp(value as bigint, 9)}+00:00`;
    case 'uuid':
      return uuidText(value as Uint8Array);
    default: {
      if (value instanceof Uint8Array)
        return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64');
      const decimal = parseDecimal(resultType);
      if (decimal !== undefined) return decimalText(value as bigint, decimal.scale);
      return resultType === 'float' || resultType === 'double'
        ? javaFloating(value as number)
        : String(value);
    }
  }
}

/** Java's LocalTime.toString: seconds and fractions only where they are not zero, fractions in groups of three. */
function javaTime(micros: bigint): string {
  const text = timestampText(micros, 6).slice('1970-01-01T'.length);
  return text
    .replace(/\.000000$/, '')
    .replace(/(\.\d{3})000$/, '$1')
    .replace(/^(\d\d:\d\d):00$/, '$1');
}

/** Java's ISO_LOCAL_DATE_TIME: the fraction without trailing zeros, the seconds always there. */
function javaTimestamp(units: bigint, digits: 6 | 9): string {
  return timestampText(units, digits).replace(/\.?0+$/, '');
}

/** Java prints 1.0 where JavaScript prints 1. */
function javaFloating(value: number): string {
  if (Number.isInteger(value) && Math.abs(value) < 1e7)
    return Object.is(value, -0) ? '-0.0' : value.toFixed(1);
  return String(value);
}
