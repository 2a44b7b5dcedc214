import {
  type Document,
  isAlias,
  isScalar,
  isSeq,
  isMap as isYamlMap,
  LineCounter,
  type Node,
  parseDocument,
} from 'yaml';
import type { FaultCode, Path } from './fault.ts';
import { formatPath } from './fault.ts';
import { emptyMap, emptyTree, pathKey, type SourceTree } from './source-tree.ts';
import { substitute } from './substitute.ts';

/** Bounds of a pipeline file: generous for people, small for those who wish harm (alias bombs, deep nesting). */
const MAX_TEXT = 1024 * 1024;
const MAX_DEPTH = 32;
const MAX_NODES = 20_000;
const MAX_ALIASES = 100;
const MAX_SYNTAX_FAULTS = 10;

export interface Substitution {
  env: Readonly<Record<string, string | undefined>>;
  /** Names that stay as `${name}` in the value at `path`. */
  placeholders(path: Path): readonly string[];
}

/** Our own words for the parser's codes: its messages can quote the text, and the text can hold a secret. */
const SYNTAX: Readonly<Record<string, string>> = {
  BAD_ALIAS: 'an alias (*name) without an anchor (&name) before it',
  BAD_DIRECTIVE: 'a %directive that YAML does not know',
  BAD_DQ_ESCAPE: 'a \\ escape in a double-quoted text that YAML does not know',
  BAD_INDENT: 'the indentation does not fit the lines around it, or a { or [ is not closed',
  BAD_SCALAR_START: 'a text may not begin with this character; quote it',
  BLOCK_AS_IMPLICIT_KEY: 'a map inside a map on one line; a text that holds ": " must be quoted',
  BLOCK_IN_FLOW: 'a block inside { } or [ ]',
  KEY_OVER_1024_CHARS: 'a key of more than 1,024 characters',
  MISSING_CHAR: 'a quote, a bracket, a comma, a colon or a space is missing',
  MULTILINE_IMPLICIT_KEY: 'a key that goes over more than one line; is a colon missing?',
  MULTIPLE_DOCS: 'more than one document; a pipeline file is one',
  TAB_AS_INDENT: 'tabs cannot indent; use spaces',
  TAG_RESOLVE_FAILED: 'a !tag that is not known here',
  UNEXPECTED_TOKEN: 'something that cannot stand here; is a quote or a colon missing?',
};

/** Reads the YAML of a pipeline file. Every fault is in the tree's `faults`; the value is what could be read. */
export function readYaml(file: string, text: string, substitution: Substitution): SourceTree {
  const tree = emptyTree(file);
  if (text.length > MAX_TEXT) {
    tree.faults.push({
      code: 'TOO_LARGE',
      message: `the file has ${text.length} characters, at most ${MAX_TEXT} are read`,
      file,
      line: 1,
      column: 1,
      path: '',
    });
    return tree;
  }
  const lines = new LineCounter();
  let document: Document.Parsed;
  try {
    document = parseDocument(text, {
      lineCounter: lines,
      prettyErrors: false,
      uniqueKeys: false,
      version: '1.2',
      merge: false,
      stringKeys: false,
    });
  } catch (e) {
    if (!(e instanceof RangeError)) throw e;
    tree.faults.push({
      code: 'TOO_LARGE',
      message: 'the file is nested too deeply',
      file,
      line: 1,
      column: 1,
      path: '',
    });
    return tree;
  }
  for (const error of [...document.errors, ...document.warnings].slice(0, MAX_SYNTAX_FAULTS)) {
    const { line, col } = lines.linePos(error.pos[0]);
    tree.faults.push({
      code: 'YAML_SYNTAX',
      message: SYNTAX[error.code] ?? 'not YAML',
      file,
      line: Math.max(line, 1),
      column: Math.max(col, 1),
      path: '',
    });
  }
  if (tree.faults.length > 0) return tree;
  const reader = new Reader(tree, document, lines, substitution);
  const root = reader.read(document.contents, [], 0);
  if (root === undefined || root === null) {
    reader.fault(
      'YAML_SYNTAX',
      document.contents,
      [],
      'the file is empty; a pipeline needs name, checkpointLocation, catalog and source',
    );
  } else if (typeof root !== 'object' || Array.isArray(root)) {
    reader.fault('WRONG_VALUE', document.contents, [], 'expected a map of options');
  } else {
    tree.value = root;
  }
  return tree;
}

class Reader {
  private readonly tree: SourceTree;
  private readonly document: Document;
  private readonly lines: LineCounter;
  private readonly substitution: Substitution;
  private nodes = 0;
  private aliases = 0;
  private full = false;

  constructor(tree: SourceTree, document: Document, lines: LineCounter, substitution: Substitution) {
    this.tree = tree;
    this.document = document;
    this.lines = lines;
    this.substitution = substitution;
  }

  fault(code: FaultCode, node: unknown, path: Path, message: string): void {
    this.tree.faults.push({ code, message, ...this.position(node as Node | null), path: formatPath(path) });
  }

  /** The plain value of a node. Aliases are followed where they stand, so that the bound on nodes counts them. */
  read(node: unknown, path: Path, depth: number): unknown {
    if (node === null || node === undefined || this.full) return null;
    this.nodes++;
    if (isAlias(node)) this.aliases++;
    const beyond = this.boundPassed(depth);
    if (beyond !== undefined) {
      this.full = true;
      this.fault('TOO_LARGE', node, path, beyond);
      return null;
    }
    const key = pathKey(path);
    if (!this.tree.values.has(key)) this.tree.values.set(key, this.position(node as Node));
    if (isAlias(node)) {
      const target = node.resolve(this.document);
      if (target === undefined) this.fault('YAML_SYNTAX', node, path, SYNTAX.BAD_ALIAS);
      return this.read(target, path, depth + 1);
    }
    if (isYamlMap(node)) return this.readMap(node.items, path, depth);
    if (isSeq(node)) return node.items.map((item, i) => this.read(item, [...path, i], depth + 1));
    if (isScalar(node)) return this.readScalar(node, path);
    return null;
  }

  private boundPassed(depth: number): string | undefined {
    if (depth > MAX_DEPTH) return `the file is nested more than ${MAX_DEPTH} deep`;
    if (this.aliases > MAX_ALIASES)
      return `more than ${MAX_ALIASES} aliases (*name) are used, counted each time they are reached`;
    if (this.nodes > MAX_NODES) return `the file has more than ${MAX_NODES} values`;
    return undefined;
  }

  private readMap(
    items: readonly { key: unknown; value: unknown }[],
    path: Path,
    depth: number,
  ): Record<string, unknown> {
    const map = emptyMap();
    for (const item of items) {
      const name = this.keyText(item.key, path);
      if (name === undefined) continue;
      const at = [...path, name];
      if (name in map) {
        const first = this.tree.keys.get(pathKey(at))!;
        this.fault('DUPLICATE_KEY', item.key, at, `stands in line ${first.line} already`);
        continue;
      }
      this.tree.keys.set(pathKey(at), this.position(item.key as Node));
      if (item.value === null) this.tree.values.set(pathKey(at), this.position(item.key as Node));
      map[name] = this.read(item.value, at, depth + 1);
    }
    return map;
  }

  /** The text of a key. Whole numbers count as texts: `{0: 23}` is how people write partitions. */
  private keyText(key: unknown, path: Path): string | undefined {
    if (isScalar(key)) {
      if (typeof key.value === 'string') return key.value;
      if (typeof key.value === 'number' && Number.isSafeInteger(key.value)) return String(key.value);
    }
    this.fault('KEY_NOT_TEXT', key, path, 'a key that is not a text; quote it');
    return undefined;
  }

  private readScalar(node: { value: unknown; source?: string }, path: Path): unknown {
    const { value } = node;
    if (typeof value === 'string') {
      this.tree.written.set(pathKey(path), value);
      const result = substitute(value, this.substitution.env, this.substitution.placeholders(path));
      for (const fault of result.faults) this.fault(fault.code, node, path, fault.message);
      return result.faults.length > 0 ? value : result.text;
    }
    // A whole number beyond 2^53 stays text, so that no digit is lost.
    if (
      typeof value === 'number' &&
      Number.isInteger(value) &&
      !Number.isSafeInteger(value) &&
      /^-?\d+$/.test(node.source ?? '')
    ) {
      return node.source;
    }
    return typeof value === 'number' || typeof value === 'boolean' ? value : null;
  }

  private position(node: Node | null): { file: string; line: number; column: number } {
    const { line, col } = this.lines.linePos(node?.range?.[0] ?? 0);
    return { file: this.tree.file, line: Math.max(line, 1), column: Math.max(col, 1) };
  }
}
