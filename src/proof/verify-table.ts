import type { Checkpoint } from '../checkpoint/checkpoint.ts';
import { SluiceError } from '../errors.ts';
import type { Catalog } from '../iceberg/catalog.ts';
import type { FileIO } from '../storage/file-io.ts';
import { askBrokers } from './broker-check.ts';
import type { BrokerLog } from './broker-log.ts';
import { settledView } from './checkpoint-view.ts';
import { FieldCounter, type FieldCounts } from './field-counter.ts';
import { FoundRows } from './found-rows.ts';
import { type PartitionProof, provePartition } from './partition-proof.ts';
import type { PartitionHistory } from './read-history.ts';
import type { UnfinishedRequeue } from './requeue-view.ts';

export type { PartitionProof } from './partition-proof.ts';

export interface VerifyContext {
  checkpoint: Checkpoint;
  catalog: Catalog;
  io: FileIO;
}

export interface VerifyOptions {
  /** Also count the rows by this top-level field of the JSON in the column `value`: reads that column too. */
  countBy?: string;
  /** Also asks the brokers for the offsets that have no row, as far as they still have them. */
  broker?: BrokerLog;
}

export interface VerifyReport {
  /** The data table, or the group of tables that a rule routes to: their rows are one account. */
  table: string;
  /** Names with commas where there are several. */
  quarantineTable: string;
  /** Null for an empty table, and for a group. */
  snapshotId: bigint | null;
  /** The data tables of a group. */
  members?: string[];
  /** Nothing lost, duplicated, unexpected or misplaced. */
  ok: boolean;
  /** Sums over the partitions; see `PartitionProof`. */
  lost: bigint;
  duplicated: bigint;
  unexpected: bigint;
  misplaced: bigint;
  acceptedLoss: bigint;
  rows: number;
  /** In the quarantine alone. */
  quarantined: number;
  /** Of the rows, those that were in the quarantine and have gone back. */
  requeued: number;
  /** Begun, and not on record: the next requeue finishes them. */
  unfinishedRequeues: UnfinishedRequeue[];
  /** Rows of partitions that this checkpoint never read into the table, or without coordinates: they are not judged. */
  otherRows: number;
  partitions: PartitionProof[];
  /** With `countBy`: the field, and the rows of all partitions by what it holds. */
  countBy?: { field: string; counts: FieldCounts };
}

/** Beyond it, doubles do not tell one offset from the next. */
const MOST_OFFSET = 2n ** 53n;

/**
 * Proves, from the checkpoint's ledger and the offset columns of the table and its quarantine, that every offset from
 * where the query began to where it stands is a row, a quarantined record or a gap that the ledger knows, and none is
 * there twice; a quarantined record that was requeued counts as its row. Reads metadata and three or four columns only. May run beside the pipeline. Rows of partitions that this
 * checkpoint never read into the table are counted and not judged: other pipelines may write it too.
 *
 * Throws TABLE_NOT_FOUND, NOT_VERIFIABLE for a table without the columns topic, kafka_partition and kafka_offset or one
 * that this checkpoint never fed, UNSUPPORTED for `countBy` where there is no column `value` of text or bytes, and
 * what `settledView`, the storage and the catalog throw.
 */
export async function verifyTable(
  context: VerifyContext,
  table: string,
  options: VerifyOptions = {},
): Promise<VerifyReport> {
  const { checkpoint, catalog, io } = context;
  const { countBy } = options;
  const { account, tables, isFed, history, requeued, unfinishedRequeues } = await settledView(
    checkpoint,
    catalog,
    io,
    table,
  );
  const { name } = account;
  if (!isFed)
    throw new SluiceError(
      'NOT_VERIFIABLE',
      `table ${table} is not fed by the pipeline of this checkpoint; verify it with the pipeline file that writes it`,
      { context: { table } },
    );
  const absent = account.data.find((member) => !tables.has(member));
  if (absent !== undefined)
    throw new SluiceError('TABLE_NOT_FOUND', `table ${absent} is not in the catalog`, {
      context: { table: absent },
    });
  for (const partition of history.values()) refuseHugeOffsets(partition, table);
  const found = new FoundRows(countBy);
  for (const member of account.data) await found.collect(io, tables.get(member)!, member, 'rows');
  for (const member of account.quarantine) {
    const quarantine = tables.get(member);
    if (quarantine !== undefined) await found.collect(io, quarantine, member, 'quarantined');
  }
  found.takeBack(requeued);
  const proofs = provePartitions(history, name, found);
  const { broker } = options;
  const partitions = broker === undefined ? proofs : await askBrokers(broker, name, history, found, proofs);
  const proven = new Set(partitions.map((p) => JSON.stringify([p.topic, p.partition])));
  const sum = (of: (p: PartitionProof) => bigint): bigint => partitions.reduce((n, p) => n + of(p), 0n);
  const differences = {
    lost: sum((p) => p.lost),
    duplicated: sum((p) => p.duplicated),
    unexpected: sum((p) => p.unexpected),
    misplaced: sum((p) => p.misplaced),
  };
  return {
    table: name,
    quarantineTable: account.quarantine.join(', '),
    snapshotId: account.data.length === 1 ? tables.get(account.data[0])!.metadata.currentSnapshotId : null,
    ...(account.data.length === 1 ? {} : { members: account.data }),
    ok: Object.values(differences).every((n) => n === 0n),
    ...differences,
    acceptedLoss: sum((p) => p.acceptedLoss),
    rows: partitions.reduce((n, p) => n + p.rows, 0),
    quarantined: partitions.reduce((n, p) => n + p.quarantined, 0),
    requeued: partitions.reduce((n, p) => n + p.requeued, 0),
    unfinishedRequeues,
    otherRows: found.countOthers((topic, partition) => proven.has(JSON.stringify([topic, partition]))),
    partitions,
    ...(countBy === undefined ? {} : { countBy: totalCounts(countBy, partitions, found) }),
  };
}

function provePartitions(
  history: ReadonlyMap<string, PartitionHistory>,
  table: string,
  found: FoundRows,
): PartitionProof[] {
  return [...history.values()]
    .flatMap((h) => provePartition(h, table, found.get(h.topic, h.partition)) ?? [])
    .sort((a, b) => (a.topic < b.topic ? -1 : a.topic > b.topic ? 1 : a.partition - b.partition));
}

function refuseHugeOffsets({ topic, partition, incarnations }: PartitionHistory, table: string): void {
  for (const { until } of incarnations.flatMap((i) => [...i.entries, ...i.holes, ...i.inFlight])) {
    if (until < MOST_OFFSET) continue;
    throw new SluiceError(
      'NOT_VERIFIABLE',
      `${topic}-${partition} was read up to offset ${until}, and offsets from ${MOST_OFFSET} on are not told apart`,
      { context: { table, topic, partition } },
    );
  }
}

function totalCounts(
  field: string,
  partitions: readonly PartitionProof[],
  found: FoundRows,
): { field: string; counts: FieldCounts } {
  const total = new FieldCounter(field);
  for (const { topic, partition } of partitions) {
    const counter = found.get(topic, partition)?.counter;
    if (counter !== undefined) total.merge(counter);
  }
  return { field, counts: total.counts() };
}
