/**
 * Three real brokers and a controller of their own on loopback, each broker in a rack of its own and reached by clients through
 * a TCP proxy, while the brokers talk to one another past it. A controller beside them lets any broker be killed, stopped or
 * paused without the cluster losing its head. Only with Java: containers have no loopback in common.
 */
import { kafkaRuntime, newClusterId } from '../../scripts/lib/kafka.mjs';
import { freePort, probe } from '../../scripts/lib/net.mjs';
import { type Broker, startBroker } from './kafka.ts';
import { TcpProxy } from './tcp-proxy.ts';

export interface ClusterBroker {
  readonly id: number;
  /** `broker.rack`. */
  readonly rack: string;
  readonly process: Broker;
  /** What the metadata names as the broker's address. */
  readonly proxy: TcpProxy;
  /** SIGKILL: connections break, new ones are refused. */
  kill(): Promise<void>;
  /** A clean stop: it hands on its leaderships first. */
  stop(): Promise<void>;
  /** Back on the same data and port. Its proxy is healed at once: a hold that is set after the call holds from the first byte on. */
  start(): Promise<void>;
  /** SIGSTOP: connections stay and can be made, but nothing answers. */
  pause(): void;
  /** SIGCONT. */
  resume(): void;
}

export interface TestCluster {
  readonly brokers: readonly ClusterBroker[];
  /** All of them, through their proxies. */
  readonly bootstrap: string;
  /** Past the proxies, also after the metadata: for what the test itself does and for what it compares with. */
  readonly inside: string;
  broker(id: number): ClusterBroker;
  /** Every broker runs, listens, is not held up, and is known to all; for after a test that left one in trouble. */
  heal(): Promise<void>;
  close(): Promise<void>;
}

/** Why the cluster cannot be had here; undefined where it can. */
export async function kafkaClusterLacks(): Promise<string | undefined> {
  const { kind } = await kafkaRuntime();
  return kind === 'java'
    ? undefined
    : 'needs Java: brokers in containers do not reach one another by loopback';
}

const CONTROLLER_ID = 100;
const BROKERS = 3;
const HEAP_MB = 256;

/** What brokers and controller have in common. */
const COMMON = {
  'controller.quorum.voters': '',
  'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,INTERNAL:PLAINTEXT',
  'default.replication.factor': BROKERS,
  'offsets.topic.replication.factor': BROKERS,
  'transaction.state.log.replication.factor': BROKERS,
  // Leaders move when a test says so, not when it has lasted long enough.
  'auto.leader.rebalance.enable': false,
};

/** `properties` of controller and brokers. */
export async function startKafkaCluster(
  properties: Record<string, string | number | boolean> = {},
): Promise<TestCluster> {
  const clusterId = newClusterId();
  const controllerPort = await freePort();
  const common = {
    ...COMMON,
    'controller.quorum.voters': `${CONTROLLER_ID}@127.0.0.1:${controllerPort}`,
    ...properties,
  };
  const starting: Promise<Broker>[] = [
    startBroker({
      nodeId: CONTROLLER_ID,
      clusterId,
      port: controllerPort,
      isController: true,
      heapMb: HEAP_MB,
      properties: {
        ...common,
        'process.roles': 'controller',
        listeners: 'CONTROLLER://${bindHost}:${port}',
        'advertised.listeners': null,
        'inter.broker.listener.name': null,
      },
    }),
  ];
  const ports = [controllerPort];
  const insidePorts: number[] = [];
  const proxies: TcpProxy[] = [];
  for (let id = 1; id <= BROKERS; id++) {
    const proxy = await TcpProxy.listen();
    proxies.push(proxy);
    const port = await freePort(ports);
    const internalPort = await freePort([...ports, port]);
    ports.push(port, internalPort);
    insidePorts.push(internalPort);
    proxy.target = { host: '127.0.0.1', port };
    starting.push(
      startBroker({
        nodeId: id,
        clusterId,
        port,
        advertisedPort: proxy.port,
        heapMb: HEAP_MB,
        properties: {
          ...common,
          'process.roles': 'broker',
          'broker.rack': `rack-${id}`,
          listeners: `PLAINTEXT://\${bindHost}:\${port},INTERNAL://\${bindHost}:${internalPort}`,
          'advertised.listeners': `PLAINTEXT://\${advertisedHost}:\${advertisedPort},INTERNAL://127.0.0.1:${internalPort}`,
          'inter.broker.listener.name': 'INTERNAL',
        },
      }),
    );
  }
  const outcomes = await Promise.allSettled(starting);
  const started = outcomes.flatMap((o) => (o.status === 'fulfilled' ? [o.value] : []));
  const failed = outcomes.find((o) => o.status === 'rejected');
  if (failed !== undefined) {
    await Promise.all([...started.map((b) => b.stop()), ...proxies.map((p) => p.close())]);
    throw failed.reason;
  }
  const [controller, ...processes] = started;
  return new LocalCluster(
    controller,
    processes.map((process, i) => new LocalMember(i + 1, process, proxies[i])),
    insidePorts.map((port) => `127.0.0.1:${port}`).join(','),
  );
}

class LocalCluster implements TestCluster {
  readonly brokers: readonly LocalMember[];
  readonly inside: string;
  private readonly controller: Broker;

  constructor(controller: Broker, brokers: readonly LocalMember[], inside: string) {
    this.controller = controller;
    this.brokers = brokers;
    this.inside = inside;
  }

  get bootstrap(): string {
    return this.brokers.map((b) => b.proxy.address).join(',');
  }

  broker(id: number): LocalMember {
    return this.brokers[id - 1];
  }

  async heal(): Promise<void> {
    await Promise.all(this.brokers.map((b) => b.start()));
    const known = async ({ process: { host, port } }: LocalMember): Promise<number> =>
      (await probe(host, port)).brokers.length;
    for (const broker of this.brokers)
      while ((await known(broker)) < BROKERS) await new Promise((resolve) => setTimeout(resolve, 50));
  }

  async close(): Promise<void> {
    for (const broker of this.brokers) broker.resume();
    await Promise.all(this.brokers.map((b) => b.end()));
    await this.controller.stop();
  }
}

class LocalMember implements ClusterBroker {
  readonly id: number;
  readonly rack: string;
  readonly process: Broker;
  readonly proxy: TcpProxy;

  constructor(id: number, process: Broker, proxy: TcpProxy) {
    this.id = id;
    this.rack = `rack-${id}`;
    this.process = process;
    this.proxy = proxy;
  }

  async kill(): Promise<void> {
    const killed = this.process.kill();
    await this.proxy.down();
    await killed;
  }

  async stop(): Promise<void> {
    // Not `Broker.stop`, which takes a temporary directory with it.
    process.kill(this.process.pid!, 'SIGTERM');
    while (this.process.running) await new Promise((resolve) => setTimeout(resolve, 20));
    await this.proxy.down();
  }

  async start(): Promise<void> {
    this.resume();
    this.proxy.heal();
    await this.process.start();
    await this.proxy.up();
  }

  pause(): void {
    process.kill(this.process.pid!, 'SIGSTOP');
  }

  resume(): void {
    if (this.process.running) process.kill(this.process.pid!, 'SIGCONT');
  }

  /** At the end of all: no clean hand-over, which needs the others. */
  async end(): Promise<void> {
    await this.process.kill();
    await this.process.stop();
    await this.proxy.close();
  }
}
