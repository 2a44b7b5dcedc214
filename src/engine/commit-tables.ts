import type { Checkpoint } from '../checkpoint/checkpoint.ts';
import type { BatchPlan, DoneTable, PreparedBatch, PreparedTable } from '../checkpoint/records.ts';
import { eachAtOnce } from '../core/at-once.ts';
import { formatOffsetMap, type OffsetMap, setOffset } from '../core/offset-range.ts';
import { type CommitContext, commitBatch } from '../iceberg/commit.ts';
import type { Failpoints } from './failpoint.ts';
import { sha256Hex } from './sha256.ts';
import { snapshotExpiry } from './snapshot-expiry.ts';
import { parseTableName } from './target-tables.ts';

/** Offsets longer than this stand in a summary as their hash; the map itself is in `done/N` (spec 50.2). */
const MAX_OFFSETS_TEXT = 4000;

/** A commit is mostly waiting for the storage; each holds its manifests meanwhile. */
const COMMITS_AT_ONCE = 4;

export interface CommitTablesContext {
  checkpoint: Checkpoint;
  commit: CommitContext;
  failpoints: Failpoints;
  pipelineName: string;
  writerId: string;
}

/**
 * Commits every prepared table, quarantine first, several at a time, each by its own marker: a table that has the batch already is left
 * as it is (spec 50.5). `validThroughMs`: the freshness watermark by table. Returns what `done/N` holds, for all
 * planned tables and those that were made for the batch.
 */
export async function commitTables(
  context: CommitTablesContext,
  plan: BatchPlan,
  prepared: PreparedBatch,
  validThroughMs: ReadonlyMap<string, number>,
): Promise<DoneTable[]> {
  const committed = new Map<string, DoneTable>();
  const expiry = snapshotExpiry(plan, prepared);
  const commitOne = async (table: PreparedTable): Promise<void> => {
    const commit = { ...context.commit, expireSnapshots: expiry(table.table) };
    const done = await commitTable({ ...context, commit }, plan, table, validThroughMs.get(table.table));
    committed.set(table.table, done);
    if (committed.size < prepared.tables.length) context.failpoints.hit('between-tables');
  };
  for (const role of ['quarantine', 'data'] as const) {
    const tables = prepared.tables.filter((table) => table.role === role);
    await eachAtOnce(tables, COMMITS_AT_ONCE, commitOne);
  }
  const made = prepared.tables.filter((t) => plan.tables.every((p) => p.table !== t.table));
  return [...plan.tables, ...made].map(
    ({ table, uuid, ref, role, route }) =>
      committed.get(table) ?? {
        table,
        uuid,
        ref,
        role,
        ...(route === undefined ? {} : { route }),
        commitId: null,
        snapshotId: null,
        sequenceNumber: null,
        rows: 0,
      },
  );
}

async function commitTable(
  context: CommitTablesContext,
  plan: BatchPlan,
  table: PreparedTable,
  validThroughMs: number | undefined,
): Promise<DoneTable> {
  const { checkpoint } = context;
  const result = await commitBatch(context.commit, {
    identifier: parseTableName(table.table),
    ref: table.ref,
    expectedUuid: table.uuid,
    pipelineId: checkpoint.id,
    pipelineName: context.pipelineName,
    batchId: plan.batchId,
    commitId: table.commitId,
    snapshotId: table.snapshotId,
    writerId: context.writerId,
    files: table.files,
    offsets: offsetsText(plan),
    summary: validThroughMs === undefined ? {} : { 'sluice.valid-through-ts': String(validThroughMs) },
    recorded: (batchId) => checkpoint.doneRecord(table.table, batchId),
    lastRecorded: await checkpoint.lastRecorded(table.table),
  });
  return {
    table: table.table,
    uuid: table.uuid,
    ref: table.ref,
    role: table.role,
    ...(table.route === undefined ? {} : { route: table.route }),
    commitId: table.commitId,
    snapshotId: result.snapshotId,
    sequenceNumber: result.sequenceNumber,
    rows: table.rows,
  };
}

function offsetsText(plan: BatchPlan): string {
  const ends: OffsetMap = new Map();
  for (const range of plan.ranges) setOffset(ends, range.topic, range.partition, range.until);
  const text = formatOffsetMap(ends);
  return text.length <= MAX_OFFSETS_TEXT ? text : `sha256:${sha256Hex(text)}`;
}
