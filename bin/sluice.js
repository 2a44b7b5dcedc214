#!/usr/bin/env node
// Plain JavaScript, so that an old Node can at least say what is missing.
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 22 || (major === 22 && minor < 22)) {
  process.stderr.write(
    `sluice needs Node.js 22.22 or newer and found ${process.versions.node}. Inside the repository run it as ` +
      '`npm run -s sluice -- ARGS` after `npm ci`, which brings the right Node.js.\n',
  );
  process.exit(78);
}
const source = new URL('../src/cli/main.ts', import.meta.url);
const built = new URL('../dist/cli/main.js', import.meta.url);
const entry = existsSync(fileURLToPath(source)) ? source : built;
const { main } = await import(entry.href);
await main(process.argv.slice(2));
