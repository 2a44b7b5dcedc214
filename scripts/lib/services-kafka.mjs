/** The Kafka of `npm run services`: detached from us, its address and process in a state file. */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { withLock } from './cache.mjs';
import { startBroker } from './kafka.mjs';
import { freePort, isFree, probe } from './net.mjs';
import { isAlive, run, stopPid } from './process.mjs';

const USUAL_PORT = 9092;

/** @param {string} directory where data and state are kept */
export function kafkaService(directory) {
  const stateFile = join(directory, 'state.json');
  // Outlives the state file: pipelines that were pointed at the broker find it again after down and up.
  const portFile = join(directory, 'port');
  const locked = (body) => () => withLock(join(directory, 'lock'), body);
  const say = (line) => process.stderr.write(`${line}\n`);
  mkdirSync(directory, { recursive: true });

  /** What the state file says; undefined without one. */
  const state = () => (existsSync(stateFile) ? JSON.parse(readFileSync(stateFile, 'utf8')) : undefined);

  return {
    up: locked(async () => {
      const known = state();
      if (known !== undefined && (await answers(known))) {
        say('Kafka is running already');
        process.stdout.write(`${known.bootstrap}\n`);
        return 0;
      }
      if (known !== undefined) await end(known);
      const last = existsSync(portFile) ? Number(readFileSync(portFile, 'utf8')) || undefined : undefined;
      const port = await portFor(last);
      if (port !== last && port !== USUAL_PORT)
        say(`Port ${last ?? USUAL_PORT} is taken: Kafka gets ${port}, now and the next time`);
      const broker = await startBroker({
        dataDir: join(directory, 'data'),
        port,
        detached: true,
        javaOptions: [],
      });
      const { bootstrap, pid, container, clusterId, dataDir, logFile } = broker;
      writeFileSync(portFile, `${port}\n`);
      writeFileSync(
        stateFile,
        `${JSON.stringify({ bootstrap, port, pid, container, clusterId, dataDir, logFile }, null, 2)}\n`,
      );
      say(
        `Kafka is up; its log: ${container ? `docker logs ${container}` : logFile}; stop it with: npm run services -- down kafka`,
      );
      process.stdout.write(`${bootstrap}\n`);
      return 0;
    }),

    down: locked(async () => {
      const known = state();
      if (known === undefined) {
        say('Kafka is not running');
        return 0;
      }
      await end(known);
      rmSync(stateFile, { force: true });
      say(`Kafka is stopped; its data stays in ${known.dataDir}`);
      return 0;
    }),

    status: async () => {
      const known = state();
      if (known !== undefined && (await answers(known))) {
        process.stdout.write(`kafka up ${known.bootstrap}\n`);
        return 0;
      }
      process.stdout.write(
        known === undefined
          ? 'kafka down\n'
          : `kafka down (nothing answers at ${known.bootstrap}; its log: ${known.logFile})\n`,
      );
      return 1;
    },
  };
}

/** Is it our broker that answers at the address? */
async function answers({ port, clusterId }) {
  const answer = await probe('127.0.0.1', port).catch(() => undefined);
  return answer?.clusterId === clusterId;
}

/** Stops the broker of a state file; a process of that id that is something else by now is left alone. */
async function end(known) {
  if (known.container) await run('docker', ['stop', '--time', '20', known.container]);
  else if (known.pid && isAlive(known.pid) && (await isBroker(known))) await stopPid(known.pid);
}

async function isBroker({ pid, dataDir }) {
  const proc = `/proc/${pid}/cmdline`;
  const args = existsSync(proc)
    ? readFileSync(proc, 'utf8')
    : (await run('ps', ['-o', 'args=', '-p', String(pid)])).stdout;
  return args.includes('kafka.Kafka') && args.includes(dataDir);
}

/** The port of last time, else the usual one, else any. @param {number | undefined} last */
async function portFor(last) {
  for (const port of [last, USUAL_PORT]) if (port !== undefined && (await isFree(port))) return port;
  return freePort();
}
