import { type Option, ruleSection, type Section } from './option.ts';
import { type OptionType, parseOption } from './option-types.ts';
import { findOption } from './options.ts';
import { isMap, pathKey, type SourceTree } from './source-tree.ts';

/** The options of a file by name, parsed; what is wrong or absent (and has no default) is undefined. */
export class Values {
  readonly tree: SourceTree;

  constructor(tree: SourceTree) {
    this.tree = tree;
  }

  /** The map of a section, empty where it is absent. `tables[]` and what lies in it need the rule's number. */
  map(section: Section, index?: number): Record<string, unknown> {
    const root = isMap(this.tree.value) ? this.tree.value : {};
    if (section === '') return root;
    const inRule = ruleSection(section);
    if (inRule === undefined) return asMap(root[section]);
    const rule = asMap(this.rules()[index ?? 0]);
    return inRule === '' ? rule : asMap(rule[inRule]);
  }

  /** The list under `tables`, or the default one. */
  rules(): unknown[] {
    const root = isMap(this.tree.value) ? this.tree.value : {};
    return Array.isArray(root.tables) ? root.tables : [{ match: '*' }];
  }

  path(section: Section, key: string, index?: number): (string | number)[] {
    if (section === '') return [key];
    const inRule = ruleSection(section);
    if (inRule === undefined) return [section, key];
    return inRule === '' ? ['tables', index ?? 0, key] : ['tables', index ?? 0, inRule, key];
  }

  has(section: Section, key: string, index?: number): boolean {
    return Object.hasOwn(this.map(section, index), key);
  }

  /** The parsed value or the default. `T` is what the option's type gives. */
  get<T>(section: Section, key: string, index?: number): T | undefined {
    const option = findOption(section, key);
    if (option === undefined) throw new Error(`no option ${section}.${key}`);
    return parse<T>(option.type, this.raw(option, index));
  }

  /** What was written for the scalar, before variables. */
  written(section: Section, key: string, index?: number): string | undefined {
    return this.tree.written.get(pathKey(this.path(section, key, index)));
  }

  private raw(option: Option, index: number | undefined): unknown {
    const map = this.map(option.section, index);
    return Object.hasOwn(map, option.key) ? map[option.key] : option.default;
  }
}

function parse<T>(type: OptionType, value: unknown): T | undefined {
  return value === undefined ? undefined : (parseOption(type, value) as T | undefined);
}

function asMap(value: unknown): Record<string, unknown> {
  return isMap(value) ? value : {};
}
