import type { OffsetMap } from '../core/offset-range.ts';
import { SluiceError } from '../errors.ts';
import { BATCH_KINDS, type BatchIndex, type BatchKind, batchFileName } from './batch-index.ts';
import { type CheckpointFiles, FILE_KINDS } from './checkpoint-files.ts';
import { describeWriter, type Writer } from './envelope.ts';
import { LedgerBook } from './ledger.ts';
import { mergeTableRecords, readLedger, writeLedger } from './ledger-store.ts';
import type { DoneBatch } from './records.ts';

export interface PurgeContext {
  files: CheckpointFiles;
  index: BatchIndex;
  owner: Writer;
  now: () => number;
  warn: (message: string, context?: object) => void;
  minBatchesToRetain: number;
  done(batchId: number): Promise<DoneBatch | null>;
  offsets(batchId: number): Promise<OffsetMap>;
}

/** A re-run of the last batch needs the one before it. */
const LEAST = 2;

/** See `Checkpoint.purge`. */
export async function purgeBatches(context: PurgeContext): Promise<void> {
  const { index, minBatchesToRetain } = context;
  if (!Number.isSafeInteger(minBatchesToRetain) || minBatchesToRetain < LEAST) {
    throw new SluiceError(
      'INTERNAL',
      `minBatchesToRetain is ${minBatchesToRetain}, expected ${LEAST} or more`,
    );
  }
  const newest = index.latest('commits');
  if (newest === null) return;
  const firstKept = newest - minBatchesToRetain + 1;
  const old = [...new Set(BATCH_KINDS.flatMap((kind) => index.ids(kind)))]
    .filter((id) => id < firstKept)
    .sort((a, b) => a - b);
  // The ledger is written as a whole: not for every single batch. Litter of a purge that was cut off goes at once.
  const unrecorded = old.filter((id) => id > (index.ledgerThrough ?? -1));
  if (
    unrecorded.length === 0
      ? old.length === 0
      : unrecorded.length < Math.max(1, Math.floor(minBatchesToRetain / 10))
  )
    return;
  if (unrecorded.length > 0) await recordInLedger(context, unrecorded);
  for (const id of old) {
    for (const kind of BATCH_KINDS) await deleteBatchFile(context, kind, id);
  }
}

async function recordInLedger(context: PurgeContext, batchIds: readonly number[]): Promise<void> {
  const { files, index, owner, now, warn } = context;
  const ledger = await readLedger(files, index);
  if (ledger === null) throw purgedByAnother(context);
  const book = new LedgerBook(ledger.entries);
  let { tables } = ledger;
  for (const id of batchIds) {
    if (index.has('done', id)) {
      const batch = await context.done(id);
      if (batch === null) throw purgedByAnother(context);
      book.add(batch, batch.reset === undefined ? undefined : await context.offsets(id));
      tables = mergeTableRecords(tables, [batch]);
    } else if (index.has('plan', id) && index.has('commits', id)) {
      throw files.missing(
        batchFileName('done', id),
        FILE_KINDS.done,
        `batch ${id} is committed, and the ledger needs its counts before it is purged`,
      );
    } else if (index.has('commits', id)) {
      warn(`batch ${id} was run by another engine: the ledger does not know its counts`, {
        location: files.location,
        batchId: id,
      });
    }
  }
  await writeLedger(
    files,
    index,
    { through: batchIds[batchIds.length - 1], tables, entries: book.entries() },
    owner,
    now(),
  );
}

function purgedByAnother({ files, owner }: PurgeContext): SluiceError {
  return new SluiceError(
    'CHECKPOINT_CONCURRENT',
    `another process purged batches of checkpoint ${files.location} while ${describeWriter(owner)} was running; let only one process run on a checkpoint`,
    { context: { location: files.location, owner } },
  );
}

async function deleteBatchFile(context: PurgeContext, kind: BatchKind, batchId: number): Promise<void> {
  const { files, index } = context;
  const checksum = index.checksumOf(kind, batchId);
  if (checksum !== undefined) {
    await files.delete(checksum);
    index.removeChecksum(checksum);
  }
  for (const name of index.namesOf(kind, batchId)) await files.delete(name);
  index.remove(kind, batchId);
}
