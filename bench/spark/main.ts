import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { SetupError } from '../../scripts/lib/process.mjs';
import { PAGE } from '../page.ts';
import { parseRaceOptions, RACE_USAGE, type RaceOptions } from './options.ts';
import { withRace } from './page.ts';
import { race } from './race.ts';

/** `npm run bench -- --vs spark ARGS`: prints the result as JSON. @returns the exit code */
export async function raceMain(args: readonly string[]): Promise<number> {
  let options: RaceOptions;
  try {
    options = parseRaceOptions(args);
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${RACE_USAGE}\n`);
    return 64;
  }
  try {
    const result = await race(options, (line) => void process.stderr.write(`${line}\n`));
    const text = `${JSON.stringify(result, null, 2)}\n`;
    process.stdout.write(text);
    if (options.out !== undefined) writeFileSync(options.out, text);
    if (options.write)
      writeFileSync(PAGE, withRace(existsSync(PAGE) ? readFileSync(PAGE, 'utf8') : '', result));
    return 0;
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    process.stderr.write(`${error.message}\n`);
    return error.exitCode;
  }
}
