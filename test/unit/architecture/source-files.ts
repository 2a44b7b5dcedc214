import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const SRC = join(ROOT, 'src');

export interface Import {
  /** As it is written. */
  specifier: string;
  /** The file under `src/` that is meant; undefined for packages and `node:` modules. */
  target: string | undefined;
  typeOnly: boolean;
  /** `await import(...)`: not loaded with the file. */
  dynamic: boolean;
  line: number;
}

export interface SourceFile {
  /** Under `src/`, with slashes: `kafka/fetch.ts`. */
  path: string;
  /** The first directory, or the name of a file that stands alone: `errors`. */
  room: string;
  text: string;
  lines: number;
  imports: Import[];
}

const STATIC = /^(?:import|export)\s+(type\s+)?(?:([^'"`;]*?)\s+from\s+)?['"]([^'"]+)['"]/gm;
const DYNAMIC = /\bimport\(\s*['"]([^'"]+)['"]\s*\)/g;

/** Every file of `src/` with what it imports. */
export function sourceFiles(): SourceFile[] {
  const names = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.ts'),
  );
  return names.map((name) => parse(name.replaceAll('\\', '/'), readFileSync(join(SRC, name), 'utf8')));
}

export function parse(path: string, text: string): SourceFile {
  const [first] = path.split('/');
  const code = withoutComments(text);
  const imports = [
    ...[...code.matchAll(STATIC)].map((m) =>
      describe(path, code, m.index, m[3], m[1] !== undefined || onlyTypes(m[2]), false),
    ),
    ...[...code.matchAll(DYNAMIC)].map((m) =>
      describe(path, code, m.index, m[1], /\btypeof\s*$/.test(code.slice(0, m.index)), true),
    ),
  ];
  return {
    path,
    room: path.includes('/') ? first : first.replace(/\.ts$/, ''),
    text,
    lines: text.split('\n').length - 1,
    imports,
  };
}

/** `{ type A, type B }` imports nothing at run time. */
function onlyTypes(clause: string | undefined): boolean {
  const names = /^\{([\s\S]*)\}$/
    .exec(clause?.trim() ?? '')?.[1]
    .split(',')
    .map((n) => n.trim())
    .filter((n) => n !== '');
  return names !== undefined && names.length > 0 && names.every((n) => n.startsWith('type '));
}

function describe(
  path: string,
  code: string,
  index: number,
  specifier: string,
  typeOnly: boolean,
  dynamic: boolean,
): Import {
  const target = specifier.startsWith('.')
    ? relative(SRC, resolve(SRC, dirname(path), specifier)).replaceAll('\\', '/')
    : undefined;
  return { specifier, target, typeOnly, dynamic, line: code.slice(0, index).split('\n').length };
}

/** Comments become spaces, so that places stay; texts are left as they are. */
export function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$|(?<=[;{},)\s])\/\/ .*$/gm, (comment) =>
    comment.replace(/[^\n]/g, ' '),
  );
}
