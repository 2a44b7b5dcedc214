#!/usr/bin/env node
/** `npm run prove -- ARGS`: installs, brings up Kafka and runs the long form of the proofs (more kills, rounds and seeds). */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { runMain, SetupError } from './lib/process.mjs';
import { kafkaOfScript } from './lib/script-kafka.mjs';
import { ROOT, runHere, setup } from './lib/setup.mjs';

const PROGRAM = join('test', 'prove', 'run.ts');

await runMain(async () => {
  if (!existsSync(join(ROOT, PROGRAM)))
    throw new SetupError(`${PROGRAM} is not in this version of the repository.`, 70);
  const { node, env } = await setup();
  const kafka = await kafkaOfScript({});
  try {
    return await runHere(node, [PROGRAM, '--bootstrap', kafka.bootstrap, ...process.argv.slice(2)], env);
  } finally {
    await kafka.stop();
  }
});
