/** Single values as bytes and as JSON (Iceberg spec, appendix D). Values are in the forms of `PartitionValue`. */

import { SluiceError } from '../errors.ts';
import type { PartitionValue } from './data-file.ts';
import { dateText, parseDate, parseTime, parseTimestamp, timestampText, timeText } from './iso-time.ts';
import { floatingJson, plainNumber } from './json64.ts';
import type { IcebergType } from './schema.ts';
import { parseDecimal, parseFixed } from './schema.ts';

const utf8 = new TextEncoder();
const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function bad(type: IcebergType, message: string): SluiceError {
  return new SluiceError(
    'METADATA_INVALID',
    `single value of type ${typeof type === 'string' ? type : type.type}: ${message}`,
  );
}

/** The bytes of a value that is not null. Throws METADATA_INVALID for a type without such a form. */
export function singleValueToBytes(type: IcebergType, value: Exclude<PartitionValue, null>): Uint8Array {
  switch (type) {
    case 'boolean':
      return Uint8Array.of(value ? 1 : 0);
    case 'int':
    case 'date': {
      const bytes = new Uint8Array(4);
      new DataView(bytes.buffer).setInt32(0, value as number, true);
      return bytes;
    }
    case 'long':
    case 'time':
    case 'timestamp':
    case 'timestamptz':
    case 'timestamp_ns':
    case 'timestamptz_ns': {
      const bytes = new Uint8Array(8);
      new DataView(bytes.buffer).setBigInt64(0, value as bigint, true);
      return bytes;
    }
    case 'float': {
      const bytes = new Uint8Array(4);
      new DataView(bytes.buffer).setFloat32(0, value as number, true);
      return bytes;
    }
    case 'double': {
      const bytes = new Uint8Array(8);
      new DataView(bytes.buffer).setFloat64(0, value as number, true);
      return bytes;
    }
    case 'string':
      return utf8.encode(value as string);
    case 'uuid':
    case 'binary':
      return value as Uint8Array;
    default:
      if (parseDecimal(type) !== undefined) return decimalToBytes(value as bigint);
      if (parseFixed(type) !== undefined) return value as Uint8Array;
      throw bad(type, 'has no binary form');
  }
}

/**
 * The value of the bytes. Bytes that were written before a column was widened are taken too: an int's four for a
 * long, a float's for a double. Throws METADATA_INVALID for bytes of a wrong length or that are not UTF-8.
 */
export function singleValueFromBytes(type: IcebergType, bytes: Uint8Array): Exclude<PartitionValue, null> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  switch (type) {
    case 'boolean':
      return sized(type, bytes, 1)[0] !== 0;
    case 'int':
    case 'date':
      sized(type, bytes, 4);
      return view.getInt32(0, true);
    case 'long':
    case 'time':
    case 'timestamp':
    case 'timestamptz':
    case 'timestamp_ns':
    case 'timestamptz_ns':
      if (type === 'long' && bytes.length === 4) return BigInt(view.getInt32(0, true));
      sized(type, bytes, 8);
      return view.getBigInt64(0, true);
    case 'float':
      sized(type, bytes, 4);
      return view.getFloat32(0, true);
    case 'double':
      if (bytes.length === 4) return view.getFloat32(0, true);
      sized(type, bytes, 8);
      return view.getFloat64(0, true);
    case 'string':
      try {
        return strictUtf8.decode(bytes);
      } catch (e) {
        throw new SluiceError('METADATA_INVALID', `single value of type string: not UTF-8`, { cause: e });
      }
    case 'uuid':
      return sized(type, bytes, 16);
    case 'binary':
      return bytes;
    default: {
      if (parseDecimal(type) !== undefined) {
        if (bytes.length === 0 || bytes.length > 32) throw bad(type, `${bytes.length} bytes`);
        return decimalFromBytes(bytes);
      }
      const length = parseFixed(type);
      if (length !== undefined) return sized(type, bytes, length);
      throw bad(type, 'has no binary form');
    }
  }
}

function sized(type: IcebergType, bytes: Uint8Array, length: number): Uint8Array {
  if (bytes.length !== length) throw bad(type, `expected ${length} bytes, found ${bytes.length}`);
  return bytes;
}

/** Two's complement, big-endian, the fewest bytes that hold the value. */
export function decimalToBytes(unscaled: bigint): Uint8Array {
  let length = 1;
  while (BigInt.asIntN(length * 8, unscaled) !== unscaled) length++;
  return decimalToFixed(unscaled, length);
}

/** Two's complement, big-endian, sign-extended to `length` bytes. */
export function decimalToFixed(unscaled: bigint, length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  let rest = BigInt.asUintN(length * 8, unscaled);
  for (let i = length - 1; i >= 0; i--) {
    bytes[i] = Number(rest & 0xffn);
    rest >>= 8n;
  }
  return bytes;
}

export function decimalFromBytes(bytes: Uint8Array): bigint {
  let value = 0n;
  for (const byte of bytes) value = (value << 8n) | BigInt(byte);
  return BigInt.asIntN(bytes.length * 8, value);
}

/** The decimal's text with exactly `scale` digits after the point: 1420 with scale 2 is "14.20". */
export function decimalText(unscaled: bigint, scale: number): string {
  const negative = unscaled < 0n;
  const digits = (negative ? -unscaled : unscaled).toString().padStart(scale + 1, '0');
  const text = scale === 0 ? digits : `${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
  return negative ? `-${text}` : text;
}

export function uuidText(bytes: Uint8Array): string {
  const hex = hexText(bytes);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

function hexText(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex');
}

/** The JSON form of a value, as defaults and REST messages hold it, to be written with `stringifyJson64`: longs are bigint, 1.0 is kept apart from 1. */
export function singleValueToJson(type: IcebergType, value: PartitionValue): unknown {
  if (value === null) return null;
  switch (type) {
    case 'boolean':
    case 'int':
    case 'long':
    case 'string':
      return value;
    case 'float':
    case 'double':
      return floatingJson(value as number);
    case 'date':
      return dateText(value as number);
    case 'time':
      return timeText(value as bigint);
    case 'timestamp':
    case 'timestamptz':
      return timestampText(value as bigint, 6) + (type === 'timestamptz' ? '+00:00' : '');
    case 'timestamp_ns':
    case 'timestamptz_ns':
      return timestampText(value as bigint, 9) + (type === 'timestamptz_ns' ? '+00:00' : '');
    case 'uuid':
      return uuidText(value as Uint8Array);
    case 'binary':
      return hexText(value as Uint8Array);
    default: {
      const decimal = parseDecimal(type);
      if (decimal !== undefined) return decimalText(value as bigint, decimal.scale);
      if (parseFixed(type) !== undefined) return hexText(value as Uint8Array);
      throw bad(type, 'has no JSON form here');
    }
  }
}

/** The value of its JSON form. Throws METADATA_INVALID. */
export function singleValueFromJson(type: IcebergType, form: unknown): PartitionValue {
  const json = plainNumber(form);
  if (json === null || json === undefined) return null;
  switch (type) {
    case 'boolean':
      return expect(type, json, typeof json === 'boolean') as boolean;
    case 'int':
      return expect(type, json, typeof json === 'number' && (json | 0) === json) as number;
    case 'long':
      expect(type, json, typeof json === 'bigint' || Number.isSafeInteger(json));
      return BigInt.asIntN(64, BigInt(json as number)) === BigInt(json as number)
        ? BigInt(json as number)
        : (expect(type, json, false) as bigint);
    case 'float':
    case 'double':
      return Number(expect(type, json, typeof json === 'number' || typeof json === 'bigint'));
    default:
      return valueFromText(type, expect(type, json, typeof json === 'string') as string);
  }
}

function valueFromText(type: IcebergType, text: string): PartitionValue {
  const parsed = parseText(type, text);
  if (parsed === undefined) throw bad(type, `cannot be read from ${JSON.stringify(text.slice(0, 80))}`);
  return parsed;
}

function parseText(type: IcebergType, text: string): PartitionValue | undefined {
  switch (type) {
    case 'string':
      return text;
    case 'date':
      return parseDate(text);
    case 'time':
      return parseTime(text);
    case 'timestamp':
      return parseTimestamp(text, 6, false);
    case 'timestamptz':
      return parseTimestamp(text, 6, true);
    case 'timestamp_ns':
      return parseTimestamp(text, 9, false);
    case 'timestamptz_ns':
      return parseTimestamp(text, 9, true);
    case 'uuid':
      return parseHex(text.replaceAll('-', ''), 16);
    case 'binary':
      return parseHex(text, undefined);
    default: {
      const decimal = parseDecimal(type);
      if (decimal !== undefined) return parseDecimalText(text, decimal.scale);
      const length = parseFixed(type);
      return length === undefined ? undefined : parseHex(text, length);
    }
  }
}

function parseHex(text: string, length: number | undefined): Uint8Array | undefined {
  if (!/^(?:[0-9a-fA-F]{2})*$/.test(text)) return undefined;
  const bytes = new Uint8Array(Buffer.from(text, 'hex'));
  return length === undefined || bytes.length === length ? bytes : undefined;
}

function parseDecimalText(text: string, scale: number): bigint | undefined {
  const match = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text);
  if (match === null || (match[3] ?? '').length !== scale) return undefined;
  const unscaled = BigInt(match[2] + (match[3] ?? ''));
  return match[1] === '-' ? -unscaled : unscaled;
}

function expect(type: IcebergType, json: unknown, holds: boolean): unknown {
  if (!holds) throw bad(type, `cannot be read from ${String(json).slice(0, 80)}`);
  return json;
}
