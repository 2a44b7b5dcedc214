/**
 * Reading Avro object container files, as far as manifests and manifest lists need them (Avro specification 1.11, "Object
 * Container Files" and "Binary Encoding"; Iceberg spec, appendix A).
 *
 * Records are decoded by the schema of the file into objects keyed by field id (or by name where a field has none), so
 * that files of any writer and version read alike. Every length is checked against the bytes that are there before
 * anything is allocated: avsc, which reads a count of 2^40 items as 2^40 items, is kept to the tests for that reason.
 */
import { crc32, inflateRawSync, zstdDecompressSync } from 'node:zlib';
import { uncompressSync } from 'snappy';
import { messageOf, SluiceError } from '../errors.ts';
import { AVRO_MAGIC, type AvroField, type AvroObject, type AvroSchema } from './avro-schema.ts';

/** A decoded record: by field id, or by name where the file's schema has no ids. */
export type AvroRecord = Record<number | string, unknown>;

const MAX_DEPTH = 64;
const MAX_BLOCK_BYTES = 512 * 1024 * 1024;
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

class AvroError extends Error {}

/** Reads Avro's binary encoding; throws AvroError at the end of the bytes or where a value does not fit. */
export class AvroReader {
  readonly #bytes: Uint8Array;
  position = 0;

  constructor(bytes: Uint8Array) {
    // A Buffer's `slice` is a view that would keep a whole block alive for one bound: a plain array's is a copy.
    this.#bytes = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  get remaining(): number {
    return this.#bytes.length - this.position;
  }

  byte(): number {
    if (this.position >= this.#bytes.length)
      throw new AvroError(`it ends at byte ${this.position}, within a value`);
    return this.#bytes[this.position++];
  }

  long(): bigint {
    let low = 0;
    for (let shift = 0; shift < 28; shift += 7) {
      const byte = this.byte();
      low |= (byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt((low >>> 1) ^ -(low & 1));
    }
    return this.#wideLong(BigInt(low));
  }

  #wideLong(low: bigint): bigint {
    let value = low;
    for (let shift = 28n; shift < 70n; shift += 7n) {
      const byte = this.byte();
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) {
        if (value >> 64n !== 0n)
          throw new AvroError(`a number before byte ${this.position} does not fit into 64 bits`);
        return (value >> 1n) ^ -(value & 1n);
      }
    }
    throw new AvroError(`a number before byte ${this.position} is longer than 10 bytes`);
  }

  int(): number {
    const value = this.long();
    if (value !== BigInt.asIntN(32, value))
      throw new AvroError(`the int before byte ${this.position} does not fit into 32 bits`);
    return Number(value);
  }

  /** A length or count of things that are within the remaining bytes. */
  length(): number {
    const value = this.long();
    if (value < 0n || value > BigInt(this.remaining)) {
      throw new AvroError(
        `a length of ${value} before byte ${this.position}, where ${this.remaining} bytes are left`,
      );
    }
    return Number(value);
  }

  /** A view, not a copy. */
  raw(length: number): Uint8Array {
    if (length > this.remaining)
      throw new AvroError(`${length} bytes wanted at byte ${this.position}, ${this.remaining} are left`);
    this.position += length;
    return this.#bytes.subarray(this.position - length, this.position);
  }

  view(length: number): DataView {
    const bytes = this.raw(length);
    return new DataView(bytes.buffer, bytes.byteOffset, length);
  }

  bytes(): Uint8Array {
    return this.raw(this.length());
  }

  string(): string {
    return decoder.decode(this.bytes());
  }
}

type Decode = (reader: AvroReader) => unknown;

/** The decoder of a schema. Ints are number, longs bigint, bytes and fixed Uint8Array copies, arrays of key/value records Map. */
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
    blocks(r, () => result.push(item(r)));
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
    blocks(r, () => {
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
    blocks(r, () => {
      const key = r.string();
      result.set(key, value(r));
    });
    return result;
  };
}

/** Runs `read` for each item of an array or a map: blocks of a count, with a byte size where it is negative, ended by 0. */
function blocks(r: AvroReader, read: () => void): void {
  for (;;) {
    let count = r.long();
    if (count === 0n) return;
    if (count < 0n) {
      count = -count;
      r.long();
    }
    // Whatever a manifest repeats takes a byte at least.
    if (count > BigInt(r.remaining)) {
      throw new AvroError(
        `a count of ${count} items before byte ${r.position}, where ${r.remaining} bytes are left`,
      );
    }
    for (let i = 0; i < Number(count); i++) read();
  }
}

export interface AvroFile {
  /** The key-value metadata of the header. */
  readonly metadata: ReadonlyMap<string, Uint8Array>;
  readonly records: AvroRecord[];
}

/** Reads a whole container file of records. `source` names it in errors. Throws METADATA_INVALID, UNSUPPORTED for a codec. */
export function readAvroFile(bytes: Uint8Array, source: string): AvroFile {
  try {
    return decodeFile(bytes);
  } catch (e) {
    if (e instanceof SluiceError) throw e;
    throw new SluiceError('METADATA_INVALID', `${source} is not a whole Avro file: ${messageOf(e)}`, {
      cause: e,
      context: { path: source },
    });
  }
}

function decodeFile(bytes: Uint8Array): AvroFile {
  const reader = new AvroReader(bytes);
  if (bytes.length < 4 || AVRO_MAGIC.some((b, i) => bytes[i] !== b))
    throw new AvroError('it does not begin with "Obj" 1');
  reader.position = 4;
  const metadata = new Map<string, Uint8Array>();
  blocks(reader, () => {
    const key = reader.string();
    metadata.set(key, reader.bytes());
  });
  const sync = reader.raw(16);
  const schemaText = metadata.get('avro.schema');
  if (schemaText === undefined) throw new AvroError('its header has no avro.schema');
  const decode = compile(JSON.parse(decoder.decode(schemaText)) as AvroSchema, new Map(), 0);
  const codec = metadata.has('avro.codec') ? decoder.decode(metadata.get('avro.codec')) : 'null';
  const records: AvroRecord[] = [];
  while (reader.remaining > 0) {
    const count = reader.long();
    const block = new AvroReader(decompress(codec, reader.bytes()));
    if (count < 0n || count > BigInt(block.remaining))
      throw new AvroError(`a block of ${count} records in ${block.remaining} bytes`);
    for (let i = 0; i < Number(count); i++) records.push(decode(block) as AvroRecord);
    if (block.remaining > 0) throw new AvroError(`${block.remaining} bytes are left over in a block`);
    const marker = reader.raw(16);
    if (marker.some((b, i) => b !== sync[i]))
      throw new AvroError(`a block does not end in the sync marker, before byte ${reader.position}`);
  }
  return { metadata, records };
}

function decompress(codec: string, bytes: Uint8Array): Uint8Array {
  switch (codec) {
    case 'null':
      return bytes;
    case 'deflate':
      return inflateRawSync(bytes, { maxOutputLength: MAX_BLOCK_BYTES });
    case 'zstandard':
      return zstdDecompressSync(bytes, { maxOutputLength: MAX_BLOCK_BYTES });
    case 'snappy':
      return decompressSnappy(bytes);
    default:
      throw new SluiceError(
        'UNSUPPORTED',
        `a manifest is compressed by the Avro codec "${codec}"; known are null, deflate, snappy, zstandard`,
      );
  }
}

/** Avro's snappy blocks end in the big-endian CRC-32 of the uncompressed bytes. */
function decompressSnappy(bytes: Uint8Array): Uint8Array {
  if (bytes.length < 5) throw new AvroError('a snappy block is too short');
  let size = 0;
  for (let i = 0, shift = 0; i < 5; i++, shift += 7) {
    size += (bytes[i] & 0x7f) * 2 ** shift;
    if (bytes[i] < 0x80) break;
  }
  if (size > MAX_BLOCK_BYTES) throw new AvroError(`a snappy block of ${size} bytes`);
  const plain = uncompressSync(Buffer.from(bytes.subarray(0, -4)), { asBuffer: true }) as Uint8Array;
  const expected = new DataView(bytes.buffer, bytes.byteOffset + bytes.length - 4, 4).getUint32(0);
  if (crc32(plain) !== expected) throw new AvroError('a snappy block has a wrong checksum');
  return plain;
}
