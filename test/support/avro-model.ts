/**
 * A plain reader of Avro's binary encoding, written from the specification alone and without regard to speed: values as
 * avsc has them with wrapped unions, longs as bigint. Every rule of the encoding is checked; what breaks one throws.
 */

export type AvroJson = string | AvroJson[] | { [key: string]: unknown };

/** Definitions of named types by their names; the schemas of the tests have no namespaces. */
export type Names = Map<string, { [key: string]: unknown }>;

export class ModelFault extends Error {}

export function namesIn(schema: AvroJson, names: Names = new Map()): Names {
  if (Array.isArray(schema)) for (const branch of schema) namesIn(branch, names);
  if (typeof schema !== 'object' || Array.isArray(schema)) return names;
  if (typeof schema.name === 'string') names.set(schema.name, schema);
  for (const inner of [schema.items, schema.values])
    if (inner !== undefined) namesIn(inner as AvroJson, names);
  for (const field of (schema.fields ?? []) as { type: AvroJson }[]) namesIn(field.type, names);
  return names;
}

/** The type's own object, and its kind. */
export function definition(
  schema: AvroJson,
  names: Names,
): { kind: string; node: { [key: string]: unknown } } {
  if (Array.isArray(schema)) return { kind: 'union', node: { branches: schema } };
  if (typeof schema === 'object') return { kind: schema.type as string, node: schema };
  const named = names.get(schema);
  return named === undefined ? { kind: schema, node: {} } : { kind: named.type as string, node: named };
}

/** The name under which avsc wraps a value of a branch. */
export function branchName(schema: AvroJson, names: Names): string {
  const { kind, node } = definition(schema, names);
  return typeof node.name === 'string' ? node.name : kind;
}

export class ModelReader {
  private readonly names: Names;
  private readonly bytes: Uint8Array;
  private at = 0;

  constructor(names: Names, bytes: Uint8Array) {
    this.names = names;
    this.bytes = bytes;
  }

  /** The one datum that the bytes are. */
  datum(schema: AvroJson): unknown {
    const value = this.read(schema);
    if (this.at !== this.bytes.length) throw new ModelFault('trailing bytes');
    return value;
  }

  private read(schema: AvroJson): unknown {
    const { kind, node } = definition(schema, this.names);
    switch (kind) {
      case 'null':
        return null;
      case 'boolean': {
        const byte = this.take(1)[0];
        if (byte > 1) throw new ModelFault('boolean');
        return byte === 1;
      }
      case 'int':
        return Number(this.varint(5, 32));
      case 'long':
        return this.varint(10, 64);
      case 'float':
        return Buffer.from(this.take(4)).readFloatLE();
      case 'double':
        return Buffer.from(this.take(8)).readDoubleLE();
      case 'bytes':
        return Buffer.from(this.take(this.length()));
      case 'string':
        return this.text();
      case 'fixed':
        return Buffer.from(this.take(node.size as number));
      case 'enum':
        return this.pick(node.symbols as string[]);
      case 'union':
        return this.union(node.branches as AvroJson[]);
      case 'array':
        return this.array(node.items as AvroJson);
      case 'map':
        return this.map(node.values as AvroJson);
      case 'record':
        return this.record(node.fields as { name: string; type: AvroJson }[]);
      default:
        throw new Error(`unknown type ${kind}`);
    }
  }

  private record(fields: readonly { name: string; type: AvroJson }[]): unknown {
    return Object.fromEntries(fields.map((field) => [field.name, this.read(field.type)]));
  }

  private union(branches: AvroJson[]): unknown {
    const branch = this.pick(branches);
    const value = this.read(branch);
    return value === null ? null : { [branchName(branch, this.names)]: value };
  }

  private array(items: AvroJson): unknown[] {
    const list: unknown[] = [];
    this.blocks(() => list.push(this.read(items)));
    return list;
  }

  private map(values: AvroJson): unknown {
    const entries = new Map<string, unknown>();
    this.blocks(() => entries.set(this.text(), this.read(values)));
    return Object.fromEntries(entries);
  }

  private blocks(item: () => void): void {
    for (;;) {
      let count = this.varint(10, 64);
      if (count === 0n) return;
      let end: number | undefined;
      if (count < 0n) {
        count = -count;
        end = this.length();
        end += this.at;
      }
      for (; count > 0n; count--) item();
      if (end !== undefined && end !== this.at) throw new ModelFault('block size');
    }
  }

  private pick<T>(choices: readonly T[]): T {
    const index = Number(this.varint(5, 32));
    if (index < 0 || index >= choices.length) throw new ModelFault('index');
    return choices[index];
  }

  private text(): string {
    const bytes = this.take(this.length());
    try {
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    } catch {
      throw new ModelFault('UTF-8');
    }
  }

  private length(): number {
    const length = this.varint(10, 64);
    if (length < 0n || length > BigInt(this.bytes.length - this.at)) throw new ModelFault('length');
    return Number(length);
  }

  private take(length: number): Uint8Array {
    if (length > this.bytes.length - this.at) throw new ModelFault('end');
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }

  private varint(maxBytes: number, bits: number): bigint {
    let raw = 0n;
    for (let i = 0; i < maxBytes; i++) {
      const byte = this.take(1)[0];
      raw |= BigInt(byte & 0x7f) << BigInt(7 * i);
      if (byte > 0x7f) continue;
      if (raw >> BigInt(bits) !== 0n) throw new ModelFault('varint');
      return (raw >> 1n) ^ -(raw & 1n);
    }
    throw new ModelFault('varint');
  }
}
