/** Reading parsed JSON field by field, with the place of a fault in the message. All functions throw Malformed. */
import { asBigInt } from '../core/json64.ts';
import { excerpt, Malformed } from './malformed.ts';

export class JsonObject {
  readonly #fields: Record<string, unknown>;
  readonly #where: string;

  constructor(value: unknown, where: string) {
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      throw new Malformed(`${where || 'the file'} is no JSON object`);
    this.#fields = value as Record<string, unknown>;
    this.#where = where;
  }

  has(name: string): boolean {
    return Object.hasOwn(this.#fields, name) && this.#fields[name] !== null;
  }

  raw(name: string): unknown {
    return Object.hasOwn(this.#fields, name) ? this.#fields[name] : undefined;
  }

  string(name: string): string {
    const value = this.raw(name);
    if (typeof value !== 'string') throw this.#fault(name, 'a text');
    return value;
  }

  stringOrNull(name: string): string | null {
    return this.raw(name) === null ? null : this.string(name);
  }

  oneOf<T extends string | number>(name: string, allowed: readonly T[]): T {
    const value = this.raw(name);
    if (!allowed.includes(value as T)) throw this.#fault(name, `one of ${allowed.join(', ')}`);
    return value as T;
  }

  boolean(name: string): boolean {
    const value = this.raw(name);
    if (typeof value !== 'boolean') throw this.#fault(name, 'true or false');
    return value;
  }

  /** A safe integer. */
  integer(name: string): number {
    const value = this.raw(name);
    if (typeof value !== 'number' || !Number.isSafeInteger(value)) throw this.#fault(name, 'an integer');
    return value;
  }

  integerOrNull(name: string): number | null {
    return this.raw(name) === null ? null : this.integer(name);
  }

  /** A safe integer of 0 or more. */
  count(name: string): number {
    const value = this.integer(name);
    if (value < 0) throw this.#fault(name, 'an integer of 0 or more');
    return value;
  }

  bigint(name: string): bigint {
    const value = asBigInt(this.raw(name));
    if (value === undefined) throw this.#fault(name, 'an integer');
    return value;
  }

  bigintOrNull(name: string): bigint | null {
    return this.raw(name) === null ? null : this.bigint(name);
  }

  bytes(name: string): Uint8Array {
    return decodeBase64(this.raw(name), this.#path(name));
  }

  object(name: string): JsonObject {
    return new JsonObject(this.raw(name), this.#path(name));
  }

  list<T>(name: string, read: (item: unknown, where: string) => T): T[] {
    const value = this.raw(name);
    if (!Array.isArray(value)) throw this.#fault(name, 'a list');
    return value.map((item, i) => read(item, `${this.#path(name)}[${i}]`));
  }

  objects<T>(name: string, read: (item: JsonObject) => T): T[] {
    return this.list(name, (item, where) => read(new JsonObject(item, where)));
  }

  #path(name: string): string {
    return this.#where === '' ? name : `${this.#where}.${name}`;
  }

  #fault(name: string, expected: string): Malformed {
    const value = this.raw(name);
    const found = value === undefined ? 'nothing' : excerpt(String(value));
    return new Malformed(`${this.#path(name)}: expected ${expected}, found ${found}`);
  }
}

export function decodeBase64(value: unknown, where: string): Uint8Array {
  if (typeof value !== 'string') throw new Malformed(`${where}: expected base64`);
  const bytes = Buffer.from(value, 'base64');
  // Node skips what is no base64: only a text that comes out again was whole.
  if (bytes.toString('base64') !== value) throw new Malformed(`${where}: ${excerpt(value)} is no base64`);
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length);
}

export function encodeBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64');
}
