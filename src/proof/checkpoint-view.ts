import type { Checkpoint } from '../checkpoint/checkpoint.ts';
import { LedgerBook } from '../checkpoint/ledger.ts';
import type { BatchPlan, DoneBatch, PreparedBatch } from '../checkpoint/records.ts';
import { type RequeuedRecords, RequeueIntents } from '../checkpoint/requeue-intents.ts';
import { getOffset, type OffsetMap, type OffsetRange, offsetEntries } from '../core/offset-range.ts';
import { parseRoutingText, routeTopics } from '../engine/routing.ts';
import { parseTableName } from '../engine/target-tables.ts';
import { SluiceError } from '../errors.ts';
import type { Catalog, LoadedTable } from '../iceberg/catalog.ts';
import { markerOf } from '../iceberg/marker.ts';
import { ancestorsOf } from '../iceberg/metadata.ts';
import type { FileIO } from '../storage/file-io.ts';
import { type Account, accountOf, withTargets } from './account.ts';
import { plannedTables } from './fed-tables.ts';
import { type PartitionHistory, readHistory } from './read-history.ts';
import { RequeueView, type UnfinishedRequeue } from './requeue-view.ts';

/** Checkpoint and tables as they were at one moment. */
export interface SettledView {
  account: Account;
  /** Those of the account's tables that are in the catalog, by name. */
  tables: ReadonlyMap<string, LoadedTable>;
  /** Does the checkpoint write the table, or did it ever? */
  isFed: boolean;
  /** What has gone back from the quarantines into the tables. */
  requeued: RequeuedRecords[];
  unfinishedRequeues: UnfinishedRequeue[];
  history: Map<string, PartitionHistory>;
}

/** A pipeline that commits all the time leaves a moment between two batches; this often it is waited for. */
const MOST_LOOKS = 50;

/**
 * Loads a table (or all of its group), the quarantine and what the checkpoint says of them, such that all are of one moment although a pipeline
 * may be running: the checkpoint is listed before and after, until no batch was planned or finished, and no requeue put on record, in between.
 *
 * Throws NOT_VERIFIABLE where another engine ran a batch, CHECKPOINT_CORRUPT where the record of a batch is gone,
 * CHECKPOINT_CONCURRENT where the moment never came, and what storage and catalog throw.
 */
export async function settledView(
  checkpoint: Checkpoint,
  catalog: Catalog,
  io: FileIO,
  table: string,
): Promise<SettledView> {
  const intents = new RequeueIntents(io, checkpoint.location);
  let before = await checkpoint.look();
  for (let looks = 0; looks < MOST_LOOKS; looks++) {
    // The quarantine is committed first, so it is loaded last: what the table has of a batch, the quarantine has too.
    const known = await accountOf(before, table);
    const requeues = new RequeueView(catalog, io, intents, known.quarantine);
    const onRecord = await requeues.look();
    const account = await withTargets(before, known, requeues.targets());
    const tables = new Map<string, LoadedTable>();
    for (const name of [...account.data, ...account.quarantine]) {
      const loaded = await catalog.loadTable(parseTableName(name));
      if (loaded !== undefined) tables.set(name, loaded);
    }
    await requeues.readIntents();
    const isSettled = (await requeues.look()) === onRecord;
    const after = await checkpoint.look();
    if (isSettled && sameProgress(before, after)) {
      const view = await viewOf(after, account, tables);
      const { records, unfinished } = await requeues.goneBack(tables);
      if (view !== null) return { ...view, requeued: records, unfinishedRequeues: unfinished };
    }
    before = after;
  }
  throw new SluiceError(
    'CHECKPOINT_CONCURRENT',
    `the pipeline of checkpoint ${checkpoint.location} finished a batch each of the ${MOST_LOOKS} times that table ${table} was looked at; try again`,
    { retryable: true, context: { location: checkpoint.location, table } },
  );
}

function sameProgress(a: Checkpoint, b: Checkpoint): boolean {
  return (
    a.latestPlanned === b.latestPlanned &&
    a.latestDone === b.latestDone &&
    a.latestCommitted === b.latestCommitted
  );
}

/** Null where a purge of later batches came in between. */
async function viewOf(
  checkpoint: Checkpoint,
  account: Account,
  tables: ReadonlyMap<string, LoadedTable>,
): Promise<Omit<SettledView, 'requeued' | 'unfinishedRequeues'> | null> {
  const { name } = account;
  const { latestPlanned } = checkpoint;
  const newest = latestPlanned === null ? null : await checkpoint.plan(latestPlanned);
  const finished = await lastFinished(checkpoint, newest);
  const read = await checkpoint.account(finished);
  if (read === null) return null;
  for (const batchId of read.unrecorded) await refuseUnrecorded(checkpoint, batchId);
  const book = new LedgerBook(read.entries);
  const isOpen =
    latestPlanned !== null &&
    latestPlanned > (checkpoint.latestDone ?? -1) &&
    latestPlanned > (checkpoint.latestCommitted ?? -1);
  let inFlight: (OffsetRange & { topicId: string | null })[] = [];
  if (isOpen) {
    // Read after the tables: a table that has the batch has it from this list.
    const prepared = await checkpoint.prepared(latestPlanned);
    const landed = landedBatch(newest, prepared, account, tables);
    if (landed !== null) book.add(landed);
    else inFlight = await openRanges(checkpoint, latestPlanned, newest, name);
  }
  const entries = book.entries();
  return {
    account,
    tables,
    isFed: entries.some((e) => e.table === name) || plannedTables(newest).includes(name),
    history: readHistory({
      entries,
      began: await checkpoint.initialOffsets(),
      position: finished < 0 ? null : await checkpoint.offsets(finished),
      inFlight,
    }),
  };
}

/** The last batch that is finished, -1 for none: all before it are, but for those that a reset took back. */
async function lastFinished(checkpoint: Checkpoint, newest: BatchPlan | null): Promise<number> {
  const { latestPlanned } = checkpoint;
  if (latestPlanned === null) return -1;
  if (latestPlanned === checkpoint.latestDone || latestPlanned === checkpoint.latestCommitted)
    return latestPlanned;
  let finished = latestPlanned - 1;
  if (newest?.reset === undefined) return finished;
  while (finished >= 0 && (await checkpoint.prepared(finished))?.givenUp !== undefined) finished--;
  return finished;
}

async function refuseUnrecorded(checkpoint: Checkpoint, batchId: number): Promise<never> {
  const { location } = checkpoint;
  if ((await checkpoint.plan(batchId)) === null)
    throw new SluiceError(
      'NOT_VERIFIABLE',
      `batch ${batchId} of checkpoint ${location} was run by another engine: nobody counted what it read`,
      { context: { location, batchId } },
    );
  throw new SluiceError(
    'CHECKPOINT_CORRUPT',
    `${location}/_sluice/done/${batchId}.json is missing: the batch is committed, and what it brought is not known. It should hold the snapshots and counts of the batch; restore it from a copy`,
    { context: { location, batchId } },
  );
}

/** A batch in flight whose commits to the table and its quarantine have landed: all its rows must be there. */
function landedBatch(
  plan: BatchPlan | null,
  prepared: PreparedBatch | null,
  account: Account,
  loaded: ReadonlyMap<string, LoadedTable>,
): DoneBatch | null {
  if (plan === null || prepared === null) return null;
  const mine = [...account.data, ...account.quarantine];
  const commits = prepared.tables.filter((t) => mine.includes(t.table));
  if (commits.length === 0) return null;
  for (const { table: name, commitId } of commits) {
    const metadata = loaded.get(name)?.metadata;
    const snapshots = metadata === undefined ? [] : ancestorsOf(metadata, 'main');
    if (!snapshots.some((s) => markerOf(s)?.commitId === commitId)) return null;
  }
  const { batchId, clusterId, topics } = plan;
  const funnel = prepared.funnel.filter((range) => range.table === account.name);
  const fed = new Set(funnel.map((range) => range.topic));
  const lost = [...plan.lost, ...prepared.lost].filter((range) => fed.has(range.topic));
  return { batchId, clusterId, topics, tables: [], funnel, lost };
}

/** What a batch that is not finished reads into a table, and may have brought already. */
async function openRanges(
  checkpoint: Checkpoint,
  batchId: number,
  plan: BatchPlan | null,
  table: string,
): Promise<(OffsetRange & { topicId: string | null })[]> {
  if (plan !== null) {
    const topicIds = new Map(plan.topics.map((t) => [t.topic, t.topicId]));
    const { rules } = parseRoutingText(plan.config.text);
    const topics = [...new Set(plan.ranges.map((r) => r.topic))];
    const routed = new Set(
      routeTopics(topics, rules)
        .filter((route) => route.table === table)
        .map((route) => route.topic),
    );
    return plan.ranges
      .filter((range) => routed.has(range.topic))
      .map((range) => ({ ...range, topicId: topicIds.get(range.topic) ?? null }));
  }
  // Another engine planned it: where its rows go, and whether they are there, is not known here.
  const before: OffsetMap = batchId === 0 ? new Map() : await checkpoint.offsets(batchId - 1);
  return [...offsetEntries(await checkpoint.offsets(batchId))].flatMap(({ topic, partition, offset }) => {
    const from = getOffset(before, topic, partition);
    return from === undefined ? [] : [{ topic, partition, topicId: null, from, until: offset }];
  });
}
