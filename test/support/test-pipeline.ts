/** A pipeline of a test in a directory of its own: run in this process with seams, or as a person runs it, by the command line. */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openCatalog } from '../../src/catalog/open-catalog.ts';
import { Checkpoint } from '../../src/checkpoint/checkpoint.ts';
import { loadPipeline } from '../../src/config/load-pipeline.ts';
import type { PipelineConfig } from '../../src/config/pipeline-config.ts';
import type { BatchReport, EngineHost, RunSummary } from '../../src/engine/host.ts';
import { runPipeline } from '../../src/engine/run-pipeline.ts';
import type { Catalog } from '../../src/iceberg/catalog.ts';
import type { FileIO } from '../../src/storage/file-io.ts';
import { LocalFileIO } from '../../src/storage/local-file-io.ts';

const TABLE_BY_TOPIC = 'bronze.${topic}';
const BIN = fileURLToPath(new URL('../../bin/sluice.js', import.meta.url));

export interface TestPipelineOptions {
  bootstrap: string;
  topics: readonly string[];
  name?: string;
  maxOffsetsPerTrigger?: number;
  /** Fewer than a person may ask for, so that a few batches are purged; only in this process. */
  minBatchesToRetain?: number;
  /** Another place than a fresh directory, e.g. a small file system. */
  checkpoint?: string;
  warehouse?: string;
  catalogFile?: string;
  /** `file`: the warehouse is the catalog. */
  catalogType?: 'sqlite' | 'file';
  /** All topics into this table. */
  intoTable?: string;
  /** More lines of the pipeline file, by section. */
  source?: Record<string, string | number | boolean>;
  table?: Record<string, string | number | boolean | object>;
  /** Rules of their own before the one for all topics: each with its `match`. */
  rules?: readonly Record<string, string | number | boolean | object>[];
  more?: string;
}

export interface InProcessRun {
  summary: RunSummary;
  reports: BatchReport[];
  log: string[];
}

export interface CliRun {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

export interface CliOptions {
  failpoints?: string;
  args?: readonly string[];
  env?: Record<string, string>;
  /** Called with the child when it has started. */
  onStart?(child: ChildProcess): void;
  /** Called with each piece of its log. */
  onLog?(text: string, child: ChildProcess): void;
}

/** Do its own lines say where the query begins? */
function beginsByItself(source: TestPipelineOptions['source'] = {}): boolean {
  return Object.keys(source).some((key) => /^starting(Offsets|Timestamp)/.test(key));
}

export class TestPipeline {
  readonly directory: string;
  readonly checkpoint: string;
  readonly warehouse: string;
  readonly catalogFile: string;
  readonly name: string;
  readonly options: TestPipelineOptions;

  constructor(options: TestPipelineOptions) {
    this.options = options;
    this.directory = mkdtempSync(join(tmpdir(), 'sluice-pipeline-'));
    this.checkpoint = options.checkpoint ?? join(this.directory, 'checkpoint');
    this.warehouse = options.warehouse ?? join(this.directory, 'warehouse');
    this.catalogFile =
      options.catalogType === 'file'
        ? this.warehouse
        : (options.catalogFile ?? join(this.directory, 'catalog.db'));
    this.name = options.name ?? 'faults';
  }

  /** Where the pipeline's tables get the records of a topic. */
  tableOf(topic: string): string {
    return this.options.intoTable ?? `bronze.${topic.toLowerCase().replace(/[^a-z0-9_]/g, '_')}`;
  }

  yaml(): string {
    const { bootstrap, topics, maxOffsetsPerTrigger, source, table, more, intoTable } = this.options;
    const lines = (entries: Record<string, string | number | boolean | object> = {}) =>
      Object.entries(entries).map(
        ([key, value]) => `${key}: ${typeof value === 'object' ? JSON.stringify(value) : value}`,
      );
    return [
      `name: ${this.name}`,
      'memory: 64MB',
      `checkpointLocation: ${this.checkpoint}`,
      this.options.catalogType === 'file'
        ? `catalog: { type: file, warehouse: ${this.warehouse} }`
        : `catalog: { type: sqlite, uri: ${this.catalogFile}, warehouse: ${this.warehouse} }`,
      'source:',
      ...[
        `kafka.bootstrap.servers: ${bootstrap}`,
        ...(source?.subscribePattern === undefined ? [`subscribe: ${topics.join(',')}`] : []),
        ...(beginsByItself(source) ? [] : ['startingOffsets: earliest']),
        ...(maxOffsetsPerTrigger === undefined ? [] : [`maxOffsetsPerTrigger: ${maxOffsetsPerTrigger}`]),
        'fetchOffset.retryIntervalMs: 10',
        ...lines(source),
      ].map((line) => `  ${line}`),
      'tables:',
      ...(this.options.rules ?? []).flatMap((rule) =>
        lines(rule).map((line, i) => `${i === 0 ? '  - ' : '    '}${line}`),
      ),
      '  - match: "*"',
      `    table: ${intoTable ?? TABLE_BY_TOPIC}`,
      ...lines(table).map((line) => `    ${line}`),
      'quarantine: { maxRatio: 1 }',
      more ?? '',
    ].join('\n');
  }

  async config(patch: (config: PipelineConfig) => void = () => undefined): Promise<PipelineConfig> {
    const { config } = await loadPipeline({
      file: 'sluice.yaml',
      text: this.yaml(),
      env: {},
      overrides: ['trigger.availableNow=true'],
      cwd: this.directory,
      defaultWorkers: 1,
    });
    if (this.options.minBatchesToRetain !== undefined)
      config.retention.minBatchesToRetain = this.options.minBatchesToRetain;
    patch(config);
    return config;
  }

  /** One run in this process, up to the ends of the topics. */
  async run(
    host: Partial<EngineHost> = {},
    patch: (config: PipelineConfig) => void = () => undefined,
  ): Promise<InProcessRun> {
    const reports: BatchReport[] = [];
    const log: string[] = [];
    const line = (level: string) => (message: string) => void log.push(`${level} ${message}`);
    const summary = await runPipeline(await this.config(patch), {
      now: Date.now,
      random: Math.random,
      randomUuid: randomUUID,
      hostname: hostname(),
      pid: process.pid,
      isProcessAlive: () => true,
      log: { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') },
      failpoints: '',
      stop: new AbortController().signal,
      acceptQuarantine: true,
      onBatch: (report) => void reports.push(report),
      ...host,
      seams: { inlineWorkers: true, ...host.seams },
    });
    return { summary, reports, log };
  }

  /** `sluice run --available-now`, or other arguments, as a child process. */
  cli(options: CliOptions = {}): Promise<CliRun> {
    const file = join(this.directory, 'sluice.yaml');
    writeFileSync(file, this.yaml());
    const args = options.args ?? ['run', '-c', file, '--available-now', '-o', 'json', '--log-format', 'text'];
    return new Promise((resolve, reject) => {
      const child = spawn(process.execPath, [BIN, ...args], {
        cwd: this.directory,
        env: { PATH: process.env.PATH, SLUICE_FAILPOINTS: options.failpoints ?? '', ...options.env },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      const run: CliRun = { code: null, signal: null, stdout: '', stderr: '' };
      child.stdout.on('data', (piece: Buffer) => {
        run.stdout += piece.toString();
      });
      child.stderr.on('data', (piece: Buffer) => {
        run.stderr += piece.toString();
        options.onLog?.(piece.toString(), child);
      });
      child.on('error', reject);
      child.on('close', (code, signal) => resolve({ ...run, code, signal }));
      options.onStart?.(child);
    });
  }

  /** The checkpoint as `verify` reads it. */
  openCheckpoint(io: FileIO = new LocalFileIO()): Promise<Checkpoint> {
    return Checkpoint.open({
      io,
      location: this.checkpoint,
      pipelineName: this.name,
      owner: { host: hostname(), pid: process.pid, writerId: randomUUID() },
      now: Date.now,
      randomUuid: randomUUID,
      warn: () => undefined,
      readOnly: true,
    });
  }

  openCatalog(io: FileIO = new LocalFileIO()): Promise<Catalog> {
    const common = { name: 'sluice', warehouse: this.warehouse };
    return openCatalog(
      this.options.catalogType === 'file'
        ? { type: 'file', ...common }
        : { type: 'sqlite', uri: this.catalogFile, ...common },
      { io, now: Date.now, randomUuid: randomUUID, sleep: (ms) => new Promise((r) => setTimeout(r, ms)) },
    );
  }

  /** Every file below a directory of the pipeline, as absolute paths. */
  files(directory: string): string[] {
    return readdirSync(directory, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .sort();
  }

  remove(): void {
    rmSync(this.directory, { recursive: true, force: true });
  }
}
