import { plainNumber } from '../../core/json64.ts';
import { isPrimitive } from '../../core/schema.ts';
import { SluiceError } from '../../errors.ts';
import { type AppendDefault, type FieldPlan, OP } from './field-plan.ts';
import { appendDecimal } from './json-values.ts';
import { scaledInteger } from './number-values.ts';
import { decodeUuid } from './text-values.ts';
import { TimestampText } from './timestamp-text.ts';
import { appendScaled } from './words64.ts';

/**
 * What appends a field's default, given in the single-value JSON form of the Iceberg specification (appendix D), to the
 * field's column. Everything is checked here, once. Throws CONFIG_INVALID for a default that is none of the type.
 */
export function defaultAppender(plan: FieldPlan, json: unknown): AppendDefault {
  const form = plainNumber(json);
  if (form === null || form === undefined) {
    if (plan.required) throw bad(plan, json);
    return () => plan.column.appendNull();
  }
  if (isPrimitive(plan.type)) return primitiveDefault(plan, form);
  if (plan.op === OP.list) return listDefault(plan, form);
  return plan.op === OP.map ? mapDefault(plan, form) : structDefault(plan, form);
}

function bad(plan: FieldPlan, json: unknown): SluiceError {
  const type = typeof plan.type === 'string' ? plan.type : plan.type.type;
  return new SluiceError(
    'CONFIG_INVALID',
    `the default of ${plan.name || 'an element'}: expected the JSON form of ${type}, found ${String(JSON.stringify(json, (_, v) => (typeof v === 'bigint' ? String(v) : v))).slice(0, 80)}`,
    { context: { field: plan.name } },
  );
}

function primitiveDefault(plan: FieldPlan, form: unknown): AppendDefault {
  switch (plan.op) {
    case OP.boolean:
      if (typeof form !== 'boolean') throw bad(plan, form);
      return () => plan.booleans.append(form);
    case OP.int:
    case OP.long:
      return integerDefault(plan, form);
    case OP.float:
    case OP.double: {
      if (typeof form !== 'number' && typeof form !== 'bigint') throw bad(plan, form);
      const value = Number(form);
      return plan.op === OP.float ? () => plan.float32.append(value) : () => plan.float64.append(value);
    }
    default:
      if (typeof form !== 'string') throw bad(plan, form);
      return textDefault(plan, form);
  }
}

function integerDefault(plan: FieldPlan, form: unknown): AppendDefault {
  if (typeof form !== 'bigint' && !(typeof form === 'number' && Number.isSafeInteger(form)))
    throw bad(plan, form);
  const value = BigInt(form);
  const bits = plan.op === OP.int ? 32 : 64;
  if (BigInt.asIntN(bits, value) !== value) throw bad(plan, form);
  return plan.op === OP.int ? () => plan.int32.append(Number(value)) : () => plan.int64.appendBigInt(value);
}

function textDefault(plan: FieldPlan, text: string): AppendDefault {
  const bytes = new TextEncoder().encode(text);
  switch (plan.op) {
    case OP.string:
      return () => plan.bytes.appendBytes(bytes);
    case OP.decimal: {
      const value = /^-?\d+(?:\.\d+)?$/.test(text)
        ? scaledInteger(text, plan.scale, plan.precision, 'refuse')
        : undefined;
      if (typeof value !== 'bigint') throw bad(plan, text);
      return () => appendDecimal(plan, value);
    }
    case OP.uuid: {
      const value = new Uint8Array(16);
      if (!decodeUuid(bytes, 0, bytes.length, value)) throw bad(plan, text);
      return () => plan.fixed.append(value);
    }
    case OP.binary:
    case OP.fixed:
      return hexDefault(plan, text);
    default:
      return timeDefault(plan, text, bytes);
  }
}

function hexDefault(plan: FieldPlan, text: string): AppendDefault {
  const value = new Uint8Array(Buffer.from(text, 'hex'));
  if (!/^(?:[0-9a-fA-F]{2})*$/.test(text)) throw bad(plan, text);
  if (plan.op === OP.binary) return () => plan.bytes.appendBytes(value);
  if (value.length !== plan.width) throw bad(plan, text);
  return () => plan.fixed.append(value);
}

function timeDefault(plan: FieldPlan, text: string, bytes: Uint8Array): AppendDefault {
  const parsed = new TimestampText();
  if (plan.op === OP.date) {
    if (!parsed.readDate(bytes, 0, bytes.length)) throw bad(plan, text);
    const { days } = parsed;
    return () => plan.int32.append(days);
  }
  const isTime = plan.op === OP.time;
  if (!(isTime ? parsed.readTime(bytes, 0, bytes.length) : parsed.readTimestamp(bytes, 0, bytes.length)))
    throw bad(plan, text);
  if (!isTime && parsed.zoned !== plan.zoned) throw bad(plan, text);
  const seconds = isTime
    ? parsed.secondOfDay
    : parsed.days * 86_400 + parsed.secondOfDay - parsed.offsetSeconds;
  const unit = plan.digits === 6 ? 1_000_000 : 1_000_000_000;
  const rest = plan.digits === 6 ? Math.floor(parsed.nanos / 1000) : parsed.nanos;
  const append = () => appendScaled(plan.int64, seconds, unit, rest);
  if (!append()) throw bad(plan, text);
  plan.int64.clear();
  return append;
}

function listDefault(plan: FieldPlan, form: unknown): AppendDefault {
  if (!Array.isArray(form)) throw bad(plan, form);
  const elements = form.map((element) => defaultAppender(plan.element as FieldPlan, element));
  return () => {
    for (const append of elements) append();
    plan.list.endRow();
  };
}

/** `{"keys": [...], "values": [...]}`. */
function mapDefault(plan: FieldPlan, form: unknown): AppendDefault {
  const { keys, values } = form as { keys?: unknown; values?: unknown };
  if (!Array.isArray(keys) || !Array.isArray(values) || keys.length !== values.length) throw bad(plan, form);
  const keyAppenders = keys.map((key) => defaultAppender(plan.key as FieldPlan, key));
  const valueAppenders = values.map((value) => defaultAppender(plan.element as FieldPlan, value));
  return () => {
    for (const append of keyAppenders) append();
    for (const append of valueAppenders) append();
    plan.map.endRow();
  };
}

/** An object by field ids; fields that it leaves out have their own defaults. */
function structDefault(plan: FieldPlan, form: unknown): AppendDefault {
  if (
    typeof form !== 'object' ||
    Array.isArray(form) ||
    typeof plan.type === 'string' ||
    plan.type.type !== 'struct'
  )
    throw bad(plan, form);
  const { fields } = plan.type;
  const inner = plan.object?.fields ?? [];
  const known = new Set(fields.map((field) => String(field.id)));
  if (Object.keys(form as object).some((id) => !known.has(id))) throw bad(plan, form);
  const appenders = inner.map((field, i) => {
    const given = (form as Record<string, unknown>)[String(fields[i].id)];
    return given === undefined && field.appendDefault !== null
      ? field.appendDefault
      : defaultAppender(field, given);
  });
  return () => {
    for (const append of appenders) append();
    plan.struct.endRow();
  };
}
