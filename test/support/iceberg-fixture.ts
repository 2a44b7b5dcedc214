/** Tables, files and commit contexts for tests of the Iceberg and catalog rooms: a clock and ids that repeat. */
import { createHash } from 'node:crypto';
import type { CatalogServices } from '../../src/catalog/catalog-base.ts';
import { SqliteCatalog } from '../../src/catalog/sqlite-catalog.ts';
import type { DataFile, PartitionValue } from '../../src/core/data-file.ts';
import type { Schema } from '../../src/core/schema.ts';
import type { Catalog, CreateTableRequest, TableIdentifier } from '../../src/iceberg/catalog.ts';
import type { BatchCommit, CommitContext, CommitResult, RecordedBatch } from '../../src/iceberg/commit.ts';
import { buildPartitionSpec } from '../../src/iceberg/partition.ts';
import { newSnapshotId } from '../../src/iceberg/snapshot-id.ts';
import type { FileIO } from '../../src/storage/file-io.ts';

export const ORDERS: TableIdentifier = { namespace: ['bronze'], name: 'orders' };

export const ORDERS_SCHEMA: Schema = {
  type: 'struct',
  schemaId: 0,
  fields: [
    { id: 1, name: 'value', required: false, type: 'string' },
    { id: 2, name: 'kafka_offset', required: true, type: 'long' },
    { id: 3, name: 'dt', required: false, type: 'string' },
    { id: 4, name: 'hour', required: false, type: 'int' },
  ],
};

export function ordersRequest(
  properties: Record<string, string> = {},
  formatVersion: 2 | 3 = 2,
): CreateTableRequest {
  return {
    schema: ORDERS_SCHEMA,
    partitionSpec: buildPartitionSpec(['dt', 'hour'], ORDERS_SCHEMA),
    properties,
    formatVersion,
  };
}

/** Ids that look random and are the same in every run. */
export function uuids(seed: string): () => string {
  let n = 0;
  return () => {
    const hex = createHash('sha256').update(`${seed}/${n++}`).digest('hex');
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
  };
}

/** A clock that stands still until it is moved; waiting moves it, so that nothing waits in fact. */
export class TestClock {
  nowMs = 1_767_225_600_000;
  waits = 0;
  readonly now = (): number => this.nowMs;
  readonly sleep = async (ms: number): Promise<void> => {
    this.nowMs += ms;
    this.waits++;
    await new Promise<void>((resolve) => setImmediate(resolve));
  };
}

export function catalogServices(io: FileIO, clock: TestClock, seed = 'catalog'): CatalogServices {
  return { io, now: clock.now, sleep: clock.sleep, randomUuid: uuids(seed) };
}

export function openSqlite(
  path: string,
  warehouse: string,
  services: CatalogServices,
  name = 'sluice',
): Promise<SqliteCatalog> {
  return SqliteCatalog.open({ name, path, warehouse }, services);
}

/** A data file that nobody reads: `rows` rows in one partition. */
export function dataFile(
  path: string,
  partition: PartitionValue[] = ['2026-01-01', 0],
  rows = 10n,
): DataFile {
  return {
    content: 0,
    filePath: path,
    fileFormat: 'PARQUET',
    partition,
    specId: 0,
    recordCount: rows,
    fileSizeInBytes: 1000n,
    columnSizes: new Map([[1, 500n]]),
    valueCounts: new Map([[1, rows]]),
    nullValueCounts: new Map([[1, 0n]]),
    nanValueCounts: new Map(),
    lowerBounds: new Map([[1, Uint8Array.of(0x61)]]),
    upperBounds: new Map([[1, Uint8Array.of(0x7a)]]),
    splitOffsets: [4n],
  };
}

export interface LogLine {
  level: string;
  message: string;
}

/** Each context is a process of its own: its ids are not those of another. */
let contexts = 0;

export function commitContext(
  catalog: Catalog,
  io: FileIO,
  clock: TestClock,
  overrides: Partial<CommitContext> = {},
): CommitContext & { lines: LogLine[] } {
  const lines: LogLine[] = [];
  return {
    catalog,
    io,
    now: clock.now,
    sleep: clock.sleep,
    randomUuid: uuids(`commit ${contexts++}`),
    random: () => 0.5,
    deadlineMs: 60_000,
    maxAttempts: 5,
    log: (level, message) => lines.push({ level, message }),
    ...overrides,
    lines,
  };
}

/** One pipeline's memory of what it has committed into one table, as a checkpoint keeps it. */
export class TestCheckpoint {
  readonly pipelineId: string;
  readonly pipelineName: string;
  readonly writerId: string;
  readonly done = new Map<number, RecordedBatch>();
  readonly #uuid: () => string;

  constructor(pipelineId: string, pipelineName = 'ad-events', writerId = `writer-of-${pipelineId}`) {
    this.pipelineId = pipelineId;
    this.pipelineName = pipelineName;
    this.writerId = writerId;
    this.#uuid = uuids(`${pipelineId}/${writerId}`);
  }

  get lastRecorded(): RecordedBatch | null {
    let last: RecordedBatch | null = null;
    for (const batch of this.done.values()) if (last === null || batch.batchId > last.batchId) last = batch;
    return last;
  }

  /** A prepared batch of one file, ready to be committed as often as a test likes. */
  batch(batchId: number, expectedUuid: string, overrides: Partial<BatchCommit> = {}): BatchCommit {
    return {
      identifier: ORDERS,
      ref: 'main',
      expectedUuid,
      pipelineId: this.pipelineId,
      pipelineName: this.pipelineName,
      batchId,
      commitId: this.#uuid(),
      snapshotId: newSnapshotId(this.#uuid()),
      writerId: this.writerId,
      files: [dataFile(`memory://w/bronze/orders/data/${this.pipelineId}-${batchId}.parquet`)],
      offsets: `{"orders":{"0":${(batchId + 1) * 10}}}`,
      recorded: async (id) => this.done.get(id) ?? null,
      lastRecorded: this.lastRecorded,
      ...overrides,
    };
  }

  record(batch: BatchCommit, result: CommitResult): void {
    this.done.set(batch.batchId, {
      batchId: batch.batchId,
      snapshotId: result.snapshotId,
      commitId: batch.commitId,
    });
  }
}
