/** Checks each option by itself: names, types, ranges, and what this version does not do. */
import type { z } from 'zod';
import { nearestName } from '../core/nearest-name.ts';
import type { Fault, FaultCode, Path } from './fault.ts';
import { formatPath } from './fault.ts';
import type { Option, Section } from './option.ts';
import { expectedText, parseOption } from './option-types.ts';
import { findOption, findUnsupported, isSecretKey, OPTIONS, optionsOf, UNSUPPORTED } from './options.ts';
import { pipelineSchema, topLevelKeys } from './schema.ts';
import { emptyMap, isMap, locate, pathKey, type SourceTree } from './source-tree.ts';

/** Adds the faults of every option of the tree to `tree.faults`, and to `warnings` what only deserves a word. */
export function checkOptions(tree: SourceTree, warnings: Fault[]): void {
  const checker = new Checker(tree, warnings);
  checker.shortTrigger();
  checker.shortFormats();
  checker.unsupportedValues();
  checker.schema();
  checker.lints();
}

class Checker {
  private readonly tree: SourceTree;
  private readonly warnings: Fault[];
  private readonly faulty: Set<string>;

  constructor(tree: SourceTree, warnings: Fault[]) {
    this.tree = tree;
    this.warnings = warnings;
    // What has a fault already (a variable that is not set) needs no second one for its type.
    this.faulty = new Set(tree.faults.map((fault) => fault.path));
  }

  /** `trigger: availableNow` is `trigger: { availableNow: true }`. */
  shortTrigger(): void {
    const root = this.root();
    if (root.trigger === 'availableNow' || root.trigger === 'once') {
      const map = emptyMap();
      map[root.trigger] = true;
      root.trigger = map;
    }
  }

  /** `value: json` is `value: { format: json }`. */
  shortFormats(): void {
    const { tables } = this.root();
    for (const rule of Array.isArray(tables) ? tables.filter(isMap) : []) {
      for (const part of ['value', 'key']) {
        if (typeof rule[part] !== 'string') continue;
        const map = emptyMap();
        map.format = rule[part];
        rule[part] = map;
      }
    }
  }

  unsupportedValues(): void {
    for (const { option, path, value } of this.present()) {
      if (option === undefined) continue;
      const refusal = value === undefined ? undefined : findUnsupported(option.section, option.key, value);
      if (refusal !== undefined) {
        this.fault('UNSUPPORTED', path, `${shown(value)} is not in this version; ${refusal.instead}`);
      } else if (option.type.kind === 'emptyList' && Array.isArray(value) && value.length > 0) {
        this.fault('UNSUPPORTED', path, 'this is not in this version; leave it out, or give an empty list');
      }
    }
  }

  /** The strict schema says what is wrong, the declarations say it in words. */
  schema(): void {
    const result = pipelineSchema().safeParse(this.withoutPassThrough());
    for (const issue of result.error?.issues ?? []) {
      const path = issue.path.filter((part) => typeof part !== 'symbol');
      if (issue.code === 'unrecognized_keys') {
        for (const key of issue.keys) this.unknown(path, key);
      } else {
        this.wrong(path, issue);
      }
    }
  }

  lints(): void {
    for (const { option, path, value } of this.present()) {
      if (option === undefined || this.faulty.has(formatPath(path))) continue;
      if (option.noEffect !== undefined) this.warn('NO_EFFECT', path, `no effect: ${option.noEffect}`);
      const parsed = option.lint === undefined ? undefined : parseOption(option.type, value);
      const lint = parsed === undefined ? undefined : option.lint!(parsed as never);
      if (lint !== undefined) this.warn('LINT', path, lint);
    }
    const source = this.root().source;
    for (const key of isMap(source) ? Object.keys(source) : []) {
      if (isPassThrough(key)) this.passThrough(['source', key], key);
    }
  }

  /** A `kafka.*` option that our client does not know is handed on, and does nothing: say so. */
  private passThrough(path: Path, key: string): void {
    const value = (this.root().source as Record<string, unknown>)[key];
    if (typeof value === 'object' && value !== null) {
      this.fault('WRONG_VALUE', path, 'expected a text, a number, true or false');
      return;
    }
    const nearest = nearestName(
      key,
      optionsOf('source').map((option) => option.key),
    );
    const hint = nearest === undefined ? '' : `; did you mean ${nearest}?`;
    if (/^kafka\.(sasl|ssl|security)\./.test(key)) {
      const message = `there is no such option, and nothing that secures a connection is passed over${hint}`;
      this.fault('UNKNOWN_OPTION', path, message, nearest, 'key');
      return;
    }
    this.warn('NO_EFFECT', path, `no effect: the Kafka client of Sluice has no such option${hint}`, nearest);
  }

  private unknown(parent: Path, key: string): void {
    const path = [...parent, key];
    const section = sectionOf(parent);
    if (section === undefined || this.faulty.has(formatPath(path))) return;
    const refusal = findUnsupported(section, key);
    if (refusal !== undefined) {
      this.fault('UNSUPPORTED', path, `this is not in this version; ${refusal.instead}`, undefined, 'key');
      return;
    }
    const known = section === '' ? topLevelKeys() : optionsOf(section).map((option) => option.key);
    const refused = UNSUPPORTED.filter((u) => u.section === section).map((u) => u.key);
    const nearest = nearestName(key, [...known, ...refused]);
    this.fault(
      'UNKNOWN_OPTION',
      path,
      `there is no such option${this.hint(section, key, nearest)}`,
      nearest,
      'key',
    );
  }

  private hint(section: Section, key: string, nearest: string | undefined): string {
    if (section === 'source' && key === 'kafka')
      return '; write the options of the client flat: `kafka.bootstrap.servers: ...`';
    const elsewhere = OPTIONS.find((option) => option.key === key && option.section !== section);
    if (elsewhere !== undefined)
      return `; it belongs ${elsewhere.section === '' ? 'at the top' : `under ${elsewhere.section}`}`;
    return nearest === undefined ? '' : `; did you mean ${nearest}?`;
  }

  private wrong(path: readonly (string | number)[], issue: z.core.$ZodIssue): void {
    const at = this.optionAt(path);
    const where = at?.path ?? path;
    if (this.faulty.has(formatPath(where))) return;
    const value = valueAt(this.root(), where);
    if (value === undefined) {
      const expected = at === undefined ? 'a map' : expectedText(at.option.type);
      this.fault(
        'MISSING_OPTION',
        where,
        `${at === undefined ? 'this part is required' : `this is required: ${expected}`}`,
      );
      return;
    }
    if (at === undefined) {
      const expected = formatPath(path) === 'tables' ? 'a list of at least one rule' : 'a map of options';
      this.fault(
        'WRONG_VALUE',
        where,
        `expected ${expected}, found ${issue.code === 'too_small' ? 'an empty list' : shown(value)}`,
      );
      return;
    }
    this.fault(
      'WRONG_VALUE',
      where,
      `expected ${expectedText(at.option.type)}, found ${this.found(at.option, where, value)}`,
    );
  }

  /** The option whose value holds `path`: an issue can lie inside of a map of offsets. */
  private optionAt(path: readonly (string | number)[]): { option: Option; path: Path } | undefined {
    for (let length = 1; length <= path.length; length++) {
      const head = path.slice(0, length);
      const section = sectionOf(head.slice(0, -1));
      const option = section === undefined ? undefined : findOption(section, String(head[head.length - 1]));
      if (option !== undefined) return { option, path: head };
    }
    return undefined;
  }

  /** What was found, without a secret: neither that of a secret option nor one that a variable put somewhere else. */
  private found(option: Option, path: Path, value: unknown): string {
    if (isSecretKey(option.section, option.key)) return '***';
    const written = this.tree.written.get(pathKey(path));
    if (written !== undefined && written !== value && written.includes('${'))
      return `the value of ${written}`;
    return shown(value);
  }

  private *present(): Generator<{ option: Option | undefined; path: Path; value: unknown }> {
    const root = this.root();
    for (const [key, value] of Object.entries(root)) {
      if (key === 'tables' && Array.isArray(value)) {
        for (let i = 0; i < value.length; i++) yield* this.members('tables[]', ['tables', i], value[i]);
      } else if (isMap(value) && sectionOf([key]) !== undefined) {
        yield* this.members(sectionOf([key])!, [key], value);
      } else {
        yield { option: findOption('', key), path: [key], value };
      }
    }
  }

  private *members(
    section: Section,
    path: Path,
    map: unknown,
  ): Generator<{ option: Option | undefined; path: Path; value: unknown }> {
    if (!isMap(map)) return;
    for (const [key, value] of Object.entries(map)) {
      const inner = sectionOf([...path, key]);
      if (inner !== undefined && isMap(value)) yield* this.members(inner, [...path, key], value);
      else yield { option: findOption(section, key), path: [...path, key], value };
    }
  }

  private withoutPassThrough(): unknown {
    const root = this.root();
    if (!isMap(root.source)) return root;
    const source = Object.fromEntries(Object.entries(root.source).filter(([key]) => !isPassThrough(key)));
    return { ...root, source };
  }

  private root(): Record<string, unknown> {
    return this.tree.value as Record<string, unknown>;
  }

  private fault(
    code: FaultCode,
    path: Path,
    message: string,
    nearest?: string,
    what: 'key' | 'value' = 'value',
  ): void {
    const text = formatPath(path);
    this.faulty.add(text);
    this.tree.faults.push({
      code,
      message,
      ...locate(this.tree, path, what),
      path: text,
      ...(nearest === undefined ? {} : { nearest }),
    });
  }

  private warn(code: FaultCode, path: Path, message: string, nearest?: string): void {
    const text = formatPath(path);
    this.warnings.push({
      code,
      message,
      ...locate(this.tree, path, 'key'),
      path: text,
      ...(nearest === undefined ? {} : { nearest }),
    });
  }
}

function isPassThrough(key: string): boolean {
  return (
    key.startsWith('kafka.') &&
    key.length > 6 &&
    findOption('source', key) === undefined &&
    findUnsupported('source', key) === undefined
  );
}

/** `[]` is the top, `['source']` the section source, `['tables', 0]` a rule; undefined for anything else. */
function sectionOf(path: Path): Section | undefined {
  if (path.length === 0) return '';
  if (path[0] === 'tables' && typeof path[1] === 'number') {
    if (path.length === 2) return 'tables[]';
    const inner = `tables[].${path[2]}` as Section;
    return path.length === 3 && optionsOf(inner).length > 0 ? inner : undefined;
  }
  if (path.length !== 1 || path[0] === 'tables') return undefined;
  const section = path[0] as Section;
  return section !== ('' as Section) && optionsOf(section).length > 0 ? section : undefined;
}

function valueAt(root: unknown, path: Path): unknown {
  let value = root;
  for (const part of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined;
    value = (value as Record<string | number, unknown>)[part];
  }
  return value;
}

/** A value in a message: short, in quotes where it is text, and without the password of an address. */
export function shown(value: unknown): string {
  if (value === null) return 'nothing';
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list';
  if (typeof value === 'object') return 'a map';
  if (typeof value !== 'string') return String(value);
  const safe = value.replace(/\/\/[^/@\s]*@/g, '//***@');
  return JSON.stringify(safe.length > 60 ? `${safe.slice(0, 57)}...` : safe);
}
