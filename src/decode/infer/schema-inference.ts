import { assignFieldIds } from '../../core/field-ids.ts';
import type { IcebergType, NestedField, StructType } from '../../core/schema.ts';
import { DocumentKind } from './document-kind.ts';
import { type KindConflict, type MergeRules, mergeKinds } from './merge-kinds.ts';
import { PLAIN, typeOfKind, type ValueKind } from './value-kind.ts';

export interface InferenceOptions {
  /**
   * Texts that the decoder reads as timestamps become timestamptz, dates date, where all texts of a place are such (as
   * Spark's `inferTimestamp`). False by default: a text stays a string.
   */
  inferTimestamps?: boolean;
  /**
   * What a place is where values have nothing in common but their text: `text`, a string, as Spark has it (the default), or
   * `first`, what was seen first, for readers that take no number for a text: there a string would refuse all but texts.
   */
  conflicts?: 'text' | 'first';
  /** Names at all levels that are remembered; 1000 by default. Others are counted in `leftOut`. */
  maxFields?: number;
  /**
   * A document of more new names than there is room for is passed over, in place of those of its names that come last:
   * one odd document must not take the room of all others. False by default.
   */
  wholeDocuments?: boolean;
  /** Objects and lists inside of each other, the document counted; 50 by default. What lies deeper is passed over. */
  maxDepth?: number;
}

export interface InferenceReport {
  /** Documents that were looked at. */
  documents: number;
  /** Others: no JSON, or no object. */
  skipped: number;
  /** Times that a name was left out because there were too many. */
  leftOut: number;
  /** Objects and lists that lie too deep. */
  tooDeep: number;
  /** Why names became no columns, by path; at most 100. */
  refused: ReadonlyMap<string, string>;
  /** Places where values have nothing in common but their text; at most 100. */
  conflicts: readonly KindConflict[];
}

const MAX_REPORTED = 100;
const MAX_NAME_LENGTH = 255;

/**
 * Infers columns from JSON documents by the rules of Spark's JsonInferSchema: integers are long, beyond 64 bits
 * decimal(p, 0) of up to 38 digits, then double; other numbers double; long and double are double together; values that
 * have nothing in common are strings (see `conflicts`). Null, `{}`, `[]` and what holds nothing else tell nothing (case C06). Nothing is
 * ever required. Fields stand in the order in which they were first seen. What is remembered is bounded.
 */
export class SchemaInference {
  private readonly documents: DocumentKind;
  private readonly conflictsAre: 'text' | 'first';
  private readonly maxFields: number;
  private readonly wholeDocuments: boolean;
  private kinds: ValueKind = { kind: 'struct', fields: new Map() };
  private fieldCount = 0;
  private documentCount = 0;
  private skipped = 0;
  private leftOut = 0;
  private readonly refused = new Map<string, string>();
  private readonly conflicts = new Map<string, KindConflict>();
  private readonly rules: MergeRules = {
    allows: (parent, name) => this.allows(parent, name),
    conflict: (conflict, first) => {
      if (this.conflicts.size < MAX_REPORTED && !this.conflicts.has(conflict.path))
        this.conflicts.set(conflict.path, conflict);
      return this.conflictsAre === 'text' ? PLAIN.string : first;
    },
  };

  constructor(options: InferenceOptions = {}) {
    const { inferTimestamps = false, maxFields = 1000, maxDepth = 50, conflicts = 'text' } = options;
    this.wholeDocuments = options.wholeDocuments ?? false;
    this.documents = new DocumentKind(inferTimestamps, maxDepth, conflicts);
    this.conflictsAre = conflicts;
    this.maxFields = maxFields;
  }

  /** Looks at a document. False, and nothing is taken of it, where it is no JSON object. The bytes are not kept. */
  addJson(bytes: Uint8Array): boolean {
    const kind = this.documents.read(bytes);
    if (kind === undefined) {
      this.skipped++;
      return false;
    }
    this.documentCount++;
    const added = this.wholeDocuments ? newNames(kind, this.kinds) : 0;
    if (this.fieldCount + added > this.maxFields) {
      this.leftOut += added;
      return true;
    }
    this.kinds = mergeKinds(this.kinds, kind, this.rules);
    return true;
  }

  /**
   * The columns that are known by now, field ids from 1; null where there is none. `narrowIntegers`: int instead of long
   * where all values of a place fit 32 bits, for a comparison with a table that is there (see `evolveSchema`, `inferred`).
   */
  result({ narrowIntegers = false } = {}): StructType | null {
    const type = typeOfKind(this.kinds, narrowIntegers);
    const struct = type === undefined ? undefined : this.withoutClashes(type, '', new Set());
    return struct === undefined ? null : assignFieldIds(struct as StructType);
  }

  report(): InferenceReport {
    return {
      documents: this.documentCount,
      skipped: this.skipped,
      leftOut: this.leftOut,
      tooDeep: this.documents.tooDeep,
      refused: this.refused,
      conflicts: [...this.conflicts.values()],
    };
  }

  private allows(parent: string, name: string): boolean {
    const why = whyNoColumn(name);
    if (why !== undefined) {
      this.refuse(parent === '' ? shortened(name) : `${parent}.${shortened(name)}`, why);
      return false;
    }
    if (this.fieldCount >= this.maxFields) {
      this.leftOut++;
      return false;
    }
    this.fieldCount++;
    return true;
  }

  private refuse(path: string, why: string): void {
    if (this.refused.size < MAX_REPORTED) this.refused.set(path, why);
  }

  /**
   * The type without fields whose full name another one before them has, but for its case: engines read without regard to
   * case. Undefined where nothing is left.
   */
  private withoutClashes(type: IcebergType, path: string, seen: Set<string>): IcebergType | undefined {
    if (typeof type === 'string') return type;
    if (type.type === 'list') {
      const element = this.withoutClashes(type.element, `${path}.element`, seen);
      return element === undefined ? undefined : { ...type, element };
    }
    if (type.type !== 'struct') return type;
    const fields: NestedField[] = [];
    for (const field of type.fields) {
      const at = path === '' ? field.name : `${path}.${field.name}`;
      if (seen.has(at.toLowerCase())) {
        this.refuse(at, 'another field has this name, but for its case or a dot');
        continue;
      }
      seen.add(at.toLowerCase());
      const inner = this.withoutClashes(field.type, at, seen);
      if (inner !== undefined) fields.push({ ...field, type: inner });
    }
    return fields.length === 0 ? undefined : { type: 'struct', fields };
  }
}

/** The names of a document's kind, at all levels, that are not known yet. */
function newNames(kind: ValueKind, known: ValueKind | undefined): number {
  if (kind.kind === 'list') return newNames(kind.element, known?.kind === 'list' ? known.element : undefined);
  if (kind.kind !== 'struct') return 0;
  const fields = known?.kind === 'struct' ? known.fields : undefined;
  let names = 0;
  for (const [name, inner] of kind.fields) {
    const there = fields?.get(name);
    names += newNames(inner, there) + (there === undefined ? 1 : 0);
  }
  return names;
}

function whyNoColumn(name: string): string | undefined {
  if (name === '') return 'a column has a name';
  if (name.length > MAX_NAME_LENGTH) return `a name of more than ${MAX_NAME_LENGTH} characters`;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
  return /[\u0000-\u001f\u007f]/.test(name) ? 'a control character in a name' : undefined;
}

function shortened(name: string): string {
  return name.length > 80 ? `${name.slice(0, 80)}...` : name;
}
