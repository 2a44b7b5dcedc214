import { SluiceError } from '../errors.ts';
import type { BatchIndex } from './batch-index.ts';
import { type CheckpointFiles, FILE_KINDS } from './checkpoint-files.ts';

/** Where a run begins. */
export type RestartPoint =
  /** Nothing was ever planned: plan batch 0. */
  | { kind: 'fresh' }
  /** Everything planned is committed: plan batch `batchId` next. */
  | { kind: 'next'; batchId: number }
  /** Batch `batchId` was planned and not committed: finish it, or read exactly its ranges again. */
  | { kind: 'rerun'; batchId: number };

/**
 * Spark's rule (MicroBatchExecution.populateStartOffsets): with L the largest N in offsets/, a last commit of L means to
 * go on with L+1, anything older to re-run L, with a warning where it is older than L-1. L other than 0 needs
 * offsets/L-1; other gaps are no fault (asynchronous progress tracking leaves them).
 *
 * Beyond Spark: a log whose newest files are gone, by what commits/ and `_sluice/` still tell, is CHECKPOINT_CORRUPT.
 * Numbers that were used must not be used again under the same id, or a table would take a new batch for an old one.
 */
export function restartPoint(
  index: BatchIndex,
  files: CheckpointFiles,
  warn: (message: string, context?: object) => void,
): RestartPoint {
  const planned = index.latest('offsets');
  const committed = index.latest('commits');
  assertNothingBeyond(index, files, planned);
  if (planned === null) return { kind: 'fresh' };
  if (planned !== 0 && !index.has('offsets', planned - 1)) {
    throw files.missing(
      `offsets/${planned - 1}`,
      FILE_KINDS.offsets,
      `batch ${planned} begins where batch ${planned - 1} ended`,
    );
  }
  if (committed === planned) return { kind: 'next', batchId: planned + 1 };
  if (committed === null ? planned > 0 : committed < planned - 1) {
    warn(
      `checkpoint ${files.location}: the last commit is ${committed === null ? 'none' : `batch ${committed}`}, which is not the one before the last planned batch ${planned}; batch ${planned} is run again`,
      { location: files.location, latestPlanned: planned, latestCommitted: committed },
    );
  }
  return { kind: 'rerun', batchId: planned };
}

function assertNothingBeyond(index: BatchIndex, files: CheckpointFiles, planned: number | null): void {
  const last = planned ?? -1;
  const found: [string, number | null, number][] = [
    ['commits/', index.latest('commits'), last],
    ['_sluice/done/', index.latest('done'), last],
    ['_sluice/prepared/', index.latest('prepared'), last],
    ['_sluice/ledger/', index.ledgerThrough, last],
    // A plan is written before its offsets.
    ['_sluice/plan/', index.latest('plan'), last + 1],
  ];
  for (const [directory, batchId, limit] of found) {
    if (batchId === null || batchId <= limit) continue;
    const state = planned === null ? 'offsets/ is empty' : `the newest file of offsets/ is ${planned}`;
    throw new SluiceError(
      'CHECKPOINT_CORRUPT',
      `checkpoint ${files.location}: ${directory} knows batch ${batchId}, but ${state}. The files of offsets/ up to ${batchId} should be there, ` +
        'each with the offsets that end its batch; restore them from a copy. No batch number is ever used again',
      { context: { location: files.location, latestPlanned: planned, directory, batchId } },
    );
  }
}
