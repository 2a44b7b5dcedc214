/** The benchmarks, called by `npm run bench -- ARGS` with a broker. See bench/README.md. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { benchCommits } from './commits.ts';
import { machine } from './machine.ts';
import { type BenchOptions, isTyped, parseBenchOptions, USAGE } from './options.ts';
import { benchPage, PAGE } from './page.ts';
import { benchRaw } from './raw.ts';
import { raceMain } from './spark/main.ts';
import { isRace, RACE_USAGE } from './spark/options.ts';
import { keepSections, withTyped } from './typed/page.ts';
import { benchTyped } from './typed/typed.ts';

const say = (line: string): void => void process.stderr.write(`${line}\n`);

async function bench(options: BenchOptions): Promise<object> {
  if (isTyped(options.scenario)) {
    const result = { scenario: options.scenario, machine: machine(), ...(await benchTyped(options, say)) };
    if (options.write) writeFileSync(PAGE, withTyped(pageAsItStands(), result));
    return result;
  }
  if (options.write) {
    const raw = await benchRaw({ ...options, limit: true }, say);
    const commits = await benchCommits(options, say);
    writeFileSync(PAGE, keepSections(benchPage(machine(), raw, commits), pageAsItStands()));
    return { scenario: 'all', machine: machine(), raw, commits };
  }
  const head = { scenario: options.scenario, machine: machine() };
  return options.scenario === 'raw'
    ? { ...head, ...(await benchRaw(options, say)) }
    : { ...head, ...(await benchCommits(options, say)) };
}

function pageAsItStands(): string {
  return existsSync(PAGE) ? readFileSync(PAGE, 'utf8') : '';
}

async function main(args: readonly string[]): Promise<void> {
  if (args.includes('--help')) {
    process.stdout.write(`${USAGE}\n\n${RACE_USAGE}\n`);
    return;
  }
  if (isRace(args)) {
    process.exitCode = await raceMain(args);
    return;
  }
  let options: BenchOptions;
  try {
    options = parseBenchOptions(args);
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${USAGE}\n`);
    process.exitCode = 64;
    return;
  }
  const text = `${JSON.stringify(await bench(options), null, 2)}\n`;
  process.stdout.write(text);
  if (options.out !== undefined) writeFileSync(options.out, text);
}

await main(process.argv.slice(2));
