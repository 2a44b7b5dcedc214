/**
 * Random Protobuf schemas, random bytes for them, and a plain reader written from the encoding guide: every message is first
 * taken apart into its fields, numbers are bigints, nothing is quick. What the decoder gives is held against it.
 */
import type { Random } from '../../src/core/random.ts';
import { bytesText, type Plain } from './avro.ts';

export type ModelScalar =
  | 'double'
  | 'float'
  | 'int32'
  | 'int64'
  | 'uint32'
  | 'uint64'
  | 'sint32'
  | 'sint64'
  | 'fixed32'
  | 'fixed64'
  | 'sfixed32'
  | 'sfixed64'
  | 'bool'
  | 'string'
  | 'bytes';
export interface ModelEnum {
  kind: 'enum';
  name: string;
  values: [string, number][];
}
export interface ModelMessage {
  kind: 'message';
  name: string;
  fields: ModelField[];
}
export type ModelType = ModelScalar | ModelEnum | ModelMessage;
export interface ModelField {
  name: string;
  number: number;
  label: 'plain' | 'optional' | 'required' | 'repeated' | 'map';
  oneof: string | null;
  key: ModelScalar;
  type: ModelType;
}
export interface ModelSchema {
  syntax: 'proto2' | 'proto3';
  root: ModelMessage;
}

/** The bytes are no message. */
export class ModelFault extends Error {}
/** A number is longer than its type, or a text is not UTF-8. */
export class ModelRange extends Error {}

export const MODEL_SCALARS: readonly ModelScalar[] = [
  'double',
  'float',
  'int32',
  'int64',
  'uint32',
  'uint64',
  'sint32',
  'sint64',
  'fixed32',
  'fixed64',
  'sfixed32',
  'sfixed64',
  'bool',
  'string',
  'bytes',
];
const KEYS: readonly ModelScalar[] = [
  'int32',
  'int64',
  'uint32',
  'uint64',
  'sint32',
  'sint64',
  'fixed32',
  'fixed64',
  'sfixed32',
  'sfixed64',
  'bool',
  'string',
];

export function wireOf(type: ModelType): number {
  if (typeof type !== 'string') return type.kind === 'enum' ? 0 : 2;
  if (type === 'string' || type === 'bytes') return 2;
  if (type === 'double' || type === 'fixed64' || type === 'sfixed64') return 1;
  return type === 'float' || type === 'fixed32' || type === 'sfixed32' ? 5 : 0;
}

/** Draws schemas and bytes. */
export class ProtoDraw {
  readonly random: Random;
  /** Entries of maps have a key and a value each; else one of them may be left out. */
  wholeEntries = false;
  private names = 0;

  constructor(random: Random) {
    this.random = random;
  }

  schema(): ModelSchema {
    const syntax = this.random.chance(0.4) ? 'proto2' : 'proto3';
    return { syntax, root: this.message(syntax, 3) };
  }

  private message(syntax: string, depth: number): ModelMessage {
    const { random } = this;
    const name = `M${this.names++}`;
    const used = new Set<number>();
    const fields: ModelField[] = [];
    let oneof: string | null = null;
    for (let left = 1 + random.below(7); left > 0; left--) {
      let number: number;
      do
        number = random.chance(0.1)
          ? 1000 + random.below(50)
          : random.chance(0.02)
            ? 536_870_911
            : 1 + random.below(18);
      while (used.has(number) || (number >= 19_000 && number < 20_000));
      used.add(number);
      const label = this.label(syntax);
      oneof =
        label !== 'plain'
          ? null
          : oneof !== null && random.chance(0.5)
            ? oneof
            : random.chance(0.3)
              ? `o${this.names++}`
              : null;
      // In proto2 a field without a label stands only in a oneof.
      const isPlain2 = syntax === 'proto2' && label === 'plain' && oneof === null;
      fields.push({
        name: `f${this.names++}`,
        number,
        label: isPlain2 ? 'optional' : label,
        oneof,
        key: random.pick(KEYS),
        type: this.type(syntax, depth),
      });
    }
    return { kind: 'message', name, fields };
  }

  private label(syntax: string): ModelField['label'] {
    const { random } = this;
    if (random.chance(0.2)) return 'repeated';
    if (random.chance(0.1)) return 'map';
    if (random.chance(0.2)) return 'optional';
    return syntax === 'proto2' && random.chance(0.1) ? 'required' : 'plain';
  }

  private type(syntax: string, depth: number): ModelType {
    const { random } = this;
    if (depth > 0 && random.chance(0.3)) return this.message(syntax, depth - 1);
    if (!random.chance(0.15)) return random.pick(MODEL_SCALARS);
    const name = `E${this.names++}`;
    const numbers = [0, 1, -1, 2_147_483_647, 5].slice(0, 1 + random.below(5));
    return { kind: 'enum', name, values: numbers.map((number, i) => [`${name}_${i}`, number]) };
  }

  /** Bytes of a message: fields in any order, several times, packed or not, in parts, with unknown ones between. */
  bytes(message: ModelMessage): number[] {
    const { random } = this;
    const out: number[] = [];
    for (const field of message.fields) if (field.label === 'required') this.field(field, out);
    for (let left = random.below(2 * message.fields.length + 2); left > 0; left--) {
      if (random.chance(0.05)) this.unknown(out);
      else this.field(random.pick(message.fields), out);
    }
    return out;
  }

  private unknown(out: number[]): void {
    const number = 5000 + this.random.below(100);
    const kind = this.random.below(5);
    if (kind === 0) out.push(...tag(number, 0), ...varint(BigInt(this.random.uint32())));
    else if (kind === 1) out.push(...tag(number, 1), ...this.some(8));
    else if (kind === 2) out.push(...tag(number, 2), ...sized(this.some(this.random.below(6))));
    else if (kind === 3) out.push(...tag(number, 5), ...this.some(4));
    else out.push(...tag(number, 3), ...tag(1, 0), 7, ...tag(number, 4));
  }

  private field(field: ModelField, out: number[]): void {
    const wire = wireOf(field.type);
    if (field.label === 'map') {
      const parts = [
        [...tag(1, wireOf(field.key)), ...this.value(field.key)],
        [...tag(2, wire), ...this.value(field.type)],
      ].filter(() => this.wholeEntries || !this.random.chance(0.1));
      if (this.random.chance(0.2)) parts.reverse();
      out.push(...tag(field.number, 2), ...sized(parts.flat()));
    } else if (field.label === 'repeated' && wire !== 2 && this.random.chance(0.6)) {
      const values = Array.from({ length: this.random.below(5) }, () => this.value(field.type));
      out.push(...tag(field.number, 2), ...sized(values.flat()));
    } else out.push(...tag(field.number, wire), ...this.value(field.type));
  }

  /** A value behind its tag. */
  private value(type: ModelType): number[] {
    const { random } = this;
    if (typeof type !== 'string') {
      if (type.kind === 'message') return sized(this.bytes(type));
      const number = random.chance(0.85) ? random.pick(type.values)[1] : random.pick([9, -9]);
      return varint(BigInt.asUintN(64, BigInt(number)));
    }
    switch (type) {
      case 'string':
        return sized([
          ...new TextEncoder().encode(random.pick(['', 'a', 'key', 'é', '\u{1F600}', 'x'.repeat(60)])),
        ]);
      case 'bytes':
        return sized(this.some(random.below(9)));
      case 'bool':
        return [random.below(2)];
      case 'double':
      case 'fixed64':
      case 'sfixed64':
        return this.some(8);
      case 'float':
      case 'fixed32':
      case 'sfixed32':
        return this.some(4);
      case 'int32':
        return varint(BigInt.asUintN(64, BigInt.asIntN(32, this.bits())));
      case 'uint32':
      case 'sint32':
        return varint(BigInt.asUintN(32, this.bits()));
      default:
        return varint(BigInt.asUintN(64, this.bits()));
    }
  }

  private bits(): bigint {
    const { random } = this;
    if (random.chance(0.5)) return BigInt(random.below(4));
    if (random.chance(0.2)) return random.pick([-1n, 2n ** 31n, 2n ** 63n, 2n ** 53n + 1n, 127n, 128n]);
    return (BigInt(random.uint32()) << 32n) | BigInt(random.uint32());
  }

  private some(count: number): number[] {
    return Array.from({ length: count }, () => (this.random.chance(0.2) ? 0 : this.random.below(256)));
  }
}

/** The schema as a .proto file, every message nested where it is used. */
export function protoText({ syntax, root }: ModelSchema): string {
  return `syntax = "${syntax}"; package model; ${messageText(root, syntax)}`;
}

function messageText(message: ModelMessage, syntax: string): string {
  const inner: string[] = [];
  const oneofs = new Map<string, string[]>();
  for (const field of message.fields) {
    if (typeof field.type !== 'string')
      inner.push(field.type.kind === 'enum' ? enumText(field.type) : messageText(field.type, syntax));
    const type = typeof field.type === 'string' ? field.type : field.type.name;
    const label = field.label === 'plain' || field.label === 'map' ? '' : `${field.label} `;
    const line = `${label}${field.label === 'map' ? `map<${field.key}, ${type}>` : type} ${field.name} = ${field.number};`;
    if (field.oneof === null) inner.push(line);
    else oneofs.set(field.oneof, [...(oneofs.get(field.oneof) ?? []), line]);
  }
  for (const [name, lines] of oneofs) inner.push(`oneof ${name} { ${lines.join(' ')} }`);
  return `message ${message.name} { ${inner.join(' ')} }`;
}

function enumText({ name, values }: ModelEnum): string {
  return `enum ${name} { ${values.map(([value, number]) => `${value} = ${number};`).join(' ')} }`;
}

export function varint(value: bigint): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 0x7fn; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
  bytes.push(Number(rest));
  return bytes;
}

function tag(number: number, wire: number): number[] {
  return varint(BigInt(number) * 8n + BigInt(wire));
}

function sized(bytes: readonly number[]): number[] {
  return [...varint(BigInt(bytes.length)), ...bytes];
}

/** A field as it stands in a message. */
interface Entry {
  number: number;
  wire: number;
  value: bigint;
  bytes: Uint8Array;
}

function entriesOf(bytes: Uint8Array): Entry[] {
  const entries: Entry[] = [];
  let at = 0;
  const readVarint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      if (at >= bytes.length || shift > 63n) throw new ModelFault('a varint has no end');
      const byte = bytes[at++];
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    if (value >= 1n << 64n) throw new ModelFault('a varint is too long');
    return value;
  };
  const take = (count: number): Uint8Array => {
    if (count > bytes.length - at) throw new ModelFault('cut off');
    at += count;
    return bytes.subarray(at - count, at);
  };
  const none = new Uint8Array(0);
  const one = (open: number[]): void => {
    const key = readVarint();
    if (key < 8n || key >= 1n << 32n) throw new ModelFault('a tag');
    const [number, wire] = [Number(key >> 3n), Number(key & 7n)];
    let entry: Entry = { number, wire, value: 0n, bytes: none };
    if (wire === 0) entry.value = readVarint();
    else if (wire === 1) entry.bytes = take(8);
    else if (wire === 5) entry.bytes = take(4);
    else if (wire === 2) {
      const size = readVarint();
      if (size > BigInt(bytes.length)) throw new ModelFault('a length');
      entry = { ...entry, bytes: take(Number(size)) };
    } else if (wire === 3) {
      open.push(number);
      const depth = open.length;
      if (depth > 100) throw new ModelFault('groups');
      while (open.length >= depth) one(open);
    } else if (wire === 4) {
      if (open.pop() !== number) throw new ModelFault('an end of a group');
      return;
    } else throw new ModelFault('a wire type');
    if (open.length === 0) entries.push(entry);
  };
  while (at < bytes.length) one([]);
  return entries;
}

/** The row of a message. Throws ModelFault and ModelRange. */
export function modelRow(
  message: ModelMessage,
  syntax: ModelSchema['syntax'],
  bytes: Uint8Array,
  columns?: ReadonlySet<string>,
): Record<string, Plain> {
  const found = new Map<string, Entry[]>();
  const members = new Map<string, string>();
  for (const entry of entriesOf(bytes)) {
    const field = message.fields.find((each) => each.number === entry.number);
    if (field === undefined) continue;
    if (columns?.has(field.name) === false && field.label !== 'required') continue;
    const wire = field.label === 'map' ? 2 : wireOf(field.type);
    const packed = field.label === 'repeated' && wire !== 2 && entry.wire === 2;
    if (entry.wire !== wire && !packed) throw new ModelFault(`${field.name} has another wire type`);
    if (field.label !== 'repeated' && field.label !== 'map' && isUnnamed(field.type, entry.value, syntax))
      continue;
    if (field.oneof !== null) {
      const before = members.get(field.oneof);
      if (before !== undefined && before !== field.name) found.delete(before);
      members.set(field.oneof, field.name);
    }
    found.set(field.name, [...(found.get(field.name) ?? []), entry]);
  }
  for (const field of message.fields)
    if (field.label === 'required' && !found.has(field.name))
      throw new ModelFault(`${field.name} is required`);
  const row: Record<string, Plain> = {};
  for (const field of message.fields)
    if (columns?.has(field.name) !== false)
      row[field.name] = fieldValue(field, found.get(field.name) ?? [], syntax);
  return row;
}

/** Enums of proto2 are closed. */
function isUnnamed(type: ModelType, value: bigint, syntax: string): boolean {
  if (syntax !== 'proto2' || typeof type === 'string' || type.kind !== 'enum') return false;
  return !type.values.some(([, number]) => number === Number(BigInt.asIntN(32, value)));
}

function fieldValue(field: ModelField, entries: Entry[], syntax: ModelSchema['syntax']): Plain {
  if (field.label === 'map') return mapValue(field, entries, syntax);
  if (field.label === 'repeated') {
    return entries
      .flatMap((entry) =>
        entry.wire === 2 && wireOf(field.type) !== 2 ? unpacked(field.type, entry.bytes) : [entry],
      )
      .filter((entry) => !isUnnamed(field.type, entry.value, syntax))
      .map((entry) => value(field.type, [entry], syntax));
  }
  if (entries.length > 0) return value(field.type, entries, syntax);
  const isImplicit =
    syntax === 'proto3' &&
    field.label === 'plain' &&
    field.oneof === null &&
    wireKind(field.type) !== 'message';
  return isImplicit ? zero(field.type, syntax) : null;
}

function wireKind(type: ModelType): string {
  return typeof type === 'string' ? type : type.kind;
}

function unpacked(type: ModelType, bytes: Uint8Array): Entry[] {
  const wire = wireOf(type);
  const head = tag(1, wire);
  const size = wire === 1 ? 8 : 4;
  const entries: Entry[] = [];
  for (let at = 0; at < bytes.length; ) {
    let end = at + size;
    if (wire === 0) {
      end = at;
      while (end < bytes.length && bytes[end] >= 0x80) end++;
      end++;
    }
    entries.push(...entriesOf(Uint8Array.from([...head, ...bytes.subarray(at, end)])));
    at = end;
  }
  return entries;
}

function mapValue(field: ModelField, entries: Entry[], syntax: ModelSchema['syntax']): Plain {
  const entry: ModelMessage = {
    kind: 'message',
    name: 'entry',
    fields: [
      { name: 'key', number: 1, label: 'optional', oneof: null, key: 'bool', type: field.key },
      { name: 'value', number: 2, label: 'optional', oneof: null, key: 'bool', type: field.type },
    ],
  };
  const rows: [Plain, Plain][] = [];
  for (const { bytes } of entries) {
    const values = entriesOf(bytes).filter((each) => each.number === 2);
    if (values.some((each) => each.wire === 0 && isUnnamed(field.type, each.value, syntax))) continue;
    const row = modelRow(entry, syntax, bytes);
    rows.push([row.key ?? zero(field.key, syntax), row.value ?? zero(field.type, syntax)]);
  }
  return rows.filter(([key], i) => !rows.slice(i + 1).some(([later]) => later === key));
}

function zero(type: ModelType, syntax: ModelSchema['syntax']): Plain {
  if (typeof type !== 'string') {
    if (type.kind === 'message') return modelRow(type, syntax, new Uint8Array(0));
    return type.values[0][0];
  }
  if (type === 'string') return '';
  if (type === 'bytes') return '0x';
  const width = wireOf(type) === 1 ? 8 : 4;
  return value(type, [{ number: 1, wire: wireOf(type), value: 0n, bytes: new Uint8Array(width) }], syntax);
}

/** The last of several; of messages all of them in a row. */
function value(type: ModelType, entries: Entry[], syntax: ModelSchema['syntax']): Plain {
  const last = entries[entries.length - 1];
  if (typeof type !== 'string') {
    if (type.kind === 'message')
      return modelRow(type, syntax, Uint8Array.from(entries.flatMap((entry) => [...entry.bytes])));
    const number = ranged(BigInt.asIntN(64, last.value), 32);
    return (
      type.values.find(([, each]) => BigInt(each) === number)?.[0] ??
      `UNKNOWN_ENUM_VALUE_${type.name}_${number}`
    );
  }
  const view = new DataView(last.bytes.buffer, last.bytes.byteOffset, last.bytes.length);
  switch (type) {
    case 'double':
      return view.getFloat64(0, true);
    case 'float':
      return view.getFloat32(0, true);
    case 'bool':
      return last.value !== 0n;
    case 'string':
      try {
        return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(last.bytes);
      } catch {
        throw new ModelRange('UTF-8');
      }
    case 'bytes':
      return bytesText(last.bytes);
    case 'int32':
      return Number(ranged(BigInt.asIntN(64, last.value), 32));
    case 'sint32':
      return Number(zigzag(unsigned32(last.value)));
    case 'uint32':
      return unsigned32(last.value);
    case 'int64':
      return BigInt.asIntN(64, last.value);
    case 'sint64':
      return zigzag(last.value);
    case 'uint64':
      return decimal20(last.value);
    case 'fixed32':
      return BigInt(view.getUint32(0, true));
    case 'sfixed32':
      return view.getInt32(0, true);
    case 'fixed64':
      return decimal20(view.getBigUint64(0, true));
    case 'sfixed64':
      return view.getBigInt64(0, true);
  }
}

function ranged(number: bigint, bits: number): bigint {
  if (BigInt.asIntN(bits, number) !== number) throw new ModelRange('a number');
  return number;
}

function unsigned32(number: bigint): bigint {
  if (number >= 1n << 32n) throw new ModelRange('a number');
  return number;
}

function zigzag(number: bigint): bigint {
  return (number & 1n) === 1n ? -(number >> 1n) - 1n : number >> 1n;
}

/** uint64 as the nine bytes of a decimal(20, 0). */
function decimal20(number: bigint): string {
  return `0x00${number.toString(16).padStart(16, '0')}`;
}
