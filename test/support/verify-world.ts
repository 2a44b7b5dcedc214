/** A checkpoint and tables in memory, made row by row: what `verify` is asked about. */

import type { Checkpoint } from '../../src/checkpoint/checkpoint.ts';
import type { BatchPlan, DoneBatch, PreparedBatch, RangeFunnel } from '../../src/checkpoint/records.ts';
import { type RequeuedRecords, RequeueIntents } from '../../src/checkpoint/requeue-intents.ts';
import { addSums, stretchSum } from '../../src/core/gap-sum.ts';
import type { OffsetMap } from '../../src/core/offset-range.ts';
import { setOffset } from '../../src/core/offset-range.ts';
import type { Schema } from '../../src/core/schema.ts';
import { Failpoints } from '../../src/engine/failpoint.ts';
import { finishRequeue } from '../../src/engine/requeue/requeue-commit.ts';
import type { RequeueHost } from '../../src/engine/requeue/requeue-host.ts';
import { RequeuedTable } from '../../src/engine/requeue/requeued-table.ts';
import { routingText } from '../../src/engine/routing.ts';
import { parseTableName } from '../../src/engine/target-tables.ts';
import type { Catalog } from '../../src/iceberg/catalog.ts';
import { commitBatch } from '../../src/iceberg/commit.ts';
import { UNPARTITIONED } from '../../src/iceberg/partition.ts';
import { type VerifyReport, verifyTable } from '../../src/proof/verify-table.ts';
import { MemoryFileIO } from '../../src/storage/memory-file-io.ts';
import { LOCATION, openCheckpoint } from './checkpoint.ts';
import {
  catalogServices,
  commitContext,
  dataFile,
  openSqlite,
  TestCheckpoint,
  TestClock,
  uuids,
} from './iceberg-fixture.ts';
import { field, tableSchema, toVector, writeTable } from './parquet-table.ts';

export interface WorldRow {
  topic: string;
  partition: number;
  offset: number;
  topicId?: string | null;
}

const COORDINATES = [
  field(1, 'topic', 'string'),
  field(2, 'kafka_partition', 'int'),
  field(3, 'kafka_offset', 'long'),
];
export const PLAIN_SCHEMA: Schema = tableSchema(COORDINATES);
export const SCHEMA_WITH_ID: Schema = tableSchema([...COORDINATES, field(4, 'kafka_topic_id', 'string')]);

export class VerifyWorld {
  readonly io = new MemoryFileIO();
  readonly checkpoint: Checkpoint;
  readonly catalog: Catalog;
  private readonly clock: TestClock;
  private readonly writer = new TestCheckpoint('pipeline-of-the-world');
  private readonly schemas = new Map<string, Schema>();
  private files = 0;
  private commits = 0;

  static async open(): Promise<VerifyWorld> {
    const clock = new TestClock();
    const io = new MemoryFileIO();
    const catalog = await openSqlite(':memory:', 'memory://w', catalogServices(io, clock));
    return new VerifyWorld(clock, io, catalog, await openCheckpoint(io));
  }

  private constructor(clock: TestClock, io: MemoryFileIO, catalog: Catalog, checkpoint: Checkpoint) {
    this.clock = clock;
    this.io = io;
    this.catalog = catalog;
    this.checkpoint = checkpoint;
  }

  close(): Promise<void> {
    return this.catalog.close();
  }

  verify(table: string): Promise<VerifyReport> {
    return verifyTable(this, table);
  }

  async createTable(name: string, schema: Schema = PLAIN_SCHEMA): Promise<void> {
    const request = { schema, partitionSpec: UNPARTITIONED, properties: {}, formatVersion: 2 as const };
    await this.catalog.createTable(parseTableName(name), request);
    this.schemas.set(name, schema);
  }

  /** Puts records on record as requeued, as a requeue does; `land: false` leaves its rows out, `record: false` its record. */
  async requeue(
    table: string,
    records: RequeuedRecords[],
    { land = true, record = true }: { land?: boolean; record?: boolean } = {},
  ): Promise<string> {
    const quarantine = `${table}__quarantine`;
    const loaded = await this.catalog.loadTable(parseTableName(table));
    const ids = uuids(`requeue ${this.commits++}`);
    const requeueId = ids();
    const rows = records.flatMap(({ topic, partition, offsets }) =>
      offsets.flatMap(({ from, until }) =>
        Array.from({ length: Number(until - from) }, (_, i) => ({
          topic,
          partition,
          offset: Number(from) + i,
        })),
      ),
    );
    const path = `memory://w/data/${this.files++}.parquet`;
    await this.writeRows(path, this.schemas.get(table)!.fields.slice(0, 3), rows);
    const intent = {
      requeueId,
      pipelineName: 'p',
      quarantine,
      table,
      uuid: loaded!.metadata.tableUuid,
      commitId: ids(),
      snapshotId: 77n + BigInt(this.commits),
      writerId: 'w',
      requeuedAtMs: this.clock.nowMs,
      files: [dataFile(path, [], BigInt(rows.length))],
      records,
    };
    const intents = new RequeueIntents(this.io, LOCATION);
    await intents.write(intent, { host: 'h', pid: 1, writerId: 'w' }, this.clock.nowMs);
    await intents.decide(requeueId, 'go', { host: 'h', pid: 1, writerId: 'w' }, this.clock.nowMs);
    const requeued = new RequeuedTable(this.catalog, this.io, `${table}__requeued`);
    if (land) {
      const failpoints = new Failpoints(record ? '' : 'requeue-after-data=throw');
      const context = commitContext(this.catalog, this.io, this.clock);
      const host = { ...context, intents, failpoints, owner: { host: 'h', pid: 1, writerId: 'w' } };
      const config = { tables: [], source: { requestDeadlineMs: 1000 } };
      const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
      await finishRequeue({ ...host, config, log } as unknown as RequeueHost, requeued, intent).catch(
        (error) => {
          if (record) throw error;
        },
      );
    } else if (record) {
      await requeued.commit(commitContext(this.catalog, this.io, this.clock), intent, 1n, 'w');
      await intents.remove(requeueId);
    }
    return requeueId;
  }

  private async writeRows(path: string, fields: Schema['fields'], rows: readonly WorldRow[]): Promise<void> {
    const columns = [
      toVector(
        'string',
        rows.map((r) => r.topic),
      ),
      toVector(
        'int',
        rows.map((r) => r.partition),
      ),
      toVector(
        'long',
        rows.map((r) => BigInt(r.offset)),
      ),
      toVector(
        'string',
        rows.map((r) => r.topicId ?? null),
      ),
    ];
    await writeTable(this.io, path, tableSchema([...fields]), columns.slice(0, fields.length), rows.length);
  }

  /** Appends rows in one commit, as they come; without the topic id where `withId` is false. */
  async append(name: string, rows: readonly WorldRow[], commitId?: string, withId = true): Promise<void> {
    const schema = this.schemas.get(name)!;
    const fields = schema.fields.slice(0, withId ? 4 : 3);
    const path = `memory://w/data/${this.files++}.parquet`;
    await this.writeRows(path, fields, rows);
    const identifier = parseTableName(name);
    const loaded = await this.catalog.loadTable(identifier);
    const batch = this.writer.batch(this.commits++, loaded!.metadata.tableUuid, {
      identifier,
      files: [dataFile(path, [], BigInt(rows.length))],
      ...(commitId === undefined ? {} : { commitId }),
      recorded: async () => 'purged',
      lastRecorded: null,
    });
    await commitBatch(commitContext(this.catalog, this.io, this.clock), batch);
  }
}

export const WORLD_LOCATION = LOCATION;

export type OffsetKind = 'row' | 'quarantined' | 'dropped' | 'control' | 'aborted' | 'hole';

/** A funnel of the kinds of offsets from `from` on; lists only the first `listed` stretches of gaps where that is given. */
export function funnelOfKinds(
  place: { topic: string; partition: number; table: string },
  from: number,
  kinds: readonly OffsetKind[],
  listed = Number.POSITIVE_INFINITY,
): RangeFunnel {
  const count = (kind: OffsetKind): number => kinds.filter((k) => k === kind).length;
  const gaps: { from: bigint; until: bigint }[] = [];
  let gapSum = 0;
  kinds.forEach((kind, i) => {
    if (kind === 'row' || kind === 'quarantined') return;
    const offset = from + i;
    gapSum = addSums(gapSum, stretchSum(offset, offset + 1));
    const last = gaps[gaps.length - 1];
    if (last !== undefined && last.until === BigInt(offset)) last.until++;
    else gaps.push({ from: BigInt(offset), until: BigInt(offset + 1) });
  });
  return {
    topic: place.topic,
    partition: place.partition,
    table: place.table,
    from: BigInt(from),
    until: BigInt(from + kinds.length),
    rows: count('row'),
    quarantined: count('quarantined'),
    dropped: count('dropped'),
    control: count('control'),
    aborted: count('aborted'),
    holes: count('hole'),
    bytes: 1,
    leaderEpoch: 0,
    leaderEpochEnd: BigInt(from + kinds.length),
    maxTimestampMs: null,
    gaps: gaps.slice(0, listed),
    gapsCut: gaps.length > listed,
    gapSum,
  };
}

/** One batch, with what it needs to be brought into a checkpoint step by step. */
export interface WorldBatch {
  batchId: number;
  topicIds: Record<string, string | null>;
  /** Topic -> data table. */
  routes: Record<string, string>;
  funnel: RangeFunnel[];
  /** Ranges lost before the batch. */
  lost: { topic: string; partition: number; from: number; until: number; topicId: string | null }[];
  /** Positions after the batch, by `topic/partition`. */
  positions: Record<string, number>;
  reset?: boolean;
}

export function positionsOf(batch: Pick<WorldBatch, 'positions'>): OffsetMap {
  const offsets: OffsetMap = new Map();
  for (const [key, position] of Object.entries(batch.positions)) {
    const [topic, partition] = key.split('/');
    setOffset(offsets, topic, Number(partition), BigInt(position));
  }
  return offsets;
}

const NOTE = { reason: 'asked for', by: 'a person', at: '2026-07-14T09:00:00.000Z' };

export function planOfWorld(batch: WorldBatch): BatchPlan {
  const topics = Object.entries(batch.topicIds).map(([topic, topicId]) => ({ topic, topicId }));
  const rules = Object.entries(batch.routes).map(([match, table]) => ({ match, table }));
  const text = routingText(rules as never, false);
  return {
    batchId: batch.batchId,
    batchTimestampMs: batch.batchId,
    clusterId: 'cluster',
    topics,
    ranges: batch.funnel.map(({ topic, partition, from, until }) => ({ topic, partition, from, until })),
    leaderEpochs: [],
    tables: [...new Set(Object.values(batch.routes))].map((table) => ({
      table,
      uuid: `uuid-of-${table}`,
      ref: 'main',
      role: 'data' as const,
    })),
    config: { hash: 'h', text },
    lost: batch.lost.map((l) => ({
      ...l,
      from: BigInt(l.from),
      until: BigInt(l.until),
      reason: 'retention',
      acceptedBy: 'failOnDataLoss=false',
    })),
    ...(batch.reset === true
      ? { reset: { ...NOTE, command: 'reset', previous: { clusterId: 'cluster', topics } } }
      : {}),
  };
}

/** `commits`: table -> commit id of the tables that get files. */
export function preparedOfWorld(batch: WorldBatch, commits: Record<string, string>): PreparedBatch {
  return {
    batchId: batch.batchId,
    writerId: 'w',
    tables: Object.entries(commits).map(([table, commitId]) => ({
      table,
      uuid: `uuid-of-${table}`,
      ref: 'main',
      role: table.endsWith('__quarantine') ? ('quarantine' as const) : ('data' as const),
      commitId,
      snapshotId: 1n,
      rows: 0,
      files: [],
    })),
    funnel: batch.funnel,
    lost: [],
  };
}

export function doneOfWorld(batch: WorldBatch): DoneBatch {
  const { batchId, clusterId, topics, lost } = planOfWorld(batch);
  return {
    batchId,
    clusterId,
    topics,
    tables: [],
    funnel: batch.funnel,
    lost,
    ...(batch.reset === true ? { reset: NOTE } : {}),
  };
}

/** From its plan to its commit. */
export async function commitWorldBatch(checkpoint: Checkpoint, batch: WorldBatch): Promise<void> {
  await planWorldBatch(checkpoint, batch);
  await checkpoint.writeDone(doneOfWorld(batch));
  await checkpoint.writeCommit(batch.batchId);
}

export async function planWorldBatch(checkpoint: Checkpoint, batch: WorldBatch): Promise<void> {
  await checkpoint.writePlan(planOfWorld(batch));
  await checkpoint.writeOffsets(batch.batchId, positionsOf(batch), batch.batchId);
}
