/** `--set path=value` and the environment variables of options, laid over the file. Later ones win. */
import { parse as parseYaml } from 'yaml';
import { nearestName } from '../core/nearest-name.ts';
import type { Fault, Path, Position } from './fault.ts';
import { formatPath } from './fault.ts';
import { optionPath, type Section } from './option.ts';
import { OPTIONS } from './options.ts';
import { emptyMap, isMap, pathKey, type SourceTree } from './source-tree.ts';

/** Options that exclude each other: setting one from outside takes the place of the others. */
const EITHER: readonly { section: Section; keys: readonly string[] }[] = [
  { section: 'trigger', keys: ['processingTime', 'availableNow', 'once'] },
  { section: 'source', keys: ['subscribe', 'assign', 'subscribePattern'] },
];

/** Applies the variables that options name (`SLUICE_MAX_OFFSETS_PER_TRIGGER`); a near miss of such a name is a warning. */
export function applyEnvironment(
  tree: SourceTree,
  env: Readonly<Record<string, string | undefined>>,
  warnings: Fault[],
): void {
  const levers = new Map(OPTIONS.filter((o) => o.env !== undefined).map((o) => [o.env!, o]));
  for (const [name, option] of levers) {
    const value = env[name];
    if (value === undefined || value === '') continue;
    const position = { file: name, line: 1, column: 1 };
    setValue(
      tree,
      option.section === '' ? [option.key] : [option.section, option.key],
      value,
      value,
      position,
    );
  }
  for (const name of Object.keys(env)) {
    if (!name.startsWith('SLUICE_') || levers.has(name)) continue;
    const nearest = nearestName(
      name.slice(7),
      [...levers.keys()].map((l) => l.slice(7)),
    );
    if (nearest === undefined) continue;
    warnings.push({
      code: 'LINT',
      message: `the variable ${name} sets nothing; did you mean SLUICE_${nearest}?`,
      file: name,
      line: 1,
      column: 1,
      path: '',
      nearest: `SLUICE_${nearest}`,
    });
  }
}

/** Applies `--set path=value` in order. The n-th stands at `--set:n:1` in messages. */
export function applyOverrides(tree: SourceTree, overrides: readonly string[]): void {
  overrides.forEach((text, index) => {
    const position = { file: '--set', line: index + 1, column: 1 };
    const equals = text.indexOf('=');
    const path = equals < 1 ? undefined : parseOptionPath(text.slice(0, equals).trim());
    if (path === undefined) {
      const what = equals < 1 ? text : text.slice(0, equals);
      tree.faults.push({
        code: 'UNKNOWN_OPTION',
        message: `expected path=value, for example source.maxOffsetsPerTrigger=1000; found ${JSON.stringify(what)}`,
        ...position,
        path: '',
      });
      return;
    }
    const written = text.slice(equals + 1);
    setValue(tree, path, overrideValue(written), written, position);
  });
}

/** `{...}` and `[...]` are read as YAML; everything else is the text as it is, which options turn into numbers where they want them. */
function overrideValue(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return parseYaml(text, { maxAliasCount: 0, prettyErrors: false, logLevel: 'silent' });
  } catch {
    return text;
  }
}

/** `tables[0].match`, `tables.0.match`, `source.kafka.client.id`: names under `source` and `properties` keep their dots. */
export function parseOptionPath(text: string): Path | undefined {
  const table = /^tables(?:\[(\d{1,4})\]|\.(\d{1,4}))(?:\.(.+))?$/.exec(text);
  if (table !== null) {
    const index = Number(table[1] ?? table[2]);
    const rest = table[3];
    if (rest === undefined) return ['tables', index];
    const inner = /^(properties|value|key|route)\.(.+)$/.exec(rest);
    return inner === null ? ['tables', index, rest] : ['tables', index, inner[1], inner[2]];
  }
  if (OPTIONS.some((o) => optionPath(o) === text && o.section === '')) return [text];
  const dot = text.indexOf('.');
  if (dot < 0) return text === '' ? undefined : [text];
  const section = text.slice(0, dot);
  const key = text.slice(dot + 1);
  return section === '' || key === '' ? undefined : [section, key];
}

/** Puts a value at a path; maps and lists on the way are made where they are missing. */
function setValue(tree: SourceTree, path: Path, value: unknown, written: string, position: Position): void {
  if (!isMap(tree.value)) return;
  const length = Array.isArray(tree.value[path[0]]) ? (tree.value[path[0]] as unknown[]).length : 0;
  if (typeof path[1] === 'number' && path[1] > length) {
    const message = `the list has ${length} entries; the next one is [${length}]`;
    tree.faults.push({ code: 'WRONG_VALUE', message, ...position, path: formatPath(path) });
    return;
  }
  let parent: Record<string, unknown> | unknown[] = tree.value;
  for (let i = 0; i < path.length - 1; i++) {
    const part = path[i];
    let child = (parent as Record<string | number, unknown>)[part];
    if (typeof path[i + 1] === 'number' ? !Array.isArray(child) : !isMap(child)) {
      child = typeof path[i + 1] === 'number' ? [] : emptyMap();
      (parent as Record<string | number, unknown>)[part] = child;
      tree.keys.set(pathKey(path.slice(0, i + 1)), position);
    }
    parent = child as Record<string, unknown> | unknown[];
  }
  const last = path[path.length - 1];
  const either =
    path.length === 2
      ? EITHER.find((e) => e.section === path[0] && e.keys.includes(last as string))
      : undefined;
  for (const key of either?.keys ?? []) delete (parent as Record<string, unknown>)[key];
  (parent as Record<string | number, unknown>)[last] = value;
  tree.keys.set(pathKey(path), position);
  tree.values.set(pathKey(path), position);
  // What stands below was written in the file and is gone now.
  const below = `${pathKey(path).slice(0, -1)},`;
  for (const map of [tree.keys, tree.values, tree.written]) {
    for (const key of map.keys()) if (key.startsWith(below)) map.delete(key);
  }
  tree.written.set(pathKey(path), written);
}
