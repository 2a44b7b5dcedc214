/**
 * `npm run prove -- [--minutes N] [--seed N] [--first N] [--exhaustive] [--out FILE]`: rounds of faults at random, for so
 * long, and a page that says what was done. Round n of a seed always draws the same faults: `--first n` begins
 * with it. `--exhaustive` also runs the suites of faults with every case that the quick form leaves out.
 */
import { spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { arch, cpus, platform, release, totalmem } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Random } from '../../src/core/random.ts';
import { makeData, ROUNDS, type Round } from './rounds.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

interface Tally {
  rounds: number;
  faults: number;
  records: number;
}

const { values } = parseArgs({
  options: {
    bootstrap: { type: 'string' },
    minutes: { type: 'string', default: '10' },
    seed: { type: 'string' },
    first: { type: 'string', default: '0' },
    exhaustive: { type: 'boolean', default: false },
    out: { type: 'string', default: `${ROOT}docs/proof.md` },
  },
});
if (values.bootstrap === undefined)
  throw new Error('--bootstrap HOST:PORT is needed; `npm run prove` gives it');
const seed = Number(values.seed ?? randomInt(2 ** 31));
const minutes = Number(values.minutes);
const first = Number(values.first);
if (![seed, minutes, first].every((n) => Number.isFinite(n) && n >= 0))
  throw new Error('--minutes, --seed and --first are numbers from 0');

const suites = values.exhaustive ? runSuites(values.bootstrap) : undefined;
const tallies = await runRounds(values.bootstrap);
writeFileSync(values.out, page(tallies));
process.stdout.write(`proof written to ${values.out}\n`);

async function runRounds(bootstrap: string): Promise<Map<string, Tally>> {
  const tallies = new Map<string, Tally>(
    Object.keys(ROUNDS).map((name) => [name, { rounds: 0, faults: 0, records: 0 }]),
  );
  const data = await makeData(bootstrap);
  const until = Date.now() + minutes * 60_000;
  const kinds = schedule();
  try {
    for (let round = first; Date.now() < until; round++) {
      const [name, run] = kinds[round % kinds.length];
      process.stderr.write(`round ${round}: ${name}\n`);
      try {
        const { faults, records } = await run(data, new Random(seed, round));
        const tally = tallies.get(name)!;
        tally.rounds++;
        tally.faults += faults;
        tally.records += records;
      } catch (error) {
        throw new Error(
          `round ${round} (${name}) failed; again: npm run prove -- --seed ${seed} --first ${round}`,
          {
            cause: error,
          },
        );
      }
    }
  } finally {
    await data.produced.close();
  }
  return tallies;
}

/** A round of kills takes as long as six of the others. */
function schedule(): [string, Round][] {
  const [kills, ...others] = Object.entries(ROUNDS);
  return [kills, ...Array.from({ length: 6 }, () => others).flat()];
}

/** The suites of faults with every case. Returns how many tests passed; throws where one failed. */
function runSuites(bootstrap: string): number {
  const { status, stdout } = spawnSync(
    process.execPath,
    [
      'node_modules/vitest/vitest.mjs',
      'run',
      '--project',
      'fault',
      '--reporter=json',
      '--testTimeout=1800000',
    ],
    {
      cwd: ROOT,
      encoding: 'utf8',
      maxBuffer: 1 << 28,
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, SLUICE_THOROUGH: '1', SLUICE_TEST_KAFKA: bootstrap },
    },
  );
  const report = JSON.parse(stdout.slice(stdout.indexOf('{'))) as {
    numPassedTests: number;
    testResults: { name: string; status: string }[];
  };
  const failed = report.testResults.filter((file) => file.status === 'failed').map((file) => file.name);
  if (status !== 0) throw new Error(`the suites of faults failed: ${failed.join(', ')}`);
  return report.numPassedTests;
}

function page(tallies: ReadonlyMap<string, Tally>): string {
  const number = (n: number) => n.toLocaleString('en-US');
  const rows = [...tallies].map(
    ([name, t]) => `| ${name} | ${number(t.rounds)} | ${number(t.faults)} | ${number(t.records)} |`,
  );
  const [cpu] = cpus();
  return `# Proof

Written by \`npm run prove -- --minutes ${minutes} --seed ${seed}${first > 0 ? ` --first ${first}` : ''}${values.exhaustive ? ' --exhaustive' : ''}\`; run it on your own machine with your own seed.

Each round makes a new pipeline on a real Kafka broker and lets faults rain on it at random. At the end each record that the
broker acknowledged to the producer must be in its table or its quarantine exactly once, byte for byte, read by other code than
Sluice's; the checkpoint must end where the topics end; \`sluice verify\` must come to the same end. A round that fails ends the
run, and no page is written.

| round | rounds | faults | records proven |
|---|---:|---:|---:|
${rows.join('\n')}

- Date: ${new Date().toISOString().slice(0, 10)}
- Seed: ${seed}
- Machine: ${cpus().length} x ${cpu?.model.trim() || 'unknown processor'}, ${Math.round(totalmem() / 2 ** 30)} GiB, ${platform()} ${release()} ${arch()}
- Node.js: ${process.versions.node}
${suites === undefined ? '' : `- The suites of faults with every case: ${number(suites)} tests passed\n`}
The faults: SIGKILL at a named point (${'`src/engine/failpoint.ts`'}) or at any time while a producer goes on; a power loss after any
system call, of which any part of what was not fsynced survives; a call to the storage that fails before it did anything, or after
it did all, once or from then on; a commit that the catalog applies or not, with the reply lost, late or refused; two processes
whose lease is gone, each standing still before any file.
`;
}
