/** Random Avro schemas, values and evolved schemas, and what a value must be as a row. */

import type { Random } from '../../src/core/random.ts';
import { bytesText, type Plain } from './avro.ts';
import { type AvroJson, branchName, definition, type Names, namesIn } from './avro-model.ts';

type Field = { name: string; type: AvroJson; [key: string]: unknown };

const LEAVES: readonly AvroJson[] = [
  'null',
  'boolean',
  'int',
  'long',
  'float',
  'double',
  'bytes',
  'string',
  { type: 'int', logicalType: 'date' },
  { type: 'long', logicalType: 'timestamp-micros' },
  { type: 'long', logicalType: 'timestamp-millis' },
  { type: 'long', logicalType: 'local-timestamp-micros' },
  { type: 'bytes', logicalType: 'decimal', precision: 9, scale: 2 },
  { type: 'bytes', logicalType: 'decimal', precision: 30, scale: 5 },
  { type: 'long', logicalType: 'unheard-of' },
];

export class AvroDraw {
  private readonly random: Random;
  private readonly longBits: number;
  private names = 0;
  private readonly finished: string[] = [];
  /** All types that have got a name, also those that the schema came out without. */
  readonly definitions: Names = new Map();

  /** Longs have at most `longBits` bits. */
  constructor(random: Random, longBits = 64) {
    this.random = random;
    this.longBits = longBits;
  }

  /** An integer from 0 up to, not with, `until`. */
  below(until: number): number {
    return Math.floor(this.random.unit() * until);
  }

  chance(part: number): boolean {
    return this.random.unit() < part;
  }

  pick<T>(choices: readonly T[]): T {
    return choices[this.below(choices.length)];
  }

  shuffled<T>(items: readonly T[]): T[] {
    const list = [...items];
    for (let i = list.length - 1; i > 0; i--) {
      const j = this.below(i + 1);
      [list[i], list[j]] = [list[j], list[i]];
    }
    return list;
  }

  /** A record with at least one field. */
  record(depth: number): { type: 'record'; name: string; fields: Field[] } {
    const name = `R${this.names++}`;
    const fields = Array.from({ length: 1 + this.below(5) }, (_, i) => ({
      name: `f${i}`,
      type: this.schema(depth - 1),
    }));
    this.finished.push(name);
    this.definitions.set(name, { type: 'record', name, fields });
    return { type: 'record', name, fields };
  }

  schema(depth: number): AvroJson {
    if (this.chance(0.1) && this.finished.length > 0) return this.pick(this.finished);
    if (depth > 0 && this.chance(0.5)) return this.complex(depth);
    if (this.chance(0.2)) return this.named();
    return this.pick(LEAVES);
  }

  private named(): AvroJson {
    const name = `N${this.names++}`;
    this.finished.push(name);
    const node = this.chance(0.5)
      ? { type: 'fixed', name, size: this.pick([1, 2, 12, 60]) }
      : { type: 'enum', name, symbols: ['A', 'B', 'C', 'D'].slice(0, 1 + this.below(4)) };
    this.definitions.set(name, node);
    return node;
  }

  private complex(depth: number): AvroJson {
    switch (this.below(4)) {
      case 0:
        return { type: 'array', items: this.item(depth) };
      case 1:
        return { type: 'map', values: this.item(depth) };
      case 2:
        return this.record(depth);
      default:
        return this.union(depth);
    }
  }

  /** None that takes no bytes: it may come in any number, which the plain reader would follow. */
  private item(depth: number): AvroJson {
    const schema = this.schema(depth - 1);
    return isBodiless(schema, this.definitions) ? ['null', 'int'] : schema;
  }

  private union(depth: number): AvroJson {
    const branches = new Map<string, AvroJson>();
    if (this.chance(0.6)) branches.set('null', 'null');
    const size = branches.size + 1 + (this.chance(0.5) ? 0 : this.below(3));
    while (branches.size < size) {
      const branch = this.schema(depth - 1);
      if (Array.isArray(branch)) continue;
      const key = typeof branch === 'string' ? branch : String(branch.name ?? branch.type);
      if (!branches.has(key)) branches.set(key, branch);
    }
    return this.shuffled([...branches.values()]);
  }

  /** Times lie within the years that columns take, as a rule. */
  private longBitsOf(logicalType: unknown): number {
    if (logicalType === 'timestamp-millis') return this.bits(46, 53);
    return isTimestamp(logicalType) ? this.bits(56, this.longBits) : this.longBits;
  }

  private bits(usual: number, most: number): number {
    return this.chance(0.95) ? Math.min(usual, most) : most;
  }

  /** A value as avsc takes it. */
  value(schema: AvroJson, names: Names): unknown {
    const { kind, node } = definition(schema, names);
    switch (kind) {
      case 'null':
        return null;
      case 'boolean':
        return this.chance(0.5);
      case 'int':
        return Number(BigInt.asIntN(node.logicalType === 'date' ? this.bits(20, 32) : 32, this.integer(32)));
      case 'long':
        return BigInt.asIntN(this.longBitsOf(node.logicalType), this.integer(64));
      case 'float':
        return Math.fround(this.float());
      case 'double':
        return this.float();
      case 'bytes':
        return this.bytes(node.logicalType === 'decimal' ? 1 + this.below(4) : this.below(70));
      case 'string':
        return this.text();
      case 'fixed':
        return this.bytes(node.size as number);
      case 'enum':
        return this.pick(node.symbols as string[]);
      case 'union': {
        const branch = this.pick(node.branches as AvroJson[]);
        const value = this.value(branch, names);
        return value === null ? null : { [branchName(branch, names)]: value };
      }
      case 'array':
        return Array.from({ length: this.below(4) }, () => this.value(node.items as AvroJson, names));
      case 'map':
        return Object.fromEntries(
          Array.from({ length: this.below(4) }, () => [
            this.text(),
            this.value(node.values as AvroJson, names),
          ]),
        );
      default:
        return Object.fromEntries((node.fields as Field[]).map((f) => [f.name, this.value(f.type, names)]));
    }
  }

  /** Of all sizes alike often. */
  private integer(bits: number): bigint {
    let value = 0n;
    for (let left = this.below(bits + 1); left > 0; left--) value = value * 2n + BigInt(this.below(2));
    return this.chance(0.5) ? value : -value;
  }

  private float(): number {
    return this.pick([0, -0, 1, -1.5, 1e300, Number.NaN, Number.POSITIVE_INFINITY, this.random.unit()]);
  }

  private bytes(length: number): Buffer {
    return Buffer.from(Array.from({ length }, () => this.below(256)));
  }

  private text(): string {
    return Array.from({ length: this.below(this.chance(0.1) ? 90 : 9) }, () =>
      this.pick(['a', 'Z', '-', 'é', '€', '😀']),
    ).join('');
  }

  /** A schema that can read what `schema` writes, by the rules of resolution, and that avsc resolves in the same way. */
  evolved(schema: AvroJson, names: Names): AvroJson {
    if (typeof schema === 'string') return names.has(schema) ? schema : this.promoted(schema);
    if (Array.isArray(schema)) return this.shuffled(schema);
    switch (schema.type) {
      case 'array':
        return { type: 'array', items: this.evolved(schema.items as AvroJson, names) };
      case 'map':
        return { type: 'map', values: this.evolved(schema.values as AvroJson, names) };
      case 'enum':
        return this.evolvedEnum(schema);
      case 'record':
        return { ...schema, fields: this.evolvedFields(schema.fields as Field[], names) };
      default:
        return schema;
    }
  }

  private promoted(kind: string): AvroJson {
    const wider: Record<string, readonly string[]> = {
      int: ['int', 'long', 'float', 'double'],
      long: ['long', 'float', 'double'],
      float: ['float', 'double'],
      string: ['string', 'bytes'],
    };
    const to = this.chance(0.5) ? this.pick(wider[kind] ?? [kind]) : kind;
    return this.chance(0.2) && to !== 'null' ? this.shuffled<AvroJson>(['null', to]) : to;
  }

  private evolvedEnum(schema: { [key: string]: unknown }): AvroJson {
    const symbols = this.shuffled([...(schema.symbols as string[]), 'NEW']);
    if (!this.chance(0.4)) return { ...schema, symbols };
    return { ...schema, symbols: ['NEW', ...symbols.filter((s) => s !== 'NEW').slice(1)], default: 'NEW' };
  }

  private evolvedFields(fields: Field[], names: Names): Field[] {
    const kept = fields.filter((field) => !this.chance(0.15) || namesIn(field.type).size > 0);
    const list: Field[] = kept.map((field) => ({ ...field, type: this.evolved(field.type, names) }));
    const renamed = list.map((field) =>
      this.chance(0.15) ? { ...field, name: `${field.name}_new`, aliases: [field.name] } : field,
    );
    if (this.chance(0.4)) renamed.push(this.added());
    return renamed.length === 0 ? [this.added()] : this.shuffled(renamed);
  }

  private added(): Field {
    const name = `added${this.names++}`;
    return this.pick<Field>([
      { name, type: 'int', default: -3 },
      { name, type: 'string', default: 'dé' },
      { name, type: ['null', 'string'], default: null },
      { name, type: { type: 'array', items: 'double' }, default: [1, 2.5] },
      { name, type: { type: 'map', values: 'boolean' }, default: { k: true } },
    ]);
  }
}

/**
 * Whether a union holds two types of which one is promoted to the other. A reader takes the same type before a promotion, as
 * Java does; avsc takes the first that fits, as the letter of the specification has it.
 */
export function hasPromotableBranches(schema: AvroJson, names: Names): boolean {
  const { kind, node } = definition(schema, names);
  const inner = (type: unknown): boolean => hasPromotableBranches(type as AvroJson, names);
  if (kind === 'array') return inner(node.items);
  if (kind === 'map') return inner(node.values);
  if (kind === 'record') return (node.fields as Field[]).some((f) => inner(f.type));
  if (kind !== 'union') return false;
  const kinds = (node.branches as AvroJson[]).map((branch) => definition(branch, names).kind);
  const count = (...of: string[]): number => kinds.filter((branch) => of.includes(branch)).length;
  const close = count('int', 'long', 'float', 'double') > 1 || count('bytes', 'string') > 1;
  return close || (node.branches as AvroJson[]).some(inner);
}

/** The schema with each definition where its name stands first. */
export function definedFirst(
  schema: AvroJson,
  names: Names = namesIn(schema),
  seen = new Set<string>(),
): AvroJson {
  if (Array.isArray(schema)) return schema.map((branch) => definedFirst(branch, names, seen));
  if (typeof schema === 'string') {
    const node = names.get(schema);
    return node === undefined || seen.has(schema) ? schema : definedFirst(node, names, seen);
  }
  if (typeof schema.name === 'string') {
    if (seen.has(schema.name)) return schema.name;
    seen.add(schema.name);
  }
  const inner = (type: unknown): AvroJson => definedFirst(type as AvroJson, names, seen);
  if (schema.type === 'array') return { ...schema, items: inner(schema.items) };
  if (schema.type === 'map') return { ...schema, values: inner(schema.values) };
  if (schema.type !== 'record') return schema;
  return { ...schema, fields: (schema.fields as Field[]).map((f) => ({ ...f, type: inner(f.type) })) };
}

/** Whether all values of a schema take no bytes. */
function isBodiless(schema: AvroJson, names: Names): boolean {
  const { kind, node } = definition(schema, names);
  if (kind !== 'record') return kind === 'null';
  return (node.fields as Field[]).every((f) => isBodiless(f.type, names));
}

/** A row that the value makes, as `plainValue` reads it. Throws OutOfRange where it does not fit its column. */
export function rowOf(schema: AvroJson, value: unknown, names: Names): Plain {
  const { kind, node } = definition(schema, names);
  switch (kind) {
    case 'int':
      if (node.logicalType === 'date' && !(Number(value) >= -719_162 && Number(value) <= 2_932_896))
        throw new OutOfRange();
      return value as Plain;
    case 'long':
      return longOf(BigInt(value as bigint), node.logicalType);
    case 'float':
      return Math.fround(Number(value));
    case 'double':
      return Number(value);
    case 'bytes':
    case 'fixed':
      return bytesOf(Buffer.from(value as Uint8Array), node);
    case 'array':
      return (value as unknown[]).map((item) => rowOf(node.items as AvroJson, item, names));
    case 'map':
      return Object.entries(value as object)
        .map(([key, item]): Plain => [key, rowOf(node.values as AvroJson, item, names)])
        .sort(byKey);
    case 'record':
      return recordRow(node.fields as Field[], value as Record<string, unknown>, names);
    case 'union':
      return unionRow(node.branches as AvroJson[], value, names);
    default:
      return value as Plain;
  }
}

/** A map's entries have no order. */
export function byKey(a: Plain, b: Plain): number {
  const [x, y] = [(a as Plain[])[0] as string, (b as Plain[])[0] as string];
  return x < y ? -1 : x > y ? 1 : 0;
}

export class OutOfRange extends Error {}

function isTimestamp(logicalType: unknown): boolean {
  return typeof logicalType === 'string' && logicalType.includes('timestamp-');
}

function longOf(value: bigint, logicalType: unknown): bigint {
  const scaled = logicalType === 'timestamp-millis' ? value * 1000n : value;
  if (BigInt.asIntN(64, scaled) !== scaled) throw new OutOfRange();
  const isWithinYears = scaled >= -62_135_596_800_000_000n && scaled <= 253_402_300_799_999_999n;
  if (isTimestamp(logicalType) && !isWithinYears) throw new OutOfRange();
  return scaled;
}

function bytesOf(bytes: Buffer, node: { [key: string]: unknown }): Plain {
  if (node.logicalType !== 'decimal') return bytesText(bytes);
  if (bytes.length === 0) throw new OutOfRange();
  const unscaled = BigInt.asIntN(bytes.length * 8, BigInt(`0x${bytes.toString('hex')}`));
  const precision = node.precision as number;
  if (unscaled >= 10n ** BigInt(precision) || unscaled <= -(10n ** BigInt(precision))) throw new OutOfRange();
  if (precision <= 9) return Number(unscaled);
  return `0x${BigInt.asUintN(104, unscaled).toString(16).padStart(26, '0')}`;
}

/** Fields that can only be null have no column. */
export function hasColumn(schema: AvroJson, names: Names): boolean {
  const { kind, node } = definition(schema, names);
  switch (kind) {
    case 'null':
      return false;
    case 'array':
      return hasColumn(node.items as AvroJson, names);
    case 'map':
      return hasColumn(node.values as AvroJson, names);
    case 'union':
      return (node.branches as AvroJson[]).some((branch) => hasColumn(branch, names));
    case 'record':
      return (node.fields as Field[]).some((f) => hasColumn(f.type, names));
    default:
      return true;
  }
}

/** Whether a part of a schema, null in a union not counted, has no column: its texts are not looked at. */
export function hasPartWithoutColumn(schema: AvroJson, names: Names): boolean {
  const { kind, node } = definition(schema, names);
  const inner = (type: unknown): boolean => hasPartWithoutColumn(type as AvroJson, names);
  if (!hasColumn(schema, names)) return true;
  if (kind === 'array') return inner(node.items);
  if (kind === 'map') return inner(node.values);
  if (kind === 'union')
    return (node.branches as AvroJson[]).some((branch) => branch !== 'null' && inner(branch));
  return kind === 'record' && (node.fields as Field[]).some((f) => inner(f.type));
}

function recordRow(fields: Field[], value: Record<string, unknown>, names: Names): Plain {
  const present = fields.filter((f) => hasColumn(f.type, names));
  return Object.fromEntries(present.map((f) => [f.name, rowOf(f.type, value[f.name], names)]));
}

function unionRow(branches: AvroJson[], value: unknown, names: Names): Plain {
  if (value === null) return null;
  const types = branches.filter((branch) => branch !== 'null');
  const [name, inner] = Object.entries(value as object)[0];
  const at = types.findIndex((branch) => branchName(branch, names) === name);
  if (types.length === 1) return rowOf(types[0], inner, names);
  const kinds = types
    .map((branch) => definition(branch, names).kind)
    .sort()
    .join();
  if (kinds === 'int,long') return rowOf('long', inner, names);
  if (kinds === 'double,float') return rowOf('double', inner, names);
  const members = types
    .map((branch, i): [string, Plain] => [
      `member${i}`,
      i === at && hasColumn(branch, names) ? rowOf(branch, inner, names) : null,
    ])
    .filter((_, i) => hasColumn(types[i], names));
  return Object.fromEntries(members);
}
