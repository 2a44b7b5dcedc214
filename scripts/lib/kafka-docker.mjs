/** A Kafka broker as a container, where a Docker engine runs. Its data is in a named volume, which outlives the container. */
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { guard, run, SetupError, which } from './process.mjs';

/** Does a Docker engine answer? (The client alone is not enough.) */
export async function dockerEngine() {
  if (which('docker') === undefined) return false;
  const { code } = await run('docker', ['info', '--format', '{{.ServerVersion}}'], { timeoutMs: 10_000 });
  return code === 0;
}

/**
 * @param {{ image: string }} runtime
 * @param {import('./kafka.d.mts').LaunchPlan} plan
 * @returns {Promise<import('./kafka.d.mts').BrokerHandle>}
 */
export async function launchContainer(runtime, plan) {
  const name = containerName(plan.dataDir);
  const envFile = join(plan.dataDir, 'container.env');
  const properties = plan.properties({ bindHost: '', logDirs: '/var/lib/kafka/data' });
  writeFileSync(
    envFile,
    [...environment(properties, plan)].map(([key, value]) => `${key}=${value}\n`).join(''),
  );

  await run('docker', ['rm', '--force', name]);
  const place = [
    '--publish',
    `127.0.0.1:${plan.port}:${plan.port}`,
    '--volume',
    `${name}:/var/lib/kafka/data`,
  ];
  const { code, stderr } = await run('docker', [
    'run',
    '--detach',
    '--name',
    name,
    ...place,
    '--env-file',
    envFile,
    runtime.image,
  ]);
  if (code !== 0) throw new SetupError(`Docker could not start ${runtime.image}: ${stderr.trim()}`);

  const removal = `docker rm --force "$1"${plan.temporary ? '; docker volume rm "$1"; rm -rf "$2"' : ''}`;
  const release = plan.detached ? () => {} : guard(removal, [name, plan.dataDir]);
  let running = true;
  const waiting = run('docker', ['wait', name]).then(() => {
    running = false;
  });
  const end = async (how) => {
    if (running) await run('docker', how);
    await waiting;
    const log = await run('docker', ['logs', name]);
    writeFileSync(plan.logFile, log.stdout + log.stderr);
    await run('docker', ['rm', '--force', name]);
    release();
  };
  return {
    pid: undefined,
    container: name,
    get running() {
      return running;
    },
    stop: () => end(['stop', '--time', '20', name]),
    kill: () => end(['kill', name]),
    discard: () => run('docker', ['volume', 'rm', name]).then(() => {}),
    tail: async (lines) => {
      const log = await run('docker', ['logs', '--tail', String(lines), name]);
      return (log.stdout + log.stderr).trimEnd();
    },
  };
}

/** One name for the container and its volume, kept in the data directory: a new directory gets a new volume. */
function containerName(dataDir) {
  const file = join(dataDir, 'container');
  if (!existsSync(file)) writeFileSync(file, `sluice-kafka-${randomBytes(6).toString('hex')}\n`);
  return readFileSync(file, 'utf8').trim();
}

/** The image reads its properties from variables: upper case, `.` as `_`, `_` as `__`, `-` as `___`. */
function environment(properties, plan) {
  const variables = new Map([
    ['CLUSTER_ID', plan.clusterId],
    ['KAFKA_HEAP_OPTS', `-Xmx${plan.heapMb}m -Xms${Math.min(plan.heapMb, 256)}m`],
  ]);
  if (plan.javaOptions.length > 0) variables.set('KAFKA_OPTS', plan.javaOptions.join(' '));
  for (const [key, value] of properties) {
    const name = key.replaceAll('_', '__').replaceAll('-', '___').replaceAll('.', '_').toUpperCase();
    variables.set(`KAFKA_${name}`, value);
  }
  return variables;
}
