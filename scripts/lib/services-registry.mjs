/** The Schema Registry of `npm run services`: detached from us, over the Kafka of `npm run services` or KAFKA_BOOTSTRAP_SERVERS. */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { withLock } from './cache.mjs';
import { freePort, isFree } from './net.mjs';
import { isAlive, run, SetupError, stopPid } from './process.mjs';
import { registryAnswers, startRegistryService } from './registry.mjs';

const USUAL_PORT = 8081;

/** @param {string} directory where log and state are kept  @param {string} kafkaDirectory that of the Kafka beside it */
export function registryService(directory, kafkaDirectory) {
  const stateFile = join(directory, 'state.json');
  // Outlives the state file: pipelines that were pointed at it find it again after down and up.
  const portFile = join(directory, 'port');
  const locked = (body) => () => withLock(join(directory, 'lock'), body);
  const say = (line) => process.stderr.write(`${line}\n`);
  mkdirSync(directory, { recursive: true });

  const state = () => (existsSync(stateFile) ? JSON.parse(readFileSync(stateFile, 'utf8')) : undefined);

  return {
    up: locked(async () => {
      const known = state();
      if (known !== undefined && (await answers(known, directory))) {
        say('The Schema Registry is running already');
        process.stdout.write(`${known.url}\n`);
        return 0;
      }
      if (known !== undefined) await end(known, directory);
      const bootstrap = kafkaAddress(kafkaDirectory);
      const last = existsSync(portFile) ? Number(readFileSync(portFile, 'utf8')) || undefined : undefined;
      const port = await portFor(last);
      if (port !== last && port !== USUAL_PORT)
        say(`Port ${last ?? USUAL_PORT} is taken: the Schema Registry gets ${port}, now and the next time`);
      const registry = await startRegistryService({ bootstrap, port, dataDir: directory, detached: true });
      const { url, pid, logFile } = registry;
      writeFileSync(portFile, `${port}\n`);
      writeFileSync(stateFile, `${JSON.stringify({ url, port, pid, bootstrap, logFile }, null, 2)}\n`);
      say(`The Schema Registry is up; its log: ${logFile}; stop it with: npm run services -- down registry`);
      process.stdout.write(`${url}\n`);
      return 0;
    }),

    down: locked(async () => {
      const known = state();
      if (known === undefined) {
        say('The Schema Registry is not running');
        return 0;
      }
      await end(known, directory);
      rmSync(stateFile, { force: true });
      say('The Schema Registry is stopped; its schemas stay in Kafka');
      return 0;
    }),

    status: async () => {
      const known = state();
      if (known !== undefined && (await answers(known, directory))) {
        process.stdout.write(`registry up ${known.url}\n`);
        return 0;
      }
      process.stdout.write(
        known === undefined
          ? 'registry down\n'
          : `registry down (nothing answers at ${known.url}; its log: ${known.logFile})\n`,
      );
      return 1;
    },
  };
}

/** The Kafka that keeps the schemas. @param {string} kafkaDirectory */
function kafkaAddress(kafkaDirectory) {
  if (process.env.KAFKA_BOOTSTRAP_SERVERS) return process.env.KAFKA_BOOTSTRAP_SERVERS;
  const file = join(kafkaDirectory, 'state.json');
  if (!existsSync(file)) {
    throw new SetupError(
      'The Schema Registry keeps its schemas in Kafka, which is not running: npm run services -- up kafka registry ' +
        '(or point KAFKA_BOOTSTRAP_SERVERS at a broker).',
    );
  }
  return JSON.parse(readFileSync(file, 'utf8')).bootstrap;
}

/** Is it our registry that answers? */
async function answers(known, directory) {
  return (await isOurs(known, directory)) && (await registryAnswers(known.url));
}

/** Stops the registry of a state file; a process of that id that is something else by now is left alone. */
async function end(known, directory) {
  if (await isOurs(known, directory)) await stopPid(known.pid);
}

async function isOurs({ pid }, directory) {
  if (!pid || !isAlive(pid)) return false;
  const proc = `/proc/${pid}/cmdline`;
  const args = existsSync(proc)
    ? readFileSync(proc, 'utf8')
    : (await run('ps', ['-o', 'args=', '-p', String(pid)])).stdout;
  return args.includes('apicurio-registry-app') && args.includes(directory);
}

/** The port of last time, else the usual one, else any. @param {number | undefined} last */
async function portFor(last) {
  for (const port of [last, USUAL_PORT]) if (port !== undefined && (await isFree(port))) return port;
  return freePort();
}
