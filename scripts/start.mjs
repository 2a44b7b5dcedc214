#!/usr/bin/env node
/**
 * `npm start`: installs, brings up Kafka, and runs the demo: ad events from four topics into four Iceberg tables, with proof.
 * Everything stays under `.sluice/demo`, so that a second run reads only what is new. Arguments go to `sluice demo`.
 */
import { join } from 'node:path';
import { runMain } from './lib/process.mjs';
import { kafkaOfScript } from './lib/script-kafka.mjs';
import { ROOT, runHere, setup } from './lib/setup.mjs';

const DIRECTORY = join('.sluice', 'demo');

await runMain(async () => {
  const { node, env } = await setup();
  const kafka = await kafkaOfScript({ dataDir: join(ROOT, DIRECTORY, 'kafka') });
  try {
    // On a broker that is not ours the demo keeps apart from topics that people use.
    const prefix = kafka.ours ? '' : 'sluice-demo.';
    const args = ['--bootstrap', kafka.bootstrap, '--directory', DIRECTORY, '--topic-prefix', prefix];
    return await runHere(node, [join('bin', 'sluice.js'), 'demo', ...args, ...process.argv.slice(2)], env);
  } finally {
    await kafka.stop();
    if (kafka.ours) process.stderr.write(`Kafka is stopped; its data stays in ${join(DIRECTORY, 'kafka')}\n`);
  }
});
