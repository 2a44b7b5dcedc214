import type { RegisteredSchema } from '../../core/value-format.ts';
import { messageOf, SluiceError } from '../../errors.ts';

/** A schema: an object of keywords, or true or false. */
export type SchemaNode = boolean | { readonly [keyword: string]: unknown };

/** Where a `$ref` leads: a schema and the document that it stands in. */
export interface Located {
  readonly node: SchemaNode;
  readonly document: SchemaDocument;
}

/** One text of the registry. */
export class SchemaDocument {
  /** The name by which others refer to it; null for the schema itself. */
  readonly name: string | null;
  readonly root: SchemaNode;

  constructor(name: string | null, text: string) {
    this.name = name;
    let root: unknown;
    try {
      root = JSON.parse(text);
    } catch (e) {
      throw unusable('', `${name ?? 'it'} is no JSON (${messageOf(e).slice(0, 100)})`);
    }
    if (!isNode(root))
      throw unusable('', `${name ?? 'it'} is no JSON Schema: an object, true or false is expected`);
    this.root = root;
  }

  /** `$id` of the document (`id` of draft 4), or null. */
  get id(): string | null {
    if (typeof this.root === 'boolean') return null;
    const { $id, id } = this.root;
    if (typeof $id === 'string') return $id;
    return typeof id === 'string' ? id : null;
  }
}

/** A schema of the registry and the documents that it may refer to. */
export class SchemaDocuments {
  readonly main: SchemaDocument;
  private readonly others: readonly SchemaDocument[];

  constructor(text: string, references: RegisteredSchema['references']) {
    this.main = new SchemaDocument(null, text);
    this.others = references.map(({ name, schema }) => new SchemaDocument(name, schema));
  }

  /**
   * Follows a `$ref` within its document or into a reference of the registry, by its name or its `$id`. Nothing is fetched:
   * anything else throws REGISTRY_SCHEMA that says so.
   */
  follow(ref: string, from: SchemaDocument, path: string): Located {
    const hash = ref.indexOf('#');
    const base = hash < 0 ? ref : ref.slice(0, hash);
    const fragment = hash < 0 ? '' : ref.slice(hash + 1);
    const document = base === '' ? from : this.documentOf(base, from);
    if (document === undefined)
      throw unusable(
        path,
        `$ref ${JSON.stringify(ref.slice(0, 200))} leads out of the schema, and is no reference of it in the registry; remote and file references are not followed: register the schema and refer to it`,
      );
    const node = inDocument(document, fragment);
    if (node === undefined)
      throw unusable(path, `$ref ${JSON.stringify(ref.slice(0, 200))} leads to no schema`);
    return { node, document };
  }

  /** By name, by `$id`, and by both taken relative to the `$id` of the document that refers. */
  private documentOf(base: string, from: SchemaDocument): SchemaDocument | undefined {
    const all = [...this.others, this.main];
    const wanted = new Set([base, absolute(base, from.id)]);
    return all.find(
      (each) =>
        (each.name !== null && (wanted.has(each.name) || wanted.has(absolute(each.name, from.id)))) ||
        (each.id !== null && (wanted.has(each.id) || wanted.has(each.id.replace(/#$/, '')))),
    );
  }
}

function absolute(ref: string, base: string | null): string {
  return base !== null && URL.canParse(ref, base) ? new URL(ref, base).href : ref;
}

/** What a fragment names: a JSON pointer (RFC 6901), an `$anchor`, or nothing for the whole document. */
function inDocument({ root }: SchemaDocument, fragment: string): SchemaNode | undefined {
  if (fragment === '') return root;
  let text: string;
  try {
    text = decodeURIComponent(fragment);
  } catch {
    return undefined;
  }
  if (!text.startsWith('/')) return anchored(root, text, 0);
  let at: unknown = root;
  for (const part of text.slice(1).split('/')) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, key)) return undefined;
    at = (at as Record<string, unknown>)[key];
  }
  return isNode(at) ? at : undefined;
}

const MAX_DEPTH = 100;

function anchored(value: unknown, anchor: string, depth: number): SchemaNode | undefined {
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return undefined;
  const { $anchor, $id, id } = value as Record<string, unknown>;
  if ($anchor === anchor || $id === `#${anchor}` || id === `#${anchor}`) return value as SchemaNode;
  for (const each of Object.values(value)) {
    const found = anchored(each, anchor, depth + 1);
    if (found !== undefined) return found;
  }
  return undefined;
}

export function isNode(value: unknown): value is SchemaNode {
  return typeof value === 'boolean' || (typeof value === 'object' && value !== null && !Array.isArray(value));
}

/** REGISTRY_SCHEMA about a JSON Schema; `path` of the column, empty for the whole. */
export function unusable(path: string, what: string): SluiceError {
  const at = path === '' ? '' : `, at ${path}`;
  return new SluiceError('REGISTRY_SCHEMA', `the JSON Schema makes no table: ${what}${at}`, {
    context: { path },
  });
}
