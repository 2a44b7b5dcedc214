import type { JsonFormat } from '../../core/value-format.ts';
import { shortName } from './field-path.ts';
import { type FieldPlan, type ObjectPlan, OP } from './field-plan.ts';
import { JsonFault } from './json-fault.ts';
import type { RestMembers } from './rest-members.ts';
import { SparkLexer, type SparkToken } from './spark-lexer.ts';
import { SparkSyntaxError } from './spark-syntax.ts';
import { sparkText } from './spark-text.ts';
import type { SparkTime } from './spark-time.ts';
import { readSparkTree, type SparkNode } from './spark-tree.ts';
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

/** What a struct, list or map holds of which a part could not be read (Spark's PartialValueException). */
class Partial {
  readonly value: Value;
  constructor(value: Value) {
    this.value = value;
  }
}

/**
 * Reads one document by Spark's own rules (JacksonParser of Spark 4.1), the path that it takes after an error included: an
 * error leaves the field of the struct that is being read as it was, and reading goes on where the lexer stands.
 */
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
  private text = '';
  private lexer = new SparkLexer('');

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
    this.text = javaText(bytes);
    this.lexer = new SparkLexer(this.text);
    try {
      const token = this.lexer.nextToken();
      if (token === null) return false;
      if (token !== 'START_OBJECT')
        throw new SparkFieldError('NOT_AN_OBJECT', `expected an object, found ${this.kindText()}`);
      appendFields(plan, this.readObject(plan, []));
      return true;
    } catch (e) {
      throw this.faultOf(e);
    }
  }

  private faultOf(e: unknown): unknown {
    const fault = new JsonFault();
    const syntax = e instanceof SparkSyntaxError ? e : syntaxErrorOf(this.text);
    if (syntax !== undefined) {
      fault.syntax = true;
      fault.message = `${syntax.message} at character ${syntax.at}`;
    } else if (e instanceof SparkFieldError) {
      fault.reason = e.reason;
      fault.message = e.message;
      if (e.reason !== 'NOT_AN_OBJECT') fault.field = pathText(this.path);
    } else {
      return e;
    }
    return fault;
  }

  /** The fields of the object that has begun. */
  private readObject(plan: ObjectPlan, structs: readonly string[]): (Value | undefined)[] {
    const { lexer } = this;
    const values = new Array<Value | undefined>(plan.fields.length).fill(undefined);
    const names = new Map<number, string>();
    for (let token = lexer.nextToken(); token !== null && token !== 'END_OBJECT'; token = lexer.nextToken()) {
      const { name } = lexer;
      const at = name === null ? -1 : plan.fields.findIndex((f) => !f.filled && this.isNamed(f, name));
      if (at < 0) {
        this.takeUnknown(plan, token, name, structs);
        continue;
      }
      if (token === 'FIELD_NAME') this.checkName(plan.fields[at], names, at, name as string);
      this.path.push(name as string);
      values[at] = this.readMember(plan.fields[at], [...structs, plan.fields[at].name], values[at]);
      this.path.pop();
    }
    return this.checkMissing(plan, values);
  }

  private checkName(field: FieldPlan, names: Map<number, string>, at: number, name: string): void {
    const before = names.get(at);
    if (before !== undefined && before !== name) {
      this.path.push(field.name);
      const names = [before, name].map((each) => JSON.stringify(shortName(each)));
      throw new SparkFieldError('AMBIGUOUS_FIELD', `${names.join(' and ')} both match the field`);
    }
    if (before !== undefined) this.duplicateKeys++;
    names.set(at, name);
  }

  /** A member that cannot be read leaves what a member of that name before it has left. */
  private readMember(
    field: FieldPlan,
    structs: readonly string[],
    before: Value | undefined,
  ): Value | undefined {
    const depth = this.path.length;
    try {
      return this.readValue(field, structs);
    } catch (e) {
      if (!this.partial) throw e;
      if (!(e instanceof Partial)) {
        if (field.required || !(e instanceof SparkFieldError || e instanceof SparkSyntaxError)) throw e;
        this.lexer.skipChildren();
      }
      this.path.length = depth;
      this.fieldFault = true;
      return e instanceof Partial ? e.value : (before ?? null);
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

  /** A token of no column: first its name comes, then the start of its value. */
  private takeUnknown(
    plan: ObjectPlan,
    token: SparkToken,
    name: string | null,
    structs: readonly string[],
  ): void {
    const { lexer } = this;
    if (token === 'FIELD_NAME') {
      this.unknownFields++;
      if (!this.refuseUnknown) return;
      this.path.push(name as string);
      throw new SparkFieldError('UNKNOWN_FIELD', 'the field is not in the schema');
    }
    const { valueAt } = lexer;
    const isScalar = token !== 'START_OBJECT' && token !== 'START_ARRAY' && token !== 'END_ARRAY';
    if (lexer.skipChildren() || (isScalar && token !== 'NULL')) this.unknownContent = true;
    if (this.rest === null || plan.repeated || name === null || token === 'END_ARRAY') return;
    if (token === 'STRING') void lexer.string;
    const node = readSparkTree(this.text.slice(valueAt, lexer.at)) as SparkNode;
    this.rest.addText(structs, name, sparkText(node, true) ?? 'null');
  }

  private readValue(field: FieldPlan, structs: readonly string[]): Value {
    const { lexer } = this;
    while (lexer.token === 'FIELD_NAME') lexer.nextToken();
    if (lexer.token === null || lexer.token === 'NULL') {
      if (!field.required) return null;
      throw new SparkFieldError('MISSING_REQUIRED', 'a required field is null');
    }
    switch (field.op) {
      case OP.struct:
        if (lexer.token !== 'START_OBJECT') this.failType(field);
        return this.readStruct(field, structs);
      case OP.list:
        if (lexer.token !== 'START_ARRAY') this.failType(field);
        return this.readList(field);
      case OP.map:
        if (lexer.token !== 'START_OBJECT') this.failType(field);
        return this.readMap(field);
      case OP.binary:
      case OP.fixed:
        return this.readBinary(field);
      case OP.string:
        if (lexer.token !== 'STRING') return this.readStructure(field);
        return javaUtf8(lexer.string);
      default:
        return sparkValue(field, this.scalar(), this.time);
    }
  }

  private readStruct(field: FieldPlan, structs: readonly string[]): Value {
    const faultBefore = this.fieldFault;
    this.fieldFault = false;
    const fields = this.readObject(field.object as ObjectPlan, structs);
    const isPartial = this.fieldFault;
    this.fieldFault ||= faultBefore;
    if (isPartial) throw new Partial({ fields });
    return { fields };
  }

  private readList(field: FieldPlan): Value {
    const { lexer } = this;
    const items: Value[] = [];
    let isPartial = false;
    for (let token = lexer.nextToken(); token !== null && token !== 'END_ARRAY'; token = lexer.nextToken()) {
      try {
        items.push(this.readInner(`[${items.length}]`, field.element as FieldPlan));
      } catch (e) {
        if (!(e instanceof Partial)) throw e;
        this.path.pop();
        isPartial = true;
        items.push(e.value);
      }
    }
    if (isPartial) throw new Partial({ items });
    return { items };
  }

  /** A map with an entry that cannot be read is none, but all of it is read before that is said. */
  private readMap(field: FieldPlan): Value {
    const { lexer } = this;
    const entries: [Value, Value][] = [];
    let isPartial = false;
    let first: { error: unknown; path: string[] } | undefined;
    for (let token = lexer.nextToken(); token !== null && token !== 'END_OBJECT'; token = lexer.nextToken()) {
      const name = lexer.name ?? '';
      const depth = this.path.length;
      try {
        const value = this.readInner(name, field.element as FieldPlan);
        entries.push([this.readKey(field.key as FieldPlan, name), value]);
      } catch (e) {
        if (e instanceof Partial) {
          isPartial = true;
          entries.push([this.readKey(field.key as FieldPlan, name), e.value]);
        } else {
          if (!this.partial || !(e instanceof SparkFieldError || e instanceof SparkSyntaxError)) throw e;
          first ??= { error: e, path: [...this.path] };
          lexer.skipChildren();
        }
        this.path.length = depth;
      }
    }
    if (first !== undefined) {
      this.path = first.path;
      throw first.error;
    }
    if (isPartial) throw new Partial({ entries });
    return { entries };
  }

  private readInner(step: string, field: FieldPlan): Value {
    this.path.push(step);
    const value = this.readValue(field, []);
    this.path.pop();
    return value;
  }

  /** Spark itself knows keys of strings only. */
  private readKey(key: FieldPlan, name: string): Value {
    if (key.op === OP.string) return javaUtf8(name);
    if (key.op === OP.date) return sparkValue(key, { kind: 'string', text: name }, this.time);
    const node: SparkNode = { kind: 'number', source: name, integer: true };
    return /^(?:0|-?[1-9]\d*)$/.test(name) ? sparkValue(key, node, this.time) : mismatch(key, node);
  }

  /** Base64 as Jackson reads it. */
  private readBinary(field: FieldPlan): Value {
    if (this.lexer.token !== 'STRING') this.failType(field);
    const value = this.lexer.binary;
    if (field.op === OP.binary || value.length === field.width) return value;
    throw new SparkFieldError(
      'OUT_OF_RANGE',
      `expected base64 of ${field.width} bytes, found ${value.length} bytes`,
    );
  }

  /** A value that is no string, in a string column: its text. */
  private readStructure(field: FieldPlan): Value {
    const { lexer } = this;
    const { valueAt } = lexer;
    if (lexer.token === 'END_ARRAY' || lexer.token === 'END_OBJECT') this.failType(field);
    lexer.skipChildren();
    const text = sparkText(readSparkTree(this.text.slice(valueAt, lexer.at)) as SparkNode, false);
    if (text === undefined)
      throw new SparkFieldError('TYPE_MISMATCH', 'the value holds half of a surrogate pair');
    return Buffer.from(text);
  }

  /** The present token as a value; of arrays and objects nothing but that they are. */
  private scalar(): SparkNode {
    const { lexer } = this;
    switch (lexer.token) {
      case 'STRING':
        return { kind: 'string', text: lexer.string };
      case 'INTEGER':
      case 'FLOAT':
        return { kind: 'number', source: lexer.source, integer: lexer.token === 'INTEGER' };
      case 'TRUE':
      case 'FALSE':
        return { kind: 'boolean', value: lexer.token === 'TRUE' };
      case 'NULL':
        return { kind: 'null' };
      case 'START_OBJECT':
      case 'END_OBJECT':
        return { kind: 'object', members: [] };
      default:
        return { kind: 'list', items: [] };
    }
  }

  private failType(field: FieldPlan): never {
    mismatch(field, this.scalar());
  }

  private kindText(): string {
    const { kind } = this.scalar();
    return kind === 'null' ? 'null' : `${kind === 'object' ? 'an' : 'a'} ${kind}`;
  }
}

/** What is wrong with the grammar of a text, if anything is. */
function syntaxErrorOf(text: string): SparkSyntaxError | undefined {
  try {
    readSparkTree(text);
  } catch (e) {
    if (e instanceof SparkSyntaxError) return e;
    throw e;
  }
  return undefined;
}

function pathText(path: readonly string[]): string {
  const steps = path.map(shortName);
  return steps.reduce(
    (text, step) => (text === '' || step.startsWith('[') ? text + step : `${text}.${step}`),
    '',
  );
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
