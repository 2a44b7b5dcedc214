/**
 * The rules of spec 40 for JSON, written a second time and another way, as slowly and plainly as may be: whether a text is
 * JSON is left to `JSON.parse`, a tree is made of it with every number as its text, and the tree is turned into a row.
 */
import type { IcebergType, NestedField } from '../../../src/core/schema.ts';

export type Outcome = { row: unknown[] } | { reason: string; field: string };

type Node =
  | { kind: 'object'; members: { key: string; value: Node }[] }
  | { kind: 'list'; items: Node[] }
  | { kind: 'string'; text: string }
  | { kind: 'number'; source: string }
  | { kind: 'literal'; value: boolean | null };

class Fault extends Error {
  readonly reason: string;
  readonly field: string;
  constructor(reason: string, field: string) {
    super(reason);
    this.reason = reason;
    this.field = field;
  }
}

/** What must become of a document under the strict rules, times without a zone being UTC and numbers milliseconds. */
export function modelRow(columns: readonly NestedField[], bytes: Uint8Array): Outcome {
  partial = undefined;
  try {
    return { row: documentRow(columns, bytes) };
  } catch (e) {
    if (e instanceof Fault) return { reason: e.reason, field: e.field };
    throw e;
  }
}

/** The same for the mode permissive, and whether the record's text must be kept. */
export function modelPermissiveRow(
  columns: readonly NestedField[],
  bytes: Uint8Array,
): Outcome & { corrupt?: boolean } {
  partial = { corrupt: false };
  try {
    const row = documentRow(columns, bytes);
    return { row, corrupt: partial.corrupt };
  } catch (e) {
    if (!(e instanceof Fault)) throw e;
    if (columns.some((c) => c.required)) return { reason: e.reason, field: e.field };
    return { row: columns.map(() => null), corrupt: true };
  } finally {
    partial = undefined;
  }
}

/** Set while fields that cannot be read become null. */
let partial: { corrupt: boolean } | undefined;

function documentRow(columns: readonly NestedField[], bytes: Uint8Array): unknown[] {
  const node = parseDocument(bytes);
  if (node.kind === 'literal' && node.value === null) {
    const required = columns.find((c) => c.required);
    if (required !== undefined) throw new Fault('MISSING_REQUIRED', required.name);
    return columns.map(() => null);
  }
  if (node.kind !== 'object') throw new Fault('NOT_AN_OBJECT', '');
  return fieldsOf(columns, node.members, '');
}

/** The tree of a document. Where more than one thing is wrong with a text, any of the codes of `notJson` may be told. */
function parseDocument(bytes: Uint8Array): Node {
  if (bytes.every((b) => b === 0x20 || b === 0x09 || b === 0x0a || b === 0x0d))
    throw new Fault('EMPTY_VALUE', '');
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    JSON.parse(text);
  } catch {
    throw new Fault('NOT_JSON', '');
  }
  const tree = new TreeReader(text).read();
  return tree;
}

/** Texts that `JSON.parse` takes, cut into tokens by one pattern. */
class TreeReader {
  private readonly tokens: string[];
  private at = 0;

  constructor(text: string) {
    this.tokens = text.match(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/gs) ?? [];
  }

  read(depth = 0): Node {
    const token = this.tokens[this.at++];
    if (token === '{') return this.readMembers(depth + 1);
    if (token === '[') return this.readItems(depth + 1);
    if (token.startsWith('"')) return { kind: 'string', text: this.stringOf(token) };
    if (token === 'true' || token === 'false') return { kind: 'literal', value: token === 'true' };
    return token === 'null' ? { kind: 'literal', value: null } : { kind: 'number', source: token };
  }

  private readMembers(depth: number): Node {
    if (depth > 512) throw new Fault('NOT_JSON', '');
    const members: { key: string; value: Node }[] = [];
    if (this.tokens[this.at] === '}') this.at++;
    else
      do {
        const key = this.stringOf(this.tokens[this.at]);
        this.at += 2;
        members.push({ key, value: this.read(depth) });
      } while (this.tokens[this.at++] === ',');
    return { kind: 'object', members };
  }

  private readItems(depth: number): Node {
    if (depth > 512) throw new Fault('NOT_JSON', '');
    const items: Node[] = [];
    if (this.tokens[this.at] === ']') this.at++;
    else
      do {
        items.push(this.read(depth));
      } while (this.tokens[this.at++] === ',');
    return { kind: 'list', items };
  }

  private stringOf(token: string): string {
    const text = JSON.parse(token) as string;
    if (!text.isWellFormed()) throw new Fault('NOT_JSON', '');
    return text;
  }
}

function fieldsOf(
  fields: readonly NestedField[],
  members: { key: string; value: Node }[],
  path: string,
): unknown[] {
  const values = new Map<string, unknown>();
  for (const { key, value } of members) {
    const field = fields.find((f) => f.name === key);
    if (field !== undefined) values.set(key, memberValue(field, value, path + key));
  }
  return fields.map((field) => {
    if (values.has(field.name)) return values.get(field.name);
    if (field.required) throw new Fault('MISSING_REQUIRED', path + field.name);
    return null;
  });
}

function memberValue(field: NestedField, node: Node, path: string): unknown {
  try {
    return nodeValue(field.type, node, path, field.required);
  } catch (e) {
    if (partial === undefined || field.required || !(e instanceof Fault)) throw e;
    partial.corrupt = true;
    return null;
  }
}

function nodeValue(type: IcebergType, node: Node, path: string, required: boolean): unknown {
  if (node.kind === 'literal' && node.value === null) {
    if (required) throw new Fault('MISSING_REQUIRED', path);
    return null;
  }
  const mismatch = () => new Fault('TYPE_MISMATCH', path);
  if (typeof type === 'string') return primitiveOf(type, node, path);
  if (type.type === 'struct') {
    if (node.kind !== 'object') throw mismatch();
    return fieldsOf(type.fields, node.members, `${path}.`);
  }
  if (type.type === 'list') {
    if (node.kind !== 'list') throw mismatch();
    return node.items.map((item, i) => nodeValue(type.element, item, `${path}[${i}]`, type.elementRequired));
  }
  if (node.kind !== 'object') throw mismatch();
  const entries = node.members.map(({ key, value }) => {
    const keyValue = keyOf(type.key, key, path);
    return { key, pair: [keyValue, nodeValue(type.value, value, `${path}.${key}`, type.valueRequired)] };
  });
  return entries
    .filter((e, i) => !entries.slice(i + 1).some((later) => later.key === e.key))
    .map((e) => e.pair);
}

function keyOf(type: IcebergType, key: string, path: string): unknown {
  if (type === 'string') return key;
  if (type === 'date') return primitiveOf('date', { kind: 'string', text: key }, path);
  if (!/^(?:0|-?[1-9][0-9]*)$/.test(key)) throw new Fault('TYPE_MISMATCH', path);
  return integerOf(type as string, BigInt(key), path);
}

function integerOf(type: string, value: bigint, path: string): unknown {
  const bits = type === 'int' ? 31n : 63n;
  if (value >= 2n ** bits || value < -(2n ** bits)) throw new Fault('OUT_OF_RANGE', path);
  return type === 'int' ? Number(value) : value;
}

/** digits * 10^exponent. */
function decimalOf(source: string): { digits: bigint; exponent: number } {
  const [mantissa, exponent = '0'] = source.toLowerCase().split('e');
  const [whole, fraction = ''] = mantissa.split('.');
  return {
    digits: BigInt(whole + fraction) * (source.startsWith('-') && !whole.startsWith('-') ? -1n : 1n),
    exponent: Number(exponent) - fraction.length,
  };
}

/** source * 10^scale: the floor, and whether that is exact; undefined where it has more than 60 digits. */
function scaled(source: string, scale: number): { value: bigint; exact: boolean } | undefined {
  const { digits, exponent } = decimalOf(source);
  const shift = exponent + scale;
  if (digits === 0n) return { value: 0n, exact: true };
  const length = String(digits < 0n ? -digits : digits).length;
  if (length + shift > 60) return undefined;
  if (shift >= 0) return { value: digits * 10n ** BigInt(shift), exact: true };
  if (length + shift < -5) return { value: digits < 0n ? -1n : 0n, exact: false };
  const power = 10n ** BigInt(-shift);
  const rest = ((digits % power) + power) % power;
  return { value: (digits - rest) / power, exact: rest === 0n };
}

function primitiveOf(type: string, node: Node, path: string): unknown {
  const mismatch = new Fault('TYPE_MISMATCH', path);
  const range = new Fault('OUT_OF_RANGE', path);
  if (type === 'boolean') {
    if (node.kind !== 'literal') throw mismatch;
    return node.value;
  }
  const decimal = /^decimal\((\d+), (\d+)\)$/.exec(type);
  if (type === 'int' || type === 'long' || decimal !== null) {
    if (node.kind !== 'number') throw mismatch;
    const value = scaled(node.source, Number(decimal?.[2] ?? 0));
    if (value === undefined || !value.exact) throw range;
    if (decimal === null) return integerOf(type, value.value, path);
    const limit = 10n ** BigInt(decimal[1]);
    if (value.value >= limit || value.value <= -limit) throw range;
    return Number(decimal[1]) <= 9 ? Number(value.value) : value.value;
  }
  if (type === 'float' || type === 'double') {
    if (node.kind !== 'number') throw mismatch;
    const value = type === 'float' ? Math.fround(Number(node.source)) : Number(node.source);
    if (!Number.isFinite(value)) throw range;
    return value;
  }
  if (type.startsWith('timestamp') && node.kind === 'number') return epochOf(type, node.source, range);
  if (node.kind !== 'string') throw mismatch;
  return textOf(type, node.text, path);
}

const YEAR_1 = -62_135_596_800_000n;
const YEAR_10000 = 253_402_300_800_000n;

function epochOf(type: string, source: string, range: Fault): bigint {
  const digits = type.endsWith('_ns') ? 6 : 3;
  const value = scaled(source, digits)?.value;
  const perMilli = 10n ** BigInt(digits);
  if (value === undefined || value >= 2n ** 63n || value < -(2n ** 63n)) throw range;
  if (value < YEAR_1 * perMilli || value >= YEAR_10000 * perMilli) throw range;
  return value;
}

function textOf(type: string, text: string, path: string): unknown {
  const bad = new Fault('BAD_TIMESTAMP', path);
  switch (type) {
    case 'string':
      return text;
    case 'uuid':
      if (!/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text))
        throw new Fault('TYPE_MISMATCH', path);
      return text.replaceAll('-', '').toLowerCase();
    case 'date': {
      const day = /^\d{4}-\d\d-\d\d$/.test(text) ? millisOfDate(text) : undefined;
      if (day === undefined) throw bad;
      return Number(day / 86_400_000n);
    }
    case 'time': {
      const clock = /^(\d\d):(\d\d)(?::(\d\d)(?:\.(\d+))?)?$/.exec(text);
      const nanos = clock === null ? undefined : nanosOfClock(clock.slice(1));
      if (nanos === undefined) throw bad;
      return nanos / 1000n;
    }
    default:
      if (type.startsWith('timestamp')) return timestampOf(type, text, bad, path);
      return bytesOf(type, text, path);
  }
}

/** Milliseconds of a day of the calendar: what `Date` makes of its parts must have the same parts. */
function millisOfDate(text: string): bigint | undefined {
  const [year, month, day] = text.split('-').map(Number);
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  const same =
    date.getUTCFullYear() === year && date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
  return same && year >= 1 ? BigInt(date.getTime()) : undefined;
}

function nanosOfClock([hour, minute, second = '0', fraction = '']: (string | undefined)[]):
  | bigint
  | undefined {
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined;
  const seconds = BigInt(Number(hour) * 3600 + Number(minute) * 60 + Number(second));
  return seconds * 1_000_000_000n + BigInt(fraction.slice(0, 9).padEnd(9, '0'));
}

const TIMESTAMP =
  /^(\d{4}-\d\d-\d\d)[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d+))?)?(?:(Z)|([+-])(\d\d)(?::?(\d\d))?)?$/;

function timestampOf(type: string, text: string, bad: Fault, path: string): bigint {
  const match = TIMESTAMP.exec(text);
  const millis = match === null ? undefined : millisOfDate(match[1]);
  const clock = match === null ? undefined : nanosOfClock(match.slice(2, 6));
  if (match === null || millis === undefined || clock === undefined) throw bad;
  const zoned = match[6] !== undefined || match[7] !== undefined;
  if (zoned && !type.startsWith('timestamptz')) throw bad;
  const offset = Number(match[8] ?? 0) * 60 + Number(match[9] ?? 0);
  if (Number(match[9] ?? 0) > 59 || offset > 18 * 60) throw bad;
  const nanos = millis * 1_000_000n + clock - BigInt(match[7] === '-' ? -offset : offset) * 60_000_000_000n;
  if (nanos < YEAR_1 * 1_000_000n || nanos >= YEAR_10000 * 1_000_000n) throw new Fault('OUT_OF_RANGE', path);
  if (!type.endsWith('_ns')) return (nanos - (((nanos % 1000n) + 1000n) % 1000n)) / 1000n;
  if (BigInt.asIntN(64, nanos) !== nanos) throw new Fault('OUT_OF_RANGE', path);
  return nanos;
}

function bytesOf(type: string, text: string, path: string): string {
  const width = /^fixed\[(\d+)\]$/.exec(type)?.[1];
  const bytes = Buffer.from(text, 'base64');
  const bare = text.length % 4 === 0 ? text.replace(/={1,2}$/, '') : text;
  const same = bytes.toString('base64').replace(/=+$/, '') === bare;
  if (!same) throw new Fault('TYPE_MISMATCH', path);
  if (width !== undefined && bytes.length !== Number(width)) throw new Fault('OUT_OF_RANGE', path);
  return bytes.toString('hex');
}
