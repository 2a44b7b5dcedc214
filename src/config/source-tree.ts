import type { Fault, Path, Position } from './fault.ts';

/**
 * A pipeline file as plain values (maps without a prototype, lists, texts, numbers, booleans, null) with the place of
 * each key and value, so that a fault that is found later can be shown where it stands.
 */
export interface SourceTree {
  file: string;
  value: unknown;
  /** By `JSON.stringify(path)`. */
  keys: Map<string, Position>;
  values: Map<string, Position>;
  /** The text of a scalar as it was written, before variables were put in; absent for what a module computed. */
  written: Map<string, string>;
  /** What a module gives instead of a text, where an option takes a function; FUNCTION stands in its place. */
  functions: Map<string, unknown>;
  faults: Fault[];
}

/** Stands in the tree for a function. */
export const FUNCTION = '(a function)';

export function emptyTree(file: string): SourceTree {
  return {
    file,
    value: emptyMap(),
    keys: new Map(),
    values: new Map(),
    written: new Map(),
    functions: new Map(),
    faults: [],
  };
}

export function pathKey(path: Path): string {
  return JSON.stringify(path);
}

/** A map that no key of a file can harm: `__proto__` is a key like any other. */
export function emptyMap(): Record<string, unknown> {
  return Object.create(null);
}

export function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Where the value (or the key) at `path` stands; for what is not there, the nearest thing above it. */
export function locate(tree: SourceTree, path: Path, what: 'key' | 'value'): Position {
  for (let length = path.length; length >= 0; length--) {
    const key = pathKey(path.slice(0, length));
    const first = what === 'key' ? tree.keys.get(key) : tree.values.get(key);
    const found = first ?? tree.keys.get(key) ?? tree.values.get(key);
    if (found !== undefined) return found;
  }
  return { file: tree.file, line: 1, column: 1 };
}
