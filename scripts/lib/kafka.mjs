/**
 * A real Kafka broker on loopback: the Java one where Java 17 and Maven are there, else the container image where a Docker engine
 * runs. One broker in KRaft combined mode; several can run side by side, each with its own ports and data directory.
 * Runs on any Node.js from 18 on and imports nothing that must be installed.
 */
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { dockerEngine, launchContainer } from './kafka-docker.mjs';
import { launchJava } from './kafka-java.mjs';
import { findJava, pinnedJars } from './maven.mjs';
import { freePort, isFree, probe } from './net.mjs';
import { atExit, pause, SetupError } from './process.mjs';

export const KAFKA_VERSION = '4.3.1';
// Half the time to start: the broker of a test lives too shortly for Java's second compiler to pay.
const QUICK_START = ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC'];
const PINS = fileURLToPath(new URL('../../services/kafka/', import.meta.url));

/**
 * How a broker can be run on this machine; fetches the jars when they are not in the cache yet.
 * @param {{ log?: (line: string) => void }} options
 * @returns {Promise<import('./kafka.d.mts').KafkaRuntime>}
 * @throws {SetupError} when there is neither Java with Maven nor Docker
 */
export async function kafkaRuntime({ log = toStderr } = {}) {
  const java = await findJava();
  if (java !== undefined) {
    const jars = await pinnedJars('kafka', `Apache Kafka ${KAFKA_VERSION} (about 45 MB)`, log);
    if (jars !== undefined) return { kind: 'java', java, jars };
  }
  if (await dockerEngine()) return { kind: 'docker', image: `apache/kafka:${KAFKA_VERSION}` };
  const missing = java === undefined ? 'Java 17 or newer (`java`)' : 'Maven (`mvn`)';
  throw new SetupError(
    `Cannot start Apache Kafka: ${missing} is not installed. Install a JDK 17+ and Maven, or start a Docker engine, ` +
      'or point KAFKA_BOOTSTRAP_SERVERS at a broker that runs already.',
  );
}

/**
 * Starts a broker and resolves when it answers. See kafka.d.mts for the options.
 * @param {import('./kafka.d.mts').BrokerOptions} options
 * @returns {Promise<import('./kafka.d.mts').Broker>}
 * @throws {SetupError} with the end of the broker's log when it does not come up
 */
export async function startBroker(options = {}) {
  const broker = new LocalBroker(await kafkaRuntime(options), options);
  await broker.start();
  return broker;
}

class LocalBroker {
  #runtime;
  #options;
  #handle;
  #forget = () => {};
  #temporary;
  #clusterId;

  constructor(runtime, options) {
    this.#runtime = runtime;
    this.#options = options;
    this.#temporary = options.dataDir === undefined;
    this.dataDir =
      options.dataDir === undefined ? mkdtempSync(join(tmpdir(), 'sluice-kafka-')) : resolve(options.dataDir);
    mkdirSync(this.dataDir, { recursive: true });
    this.logFile = join(this.dataDir, 'broker.log');
    this.host = '127.0.0.1';
    this.port = options.port ?? 0;
  }

  /** The address to connect to directly, whatever the broker advertises. */
  get bootstrap() {
    return `${this.host}:${this.port}`;
  }

  get clusterId() {
    return this.#clusterId;
  }

  get running() {
    return this.#handle?.running ?? false;
  }

  get pid() {
    return this.#handle?.pid;
  }

  get container() {
    return this.#handle?.container;
  }

  /** The last lines of the broker's log. */
  async tail(lines = 20) {
    return (await this.#handle?.tail(lines)) ?? '';
  }

  async start() {
    if (this.running) return;
    this.#clusterId = clusterIdOf(this.dataDir, this.#options.clusterId);
    const portIsChosen = this.port === 0;
    for (let attempt = 1; ; attempt++) {
      if (portIsChosen) this.port = await freePort();
      const failure = await this.#startOnce();
      if (failure === undefined) return;
      await this.kill();
      if (portIsChosen && attempt < 3 && /Address already in use/.test(failure)) continue;
      if (this.#temporary) rmSync(this.dataDir, { recursive: true, force: true });
      throw new SetupError(
        `Apache Kafka did not come up on ${this.bootstrap}. The end of ${this.logFile}:\n${failure}`,
      );
    }
  }

  /** Undefined when the broker answers, else the end of its log. */
  async #startOnce() {
    if (!(await isFree(this.port))) return `Address already in use: 127.0.0.1:${this.port}`;
    const controllerPort = await freePort([this.port]);
    this.#handle = await this.#launch(controllerPort);
    if (!this.#options.detached) this.#forget = atExit(() => this.stop());
    const deadline = Date.now() + (this.#options.startTimeoutMs ?? 60_000);
    while (this.running && Date.now() < deadline) {
      if (await this.#answers()) return undefined;
      await pause(25);
    }
    return this.tail();
  }

  async #answers() {
    // A controller is not asked by clients: it is there when it listens.
    if (this.#options.isController) return !(await isFree(this.port));
    const answer = await probe(this.host, this.port).catch(() => undefined);
    const { nodeId = 1 } = this.#options;
    // A broker that has registered lists itself; another cluster's answer means that someone else has the port.
    return answer?.clusterId === this.#clusterId && answer.brokers.some((b) => b.nodeId === nodeId);
  }

  #launch(controllerPort) {
    const {
      nodeId = 1,
      advertisedHost = '127.0.0.1',
      advertisedPort = this.port,
      properties = {},
    } = this.#options;
    const values = { nodeId, port: this.port, controllerPort, advertisedHost, advertisedPort };
    const launch = this.#runtime.kind === 'java' ? launchJava : launchContainer;
    return launch(this.#runtime, {
      dataDir: this.dataDir,
      logFile: this.logFile,
      clusterId: this.#clusterId,
      port: this.port,
      properties: (places) => brokerProperties({ ...values, ...places }, properties),
      heapMb: this.#options.heapMb ?? 512,
      javaOptions: this.#options.javaOptions ?? QUICK_START,
      detached: this.#options.detached ?? false,
      temporary: this.#temporary,
    });
  }

  /** Stops the broker as an operator would; its data stays for `start`, unless the data directory was a temporary one of ours. */
  async stop() {
    this.#forget();
    await this.#handle?.stop();
    if (!this.#temporary) return;
    await this.#handle?.discard?.();
    rmSync(this.dataDir, { recursive: true, force: true });
  }

  /** Stops the broker and starts it again on the same data and port. */
  async restart() {
    this.#forget();
    await this.#handle?.stop();
    await this.start();
  }

  /** Ends the broker at once, as a power cut would; `start` brings it back on the same data and port. */
  async kill() {
    this.#forget();
    await this.#handle?.kill();
  }
}

/**
 * The id of the cluster whose data is in `dataDir`; for a new directory `given`, or a new one, is written down.
 * @param {string} dataDir
 * @param {string | undefined} given
 */
function clusterIdOf(dataDir, given) {
  const file = join(dataDir, 'cluster-id');
  if (existsSync(file)) return readFileSync(file, 'utf8').trim();
  const id = given ?? newClusterId();
  writeFileSync(file, `${id}\n`);
  return id;
}

export function newClusterId() {
  let id;
  do id = randomBytes(16).toString('base64url');
  while (id.startsWith('-'));
  return id;
}

/**
 * The template with its places filled, then the caller's properties, which win and may have the same places; null removes one.
 * @param {Record<string, string | number>} values
 * @param {Record<string, string | number | boolean | null>} extra
 * @returns {Map<string, string>}
 */
function brokerProperties(values, extra) {
  const properties = new Map();
  for (const line of readFileSync(join(PINS, 'server.properties'), 'utf8').split('\n')) {
    if (line.trim() === '' || line.startsWith('#')) continue;
    const equals = line.indexOf('=');
    properties.set(line.slice(0, equals), filled(line.slice(equals + 1), values));
  }
  for (const [key, value] of Object.entries(extra)) {
    if (value === null) properties.delete(key);
    else properties.set(key, filled(String(value), values));
  }
  return properties;
}

/** @param {string} text  @param {Record<string, string | number>} values */
function filled(text, values) {
  return text.replace(/\$\{(\w+)\}/g, (_, name) => {
    if (values[name] === undefined) throw new Error(`a property of the broker: unknown place \${${name}}`);
    return String(values[name]);
  });
}

/** @param {string} line */
function toStderr(line) {
  process.stderr.write(`${line}\n`);
}
