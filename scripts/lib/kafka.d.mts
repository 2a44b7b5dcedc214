/** Types of kafka.mjs, which is plain JavaScript because it runs before anything is installed. */
export declare const KAFKA_VERSION: string;

export type KafkaRuntime = { kind: 'java'; java: string; jars: string } | { kind: 'docker'; image: string };

export interface BrokerOptions {
  /** Where data, log and state of the broker live; the same directory again is the same broker. Left out: a temporary one. */
  dataDir?: string;
  /** The port on 127.0.0.1; a free one when left out. */
  port?: number;
  /** What the broker tells its clients to connect to (a proxy, for example); its own address when left out. */
  advertisedHost?: string;
  advertisedPort?: number;
  nodeId?: number;
  /** Of a new data directory: the cluster that it belongs to. A new one when left out. */
  clusterId?: string;
  /** It has a controller's role only, and its port is the controller's. */
  isController?: boolean;
  /** Broker properties that win over services/kafka/server.properties; null removes one. */
  properties?: Record<string, string | number | boolean | null>;
  heapMb?: number;
  /** Options of the Java machine; those for a quick start when left out. */
  javaOptions?: string[];
  /** The broker goes on when this process ends. */
  detached?: boolean;
  startTimeoutMs?: number;
  log?: (line: string) => void;
}

export interface Broker {
  readonly host: string;
  readonly port: number;
  /** `host:port` to connect to directly. */
  readonly bootstrap: string;
  readonly clusterId: string;
  readonly dataDir: string;
  readonly logFile: string;
  readonly running: boolean;
  /** Undefined while it does not run, and where it is a container. */
  readonly pid: number | undefined;
  /** The container's name, where it is one. */
  readonly container: string | undefined;
  /** Starts it again after `stop` or `kill`, on the same port and data. */
  start(): Promise<void>;
  /** Clean stop. A temporary data directory is removed. */
  stop(): Promise<void>;
  /** Clean stop and start on the same port and data. */
  restart(): Promise<void>;
  /** SIGKILL; the data stays. */
  kill(): Promise<void>;
  tail(lines?: number): Promise<string>;
}

export interface LaunchPlan {
  dataDir: string;
  logFile: string;
  clusterId: string;
  port: number;
  properties: (places: { bindHost: string; logDirs: string }) => Map<string, string>;
  heapMb: number;
  javaOptions: string[];
  detached: boolean;
  temporary: boolean;
}

export interface BrokerHandle {
  readonly pid: number | undefined;
  readonly container?: string;
  readonly running: boolean;
  stop(): Promise<void>;
  kill(): Promise<void>;
  /** Removes data that is kept outside the data directory. */
  discard?(): Promise<void>;
  tail(lines: number): Promise<string>;
}

export declare function kafkaRuntime(options?: { log?: (line: string) => void }): Promise<KafkaRuntime>;
export declare function startBroker(options?: BrokerOptions): Promise<Broker>;
export declare function newClusterId(): string;
