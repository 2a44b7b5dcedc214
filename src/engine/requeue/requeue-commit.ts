import { type RequeueIntent, readIntentAt } from '../../checkpoint/requeue-intents.ts';
import { SluiceError } from '../../errors.ts';
import { AppendCommitter, type AppendTerms, type Landed } from '../../iceberg/append-committer.ts';
import type { LoadedTable } from '../../iceberg/catalog.ts';
import { COMMIT_ID } from '../../iceberg/marker.ts';
import type { HistoryEvidence } from '../../iceberg/ref-history.ts';
import {
  findRequeue,
  REQUEUE_ID,
  REQUEUE_RECORDS,
  requeueMarks,
  requeuesOf,
} from '../../iceberg/requeue-marker.ts';
import { sha256Hex } from '../sha256.ts';
import { parseTableName } from '../target-tables.ts';
import { type RecordSet, recordSetOf } from './record-set.ts';
import { type RequeueHost, requeueCommitContext } from './requeue-host.ts';
import type { RequeuedTable } from './requeued-table.ts';

/** Records longer than this stand in a summary as their hash; they are listed in the record of what was requeued. */
const MAX_RECORDS_TEXT = 2000;

/** `overlap`: another requeue has brought some of the records back meanwhile, and this one never will be. */
export type RequeueEnd = { kind: 'done'; snapshotId: bigint; rows: number } | { kind: 'overlap' };

/**
 * Finishes a requeue that was decided on, from wherever it stands: rows into the table, then its record, then its intent is
 * removed. May be called by several processes at once, and again after any crash. Throws TABLE_REWOUND, REQUEUE_UNFINISHED,
 * and what the commits throw: then the intent stays.
 */
export async function finishRequeue(
  host: RequeueHost,
  requeued: RequeuedTable,
  intent: RequeueIntent,
): Promise<RequeueEnd> {
  const { failpoints, intents } = host;
  const context = requeueCommitContext(host, intent.records[0]?.topic);
  const terms = new RequeueTerms(host, requeued, intent).terms();
  const committer = new AppendCommitter(context, terms);
  let landed: Landed;
  try {
    landed = await committer.commit(terms);
  } catch (error) {
    if (!(error instanceof Overlap)) throw error;
    // The ref has moved past every base that it could have been committed on.
    await intents.remove(intent.requeueId);
    if (!committer.isUnknown) await deleteData(host, intent);
    return { kind: 'overlap' };
  }
  failpoints.hit('requeue-after-data');
  await requeued.commit(context, intent, landed.snapshotId, host.owner.writerId);
  failpoints.hit('requeue-after-record');
  await intents.remove(intent.requeueId);
  failpoints.hit('requeue-after-end');
  return { kind: 'done', snapshotId: landed.snapshotId, rows: rowsOf(intent) };
}

export function rowsOf(intent: RequeueIntent): number {
  return intent.files.reduce((sum, file) => sum + Number(file.recordCount), 0);
}

/** Of files that no table refers to, and none ever will. */
export async function deleteData(host: RequeueHost, intent: Pick<RequeueIntent, 'files'>): Promise<void> {
  for (const { filePath } of intent.files) await host.io.delete(filePath).catch(() => undefined);
}

class Overlap extends SluiceError {}

/** What is asked of the table before each attempt, and what it is marked with. */
class RequeueTerms {
  private readonly host: RequeueHost;
  private readonly requeued: RequeuedTable;
  private readonly intent: RequeueIntent;
  private readonly records: RecordSet;
  /** Requeues that the table is marked with and that are on record: their marks go. */
  private finished: string[] = [];

  constructor(host: RequeueHost, requeued: RequeuedTable, intent: RequeueIntent) {
    this.host = host;
    this.requeued = requeued;
    this.intent = intent;
    this.records = recordSetOf(intent.records);
  }

  terms(): AppendTerms {
    const { table, requeueId, commitId, snapshotId, writerId, files, quarantine } = this.intent;
    return {
      identifier: parseTableName(table),
      ref: 'main',
      missing: () => this.isOther('no such table'),
      what: `requeue ${requeueId}`,
      facts: { requeueId },
      commitId,
      snapshotId,
      writerId,
      files,
      summary: {
        [REQUEUE_ID]: requeueId,
        [COMMIT_ID]: commitId,
        [REQUEUE_RECORDS]: recordsText(this.intent),
      },
      judge: (base, evidence) => this.judge(base, evidence),
      marks: (snapshot) =>
        requeueMarks(
          {
            requeueId,
            commitId,
            snapshotId: snapshot.snapshotId,
            sequenceNumber: snapshot.sequenceNumber,
            quarantine,
            intent: this.host.intents.path(requeueId),
          },
          this.finished,
        ),
    };
  }

  /**
   * Is it there already? The record is read after the table was loaded: a requeue whose mark is no longer in the table is on
   * record by then. Requeues of other checkpoints, which no decision in this one holds back, are found by both.
   */
  private async judge(base: LoadedTable, evidence: HistoryEvidence): Promise<Landed | null> {
    const { requeued, intent } = this;
    const { metadata } = base;
    const { table, requeueId, commitId } = intent;
    if (metadata.tableUuid.toLowerCase() !== intent.uuid.toLowerCase())
      throw this.isOther(`a table with uuid ${metadata.tableUuid}`);
    const landed = await findRequeue(metadata, { table, ref: 'main', requeueId, commitId }, evidence);
    if (landed !== null) return landed;
    await requeued.refresh();
    if (requeued.requeueIds.has(requeueId))
      return { snapshotId: intent.snapshotId, sequenceNumber: metadata.lastSequenceNumber };
    const marks = requeuesOf(metadata).filter((m) => m.quarantine === intent.quarantine);
    for (const mark of marks) {
      if (requeued.requeueIds.has(mark.requeueId)) continue;
      const other = await readIntentAt(this.host.io, mark.intent, mark.requeueId);
      if (other !== null) this.refuseShared(recordSetOf(other.records));
      else await this.expectOnRecord(mark.requeueId, mark.intent);
    }
    this.refuseShared(requeued.records);
    this.finished = marks.map((m) => m.requeueId).filter((id) => requeued.requeueIds.has(id));
    return null;
  }

  /** An intent is removed when its requeue is on record. */
  private async expectOnRecord(requeueId: string, path: string): Promise<void> {
    await this.requeued.refresh();
    if (this.requeued.requeueIds.has(requeueId)) return;
    throw new SluiceError(
      'REQUEUE_UNFINISHED',
      `table ${this.intent.table} is marked with requeue ${requeueId}, which is not on record in ${this.requeued.name}, and its intent ${path} cannot be read here: which records it has brought back is not known. Finish it where that file is (\`sluice quarantine requeue --execute\` with the pipeline file of that checkpoint), then run again`,
      { outcome: 'not-applied', context: { table: this.intent.table, requeueId, intent: path } },
    );
  }

  private refuseShared(others: RecordSet): void {
    const shared = this.records.shared(others);
    if (shared === null) return;
    const { key, offset } = shared;
    throw new Overlap(
      'COMMIT_CONFLICT',
      `requeue ${this.intent.requeueId}: ${key.topic}/${key.partition}/${offset} has gone back by another one meanwhile`,
      { outcome: 'not-applied' },
    );
  }

  private isOther(found: string): SluiceError {
    const { table, requeueId, uuid } = this.intent;
    return new SluiceError(
      'TABLE_REWOUND',
      `requeue ${requeueId} was begun for table ${table} with uuid ${uuid}, found ${found}: it was dropped or made anew. Remove ${this.host.intents.path(requeueId)} to give that requeue up`,
      { outcome: 'not-applied', context: { table, requeueId, expected: uuid } },
    );
  }
}

/** `topic/partition@batch: 4 7-9`, joined by commas; the hash of that where it is long. */
function recordsText({ records }: RequeueIntent): string {
  const text = records
    .map(({ topic, partition, batchId, offsets }) => {
      const runs = offsets.map(({ from, until }) =>
        until - from === 1n ? `${from}` : `${from}-${until - 1n}`,
      );
      return `${topic}/${partition}${batchId === null ? '' : `@${batchId}`}: ${runs.join(' ')}`;
    })
    .join(', ');
  return text.length <= MAX_RECORDS_TEXT ? text : `sha256:${sha256Hex(text)}`;
}
