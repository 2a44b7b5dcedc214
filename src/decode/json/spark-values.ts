import { parseDecimal } from '../../core/schema.ts';
import type { ReasonCode } from '../reasons.ts';
import { type FieldPlan, OP } from './field-plan.ts';
import { appendDecimal, typeText } from './json-values.ts';
import { scaledInteger } from './number-values.ts';
import { sparkText } from './spark-text.ts';
import type { SparkTime } from './spark-time.ts';
import type { SparkNode } from './spark-tree.ts';
import { decodeUuid } from './text-values.ts';
import { TimestampText } from './timestamp-text.ts';

/** A value as it is kept between being read and being appended. */
export type SparkValue = null | boolean | number | bigint | Uint8Array;

/** A value that from_json makes null, with the reason that a record stands in quarantine for. No stack is taken; see `JsonFault`. */
export class SparkFieldError {
  readonly reason: ReasonCode;
  readonly message: string;
  constructor(reason: ReasonCode, message: string) {
    this.reason = reason;
    this.message = message;
  }
}

const utf8 = new TextEncoder();
const times = new TimestampText();

/**
 * The value of a primitive column as from_json reads it (JacksonParser.makeConverter). Throws `SparkFieldError` where it
 * cannot be read. Null stays null whatever the column.
 */
export function sparkValue(field: FieldPlan, node: SparkNode, time: SparkTime): SparkValue {
  if (node.kind === 'null') return null;
  switch (field.op) {
    case OP.boolean:
      return node.kind === 'boolean' ? node.value : mismatch(field, node);
    case OP.int:
    case OP.long:
      return integer(field, node);
    case OP.float:
    case OP.double:
      return floating(field, node);
    case OP.decimal:
      return decimal(field, node);
    case OP.string:
      return string(field, node);
    case OP.date:
    case OP.time:
    case OP.timestamp:
      return temporal(field, node, time);
    default:
      return uuid(field, node);
  }
}

export function mismatch(field: FieldPlan, node: SparkNode): never {
  throw new SparkFieldError('TYPE_MISMATCH', `expected ${typeText(field)}, found ${KIND_TEXT[node.kind]}`);
}

const KIND_TEXT = {
  object: 'an object',
  list: 'a list',
  string: 'a string',
  number: 'a number',
  boolean: 'a boolean',
  null: 'null',
} as const;

function range(field: FieldPlan, source: string): never {
  const shown = source.length > 50 ? `${source.slice(0, 50)}...` : source;
  throw new SparkFieldError('OUT_OF_RANGE', `${shown} does not fit ${typeText(field)}`);
}

/** Integer tokens only: 1.0 and 1e3 are none. */
function integer(field: FieldPlan, node: SparkNode): number | bigint {
  if (node.kind !== 'number' || !node.integer) return mismatch(field, node);
  const value = node.source.length > 20 ? 1n << 64n : BigInt(node.source);
  const bits = field.op === OP.int ? 32 : 64;
  if (BigInt.asIntN(bits, value) !== value) range(field, node.source);
  return field.op === OP.int ? Number(value) : value;
}

const NAMED_NUMBERS: Record<string, number> = {
  NaN: Number.NaN,
  '+INF': Number.POSITIVE_INFINITY,
  '+Infinity': Number.POSITIVE_INFINITY,
  Infinity: Number.POSITIVE_INFINITY,
  '-INF': Number.NEGATIVE_INFINITY,
  '-Infinity': Number.NEGATIVE_INFINITY,
};

function floating(field: FieldPlan, node: SparkNode): number {
  let value: number;
  if (node.kind === 'number') {
    // An integer token is read as an integer, and has no negative zero.
    value = node.source === '-0' ? 0 : Number(node.source);
  } else {
    if (node.kind !== 'string' || !Object.hasOwn(NAMED_NUMBERS, node.text)) return mismatch(field, node);
    value = NAMED_NUMBERS[node.text];
  }
  return field.op === OP.float ? Math.fround(value) : value;
}

/** `java.math.BigDecimal` of a text, commas left out. */
const BIG_DECIMAL = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,10})?$/;

function decimal(field: FieldPlan, node: SparkNode): bigint {
  let source: string;
  if (node.kind === 'number') source = node.source;
  else if (node.kind === 'string') source = node.text.replaceAll(',', '');
  else return mismatch(field, node);
  if (!BIG_DECIMAL.test(source)) return mismatch(field, node);
  const value = scaledInteger(source.replace(/^\+/, ''), field.scale, field.precision, 'halfUp');
  return typeof value === 'bigint' ? value : range(field, source);
}

/** Any value; those that are no strings by their texts. */
function string(field: FieldPlan, node: SparkNode): Uint8Array {
  if (node.kind === 'string') return javaUtf8(node.text);
  const text = sparkText(node, false);
  return text === undefined ? mismatch(field, node) : utf8.encode(text);
}

/** Halves of surrogate pairs become question marks, as Java writes them. */
export function javaUtf8(text: string): Uint8Array {
  return utf8.encode(text.isWellFormed() ? text : text.replace(/\p{Cs}/gu, '?'));
}

function temporal(field: FieldPlan, node: SparkNode, time: SparkTime): number | bigint {
  const unit = field.digits === 9 ? 1000n : 1n;
  if (node.kind === 'number') {
    // Seconds since 1970, the product wrapped around as Java does.
    if (field.op !== OP.timestamp || !field.zoned || !node.integer) return mismatch(field, node);
    if (node.source.length > 20 || BigInt.asIntN(64, BigInt(node.source)) !== BigInt(node.source))
      range(field, node.source);
    return BigInt.asIntN(64, BigInt(node.source) * 1_000_000n * unit);
  }
  if (node.kind !== 'string') return mismatch(field, node);
  if (field.op === OP.date) return time.readDate(node.text) ?? badTime(field);
  if (field.op === OP.time) {
    const text = utf8.encode(node.text);
    if (!times.readTime(text, 0, text.length)) badTime(field);
    return BigInt(times.secondOfDay) * 1_000_000n + BigInt(Math.floor(times.nanos / 1000));
  }
  return time.readTimestamp(node.text, field.zoned, field.digits) ?? badTime(field);
}

function badTime(field: FieldPlan): never {
  throw new SparkFieldError('BAD_TIMESTAMP', `the text is no ${typeText(field)} that Spark reads`);
}

/** uuid of 8-4-4-4-12 digits. Base64 is the lexer's. */
function uuid(field: FieldPlan, node: SparkNode): Uint8Array {
  if (node.kind !== 'string') return mismatch(field, node);
  const text = utf8.encode(node.text);
  const value = new Uint8Array(16);
  return decodeUuid(text, 0, text.length, value) ? value : mismatch(field, node);
}

/** Appends a value to the field's column. */
export function appendValue(field: FieldPlan, value: SparkValue): void {
  if (value === null) field.column.appendNull();
  else if (typeof value === 'boolean') field.booleans.append(value);
  else if (value instanceof Uint8Array) appendBytes(field, value);
  else if (parseDecimal(field.type) !== undefined) appendDecimal(field, BigInt(value));
  else if (typeof value === 'bigint') field.int64.appendBigInt(value);
  else if (field.op === OP.double) field.float64.append(value);
  else if (field.op === OP.float) field.float32.append(value);
  else field.int32.append(value);
}

function appendBytes(field: FieldPlan, value: Uint8Array): void {
  if (field.op === OP.string || field.op === OP.binary) field.bytes.appendBytes(value);
  else field.fixed.append(value);
}
