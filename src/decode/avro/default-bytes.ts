import { type AvroSchema, AvroSchemaFault, describe } from './avro-schema.ts';

/** Bytes that a default may take. */
const MAX_BYTES = 1024 * 1024;
/** Characters of a path: names joined by dots. */
const MAX_PATH = 2000;

/**
 * The binary form of a field's default (Avro spec, "field default values"): so a default is read into columns as a value
 * of the reader's schema is. In a union it is of the first branch that takes it. Throws AvroSchemaFault where the JSON is
 * no value of the type.
 */
export function defaultBytes(schema: AvroSchema, value: unknown, path: string): Uint8Array {
  const bytes: number[] = [];
  encode(schema, value, bytes, path);
  return Uint8Array.from(bytes);
}

/** Proves all defaults within a schema. Throws AvroSchemaFault for the first that is no value of its type. */
export function checkDefaults(schema: AvroSchema, path = '', seen = new Set<AvroSchema>()): void {
  switch (schema.kind) {
    case 'array':
      checkDefaults(schema.items, path, seen);
      return;
    case 'map':
      checkDefaults(schema.values, path, seen);
      return;
    case 'union':
      for (const branch of schema.branches) checkDefaults(branch, path, seen);
      return;
    case 'record':
      if (seen.has(schema)) return;
      seen.add(schema);
      for (const field of schema.fields) {
        const at = path === '' ? field.name : `${path}.${field.name}`;
        if (field.default !== undefined) defaultBytes(field.schema, field.default, at);
        checkDefaults(field.schema, at, seen);
      }
  }
}

function encode(schema: AvroSchema, value: unknown, out: number[], path: string): void {
  if (out.length > MAX_BYTES)
    throw new AvroSchemaFault(path, `the default takes more than ${MAX_BYTES} bytes`);
  // A record whose default holds itself by its own default has none that ends.
  if (path.length > MAX_PATH) throw new AvroSchemaFault(path.slice(0, 100), 'the default has no end');
  switch (schema.kind) {
    case 'null':
      expect(value === null, schema, value, path);
      return;
    case 'boolean':
      expect(typeof value === 'boolean', schema, value, path);
      out.push(value === true ? 1 : 0);
      return;
    case 'int':
    case 'long':
      varint(integerOf(schema, value, path), out);
      return;
    case 'float':
    case 'double':
      floating(schema, value, out, path);
      return;
    case 'string':
      expect(typeof value === 'string', schema, value, path);
      sized(new TextEncoder().encode(value as string), out);
      return;
    case 'bytes':
      sized(latin1(schema, value, path), out);
      return;
    default:
      encodeComplex(schema, value, out, path);
  }
}

function encodeComplex(schema: AvroSchema, value: unknown, out: number[], path: string): void {
  switch (schema.kind) {
    case 'fixed': {
      const bytes = latin1(schema, value, path);
      expect(bytes.length === schema.size, schema, value, path);
      out.push(...bytes);
      return;
    }
    case 'enum': {
      const index = schema.symbols.indexOf(value as string);
      expect(index >= 0, schema, value, path);
      varint(BigInt(index), out);
      return;
    }
    case 'union':
      encodeUnion(schema.branches, schema, value, out, path);
      return;
    case 'array':
      expect(Array.isArray(value), schema, value, path);
      block(
        (value as unknown[]).map((item) => () => encode(schema.items, item, out, path)),
        out,
      );
      return;
    case 'map': {
      const entries = Object.entries(objectOf(schema, value, path));
      const write = ([key, item]: [string, unknown]) => {
        sized(new TextEncoder().encode(key), out);
        encode(schema.values, item, out, path);
      };
      block(
        entries.map((entry) => () => write(entry)),
        out,
      );
      return;
    }
    case 'record': {
      const object = objectOf(schema, value, path);
      for (const field of schema.fields) {
        const own = Object.hasOwn(object, field.name) ? object[field.name] : field.default;
        encode(field.schema, own, out, `${path}.${field.name}`);
      }
    }
  }
}

function encodeUnion(
  branches: readonly AvroSchema[],
  schema: AvroSchema,
  value: unknown,
  out: number[],
  path: string,
): void {
  for (let index = 0; index < branches.length; index++) {
    const { length } = out;
    try {
      varint(BigInt(index), out);
      encode(branches[index], value, out, path);
      return;
    } catch (e) {
      if (!(e instanceof AvroSchemaFault)) throw e;
      out.length = length;
    }
  }
  expect(false, schema, value, path);
}

function expect(holds: boolean, schema: AvroSchema, value: unknown, path: string): void {
  if (holds) return;
  const shown = typeof value === 'bigint' ? String(value) : (JSON.stringify(value) ?? 'nothing');
  throw new AvroSchemaFault(path, `the default ${shown.slice(0, 80)} is no ${describe(schema)}`);
}

function integerOf(schema: AvroSchema, value: unknown, path: string): bigint {
  expect(typeof value === 'bigint' || Number.isInteger(value), schema, value, path);
  const integer = BigInt(value as number | bigint);
  expect(BigInt.asIntN(schema.kind === 'int' ? 32 : 64, integer) === integer, schema, value, path);
  return integer;
}

function floating(schema: AvroSchema, value: unknown, out: number[], path: string): void {
  expect(typeof value === 'number' || typeof value === 'bigint', schema, value, path);
  const view = new DataView(new ArrayBuffer(schema.kind === 'float' ? 4 : 8));
  if (schema.kind === 'float') view.setFloat32(0, Number(value), true);
  else view.setFloat64(0, Number(value), true);
  out.push(...new Uint8Array(view.buffer));
}

/** The code points 0 to 255 of a text as bytes. */
function latin1(schema: AvroSchema, value: unknown, path: string): Uint8Array {
  expect(typeof value === 'string', schema, value, path);
  const text = value as string;
  for (let i = 0; i < text.length; i++) expect(text.charCodeAt(i) <= 0xff, schema, value, path);
  return Uint8Array.from(text, (char) => char.charCodeAt(0));
}

function objectOf(schema: AvroSchema, value: unknown, path: string): Record<string, unknown> {
  expect(typeof value === 'object' && value !== null && !Array.isArray(value), schema, value, path);
  return value as Record<string, unknown>;
}

function sized(bytes: Uint8Array, out: number[]): void {
  varint(BigInt(bytes.length), out);
  for (const byte of bytes) out.push(byte);
}

function block(items: readonly (() => void)[], out: number[]): void {
  if (items.length > 0) varint(BigInt(items.length), out);
  for (const write of items) write();
  out.push(0);
}

function varint(value: bigint, out: number[]): void {
  let rest = BigInt.asUintN(64, (value << 1n) ^ (value >> 63n));
  while (rest > 0x7fn) {
    out.push(Number(rest & 0x7fn) | 0x80);
    rest >>= 7n;
  }
  out.push(Number(rest));
}
