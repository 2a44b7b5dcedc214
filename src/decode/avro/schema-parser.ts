import { parseJson64 } from '../../core/json64.ts';
import type { RegisteredSchema } from '../../core/value-format.ts';
import {
  type AvroEnum,
  type AvroField,
  type AvroFixed,
  type AvroPrimitiveKind,
  type AvroRecord,
  type AvroSchema,
  AvroSchemaFault,
  describe,
} from './avro-schema.ts';
import { canonicalForm } from './canonical-form.ts';
import { logicalTypeOf } from './logical-type.ts';

type References = RegisteredSchema['references'];
type JsonObject = Record<string, unknown>;

/** Characters of a schema with all that it refers to. */
const MAX_CHARS = 4 * 1024 * 1024;
/** Brackets within brackets of the JSON text. */
const MAX_BRACKETS = 512;
/** Types within types, references followed. */
const MAX_DEPTH = 100;
/** Types and fields of a schema with all that it refers to. */
const MAX_NODES = 50_000;

const PRIMITIVES: ReadonlySet<string> = new Set<AvroPrimitiveKind>([
  'null',
  'boolean',
  'int',
  'long',
  'float',
  'double',
  'bytes',
  'string',
]);
/** As Avro's Java library has it: any letter where the specification says a to z. */
const NAME = /^[\p{L}_][\p{L}\p{Nd}_]*$/u;

/**
 * Parses an Avro schema with those that it refers to, a referred one first (Avro spec, "Schema Declaration"). `order`,
 * `doc` and unknown attributes are ignored; defaults are kept unchecked, since a writer's are never used. A schema that is
 * hostile by its size, depth or count is refused. Throws AvroSchemaFault.
 */
export function parseAvroSchema(text: string, references: References = []): AvroSchema {
  const chars = references.reduce((sum, { schema }) => sum + schema.length, text.length);
  if (chars > MAX_CHARS)
    throw new AvroSchemaFault('', `the schema has ${chars} characters, at most ${MAX_CHARS} are taken`);
  const parser = new SchemaParser();
  for (const { name, schema } of references) {
    try {
      parser.document(schema);
    } catch (e) {
      if (e instanceof AvroSchemaFault) throw new AvroSchemaFault(`reference ${name}`, e.message);
      throw e;
    }
  }
  return parser.document(text);
}

type Named = AvroRecord | AvroEnum | AvroFixed;

class SchemaParser {
  private readonly named = new Map<string, Named>();
  /** Names that documents before this one have defined: the same definition may come again. */
  private readonly earlier = new Map<string, Named>();
  private readonly depths = new Map<AvroSchema, number>();
  private nodes = 0;

  document(text: string): AvroSchema {
    for (const [name, type] of this.named) this.earlier.set(name, type);
    return this.type(parseText(text), '', '', 0);
  }

  private type(node: unknown, namespace: string, path: string, level: number): AvroSchema {
    if (++this.nodes > MAX_NODES) throw new AvroSchemaFault(path, `more than ${MAX_NODES} types and fields`);
    if (level > MAX_DEPTH) throw tooDeep(path);
    if (typeof node === 'string') return this.byName(node, namespace, path);
    if (Array.isArray(node)) return this.union(node, namespace, path, level);
    if (!isObject(node)) throw new AvroSchemaFault(path, `${shown(node)} is no type`);
    const { type } = node;
    if (typeof type !== 'string') throw new AvroSchemaFault(path, 'an object without a type name');
    return this.declared(type, node, namespace, path, level);
  }

  private declared(
    type: string,
    node: JsonObject,
    namespace: string,
    path: string,
    level: number,
  ): AvroSchema {
    switch (type) {
      case 'record':
      case 'error':
        return this.record(node, namespace, path, level);
      case 'enum':
        return this.enumeration(node, namespace, path);
      case 'fixed':
        return this.fixed(node, namespace, path);
      case 'array': {
        const items = this.type(node.items, namespace, path, level + 1);
        return this.nested({ kind: 'array', items }, [items], path);
      }
      case 'map': {
        const values = this.type(node.values, namespace, path, level + 1);
        return this.nested({ kind: 'map', values }, [values], path);
      }
      default:
        if (!PRIMITIVES.has(type)) return this.byName(type, namespace, path);
        return { kind: type as AvroPrimitiveKind, logical: logicalTypeOf(type, node, 0) };
    }
  }

  /** Within the namespace first, then without any, as Java's parser looks it up. */
  private byName(name: string, namespace: string, path: string): AvroSchema {
    if (PRIMITIVES.has(name)) return { kind: name as AvroPrimitiveKind, logical: null };
    const full = name.includes('.') || namespace === '' ? name : `${namespace}.${name}`;
    const found = this.named.get(full) ?? this.named.get(name);
    if (found === undefined)
      throw new AvroSchemaFault(path, `the type ${shown(name)} is not defined before it is used`);
    return found;
  }

  private union(nodes: unknown[], namespace: string, path: string, level: number): AvroSchema {
    const branches = nodes.map((node) => this.type(node, namespace, path, level + 1));
    const seen = new Set<string>();
    for (const branch of branches) {
      if (branch.kind === 'union') throw new AvroSchemaFault(path, 'a union directly within a union');
      const name = 'fullName' in branch ? branch.fullName : branch.kind;
      if (seen.has(name)) throw new AvroSchemaFault(path, `a union holds ${describe(branch)} twice`);
      seen.add(name);
    }
    if (branches.length === 0) throw new AvroSchemaFault(path, 'a union of nothing');
    return this.nested({ kind: 'union', branches }, branches, path);
  }

  private record(node: JsonObject, namespace: string, path: string, level: number): AvroSchema {
    const names = namesOf(node, namespace, path);
    const fields: AvroField[] = [];
    const record: AvroRecord = { kind: 'record', ...names, fields };
    const before = this.define(record, path);
    if (!Array.isArray(node.fields))
      throw new AvroSchemaFault(path, `record ${names.fullName} has no fields`);
    const seen = new Set<string>();
    for (const field of node.fields) {
      const parsed = this.field(field, namespaceOf(names.fullName), path, level);
      if (seen.has(parsed.name)) throw new AvroSchemaFault(path, `two fields are called ${parsed.name}`);
      seen.add(parsed.name);
      fields.push(parsed);
    }
    checkSame(before, record, path);
    return this.nested(
      record,
      fields.map((field) => field.schema),
      path,
    );
  }

  private field(node: unknown, namespace: string, path: string, level: number): AvroField {
    if (!isObject(node)) throw new AvroSchemaFault(path, `${shown(node)} is no field`);
    const name = checkedName(node.name, path);
    const at = path === '' ? name : `${path}.${name}`;
    return {
      name,
      aliases: stringsOf(node.aliases, at, 'aliases'),
      schema: this.type(node.type, namespace, at, level + 1),
      default: node.default,
    };
  }

  private enumeration(node: JsonObject, namespace: string, path: string): AvroSchema {
    const names = namesOf(node, namespace, path);
    const symbols = stringsOf(node.symbols ?? null, path, 'symbols');
    for (const symbol of symbols) checkedName(symbol, path);
    if (new Set(symbols).size !== symbols.length)
      throw new AvroSchemaFault(path, `enum ${names.fullName} has a symbol twice`);
    const fallback = node.default ?? null;
    if (fallback !== null && !symbols.includes(fallback as string))
      throw new AvroSchemaFault(path, `the default of enum ${names.fullName} is none of its symbols`);
    return this.finished({ kind: 'enum', ...names, symbols, default: fallback as string | null }, path);
  }

  private fixed(node: JsonObject, namespace: string, path: string): AvroSchema {
    const names = namesOf(node, namespace, path);
    const { size } = node;
    if (typeof size !== 'number' || !Number.isInteger(size) || size < 0 || size > 0x7fff_ffff)
      throw new AvroSchemaFault(path, `fixed ${names.fullName} has no size from 0 to 2147483647`);
    return this.finished(
      { kind: 'fixed', ...names, size, logical: logicalTypeOf('fixed', node, size) },
      path,
    );
  }

  private finished(type: Named, path: string): AvroSchema {
    checkSame(this.define(type, path), type, path);
    return type;
  }

  /** Makes a name known; returns what an earlier document has defined under it. */
  private define(type: Named, path: string): Named | undefined {
    const before = this.named.get(type.fullName);
    if (before !== undefined && this.earlier.get(type.fullName) !== before)
      throw new AvroSchemaFault(path, `the type ${type.fullName} is defined twice`);
    this.named.set(type.fullName, type);
    return before;
  }

  private nested(schema: AvroSchema, children: readonly AvroSchema[], path: string): AvroSchema {
    const depth = 1 + children.reduce((most, child) => Math.max(most, this.depths.get(child) ?? 0), 0);
    if (depth > MAX_DEPTH) throw tooDeep(path);
    this.depths.set(schema, depth);
    return schema;
  }
}

/** References may each bring the same definition with them; two that differ have no meaning. */
function checkSame(before: Named | undefined, type: Named, path: string): void {
  if (before !== undefined && canonicalForm(before) !== canonicalForm(type))
    throw new AvroSchemaFault(path, `the type ${type.fullName} is defined in two ways`);
}

function parseText(text: string): unknown {
  checkBrackets(text);
  try {
    return parseJson64(text);
  } catch (e) {
    throw new AvroSchemaFault('', `no JSON: ${(e as Error).message.slice(0, 200)}`);
  }
}

/** Refuses nesting that a parser of JSON would follow with its stack. */
function checkBrackets(text: string): void {
  let open = 0;
  let inString = false;
  for (let i = 0; i < text.length; i++) {
    const char = text.charCodeAt(i);
    if (inString) {
      if (char === 0x5c) i++;
      else if (char === 0x22) inString = false;
    } else if (char === 0x22) inString = true;
    else if (char === 0x7b || char === 0x5b) {
      if (++open > MAX_BRACKETS) throw tooDeep('');
    } else if (char === 0x7d || char === 0x5d) open--;
  }
}

function tooDeep(path: string): AvroSchemaFault {
  return new AvroSchemaFault(path.slice(0, 200), `the schema is nested deeper than ${MAX_DEPTH} types`);
}

function namesOf(
  node: JsonObject,
  enclosing: string,
  path: string,
): { fullName: string; aliases: readonly string[] } {
  const { name, namespace } = node;
  if (typeof name !== 'string') throw new AvroSchemaFault(path, 'a named type without a name');
  if (namespace !== undefined && namespace !== null && typeof namespace !== 'string')
    throw new AvroSchemaFault(path, 'a namespace that is no text');
  const space = typeof namespace === 'string' ? namespace : enclosing;
  const fullName = name.includes('.') || space === '' ? name : `${space}.${name}`;
  for (const part of fullName.split('.')) checkedName(part, path);
  if (PRIMITIVES.has(fullName) || PRIMITIVES.has(fullName.slice(fullName.lastIndexOf('.') + 1)))
    throw new AvroSchemaFault(path, `a type may not be called ${fullName}`);
  const own = namespaceOf(fullName);
  const aliases = stringsOf(node.aliases, path, 'aliases').map((alias) =>
    alias.includes('.') || own === '' ? alias : `${own}.${alias}`,
  );
  return { fullName, aliases };
}

function namespaceOf(fullName: string): string {
  return fullName.slice(0, Math.max(0, fullName.lastIndexOf('.')));
}

function checkedName(name: unknown, path: string): string {
  if (typeof name !== 'string' || !NAME.test(name))
    throw new AvroSchemaFault(path, `${shown(name)} is no name`);
  return name;
}

/** A list of texts; nothing where it is left out. */
function stringsOf(value: unknown, path: string, what: string): string[] {
  if (value === undefined) return [];
  if (!Array.isArray(value) || value.some((item) => typeof item !== 'string'))
    throw new AvroSchemaFault(path, `${what} is no list of texts`);
  return value;
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 80));
  return value === undefined ? 'nothing' : Array.isArray(value) ? 'a list' : String(value).slice(0, 80);
}
