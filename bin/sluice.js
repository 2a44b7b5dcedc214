#!/usr/bin/env node
// Plain JavaScript, so that an old Node can at least say what is missing.
import { existsSync, mkdirSync } from 'node:fs';
import * as nodeModule from 'node:module';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 22 || (major === 22 && minor < 22)) {
  process.stderr.write(
    `sluice needs Node.js 22.22 or newer and found ${process.versions.node}. Inside the repository run it as ` +
      '`npm run -s sluice -- ARGS` after `npm ci`, which brings the right Node.js.\n',
  );
  process.exit(78);
}
keepCompiledCode();
const source = new URL('../src/cli/main.ts', import.meta.url);
const built = new URL('../dist/cli/main.js', import.meta.url);
const entry = existsSync(fileURLToPath(source)) ? source : built;
const { main } = await import(entry.href);
await main(process.argv.slice(2));

/**
 * Compiled code is kept in the user's own cache directory, and worker threads find it there by the variable: the next
 * start takes a tenth of a second less, and inside the repository 40 MB less, since no type needs to be stripped. Where
 * nothing can be written it goes without. NODE_DISABLE_COMPILE_CACHE=1 turns it off.
 */
function keepCompiledCode() {
  const { env } = process;
  const directory = env.NODE_COMPILE_CACHE || cacheDirectory(env);
  if (directory === undefined) return;
  env.NODE_COMPILE_CACHE = directory;
  nodeModule.enableCompileCache?.(directory);
}

/** Made here, one level at a time, since Node's own recursion never ends where a file system knows no new directories. */
function cacheDirectory(env) {
  let directory = env.XDG_CACHE_HOME || join(homedir(), '.cache');
  for (const name of ['', 'sluice', 'code']) {
    directory = join(directory, name);
    try {
      mkdirSync(directory);
    } catch (error) {
      if (error.code !== 'EEXIST') return undefined;
    }
  }
  return directory;
}
