import { asBigInt, plainNumber } from '../core/json64.ts';
import { SluiceError } from '../errors.ts';

/** A JSON object as `parseJson64` or `parseFaithfulJson64` gives it. */
export type JsonObject = Record<string, unknown>;

const LONG_MIN = -(2n ** 63n);
const LONG_MAX = 2n ** 63n - 1n;

/** METADATA_INVALID that names the place in the document: `where` is a path such as `snapshots[3].snapshot-id`. */
export function invalid(where: string, message: string, found?: unknown): SluiceError {
  const shown = found === undefined ? '' : `; found ${show(found)}`;
  return new SluiceError('METADATA_INVALID', `${where}: ${message}${shown}`, { context: { field: where } });
}

function show(value: unknown): string {
  const text = typeof value === 'bigint' ? value.toString() : (JSON.stringify(value) ?? String(value));
  return text.length > 80 ? `${text.slice(0, 80)}...` : text;
}

/** Reads the fields of one JSON object with their types checked, and keeps apart those nobody asked for. */
export class JsonReader {
  readonly #object: JsonObject;
  readonly #where: string;
  readonly #seen = new Set<string>();

  constructor(value: unknown, where: string) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw invalid(where === '' ? 'document' : where, 'expected a JSON object', value);
    }
    this.#object = value as JsonObject;
    this.#where = where;
  }

  path(key: string): string {
    return this.#where === '' ? key : `${this.#where}.${key}`;
  }

  /** The raw value; null counts as absent. */
  raw(key: string): unknown {
    this.#seen.add(key);
    const value = Object.hasOwn(this.#object, key) ? this.#object[key] : undefined;
    return value === null ? undefined : value;
  }

  string(key: string): string {
    return this.required(key, this.optionalString(key));
  }

  optionalString(key: string): string | undefined {
    const value = this.raw(key);
    if (value !== undefined && typeof value !== 'string')
      throw invalid(this.path(key), 'expected a string', value);
    return value;
  }

  /** A 32-bit integer. */
  int(key: string): number {
    return this.required(key, this.optionalInt(key));
  }

  optionalInt(key: string): number | undefined {
    const value = plainNumber(this.raw(key));
    if (value === undefined) return undefined;
    if (typeof value !== 'number' || (value | 0) !== value)
      throw invalid(this.path(key), 'expected a 32-bit integer', value);
    return value;
  }

  /** A 64-bit integer, exact. A value outside the range of a long is refused, never wrapped or rounded (case C22). */
  long(key: string): bigint {
    return this.required(key, this.optionalLong(key));
  }

  optionalLong(key: string): bigint | undefined {
    const value = this.raw(key);
    return value === undefined ? undefined : toLong(value, this.path(key));
  }

  /** Milliseconds since 1970: a long that a double holds exactly. */
  millis(key: string): number {
    return this.required(key, this.optionalMillis(key));
  }

  optionalMillis(key: string): number | undefined {
    const value = this.optionalLong(key);
    if (value === undefined) return undefined;
    const number = Number(value);
    if (!Number.isSafeInteger(number))
      throw invalid(this.path(key), 'expected milliseconds since 1970', value);
    return number;
  }

  optionalArray(key: string): unknown[] | undefined {
    const value = this.raw(key);
    if (value !== undefined && !Array.isArray(value))
      throw invalid(this.path(key), 'expected a JSON array', value);
    return value as unknown[] | undefined;
  }

  array(key: string): unknown[] {
    return this.required(key, this.optionalArray(key));
  }

  optionalStringMap(key: string): Record<string, string> | undefined {
    const value = this.raw(key);
    if (value === undefined) return undefined;
    const reader = new JsonReader(value, this.path(key));
    // fromEntries defines own properties, so a key such as __proto__ stays a key.
    return Object.fromEntries(Object.keys(value as object).map((k) => [k, reader.string(k)]));
  }

  boolean(key: string): boolean {
    const value = this.raw(key);
    if (typeof value !== 'boolean') throw invalid(this.path(key), 'expected true or false', value);
    return value;
  }

  /** The fields that nothing has read: kept so that a rewrite loses nothing of a newer writer. */
  rest(): JsonObject {
    return Object.fromEntries(Object.entries(this.#object).filter(([key]) => !this.#seen.has(key)));
  }

  required<T>(key: string, value: T | undefined): T {
    if (value === undefined) throw invalid(this.path(key), 'a required field is missing');
    return value;
  }
}

export function toLong(value: unknown, where: string): bigint {
  const long = asBigInt(plainNumber(value));
  if (long === undefined) throw invalid(where, 'expected a 64-bit integer', value);
  if (long < LONG_MIN || long > LONG_MAX) {
    throw invalid(
      where,
      `expected a long (${LONG_MIN} to ${LONG_MAX}); the value does not fit and other engines cannot read it`,
      long,
    );
  }
  return long;
}
