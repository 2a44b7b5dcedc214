/**
 * A real Schema Registry on loopback: Apicurio Registry with its storage in Kafka, asked by its Confluent-compatible API.
 * Runs on any Node.js from 18 on and imports nothing that must be installed.
 */
import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, mkdtempSync, openSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cached, sha256OfFile } from './cache.mjs';
import { lastLines } from './kafka-java.mjs';
import { findJava, pinnedJars } from './maven.mjs';
import { freePort, isFree } from './net.mjs';
import { atExit, guard, pause, run, SetupError, stopChild, which } from './process.mjs';

export const REGISTRY_VERSION = '3.0.9';
/** Where the Confluent API lies. */
export const BASE_PATH = '/apis/ccompat/v7';
const LIST = fileURLToPath(new URL('../../services/registry/jars.sha256', import.meta.url));

/**
 * How the registry can be run here, or why it cannot: tests are skipped with that word, not failed.
 * @param {{ log?: (line: string) => void }} options
 * @returns {Promise<import('./registry.d.mts').RegistryRuntime>}
 * @throws {SetupError} when the archive is not the pinned one
 */
export async function registryRuntime({ log = toStderr } = {}) {
  const java = await findJava();
  if (java === undefined) return { missing: 'Java 17 or newer (`java`) is not installed' };
  if (which('tar') === undefined) return { missing: '`tar` is not installed' };
  try {
    const jars = await pinnedJars(
      'registry',
      `Apicurio Registry ${REGISTRY_VERSION} (about 110 MB)`,
      log,
      'copy',
    );
    if (jars === undefined) return { missing: 'Maven (`mvn`) is not installed' };
    return { java, app: await unpacked(jars) };
  } catch (error) {
    if (error instanceof SetupError && error.exitCode !== 70) return { missing: error.message };
    throw error;
  }
}

/** @param {string} directory that holds the archive */
function unpacked(directory) {
  const name = readdirSync(directory).find((each) => each.endsWith('.tar.gz'));
  if (name === undefined) throw new SetupError(`${directory} holds no archive; remove it and try again.`);
  return cached('registry-app', [sha256OfFile(LIST)], async (target) => {
    const { code, stderr } = await run('tar', ['-xzf', join(directory, name), '-C', target]);
    if (code !== 0) throw new SetupError(`${name} could not be unpacked: ${stderr.trim()}`);
  });
}

/**
 * Starts a registry and resolves when it answers. See registry.d.mts for the options.
 * @param {import('./registry.d.mts').RegistryStartOptions} options
 * @returns {Promise<import('./registry.d.mts').RegistryService>}
 * @throws {SetupError} with the end of its log when it does not come up
 */
export async function startRegistryService(options) {
  const runtime = await registryRuntime(options);
  if ('missing' in runtime)
    throw new SetupError(
      `Cannot start the Schema Registry: ${runtime.missing}. Any registry with Confluent's API does instead.`,
    );
  const registry = new LocalRegistry(runtime, options);
  await registry.start();
  return registry;
}

class LocalRegistry {
  #runtime;
  #options;
  /** @type {import('node:child_process').ChildProcess | undefined} */
  #child;
  #forget = () => {};
  #release = () => {};
  #temporary;

  constructor(runtime, options) {
    this.#runtime = runtime;
    this.#options = options;
    this.#temporary = options.dataDir === undefined;
    this.dataDir =
      options.dataDir === undefined
        ? mkdtempSync(join(tmpdir(), 'sluice-registry-'))
        : resolve(options.dataDir);
    mkdirSync(this.dataDir, { recursive: true });
    this.logFile = join(this.dataDir, 'registry.log');
    this.host = '127.0.0.1';
    this.port = options.port ?? 0;
  }

  get url() {
    return `http://${this.host}:${this.port}${BASE_PATH}`;
  }

  get pid() {
    return this.#child?.pid;
  }

  get running() {
    const child = this.#child;
    return child?.pid !== undefined && child.exitCode === null && child.signalCode === null;
  }

  async tail(lines = 20) {
    return lastLines(this.logFile, lines);
  }

  async start() {
    if (this.running) return;
    const portIsChosen = this.port === 0;
    for (let attempt = 1; ; attempt++) {
      if (portIsChosen) this.port = await freePort();
      if (await this.#startOnce()) return;
      const failure = await this.tail(30);
      await this.kill();
      if (portIsChosen && attempt < 3 && /already in use|Address in use/i.test(failure)) {
        this.port = 0;
        continue;
      }
      if (this.#temporary) rmSync(this.dataDir, { recursive: true, force: true });
      throw new SetupError(
        `The Schema Registry did not come up on ${this.url}. The end of ${this.logFile}:\n${failure}`,
      );
    }
  }

  async #startOnce() {
    if (!(await isFree(this.port)))
      throw new SetupError(`The port ${this.port} is taken; the Schema Registry cannot listen there.`);
    this.#launch();
    const deadline = Date.now() + (this.#options.startTimeoutMs ?? 90_000);
    while (this.running && Date.now() < deadline) {
      if (await registryAnswers(this.url)) return true;
      await pause(50);
    }
    return false;
  }

  #launch() {
    const { app, java } = this.#runtime;
    const jar = readdirSync(app).find((name) => name.endsWith('-runner.jar'));
    const log = openSync(this.logFile, 'a');
    const options = [
      '-XX:TieredStopAtLevel=1',
      '-XX:+UseSerialGC',
      '-Xmx384m',
      `-Djava.io.tmpdir=${this.dataDir}`,
    ];
    this.#child = spawn(java, [...options, '-jar', join(app, jar ?? 'runner.jar')], {
      // A process group of its own, as the broker's: Ctrl-C reaches us, and we stop it.
      detached: true,
      stdio: ['ignore', log, log],
      cwd: this.dataDir,
      env: { ...process.env, ...this.#environment() },
    });
    closeSync(log);
    this.#child.on('error', () => {});
    if (this.#options.detached) {
      this.#child.unref();
      return;
    }
    this.#forget = atExit(() => this.stop());
    const { pid } = this.#child;
    if (pid === undefined) return;
    const release = guardRegistry(pid, this.#temporary ? this.dataDir : '');
    this.#release = release;
    this.#child.on('exit', release);
  }

  #environment() {
    const { bootstrap, topic = 'sluice-registry' } = this.#options;
    return {
      APICURIO_STORAGE_KIND: 'kafkasql',
      APICURIO_KAFKASQL_BOOTSTRAP_SERVERS: bootstrap,
      APICURIO_KAFKASQL_TOPIC: topic,
      APICURIO_KAFKASQL_SNAPSHOTS_TOPIC: `${topic}-snapshots`,
      APICURIO_EVENTS_KAFKA_TOPIC: `${topic}-events`,
      // How long it waits for more of its journal before it says that it is ready.
      APICURIO_KAFKASQL_CONSUMER_POLL_TIMEOUT: '200',
      APICURIO_STORAGE_SNAPSHOT_LOCATION: this.dataDir,
      APICURIO_IMPORT_WORK_DIR: this.dataDir,
      QUARKUS_HTTP_HOST: this.host,
      QUARKUS_HTTP_PORT: String(this.port),
    };
  }

  /** Clean stop; what it knows stays in Kafka. A temporary directory is removed. */
  async stop() {
    this.#forget();
    if (this.#child !== undefined) await stopChild(this.#child);
    this.#release();
    if (this.#temporary) rmSync(this.dataDir, { recursive: true, force: true });
  }

  /** SIGKILL; `start` brings it back on the same port. */
  async kill() {
    this.#forget();
    const child = this.#child;
    if (child === undefined || !this.running) return;
    await new Promise((done) => {
      child.once('exit', done);
      child.kill('SIGKILL');
    });
  }
}

/** Does a registry answer at the address? @param {string} url */
export async function registryAnswers(url) {
  try {
    const response = await fetch(`${url}/subjects`, { signal: AbortSignal.timeout(2_000) });
    return response.ok && Array.isArray(await response.json());
  } catch {
    return false;
  }
}

/** Should this process be killed, the registry ends too, and a temporary directory goes with it. */
function guardRegistry(pid, directory) {
  const script = [
    'kill -TERM "$1" 2>/dev/null',
    'n=0; while kill -0 "$1" 2>/dev/null && [ $n -lt 50 ]; do sleep 0.1; n=$((n+1)); done',
    'kill -KILL "$1" 2>/dev/null',
    '[ -z "$2" ] || rm -rf "$2"',
  ].join('\n');
  return guard(script, [String(pid), directory]);
}

/** @param {string} line */
function toStderr(line) {
  process.stderr.write(`${line}\n`);
}
