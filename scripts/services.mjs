#!/usr/bin/env node
/**
 * `npm run services -- up|down|status [kafka] [registry]`: a broker, and a Schema Registry over it, that stay until they are
 * stopped. Data and state are under `.sluice/services`. `up` prints the address alone on stdout, a line for each. Without a
 * name it is Kafka alone, for `down` and `status` also what was started before.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { runMain, SetupError } from './lib/process.mjs';
import { kafkaService } from './lib/services-kafka.mjs';
import { registryService } from './lib/services-registry.mjs';
import { ROOT } from './lib/setup.mjs';

const place = (name) => join(ROOT, '.sluice', 'services', name);
/** In the order in which they are started. */
const SERVICES = {
  kafka: () => kafkaService(place('kafka')),
  registry: () => registryService(place('registry'), place('kafka')),
};
const VERBS = ['up', 'down', 'status'];
const USAGE = `Usage: npm run services -- ${VERBS.join('|')} [${Object.keys(SERVICES).join('] [')}]`;
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
  for (const name of chosen(verb, names)) code = Math.max(code, await SERVICES[name]()[verb]());
  return code;
});
// A broker that goes on must not keep this process.
process.exit();

/** Kafka is always spoken of, another service once it has been started. @param {string} name */
function wasUp(name) {
  return name === 'kafka' || existsSync(place(name));
}

/** What stands on another is stopped first. @param {string} verb  @param {string[]} names */
function chosen(verb, names) {
  const asked = names.length > 0 ? names : verb === 'up' ? ['kafka'] : Object.keys(SERVICES).filter(wasUp);
  const inOrder = Object.keys(SERVICES).filter((name) => asked.includes(name));
  return verb === 'down' ? inOrder.reverse() : inOrder;
}
