/**
 * Decoders of Avro schemas. Records become objects keyed by field id (or by name where a field has none), so that files
 * of any writer and version read alike. Every length is checked against the bytes that are there before anything is
 * allocated: avsc, which reads a count of 2^40 items as 2^40 items, is kept to the tests for that reason.
 */
import { AvroError, type AvroReader, AvroShortError } from './avro-reader.ts';
import type { AvroField, AvroObject, AvroSchema } from './avro-schema.ts';

/** A decoded record: by field id, or by name where the file's schema has no ids. */
export type AvroRecord = Record<number | string, unknown>;

const MAX_DEPTH = 64;

/** Reads one value. */
export type Decode = (reader: AvroReader) => unknown;

/** The decoder of a schema. Throws AvroError for one that is none. */
export function compileDecoder(schema: AvroSchema): Decode {
  return compile(schema, new Map(), 0);
}

/** Ints are number, longs bigint, bytes and fixed Uint8Array copies, arrays of key/value records Map. */
function compile(schema: AvroSchema, names: Map<string, Decode>, depth: number): Decode {
  if (depth > MAX_DEPTH) throw new AvroError(`its schema is nested more than ${MAX_DEPTH} deep`);
  if (typeof schema === 'string') return primitive(schema) ?? named(schema, names);
  if (Array.isArray(schema)) return union(schema, names, depth);
  if (typeof schema !== 'object' || schema === null)
    throw new AvroError('its schema has an entry that is no type');
  const type = schema.type;
  if (typeof type !== 'string') return compile(type, names, depth + 1);
  switch (type) {
    case 'record':
      return record(schema, names, depth);
    case 'array':
      return array(schema, names, depth);
    case 'map':
      return map(schema, names, depth);
    case 'fixed': {
      const size = schema['size'];
      if (typeof size !== 'number' || !Number.isInteger(size) || size < 0)
        throw new AvroError('its schema has a fixed type without a size');
      return define(schema, names, (r) => r.raw(size).slice());
    }
    case 'enum': {
      const symbols = schema['symbols'];
      if (!Array.isArray(symbols)) throw new AvroError('its schema has an enum without symbols');
      return define(schema, names, (r) => symbols[r.int()]);
    }
    default:
      return primitive(type) ?? named(type, names);
  }
}

function primitive(type: string): Decode | undefined {
  switch (type) {
    case 'null':
      return () => null;
    case 'boolean':
      return (r) => r.byte() !== 0;
    case 'int':
      return (r) => r.int();
    case 'long':
      return (r) => r.long();
    case 'float':
      return (r) => r.view(4).getFloat32(0, true);
    case 'double':
      return (r) => r.view(8).getFloat64(0, true);
    case 'bytes':
      return (r) => r.bytes().slice();
    case 'string':
      return (r) => r.string();
    default:
      return undefined;
  }
}

function named(name: string, names: Map<string, Decode>): Decode {
  const short = name.slice(name.lastIndexOf('.') + 1);
  if (!names.has(short)) throw new AvroError(`its schema refers to the unknown type "${name}"`);
  // Looked up when it runs: a type may refer to itself.
  return (r) => names.get(short)!(r);
}

function define(schema: AvroObject, names: Map<string, Decode>, decode: Decode): Decode {
  const name = schema['name'];
  if (typeof name === 'string') names.set(name.slice(name.lastIndexOf('.') + 1), decode);
  return decode;
}

function union(branches: AvroSchema[], names: Map<string, Decode>, depth: number): Decode {
  const decoders = branches.map((branch) => compile(branch, names, depth + 1));
  return (r) => {
    const branch = r.int();
    const decode = decoders[branch];
    if (decode === undefined)
      throw new AvroError(`branch ${branch} of a union of ${decoders.length} before byte ${r.position}`);
    return decode(r);
  };
}

function record(schema: AvroObject, names: Map<string, Decode>, depth: number): Decode {
  const fields = schema['fields'];
  if (!Array.isArray(fields)) throw new AvroError('its schema has a record without fields');
  const keys: (number | string)[] = [];
  const decoders: Decode[] = [];
  let level = 0;
  const decode: Decode = (r) => {
    if (++level > MAX_DEPTH) throw new AvroError('its records are nested too deep');
    const result: AvroRecord = {};
    for (let i = 0; i < keys.length; i++) result[keys[i]] = decoders[i](r);
    level--;
    return result;
  };
  define(schema, names, decode);
  for (const field of fields as AvroField[]) {
    if (typeof field !== 'object' || field === null || typeof field.name !== 'string')
      throw new AvroError('its schema has a field without a name');
    keys.push(typeof field['field-id'] === 'number' ? field['field-id'] : `name:${field.name}`);
    decoders.push(compile(field.type, names, depth + 1));
  }
  return decode;
}

function array(schema: AvroObject, names: Map<string, Decode>, depth: number): Decode {
  if (schema['logicalType'] === 'map') return entries(schema, names, depth);
  const item = compile(schema['items'] as AvroSchema, names, depth + 1);
  return (r) => {
    const result: unknown[] = [];
    readBlocks(r, () => result.push(item(r)));
    return result;
  };
}

/** A map whose keys are no strings: an array of records of a key and a value. */
function entries(schema: AvroObject, names: Map<string, Decode>, depth: number): Decode {
  const fields = (schema['items'] as AvroObject | undefined)?.['fields'] as AvroField[] | undefined;
  if (!Array.isArray(fields) || fields.length !== 2)
    throw new AvroError('its schema has a map whose entries are not a key and a value');
  const key = compile(fields[0].type, names, depth + 1);
  const value = compile(fields[1].type, names, depth + 1);
  return (r) => {
    const result = new Map<unknown, unknown>();
    readBlocks(r, () => {
      const k = key(r);
      result.set(k, value(r));
    });
    return result;
  };
}

function map(schema: AvroObject, names: Map<string, Decode>, depth: number): Decode {
  const value = compile(schema['values'] as AvroSchema, names, depth + 1);
  return (r) => {
    const result = new Map<string, unknown>();
    readBlocks(r, () => {
      const key = r.string();
      result.set(key, value(r));
    });
    return result;
  };
}

/** Runs `read` for each item of an array or a map: blocks of a count, with a byte size where it is negative, ended by 0. */
export function readBlocks(r: AvroReader, read: () => void): void {
  for (;;) {
    let count = r.long();
    if (count === 0n) return;
    if (count < 0n) {
      count = -count;
      r.long();
    }
    // Whatever a manifest repeats takes a byte at least.
    if (count > BigInt(r.remaining)) {
      throw new AvroShortError(
        `a count of ${count} items before byte ${r.position}, where ${r.remaining} bytes are left`,
      );
    }
    for (let i = 0; i < Number(count); i++) read();
  }
}
