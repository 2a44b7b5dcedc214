import { jsonPosition } from './json-position.ts';
import { placeAt, SCHEMA_LIMITS, schemaFault } from './schema-fault.ts';

/** What the nodes of one document share. */
interface Document {
  /** The document as text, for places; undefined where it came as an object. */
  text: string | undefined;
  fields: number;
  types: number;
}

/** A value of a JSON document with its place, read with checks. Each throws CONFIG_INVALID. */
export class JsonNode {
  readonly value: unknown;
  private readonly path: readonly (string | number)[];
  private readonly document: Document;

  private constructor(value: unknown, path: readonly (string | number)[], document: Document) {
    this.value = value;
    this.path = path;
    this.document = document;
  }

  static root(value: unknown, text?: string): JsonNode {
    return new JsonNode(value, [], { text, fields: 0, types: 0 });
  }

  /** The member of that name; its value is undefined where it is absent or null. */
  member(name: string): JsonNode {
    if (!this.isObject()) throw this.fault('expected an object');
    const object = this.value as Record<string, unknown>;
    const value = Object.hasOwn(object, name) ? object[name] : undefined;
    return new JsonNode(value ?? undefined, [...this.path, name], this.document);
  }

  items(): JsonNode[] {
    if (!Array.isArray(this.value)) throw this.fault('expected a list');
    return this.value.map((item, i) => new JsonNode(item, [...this.path, i], this.document));
  }

  string(): string {
    if (typeof this.value !== 'string') throw this.fault('expected a text');
    return this.value;
  }

  boolean(): boolean {
    if (typeof this.value !== 'boolean') throw this.fault('expected true or false');
    return this.value;
  }

  /** The name of a field; counts the fields of the document. */
  fieldName(): string {
    const name = this.string();
    if (name === '') throw this.fault('a field has no name');
    if (name.length > SCHEMA_LIMITS.nameLength)
      throw this.fault(`a name of ${name.length} characters; at most ${SCHEMA_LIMITS.nameLength} are taken`);
    if (++this.document.fields > SCHEMA_LIMITS.fields)
      throw this.fault(`more than ${SCHEMA_LIMITS.fields} fields; a table has fewer`);
    return name;
  }

  isObject(): boolean {
    return typeof this.value === 'object' && this.value !== null && !Array.isArray(this.value);
  }

  has(name: string): boolean {
    return this.isObject() && Object.hasOwn(this.value as object, name);
  }

  /** To be called for every type: an object that holds itself, or one part many times, comes to an end. */
  countType(depth: number): void {
    if (depth > SCHEMA_LIMITS.depth)
      throw this.fault(`types are nested more than ${SCHEMA_LIMITS.depth} deep`);
    if (++this.document.types > 2 * SCHEMA_LIMITS.fields)
      throw this.fault(`more than ${2 * SCHEMA_LIMITS.fields} types; a table has fewer`);
  }

  fault(message: string) {
    const { text } = this.document;
    const place = text === undefined ? undefined : placeAt(text, jsonPosition(text, this.path));
    const path = this.path.reduce<string>(
      (at, step) => (typeof step === 'number' ? `${at}[${step}]` : at === '' ? step : `${at}.${step}`),
      '',
    );
    return schemaFault(`${path === '' ? '' : `${path}: `}${message}, found ${shown(this.value)}`, place);
  }
}

function shown(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object' && value !== null) return 'an object';
  const text = typeof value === 'string' ? JSON.stringify(value) : String(value);
  return text.length > 60 ? `${text.slice(0, 60)}...` : text;
}
