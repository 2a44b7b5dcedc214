import { parseJson64 } from '../core/json64.ts';
import { flatField } from './flat-json.ts';

/** Rows by what a field of their JSON holds: label -> rows. */
export type FieldCounts = Record<string, number>;

/** Rows whose value is no JSON object, whose object lacks the field, and those beyond the distinct values that are kept. */
export const NOT_JSON = '(not a JSON object)';
export const NO_FIELD = '(no such field)';
export const OTHER_VALUES = '(other)';

/** More distinct values than this are counted together: a field with one value a row must not fill the memory. */
const MOST_VALUES = 200;
const MOST_LABEL_CHARACTERS = 100;

/**
 * Counts rows by a column, or by a top-level field of the JSON objects in them. A label is the field's text where it is a plain word, else its
 * JSON: `dummy`, `"7"` for a text, `7` for a number; no more than 100 characters of it.
 */
export class FieldCounter {
  readonly field: string;
  private readonly quoted: string;
  private readonly rows = new Map<string, number>();
  /** Labels of values that were met: JSON of the value -> label. */
  private readonly labels = new Map<string, string>();

  constructor(field: string) {
    this.field = field;
    this.quoted = JSON.stringify(field);
  }

  /** Counts one row; null is a record without a value. */
  add(text: string | null, rows = 1): void {
    this.count(text === null ? NOT_JSON : this.labelIn(text), rows);
  }

  /** Counts one row by what a column of that name holds. */
  addValue(value: string | number | bigint | boolean | null): void {
    this.count(labelOf(value), 1);
  }

  /** Adds what another one has counted. */
  merge(other: FieldCounter): void {
    for (const [label, rows] of other.rows) this.count(label, rows);
  }

  /** Most frequent first, but for labels that are whole numbers, which stand in front as in every object. */
  counts(): FieldCounts {
    const sorted = [...this.rows].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
    return Object.fromEntries(sorted);
  }

  private labelIn(text: string): string {
    const json = flatField(text, this.quoted);
    if (json === null) return NO_FIELD;
    if (json === undefined) return fieldLabel(text, this.field);
    const known = this.labels.get(json);
    if (known !== undefined) return known;
    const label = labelOf(parseJson64(json));
    if (this.labels.size < MOST_VALUES) this.labels.set(json, label);
    return label;
  }

  private count(label: string, rows: number): void {
    const before = this.rows.get(label);
    if (before !== undefined || this.rows.size < MOST_VALUES) this.rows.set(label, (before ?? 0) + rows);
    else this.rows.set(OTHER_VALUES, (this.rows.get(OTHER_VALUES) ?? 0) + rows);
  }
}

function fieldLabel(text: string, field: string): string {
  let object: unknown;
  try {
    object = JSON.parse(text);
  } catch {
    return NOT_JSON;
  }
  if (typeof object !== 'object' || object === null || Array.isArray(object)) return NOT_JSON;
  if (!Object.hasOwn(object, field)) return NO_FIELD;
  let value = (object as Record<string, unknown>)[field];
  // Integers above 2^53 would be rounded, and so counted together.
  if (typeof value === 'number' && !Number.isSafeInteger(value))
    value = (parseJson64(text) as Record<string, unknown>)[field];
  return labelOf(value);
}

const PLAIN_WORD = /^[\p{L}_][\p{L}\p{N}_.\- ]*$/u;
const RESERVED = new Set(['true', 'false', 'null']);

function labelOf(value: unknown): string {
  if (typeof value === 'bigint') return String(value);
  const plain = typeof value === 'string' && PLAIN_WORD.test(value) && !RESERVED.has(value);
  const label = plain ? value : JSON.stringify(value);
  return label.length > MOST_LABEL_CHARACTERS ? `${label.slice(0, MOST_LABEL_CHARACTERS)}...` : label;
}
