import type { JsonFormat } from '../../core/value-format.ts';
import type { ReasonCode } from '../reasons.ts';
import { type FieldPlan, type ObjectPlan, OP } from './field-plan.ts';
import { JsonFault } from './json-fault.ts';
import type { RestMembers } from './rest-members.ts';
import { sparkText } from './spark-text.ts';
import type { SparkTime } from './spark-time.ts';
import { readSparkTree, type SparkNode, SparkSyntaxError } from './spark-tree.ts';
import {
  appendValue,
  javaUtf8,
  mismatch,
  SparkFieldError,
  type SparkValue,
  sparkValue,
} from './spark-values.ts';

/** A value of any type, ready to be appended: structs as a list by field, undefined where the object has none. */
type Value =
  | SparkValue
  | { fields: (Value | undefined)[] }
  | { items: Value[] }
  | { entries: [Value, Value][] };

/** Reads one document by Spark's own rules, by way of a tree. */
export class SparkDocument {
  fieldFault = false;
  unknownContent = false;
  duplicateKeys = 0;
  unknownFields = 0;

  private readonly partial: boolean;
  private readonly caseInsensitive: boolean;
  private readonly refuseUnknown: boolean;
  private readonly rest: RestMembers | null;
  private readonly time: SparkTime;
  private path: string[] = [];

  constructor(format: JsonFormat, partial: boolean, rest: RestMembers | null, time: SparkTime) {
    this.partial = partial;
    this.caseInsensitive = format.caseInsensitive;
    this.refuseUnknown = format.unknownFields === 'quarantine';
    this.rest = rest;
    this.time = time;
  }

  /** As `RecordReader.readDocument`. A document of white space is null; the document null is at fault. */
  read(plan: ObjectPlan, bytes: Uint8Array): boolean {
    this.fieldFault = false;
    this.unknownContent = false;
    this.duplicateKeys = 0;
    this.unknownFields = 0;
    this.path = [];
    try {
      const node = readSparkTree(javaText(bytes));
      if (node === undefined) return false;
      if (node.kind !== 'object')
        throw new SparkFieldError('NOT_AN_OBJECT', `expected an object, found ${node.kind}`);
      const values = this.readMembers(plan, node.members, []);
      appendFields(plan, values);
      return true;
    } catch (e) {
      throw this.faultOf(e);
    }
  }

  private faultOf(e: unknown): unknown {
    const fault = new JsonFault();
    if (e instanceof SparkSyntaxError) {
      fault.syntax = true;
      fault.message = `${e.message} at character ${e.at}`;
    } else if (e instanceof SparkFieldError) {
      fault.reason = e.reason;
      fault.message = e.message;
      if (e.reason !== 'NOT_AN_OBJECT') fault.field = pathText(this.path);
    } else {
      return e;
    }
    return fault;
  }

  /** The fields of an object; a member that cannot be read leaves what a member of that name before it has left. */
  private readMembers(
    plan: ObjectPlan,
    members: { name: string; value: SparkNode }[],
    structs: readonly string[],
  ): (Value | undefined)[] {
    const values = new Array<Value | undefined>(plan.fields.length).fill(undefined);
    const names = new Map<number, string>();
    for (const { name, value } of members) {
      const at = plan.fields.findIndex((f) => !f.filled && this.isNamed(f, name));
      this.path.push(name);
      if (at < 0) {
        this.takeUnknown(plan, name, value, structs);
      } else {
        const before = names.get(at);
        if (before !== undefined && before !== name)
          throw new SparkFieldError('AMBIGUOUS_FIELD', `two names match ${plan.fields[at].name}`);
        if (before !== undefined) this.duplicateKeys++;
        names.set(at, name);
        values[at] = this.readMember(plan.fields[at], value, [...structs, plan.fields[at].name], values[at]);
      }
      this.path.pop();
    }
    return this.checkMissing(plan, values);
  }

  private readMember(
    field: FieldPlan,
    node: SparkNode,
    structs: readonly string[],
    before: Value | undefined,
  ): Value | undefined {
    const depth = this.path.length;
    try {
      return this.readValue(field, node, structs);
    } catch (e) {
      if (!this.partial || field.required || !(e instanceof SparkFieldError) || !MADE_NULL.has(e.reason))
        throw e;
      this.path.length = depth;
      this.fieldFault = true;
      return before ?? null;
    }
  }

  private checkMissing(plan: ObjectPlan, values: (Value | undefined)[]): (Value | undefined)[] {
    for (const [i, field] of plan.fields.entries()) {
      if (field.filled || !field.required || (values[i] !== null && values[i] !== undefined)) continue;
      if (values[i] === undefined && field.appendDefault !== null) continue;
      this.path.push(field.name);
      throw new SparkFieldError('MISSING_REQUIRED', 'a required field is missing or null');
    }
    return values;
  }

  private isNamed(field: FieldPlan, name: string): boolean {
    return field.name === name || (this.caseInsensitive && field.name.toLowerCase() === name.toLowerCase());
  }

  private takeUnknown(plan: ObjectPlan, name: string, value: SparkNode, structs: readonly string[]): void {
    this.unknownFields++;
    if (hasContent(value)) this.unknownContent = true;
    if (this.refuseUnknown) throw new SparkFieldError('UNKNOWN_FIELD', 'the field is not in the schema');
    if (this.rest !== null && !plan.repeated)
      this.rest.addText(structs, name, sparkText(value, true) ?? 'null');
  }

  private readValue(field: FieldPlan, node: SparkNode, structs: readonly string[]): Value {
    if (node.kind === 'null' && field.required)
      throw new SparkFieldError('MISSING_REQUIRED', 'a required field is null');
    if (node.kind === 'null') return null;
    switch (field.op) {
      case OP.struct: {
        if (node.kind !== 'object') return mismatch(field, node);
        return { fields: this.readMembers(field.object as ObjectPlan, node.members, structs) };
      }
      case OP.list: {
        if (node.kind !== 'list') return mismatch(field, node);
        return {
          items: node.items.map((item, i) => this.readInner(`[${i}]`, field.element as FieldPlan, item)),
        };
      }
      case OP.map: {
        if (node.kind !== 'object') return mismatch(field, node);
        const entries = this.readEntries(field, node.members);
        return { entries };
      }
      default:
        return sparkValue(field, node, this.time);
    }
  }

  /** A map with one entry that cannot be read is none, but all of it is read before that is said. */
  private readEntries(field: FieldPlan, members: { name: string; value: SparkNode }[]): [Value, Value][] {
    const entries: [Value, Value][] = [];
    let first: { error: SparkFieldError; path: string[] } | undefined;
    for (const { name, value } of members) {
      const depth = this.path.length;
      try {
        const key = this.readKey(field.key as FieldPlan, name);
        entries.push([key, this.readInner(name, field.element as FieldPlan, value)]);
      } catch (e) {
        if (!(e instanceof SparkFieldError)) throw e;
        first ??= { error: e, path: [...this.path] };
        this.path.length = depth;
      }
    }
    if (first === undefined) return entries;
    this.path = first.path;
    throw first.error;
  }

  private readInner(step: string, field: FieldPlan, node: SparkNode): Value {
    this.path.push(step);
    const value = this.readValue(field, node, []);
    this.path.pop();
    return value;
  }

  /** Spark itself knows keys of strings only. */
  private readKey(key: FieldPlan, name: string): Value {
    if (key.op === OP.string) return javaUtf8(name);
    if (key.op === OP.date) return sparkValue(key, { kind: 'string', text: name, raw: name }, this.time);
    const node: SparkNode = { kind: 'number', source: name, integer: true };
    return /^(?:0|-?[1-9]\d*)$/.test(name) ? sparkValue(key, node, this.time) : mismatch(key, node);
  }
}

/** Reasons of fields that become null under PERMISSIVE; the others are of the whole object. */
const MADE_NULL: ReadonlySet<ReasonCode> = new Set([
  'TYPE_MISMATCH',
  'OUT_OF_RANGE',
  'BAD_TIMESTAMP',
  'MISSING_REQUIRED',
  'AMBIGUOUS_FIELD',
  'UNKNOWN_FIELD',
]);

function pathText(path: readonly string[]): string {
  return path.reduce(
    (text, step) => (text === '' || step.startsWith('[') ? text + step : `${text}.${step}`),
    '',
  );
}

function hasContent(node: SparkNode): boolean {
  if (node.kind === 'object') return node.members.some((m) => hasContent(m.value));
  return node.kind === 'list' ? node.items.some(hasContent) : node.kind !== 'null';
}

function appendFields(plan: ObjectPlan, values: readonly (Value | undefined)[]): void {
  for (const [i, field] of plan.fields.entries()) {
    if (field.filled) continue;
    const value = values[i];
    if (value === undefined && field.appendDefault !== null) field.appendDefault();
    else append(field, value ?? null);
  }
}

function append(field: FieldPlan, value: Value): void {
  if (value === null || typeof value !== 'object' || value instanceof Uint8Array) {
    appendValue(field, value);
  } else if ('fields' in value) {
    appendFields(field.object as ObjectPlan, value.fields);
    field.struct.endRow();
  } else if ('items' in value) {
    for (const item of value.items) append(field.element as FieldPlan, item);
    field.list.endRow();
  } else {
    for (const [key, inner] of value.entries) {
      append(field.key as FieldPlan, key);
      append(field.element as FieldPlan, inner);
    }
    field.map.endRow();
  }
}

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** The bytes as Java's decoder reads them: as the WHATWG one, but an encoded surrogate is one U+FFFD and not three. */
function javaText(bytes: Uint8Array): string {
  const text = decoder.decode(bytes);
  if (!text.includes('\ufffd')) return text;
  const copy = bytes.slice();
  for (let at = 0; at + 2 < copy.length; at++) {
    if (copy[at] === 0xed && (copy[at + 1] & 0xe0) === 0xa0 && (copy[at + 2] & 0xc0) === 0x80)
      copy.set([0xef, 0xbf, 0xbd], at);
  }
  return decoder.decode(copy);
}
