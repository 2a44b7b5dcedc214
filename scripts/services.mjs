#!/usr/bin/env node
/**
 * `npm run services -- up|down|status [kafka]`: a broker that stays until it is stopped. Its data and state are under
 * `.sluice/services/kafka`. `up` prints the bootstrap address alone on stdout.
 */
import { join } from 'node:path';
import { runMain, SetupError } from './lib/process.mjs';
import { kafkaService } from './lib/services-kafka.mjs';
import { ROOT } from './lib/setup.mjs';

const SERVICES = { kafka: kafkaService };
const VERBS = ['up', 'down', 'status'];
const USAGE = `Usage: npm run services -- ${VERBS.join('|')} [${Object.keys(SERVICES).join('|')}]`;
const HELP = `${USAGE}

  up      start it and print its address; one that runs already is left as it is
  down    stop it; its data stays in .sluice/services
  status  say whether it runs, and where; exit code 1 where it does not
`;

await runMain(async () => {
  const [verb, ...names] = process.argv.slice(2);
  if (verb === '--help' || verb === '-h' || verb === 'help') {
    process.stdout.write(HELP);
    return 0;
  }
  if (!VERBS.includes(verb)) throw new SetupError(USAGE, 64);
  const unknown = names.find((name) => SERVICES[name] === undefined);
  if (unknown !== undefined) throw new SetupError(`There is no service called ${unknown}. ${USAGE}`, 64);
  let code = 0;
  for (const name of names.length > 0 ? names : Object.keys(SERVICES)) {
    code = Math.max(code, await SERVICES[name](join(ROOT, '.sluice', 'services', name))[verb]());
  }
  return code;
});
// A broker that goes on must not keep this process.
process.exit();
