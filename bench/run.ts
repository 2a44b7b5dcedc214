/** The benchmarks, called by `npm run bench -- ARGS` with a broker. See bench/README.md. */
import { writeFileSync } from 'node:fs';
import { parseBenchOptions, USAGE } from './options.ts';
import { benchRaw } from './raw.ts';

const say = (line: string): void => void process.stderr.write(`${line}\n`);
const args = process.argv.slice(2);
if (args.includes('--help')) {
  process.stdout.write(`${USAGE}\n`);
} else {
  const options = parseBenchOptions(args);
  const result = { scenario: options.scenario, ...(await benchRaw(options, say)) };
  const text = `${JSON.stringify(result, null, 2)}\n`;
  process.stdout.write(text);
  if (options.out !== undefined) writeFileSync(options.out, text);
}
