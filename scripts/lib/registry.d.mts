/** Types of registry.mjs, which is plain JavaScript because it runs before anything is installed. */
export declare const REGISTRY_VERSION: string;
export declare const BASE_PATH: string;

export type RegistryRuntime = { java: string; app: string } | { missing: string };

export interface RegistryStartOptions {
  /** Of the Kafka that keeps the schemas. */
  bootstrap: string;
  /** The topic of its journal; the same one again is the same registry. `-snapshots` and `-events` stand beside it. */
  topic?: string;
  /** The port on 127.0.0.1; a free one when left out. */
  port?: number;
  /** Of its log and its temporary files; a temporary one when left out. */
  dataDir?: string;
  /** It goes on when this process ends. */
  detached?: boolean;
  startTimeoutMs?: number;
  log?: (line: string) => void;
}

export interface RegistryService {
  readonly host: string;
  readonly port: number;
  /** Of the Confluent API: `http://127.0.0.1:PORT/apis/ccompat/v7`. */
  readonly url: string;
  readonly dataDir: string;
  readonly logFile: string;
  readonly running: boolean;
  readonly pid: number | undefined;
  /** Starts it again after `kill` or `stop`, on the same port and with the same schemas. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** SIGKILL. */
  kill(): Promise<void>;
  tail(lines?: number): Promise<string>;
}

export declare function registryRuntime(options?: { log?: (line: string) => void }): Promise<RegistryRuntime>;
export declare function startRegistryService(options: RegistryStartOptions): Promise<RegistryService>;
export declare function registryAnswers(url: string): Promise<boolean>;
