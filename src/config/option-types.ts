/** The types of options: what text they take, what they become, how they are named in messages and in the JSON Schema. */
import { z } from 'zod';
import { formatByteSize, parseByteSize } from '../core/byte-size.ts';
import { parseDurationMs } from '../core/duration.ts';
import { parseTimestampMs } from '../core/timestamp.ts';

export type OptionType =
  | { kind: 'text'; pattern?: RegExp; what?: string }
  | { kind: 'integer'; min: number; max: number }
  /** A 64-bit count; becomes a bigint. */
  | { kind: 'long'; min: bigint }
  /** A 64-bit count, or the word `auto`. */
  | { kind: 'longOrAuto'; min: bigint }
  /** A time; becomes milliseconds since 1970, a bigint. */
  | { kind: 'timestamp' }
  | { kind: 'number'; min: number; max: number }
  | { kind: 'boolean' }
  | { kind: 'flag' }
  | { kind: 'bytes'; min: number; max: number }
  | { kind: 'duration'; min: number; max: number }
  | { kind: 'choice'; values: readonly string[] }
  | { kind: 'list' }
  | { kind: 'startingOffsets' }
  | { kind: 'timestamps' }
  | { kind: 'assignment' }
  | { kind: 'properties' }
  /** A schema: a text, or a map; which texts are schemas is for `formats.ts`. */
  | { kind: 'schema' }
  | { kind: 'emptyList' };

/** topic -> partition -> offset, as text or as a map. */
export type StartingOffsets =
  | { kind: 'earliest' }
  | { kind: 'latest' }
  | { kind: 'map'; offsets: Map<string, Map<number, bigint>> };

const INT64_MAX = 9223372036854775807n;
const MAX_PARTITION = 2_147_483_647;

/** What the type expects, as the middle of "expected ..., found ...". */
export function expectedText(type: OptionType): string {
  switch (type.kind) {
    case 'text':
      return type.what ?? 'a text';
    case 'integer':
      return `a whole number from ${type.min} to ${type.max}`;
    case 'long':
      return `a whole number of at least ${type.min}`;
    case 'longOrAuto':
      return `auto, or a whole number of at least ${type.min}`;
    case 'timestamp':
      return 'milliseconds since 1970, or a time with its zone such as 2026-11-01T00:00:00Z';
    case 'number':
      return `a number from ${type.min} to ${type.max}`;
    case 'boolean':
      return 'true or false';
    case 'flag':
      return 'true';
    case 'bytes':
      return `a size from ${formatByteSize(type.min)} to ${formatByteSize(type.max)}, such as 512MB`;
    case 'duration':
      return `a time from ${type.min} to ${type.max} ms, such as "60 seconds"`;
    case 'choice':
      return type.values.length === 1
        ? type.values[0]
        : `one of ${type.values.map((v) => (v === '' ? '""' : v)).join(', ')}`;
    case 'list':
      return 'a list of texts, or one text with commas';
    case 'startingOffsets':
      return 'earliest, latest, or {"topic":{"0":23,"1":-2}} (-2 earliest, -1 latest)';
    case 'timestamps':
      return '{"topic":{"0":1784000000000,"1":1784000000000}}, in milliseconds since 1970';
    case 'assignment':
      return '{"topic":[0,1]}';
    case 'schema':
      return 'a schema: Spark DDL, StructType JSON, Iceberg JSON, or file:PATH';
    case 'properties':
      return 'a map of names to texts';
    case 'emptyList':
      return 'an empty list';
  }
}

/** The type as it is named in the tables of the documentation. */
export function typeName(type: OptionType): string {
  switch (type.kind) {
    case 'integer':
    case 'long':
      return 'whole number';
    case 'longOrAuto':
      return 'whole number \\| `auto`';
    case 'timestamp':
      return 'point in time';
    case 'bytes':
      return 'size';
    case 'choice':
      return type.values.map((v) => `\`${v === '' ? '""' : v}\``).join(' \\| ');
    case 'duration':
      return 'time';
    case 'flag':
      return '`true`';
    case 'startingOffsets':
      return '`earliest` \\| `latest` \\| map';
    case 'timestamps':
    case 'assignment':
    case 'properties':
      return 'map';
    case 'emptyList':
      return 'empty list';
    default:
      return type.kind;
  }
}

const scalar = z.union([z.string(), z.number(), z.boolean()]);
const numeral = z.union([z.number(), z.string()]);

/** What the JSON Schema shows: wide enough for every text that is taken, narrow enough for an editor to help. */
function inputSchema(type: OptionType): z.ZodType {
  switch (type.kind) {
    case 'text':
      return type.pattern === undefined
        ? z.string()
        : z.union([z.string().regex(type.pattern), z.string().regex(/\$\{/)]);
    case 'integer':
      return z.union([z.int().min(type.min).max(type.max), z.string()]);
    case 'long':
    case 'longOrAuto':
      return z.union([z.number().min(Number(type.min)), z.string()]);
    case 'timestamp':
      return numeral;
    case 'number':
      return z.union([z.number().min(type.min).max(type.max), z.string()]);
    case 'boolean':
      return z.union([z.boolean(), z.string()]);
    case 'flag':
      return z.union([z.literal(true), z.literal('true')]);
    case 'bytes':
    case 'duration':
      return numeral;
    case 'choice':
      return z.union([z.enum(type.values as [string, ...string[]]), z.string().regex(/\$\{/)]);
    case 'list':
      return z.union([z.string(), z.array(z.string())]);
    case 'startingOffsets':
      return z.union([z.string(), z.record(z.string(), z.record(z.string(), numeral))]);
    case 'timestamps':
      return z.union([z.string(), z.record(z.string(), z.record(z.string(), numeral))]);
    case 'assignment':
      return z.union([z.string(), z.record(z.string(), z.array(numeral))]);
    case 'schema':
      return z.union([z.string(), z.record(z.string(), z.unknown())]);
    case 'properties':
      return z.record(z.string(), scalar);
    case 'emptyList':
      return z.array(z.unknown()).max(0);
  }
}

/** The zod schema of one option. Its output is the parsed value; a bad value is one issue at the option's own path. */
export function optionSchema(type: OptionType): z.ZodType {
  return inputSchema(type).transform((value, context) => {
    const parsed = parseOption(type, value);
    if (parsed === undefined) {
      context.issues.push({ code: 'custom', input: value, message: expectedText(type) });
      return z.NEVER;
    }
    return parsed;
  });
}

/** The value that a type makes of what was written, or undefined where it takes no such thing. */
export function parseOption(type: OptionType, value: unknown): unknown {
  switch (type.kind) {
    case 'text':
      return typeof value === 'string' &&
        value !== '' &&
        (type.pattern === undefined || type.pattern.test(value))
        ? value
        : undefined;
    case 'integer':
      return within(Number.isSafeInteger(decimal(value)) ? decimal(value) : undefined, type.min, type.max);
    case 'long':
      return long(value, type.min);
    case 'longOrAuto':
      return value === 'auto' ? value : long(value, type.min);
    case 'timestamp':
      return parseTimestampMs(value);
    case 'number':
      return within(decimal(value), type.min, type.max);
    case 'boolean':
      return value === true || value === 'true'
        ? true
        : value === false || value === 'false'
          ? false
          : undefined;
    case 'flag':
      return value === true || value === 'true' ? true : undefined;
    case 'bytes':
      return within(unit(value, parseByteSize), type.min, type.max);
    case 'duration':
      return within(unit(value, parseDurationMs), type.min, type.max);
    case 'choice':
      return type.values.find((v) => v === value);
    case 'list':
      return list(value);
    case 'startingOffsets':
      return startingOffsets(value);
    case 'timestamps':
      return partitionMap(value, parseTimestampMs);
    case 'assignment':
      return assignment(value);
    case 'schema':
      return schema(value);
    case 'properties':
      return properties(value);
    case 'emptyList':
      return Array.isArray(value) && value.length === 0 ? [] : undefined;
  }
}

function within(value: number | undefined, min: number, max: number): number | undefined {
  return value !== undefined && value >= min && value <= max ? value : undefined;
}

function decimal(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined;
  if (typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value)) return Number(value);
  return undefined;
}

function long(value: unknown, min: bigint): bigint | undefined {
  let parsed: bigint;
  if (typeof value === 'number' && Number.isSafeInteger(value)) parsed = BigInt(value);
  else if (typeof value === 'string' && /^-?\d{1,19}$/.test(value)) parsed = BigInt(value);
  else return undefined;
  return parsed >= min && parsed <= INT64_MAX ? parsed : undefined;
}

function unit(value: unknown, parse: (text: string) => number): number | undefined {
  if (typeof value !== 'number' && typeof value !== 'string') return undefined;
  try {
    return parse(String(value));
  } catch {
    return undefined;
  }
}

function list(value: unknown): string[] | undefined {
  const parts = typeof value === 'string' ? splitOutsideBrackets(value) : value;
  if (!Array.isArray(parts) || parts.some((part) => typeof part !== 'string')) return undefined;
  const trimmed = parts.map((part: string) => part.trim());
  return trimmed.includes('') ? undefined : trimmed;
}

/** Splits at commas; `bucket(16, key)` stays one part. */
function splitOutsideBrackets(text: string): string[] {
  if (text.trim() === '') return [];
  const parts = [''];
  let depth = 0;
  for (const c of text) {
    if (c === '(') depth++;
    if (c === ')') depth--;
    if (c === ',' && depth <= 0) parts.push('');
    else parts[parts.length - 1] += c;
  }
  return parts;
}

/** A map that was written as a map or, as in Spark, as JSON text. 64-bit numbers of the text stay exact. */
function mapOrJson(value: unknown): Record<string, unknown> | undefined {
  let map = value;
  if (typeof value === 'string') {
    try {
      const exact = (_key: string, v: unknown, context?: { source?: string }): unknown =>
        typeof v === 'number' ? (context?.source ?? v) : v;
      map = JSON.parse(value, exact as (this: unknown, key: string, value: unknown) => unknown);
    } catch {
      return undefined;
    }
  }
  return typeof map === 'object' && map !== null && !Array.isArray(map)
    ? (map as Record<string, unknown>)
    : undefined;
}

function partitionNumber(value: unknown): number | undefined {
  const parsed = long(value, 0n);
  return parsed !== undefined && parsed <= BigInt(MAX_PARTITION) ? Number(parsed) : undefined;
}

function startingOffsets(value: unknown): StartingOffsets | undefined {
  if (value === 'earliest' || value === 'latest') return { kind: value };
  const offsets = partitionMap(value, (offset) => long(offset, -2n));
  return offsets === undefined ? undefined : { kind: 'map', offsets };
}

/** topic -> partition -> number, as a map or as JSON text. */
function partitionMap(
  value: unknown,
  parse: (value: unknown) => bigint | undefined,
): Map<string, Map<number, bigint>> | undefined {
  const map = mapOrJson(value);
  if (map === undefined || Object.keys(map).length === 0) return undefined;
  const topics = new Map<string, Map<number, bigint>>();
  for (const [topic, partitions] of Object.entries(map)) {
    const inner = typeof partitions === 'string' ? undefined : mapOrJson(partitions);
    if (inner === undefined) return undefined;
    const parsed = new Map<number, bigint>();
    for (const [partition, text] of Object.entries(inner)) {
      const number = partitionNumber(partition);
      const at = parse(text);
      if (number === undefined || at === undefined || parsed.has(number)) return undefined;
      parsed.set(number, at);
    }
    topics.set(topic, parsed);
  }
  return topics;
}

function assignment(value: unknown): Map<string, number[]> | undefined {
  const map = mapOrJson(value);
  if (map === undefined || Object.keys(map).length === 0) return undefined;
  const assigned = new Map<string, number[]>();
  for (const [topic, partitions] of Object.entries(map)) {
    if (!Array.isArray(partitions) || partitions.length === 0) return undefined;
    const numbers = partitions.map(partitionNumber);
    if (numbers.some((n) => n === undefined) || new Set(numbers).size !== numbers.length) return undefined;
    assigned.set(
      topic,
      (numbers as number[]).sort((a, b) => a - b),
    );
  }
  return assigned;
}

/** A text as it is, or a map. */
function schema(value: unknown): unknown {
  if (typeof value === 'string') return value.trim() === '' ? undefined : value.trim();
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
}

function properties(value: unknown): Record<string, string> | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const entries = Object.entries(value);
  if (entries.some(([, v]) => typeof v !== 'string' && typeof v !== 'number' && typeof v !== 'boolean'))
    return undefined;
  // Not by assignment: a property may be called __proto__.
  return Object.fromEntries(entries.map(([name, v]) => [name, String(v)]));
}
