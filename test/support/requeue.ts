/** Requeues of a test pipeline in this process, with seams for faults, and the check of what came of them. */
import { randomUUID } from 'node:crypto';
import { cpSync, rmSync } from 'node:fs';
import { hostname } from 'node:os';
import { RequeueIntents } from '../../src/checkpoint/requeue-intents.ts';
import type { PipelineConfig } from '../../src/config/pipeline-config.ts';
import { Failpoints } from '../../src/engine/failpoint.ts';
import type { RecordFilter } from '../../src/engine/requeue/quarantine-table.ts';
import { executeRequeue, previewRequeue } from '../../src/engine/requeue/requeue.ts';
import type { RequeueHost } from '../../src/engine/requeue/requeue-host.ts';
import type { RequeueReport } from '../../src/engine/requeue/requeue-report.ts';
import { SchemaRegistry } from '../../src/engine/schema-registry.ts';
import type { Catalog } from '../../src/iceberg/catalog.ts';
import { type VerifyReport, verifyTable } from '../../src/proof/verify-table.ts';
import type { FileIO } from '../../src/storage/file-io.ts';
import { LocalFileIO } from '../../src/storage/local-file-io.ts';
import { type IndependentTable, readIndependently } from './independent-table.ts';
import type { Produced } from './produced.ts';
import type { TestPipeline } from './test-pipeline.ts';

export interface RequeueOptions {
  execute?: boolean;
  filter?: RecordFilter;
  /** Today's rules. */
  patch?: (config: PipelineConfig) => void;
  io?: FileIO;
  /** Wraps the catalog. */
  catalog?: (inner: Catalog) => Catalog;
  failpoints?: string;
  isProcessAlive?: (pid: number) => boolean;
  deadlineMs?: number;
  recordsAtOnce?: number;
}

/** One requeue, as a process of its own would do it. */
export async function requeue(
  pipeline: TestPipeline,
  table: string,
  options: RequeueOptions = {},
): Promise<RequeueReport> {
  const io = options.io ?? new LocalFileIO();
  const config = await pipeline.config(options.patch);
  if (options.deadlineMs !== undefined) config.source.requestDeadlineMs = options.deadlineMs;
  const inner = await pipeline.openCatalog(io);
  const registry = new SchemaRegistry(null, new AbortController().signal);
  const host: RequeueHost = {
    config,
    catalog: options.catalog?.(inner) ?? inner,
    io,
    registry,
    checkpoint: await pipeline.openCheckpoint(io),
    intents: new RequeueIntents(io, pipeline.checkpoint),
    owner: { host: hostname(), pid: process.pid, writerId: randomUUID() },
    // Of requeues that ended in a test, nobody lives.
    isProcessAlive: options.isProcessAlive ?? (() => false),
    failpoints: new Failpoints(options.failpoints ?? ''),
    log: { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} },
    now: Date.now,
    random: Math.random,
    randomUuid: randomUUID,
    recordsAtOnce: options.recordsAtOnce ?? 1000,
    sleep: (ms) => new Promise((resolve) => setTimeout(resolve, Math.min(ms, 5))),
  };
  try {
    const run = options.execute === true ? executeRequeue : previewRequeue;
    return await run(host, `${table}__quarantine`, options.filter ?? {});
  } finally {
    await inner.close();
  }
}

/** Calls `hook` before each call that writes. */
export class HookedFileIO implements FileIO {
  readonly #inner: FileIO;
  readonly #hook: (call: 'create' | 'createNew' | 'replace' | 'delete', path: string) => Promise<void>;

  constructor(
    inner: FileIO,
    hook: (call: 'create' | 'createNew' | 'replace' | 'delete', path: string) => Promise<void>,
  ) {
    this.#inner = inner;
    this.#hook = hook;
  }

  read(path: string, range?: { start: number; end: number }): Promise<Uint8Array> {
    return this.#inner.read(path, range);
  }

  stat(path: string): ReturnType<FileIO['stat']> {
    return this.#inner.stat(path);
  }

  list(directory: string): ReturnType<FileIO['list']> {
    return this.#inner.list(directory);
  }

  children(directory: string): ReturnType<FileIO['children']> {
    return this.#inner.children(directory);
  }

  async create(path: string): ReturnType<FileIO['create']> {
    await this.#hook('create', path);
    return this.#inner.create(path);
  }

  async createNew(path: string, bytes: Uint8Array): Promise<boolean> {
    await this.#hook('createNew', path);
    return this.#inner.createNew(path, bytes);
  }

  async replace(path: string, bytes: Uint8Array): Promise<void> {
    await this.#hook('replace', path);
    return this.#inner.replace(path, bytes);
  }

  async delete(path: string): Promise<void> {
    await this.#hook('delete', path);
    return this.#inner.delete(path);
  }
}

/** The directory of a pipeline as it is now, to go back to it: locations stay as they are. */
export function keepState(pipeline: TestPipeline): { restore(): void; remove(): void } {
  const kept = `${pipeline.directory}.kept`;
  cpSync(pipeline.directory, kept, { recursive: true });
  return {
    restore: () => {
      rmSync(pipeline.directory, { recursive: true, force: true });
      cpSync(kept, pipeline.directory, { recursive: true });
    },
    remove: () => rmSync(kept, { recursive: true, force: true }),
  };
}

export interface RequeueEnd {
  /** By `topic-partition@offset`. */
  rows: Map<string, Record<string, unknown>>;
  quarantined: Set<string>;
  requeued: Set<string>;
  data: IndependentTable;
  verify: VerifyReport;
  intents: string[];
}

/**
 * Reads table, quarantine and record with other code than Sluice's: every record that the pipeline has read is one row, or
 * quarantined and not on record as requeued (unless the intent of a requeue explains it); nothing is on record that is no row. Then asks `verify`. Throws an error with what is wrong.
 */
export async function checkRequeued(
  pipeline: TestPipeline,
  table: string,
  produced: Produced,
): Promise<RequeueEnd> {
  const faults: string[] = [];
  const read = (name: string) => readIndependently(pipeline.catalogFile, name);
  const data = await read(table);
  if (data === undefined) throw new Error(`there is no table ${table}`);
  const rows = new Map<string, Record<string, unknown>>();
  for (const row of data.rows) {
    const key = placeOf(row);
    if (rows.has(key)) faults.push(`${key} is two rows`);
    rows.set(key, row);
  }
  const places = async (name: string): Promise<Set<string>> => {
    const found = new Set<string>();
    const there = await read(name).catch(() => undefined);
    for (const row of there?.rows ?? []) {
      if (found.has(placeOf(row))) faults.push(`${placeOf(row)} stands twice in ${name}`);
      found.add(placeOf(row));
    }
    return found;
  };
  const quarantined = await places(`${table}__quarantine`);
  const requeued = await places(`${table}__requeued`);
  const io = new LocalFileIO();
  const catalog = await pipeline.openCatalog();
  const checkpoint = await pipeline.openCheckpoint();
  let verify: VerifyReport;
  try {
    verify = await verifyTable({ checkpoint, catalog, io }, table);
  } finally {
    await catalog.close();
  }
  const unfinished = new Set<string>();
  const files = new RequeueIntents(io, pipeline.checkpoint);
  const intents = await files.list();
  for (const id of intents) {
    for (const { topic, partition, offsets } of (await files.read(id))?.record.records ?? [])
      for (const { from, until } of offsets)
        for (let offset = from; offset < until; offset++) unfinished.add(`${topic}-${partition}@${offset}`);
  }
  for (const { topic, partition, ranges } of verify.partitions) {
    for (const { offset } of produced.records.get(`${topic}-${partition}`)?.values() ?? []) {
      // Not read yet.
      if (offset >= ranges[ranges.length - 1].until) continue;
      const key = `${topic}-${partition}@${offset}`;
      const [isRow, isAside, isBack] = [rows.has(key), quarantined.has(key), requeued.has(key)];
      if (!isRow && !isAside) faults.push(`${key} is lost`);
      if (isBack && !(isRow && isAside)) faults.push(`${key} is on record, row: ${isRow}, aside: ${isAside}`);
      if (isRow && isAside && !isBack && !unfinished.has(key)) faults.push(`${key} is a row and quarantined`);
    }
  }
  if (!verify.ok)
    faults.push(
      `verify: ${JSON.stringify({ ...verify, partitions: [] }, (_, v) => (typeof v === 'bigint' ? String(v) : v))}`,
    );
  if (faults.length > 0) throw new Error(`${faults.length} faults\n${faults.slice(0, 20).join('\n')}`);
  return { rows, quarantined, requeued, data, verify, intents };
}

function placeOf(row: Record<string, unknown>): string {
  return `${row.topic}-${row.kafka_partition}@${row.kafka_offset}`;
}
