import { registerHooks } from 'node:module';
import { pathToFileURL } from 'node:url';
import { messageOf } from '../errors.ts';
import { emptyMap, emptyTree, FUNCTION, pathKey, type SourceTree } from './source-tree.ts';

const MAX_DEPTH = 32;
/** The one option that takes a function. */
const TOKEN = pathKey(['source', 'kafka.sasl.oauthbearer.token']);

/**
 * Reads `sluice.config.ts` or `.js`: the default export is the pipeline (`defineConfig` types it), or a function that
 * gives it. A module has no positions of values: all of them are at 1:1, and the path says which is meant.
 */
export async function readModule(
  file: string,
  fullPath: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<SourceTree> {
  const tree = emptyTree(file);
  const fail = (message: string) =>
    tree.faults.push({ code: 'MODULE_FAILED', message, file, line: 1, column: 1, path: '' });
  let exported: unknown;
  const hooks = findSluice();
  try {
    const module = (await import(pathToFileURL(fullPath).href)) as { default?: unknown };
    exported = module.default;
    if (typeof exported === 'function')
      exported = await (exported as (context: { env: typeof env }) => unknown)({ env });
  } catch (e) {
    fail(`the module could not be loaded: ${messageOf(e)}`);
    return tree;
  } finally {
    hooks.deregister();
  }
  if (typeof exported !== 'object' || exported === null || Array.isArray(exported)) {
    fail('expected `export default defineConfig({ ... })`');
    return tree;
  }
  try {
    tree.value = plain(tree, exported, [], 0);
  } catch (e) {
    fail(messageOf(e));
  }
  return tree;
}

/**
 * `import { defineConfig } from 'sluice'` is what the module finds beside it, else this Sluice: a command that is
 * installed for the whole machine, or runs from its sources, is not in the directory of the pipeline.
 */
function findSluice(): { deregister(): void } {
  const own = new URL(
    import.meta.url.endsWith('.ts') ? './define-config.ts' : './define-config.js',
    import.meta.url,
  );
  return registerHooks({
    resolve(specifier, context, nextResolve) {
      if (specifier !== 'sluice') return nextResolve(specifier, context);
      try {
        return nextResolve(specifier, context);
      } catch {
        return { url: own.href, shortCircuit: true };
      }
    },
  });
}

function plain(tree: SourceTree, value: unknown, path: readonly (string | number)[], depth: number): unknown {
  if (depth > MAX_DEPTH)
    throw new Error(`the pipeline is nested more than ${MAX_DEPTH} deep, or holds itself`);
  tree.values.set(pathKey(path), { file: tree.file, line: 1, column: 1 });
  if (typeof value === 'string') tree.written.set(pathKey(path), value);
  if (typeof value === 'bigint') return value.toString();
  if (typeof value === 'function' && pathKey(path) === TOKEN) {
    tree.functions.set(TOKEN, value);
    return FUNCTION;
  }
  if (Array.isArray(value)) return value.map((item, i) => plain(tree, item, [...path, i], depth + 1));
  if (typeof value !== 'object' || value === null) return value ?? null;
  const entries =
    value instanceof Map ? [...value].map(([k, v]) => [String(k), v] as const) : Object.entries(value);
  const map = emptyMap();
  for (const [name, item] of entries) {
    // `undefined` is how a program leaves an option out.
    if (item !== undefined) map[name] = plain(tree, item, [...path, name], depth + 1);
  }
  return map;
}
