/** A Kafka broker as a Java process of this machine. */
import { spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { guard, run, SetupError, stopChild } from './process.mjs';

const LOGGING = pathToFileURL(
  fileURLToPath(new URL('../../services/kafka/log4j2.xml', import.meta.url)),
).href;
/**
 * @param {{ java: string, jars: string }} runtime
 * @param {import('./kafka.d.mts').LaunchPlan} plan
 * @returns {Promise<import('./kafka.d.mts').BrokerHandle>}
 */
export async function launchJava(runtime, plan) {
  const logDirs = join(plan.dataDir, 'log');
  const file = join(plan.dataDir, 'server.properties');
  const properties = plan.properties({ bindHost: '127.0.0.1', logDirs: logDirs.replaceAll('\\', '/') });
  writeFileSync(file, [...properties].map(([key, value]) => `${key}=${value}\n`).join(''));
  const base = [`-Dlog4j2.configurationFile=${LOGGING}`, '-cp', join(runtime.jars, '*')];
  await format(runtime.java, base, file, plan);

  const heap = [`-Xmx${plan.heapMb}m`, `-Xms${Math.min(plan.heapMb, 256)}m`];
  const log = openSync(plan.logFile, 'a');
  const child = spawn(runtime.java, [...heap, ...plan.javaOptions, ...base, 'kafka.Kafka', file], {
    // A process group of its own: Ctrl-C reaches us, and we stop the broker after those who still use it.
    detached: true,
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  let failed = '';
  child.on('error', (error) => {
    failed = error.message;
  });
  const release = plan.detached || child.pid === undefined ? () => {} : guardBroker(child.pid, plan);
  child.on('exit', release);
  if (plan.detached) child.unref();
  return {
    pid: child.pid,
    get running() {
      return child.pid !== undefined && child.exitCode === null && child.signalCode === null;
    },
    stop: async () => {
      if (child.pid !== undefined) await stopChild(child);
    },
    kill: () =>
      new Promise((resolve) => {
        if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return resolve();
        child.once('exit', () => resolve());
        child.kill('SIGKILL');
      }),
    tail: async (lines) => failed || lastLines(plan.logFile, lines),
  };
}

/** Formats the storage of a new data directory; a format that was cut off is done again. */
async function format(java, base, file, plan) {
  const formatted = join(plan.dataDir, 'formatted');
  if (existsSync(formatted)) return;
  rmSync(join(plan.dataDir, 'log'), { recursive: true, force: true });
  const args = [
    '-XX:TieredStopAtLevel=1',
    ...base,
    'kafka.tools.StorageTool',
    'format',
    '-t',
    plan.clusterId,
    '-c',
    file,
  ];
  const { code, stdout, stderr } = await run(java, args);
  if (code !== 0)
    throw new SetupError(
      `Kafka's storage could not be formatted in ${plan.dataDir}: ${(stdout + stderr).trim().slice(-2_000)}`,
    );
  writeFileSync(formatted, `${plan.clusterId}\n`);
}

/** Should this process be killed, the broker ends too, and a temporary data directory goes with it. */
function guardBroker(pid, plan) {
  const script = [
    'kill -TERM "$1" 2>/dev/null',
    'n=0; while kill -0 "$1" 2>/dev/null && [ $n -lt 100 ]; do sleep 0.1; n=$((n+1)); done',
    'kill -KILL "$1" 2>/dev/null',
    '[ -z "$2" ] || rm -rf "$2"',
  ].join('\n');
  return guard(script, [String(pid), plan.temporary ? plan.dataDir : '']);
}

/** @param {string} path  @param {number} lines */
export function lastLines(path, lines) {
  if (!existsSync(path)) return '';
  return readFileSync(path, 'utf8').trimEnd().split('\n').slice(-lines).join('\n');
}
