import type { ThriftStruct, ThriftValue } from './thrift-reader.ts';

/** Fields of Thrift structs that anyone may have written. All throw RangeError where a field is not what it should be. */

export function isStruct(value: ThriftValue | undefined): value is ThriftStruct {
  return typeof value === 'object' && !Array.isArray(value) && !(value instanceof Uint8Array);
}

/** A list of structs. */
export function structs(value: ThriftValue | undefined, what: string): ThriftStruct[] {
  if (!Array.isArray(value) || !value.every(isStruct)) throw new RangeError(`no ${what}`);
  return value as ThriftStruct[];
}

/** A field that must be an integer of 0 or more. */
export function count(value: ThriftValue | undefined, what: string): number {
  if (typeof value !== 'number' || value < 0 || !Number.isInteger(value))
    throw new RangeError(`no valid ${what}: ${String(value)}`);
  return value;
}

export function text(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8');
}
