/** The package as npm packs it: built, without sources, with the packages that a user installs and no others. */
import { execFile } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readIndependently } from '../support/independent-table.ts';
import { useKafka } from '../support/kafka.ts';
import { fill, withCluster } from '../support/kafka-topics.ts';
import { sluice as fromSources } from './run-sluice.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const run = promisify(execFile);
const kafka = useKafka();
const scratch = mkdtempSync(join(tmpdir(), 'sluice-package-'));
const app = join(scratch, 'app');
const installed = join(app, 'node_modules', 'sluice');
let packed: string[];

interface Manifest {
  version: string;
  files: string[];
  dependencies: Record<string, string>;
}
const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Manifest;

/** Runs the installed command in the user's directory, as `npx sluice` does. */
async function sluice(...argv: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const env = { PATH: process.env.PATH, HOME: scratch, TMPDIR: tmpdir() };
  try {
    const ended = await run(process.execPath, [join(installed, 'bin/sluice.js'), ...argv], { cwd: app, env });
    return { code: 0, ...ended };
  } catch (error) {
    return error as { code: number; stdout: string; stderr: string };
  }
}

beforeAll(async () => {
  const stage = join(scratch, 'stage');
  mkdirSync(stage);
  for (const name of ['package.json', 'README.md', 'LICENSE', ...manifest.files]) {
    if (name !== 'dist') cpSync(join(ROOT, name), join(stage, name), { recursive: true });
  }
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  await run(process.execPath, [
    tsc,
    '-p',
    join(ROOT, 'tsconfig.build.json'),
    '--outDir',
    join(stage, 'dist'),
  ]);
  const npm = ['pack', '--ignore-scripts', '--offline', '--json', '--pack-destination', scratch];
  const { stdout } = await run('npm', npm, {
    cwd: stage,
    env: { ...process.env, npm_config_update_notifier: 'false' },
  });
  const [{ filename, files }] = JSON.parse(stdout) as [{ filename: string; files: { path: string }[] }];
  packed = files.map((file) => file.path);
  mkdirSync(installed, { recursive: true });
  await run('tar', ['-xzf', join(scratch, filename), '-C', installed, '--strip-components=1']);
  for (const name of Object.keys(manifest.dependencies)) {
    const place = join(app, 'node_modules', name);
    mkdirSync(dirname(place), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules', name), place);
  }
  writeFileSync(join(app, 'package.json'), '{ "type": "module" }');
});
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

describe('the packed files', () => {
  it('are the built ones, with documents and examples, and no sources or tests', () => {
    expect(packed).toEqual(
      expect.arrayContaining([
        'bin/sluice.js',
        'dist/cli/main.js',
        'dist/engine/local/worker.js',
        'dist/config/define-config.d.ts',
        'schema.json',
        'docs/options.md',
        'examples/typescript/sluice.config.ts',
        'LICENSE',
        'README.md',
      ]),
    );
    expect(packed.filter((path) => /^(src|test|scripts|bench|services)\//.test(path))).toEqual([]);
    expect(existsSync(join(installed, 'src'))).toBe(false);
  });

  it('load, every one of them, with no package that is not installed', async () => {
    const dist = join(installed, 'dist');
    const files = readdirSync(dist, { recursive: true, encoding: 'utf8' }).filter((name) =>
      name.endsWith('.js'),
    );
    expect(files.length).toBeGreaterThan(100);
    // A worker needs the thread that started it; the run below has some.
    const modules = files.filter((name) => !name.endsWith('local/worker.js')).map((name) => `./${name}`);
    const code = `for (const name of ${JSON.stringify(modules)}) await import(name)`;
    writeFileSync(join(dist, 'load-all.js'), `${code};\nconsole.log('loaded');\n`);
    const { stdout } = await run(process.execPath, [join(dist, 'load-all.js')], { cwd: app });
    expect(stdout).toBe('loaded\n');
    rmSync(join(dist, 'load-all.js'));
    const known = Object.keys(manifest.dependencies);
    for (const name of files) {
      const text = readFileSync(join(dist, name), 'utf8');
      for (const [, specifier] of text.matchAll(/\bimport\(['"]([^'".][^'"]*)['"]\)/g)) {
        if (!specifier.startsWith('node:') && specifier !== 'sluice') expect(known).toContain(specifier);
      }
    }
  });
});

describe('the installed command', () => {
  const topic = kafka.uniqueTopic('package');
  beforeAll(async () => {
    await withCluster(kafka.bootstrap, (cluster) => cluster.createTopics([{ topic, partitions: 2 }]));
    for (const partition of [0, 1]) await fill(kafka.bootstrap, topic, partition, 500);
    writeFileSync(
      join(app, 'sluice.config.ts'),
      `import { defineConfig } from 'sluice';

       const topic: string = '${topic}';
       export default defineConfig({
         name: 'packed',
         memory: '64MB',
         checkpointLocation: './warehouse/_checkpoint',
         catalog: { type: 'sqlite', uri: './warehouse/catalog.db', warehouse: './warehouse' },
         trigger: 'availableNow',
         source: { 'kafka.bootstrap.servers': '${kafka.bootstrap}', subscribe: topic, startingOffsets: 'earliest', workers: 2, minPartitions: 2 },
         tables: [{ match: topic, table: 'bronze.packed' }],
       });
      `,
    );
  });

  it('says its version, its options, and where a fault is', async () => {
    expect((await sluice('--version')).stdout).toBe(`${manifest.version}\n`);
    expect(JSON.parse((await sluice('schema')).stdout)).toEqual(
      JSON.parse(readFileSync(join(ROOT, 'schema.json'), 'utf8')),
    );
    const wrong = await sluice('validate', '--set', 'memory=much');
    expect(wrong.code).toBe(78);
    expect(wrong.stdout + wrong.stderr).toContain('WRONG_VALUE memory');
  });

  it('validates, runs in worker threads, and verifies', async () => {
    const valid = await sluice('validate', '--connect');
    expect(valid.code, valid.stderr).toBe(0);
    const ended = await sluice('run', '-o', 'json');
    expect(ended.code, ended.stderr).toBe(0);
    expect(JSON.parse(ended.stdout)).toMatchObject({ records: 1000, stopped: 'finished' });
    const table = await readIndependently(join(app, 'warehouse/catalog.db'), 'bronze.packed');
    expect(table?.rows).toHaveLength(1000);
    const proof = await sluice('verify');
    expect(proof.code, proof.stderr).toBe(0);
  });
});

describe("import { defineConfig } from 'sluice'", () => {
  it('is found from the installed package, with types', async () => {
    const code = "import('sluice').then((m) => console.log(Object.keys(m).join()))";
    const { stdout } = await run(process.execPath, ['-e', code], { cwd: app });
    expect(stdout).toBe('defineConfig\n');
    const options = {
      module: 'nodenext',
      strict: true,
      noEmit: true,
      skipLibCheck: true,
      types: [],
      target: 'es2024',
    };
    writeFileSync(
      join(app, 'tsconfig.json'),
      JSON.stringify({ compilerOptions: options, files: ['typed.ts'] }),
    );
    const typed = (memory: string) =>
      `import { defineConfig } from 'sluice';
       export default defineConfig({ name: 'n', memory: ${memory}, checkpointLocation: 'c',
         catalog: { type: 'sqlite', uri: 'u', warehouse: 'w' }, source: { 'kafka.bootstrap.servers': 'b' } });`;
    const tsc = () => run(process.execPath, [join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', app]);
    writeFileSync(join(app, 'typed.ts'), typed("'1GB'"));
    await tsc();
    writeFileSync(join(app, 'typed.ts'), typed('true'));
    await expect(tsc()).rejects.toMatchObject({ stdout: expect.stringContaining('TS2322') });
  });

  it('is found by the command that runs from its sources, in the repository and outside of it', async () => {
    const outside = join(scratch, 'outside');
    mkdirSync(outside);
    cpSync(join(ROOT, 'examples/typescript/sluice.config.ts'), join(outside, 'sluice.config.ts'));
    for (const cwd of [join(ROOT, 'examples/typescript'), outside]) {
      const { code, stdout, stderr } = await fromSources(['validate'], { cwd });
      expect(code, stderr).toBe(0);
      expect(stdout).toContain('pipeline events is valid');
    }
  });
});
