import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse, ROOT, type SourceFile, sourceFiles, withoutComments } from './source-files.ts';

/**
 * What each room may import beside itself (specification, "Rooms"). `errors` and the types of `core` may be imported
 * everywhere. Adapters meet only in `engine`, `landing`, `lakehouse` and `proof`.
 */
const ADAPTERS = [
  'config',
  'columns',
  'kafka',
  'decode',
  'parquet',
  'storage',
  'iceberg',
  'catalog',
  'checkpoint',
  'sql',
];
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  errors: [],
  core: ['errors'],
  config: ['core', 'errors'],
  columns: ['core'],
  kafka: ['core', 'columns'],
  decode: ['core', 'columns'],
  parquet: ['core', 'columns', 'storage'],
  storage: ['core'],
  iceberg: ['core', 'parquet', 'storage'],
  catalog: ['core', 'iceberg', 'storage'],
  checkpoint: ['core', 'storage'],
  sql: ['core', 'storage'],
  engine: ['core', ...ADAPTERS],
  landing: ['core', 'kafka', 'decode', 'storage'],
  lakehouse: ['core', 'landing', 'sql', 'iceberg', 'catalog', 'storage'],
  monitor: ['core', 'kafka', 'checkpoint'],
  proof: ['core', 'checkpoint', 'iceberg', 'catalog', 'kafka', 'engine', 'parquet', 'storage'],
  dashboard: ['core', 'engine', 'monitor', 'proof', ...ADAPTERS],
  cli: ['core', 'engine', 'monitor', 'proof', 'landing', 'lakehouse', 'dashboard', ...ADAPTERS],
};

const FILES = sourceFiles();
const byPath = new Map(FILES.map((file) => [file.path, file]));
const roomOf = (path: string): string => byPath.get(path)?.room ?? '';

describe('rooms', () => {
  it('are all known', () => {
    expect(FILES.length).toBeGreaterThan(50);
    expect([...new Set(FILES.map((file) => file.room))].filter((room) => !(room in MAY_IMPORT))).toEqual([]);
  });

  it('import only what their direction allows', () => {
    const wrong = FILES.flatMap((file) =>
      file.imports
        .filter(
          ({ target, typeOnly }) => target !== undefined && !allowed(file.room, roomOf(target), typeOnly),
        )
        .map(({ specifier, line }) => `${file.path}:${line} imports ${specifier}`),
    );
    expect(wrong).toEqual([]);
  });

  it('import files that exist, with their endings', () => {
    const missing = FILES.flatMap((file) =>
      file.imports
        .filter(({ target }) => target !== undefined && !existsSync(join(ROOT, 'src', target)))
        .map(({ specifier }) => `${file.path} imports ${specifier}`),
    );
    expect(missing).toEqual([]);
  });

  it('have no import cycles between files', () => {
    expect(cycles(FILES)).toEqual([]);
  });
});

function allowed(from: string, to: string, typeOnly: boolean): boolean {
  return (
    from === to || to === 'errors' || (to === 'core' && typeOnly) || (MAY_IMPORT[from] ?? []).includes(to)
  );
}

/** Every cycle of imports, as `a.ts -> b.ts -> a.ts`; types count, for they are read together all the same. */
function cycles(files: readonly SourceFile[]): string[] {
  const targets = new Map(
    files.map((file) => [
      file.path,
      file.imports.flatMap(({ target, dynamic }) => (target === undefined || dynamic ? [] : [target])),
    ]),
  );
  const found: string[] = [];
  const state = new Map<string, 'open' | 'done'>();
  const visit = (path: string, trail: string[]): void => {
    if (state.get(path) === 'done') return;
    if (state.get(path) === 'open') {
      found.push([...trail.slice(trail.indexOf(path)), path].join(' -> '));
      return;
    }
    state.set(path, 'open');
    for (const target of targets.get(path) ?? []) visit(target, [...trail, path]);
    state.set(path, 'done');
  };
  for (const path of targets.keys()) visit(path, []);
  return found;
}

describe('the outside', () => {
  it('only cli reads the environment of the process', () => {
    const wrong = FILES.filter(
      (file) =>
        file.room !== 'cli' && /\bprocess\s*(\.|\[['"`])\s*(env|argv)\b/.test(withoutComments(file.text)),
    );
    expect(wrong.map((file) => file.path)).toEqual([]);
  });

  it('only cli reads the clock and rolls the dice; rooms are given them', () => {
    const clock = /\bDate\.now\(\)|\bnew Date\(\)|\bMath\.random\(\)/;
    const wrong = FILES.filter((file) => file.room !== 'cli' && clock.test(withoutComments(file.text)));
    expect(wrong.map((file) => file.path)).toEqual([]);
  });
});

describe('files', () => {
  it('are small enough to read', () => {
    expect(
      FILES.filter((file) => file.lines > 500).map((file) => `${file.path}: ${file.lines} lines`),
    ).toEqual([]);
  });

  it('hold no path of the machine they were written on', () => {
    const place = /["'`\s(](\/(?:root|home|Users|work|tmp)\/)/;
    expect(FILES.filter((file) => place.test(file.text)).map((file) => file.path)).toEqual([]);
  });
});

describe('the reader of imports', () => {
  const file = parse(
    'kafka/a.ts',
    `// import { x } from './comment.ts';
import { a } from './b.ts';
import type { T } from '../core/t.ts';
import { type U, type V } from '../core/u.ts';
import { type W, w } from '../core/w.ts';
import {
  long,
} from '../columns/long.ts';
export * from './e.ts';
export type { X } from './x.ts';
import './side-effect.ts';
import fs from 'node:fs';
const text = "import { no } from './text.ts'";
const lazy = () => import('./lazy.ts');
type L = typeof import('./typed.ts');
`,
  );

  it('sees every form', () => {
    expect(
      file.imports.map(
        (i) =>
          `${i.line} ${i.target ?? i.specifier}${i.typeOnly ? ' type' : ''}${i.dynamic ? ' dynamic' : ''}`,
      ),
    ).toEqual([
      '2 kafka/b.ts',
      '3 core/t.ts type',
      '4 core/u.ts type',
      '5 core/w.ts',
      '6 columns/long.ts',
      '9 kafka/e.ts',
      '10 kafka/x.ts type',
      '11 kafka/side-effect.ts',
      '12 node:fs',
      '14 kafka/lazy.ts dynamic',
      '15 kafka/typed.ts type dynamic',
    ]);
  });

  it('finds a cycle and a wrong direction when there is one', () => {
    const a = parse('core/a.ts', "import { b } from './b.ts';\n");
    const b = parse('core/b.ts', "import type { a } from './a.ts';\n");
    expect(cycles([a, b])).toEqual(['core/a.ts -> core/b.ts -> core/a.ts']);
    expect(allowed('kafka', 'iceberg', true)).toBe(false);
    expect(allowed('storage', 'core', false)).toBe(true);
  });
});
