/**
 * The files of `_sluice/ledger/`: `N.json` covers everything that was read in the batches up to N. A new file is created
 * under a new name, then the older ones are deleted; nothing is edited in place, and the one with the highest number
 * is the ledger. So a purge that was cut off anywhere is simply done again.
 */
import { stringifyJson64 } from '../core/json64.ts';
import { SluiceError } from '../errors.ts';
import type { BatchIndex } from './batch-index.ts';
import { type CheckpointFiles, FILE_KINDS } from './checkpoint-files.ts';
import { describeWriter, formatEnvelope, parseEnvelope, type Writer } from './envelope.ts';
import type { JsonObject } from './json-fields.ts';
import { decodeLedgerEntry, decodeRoute } from './record-json.ts';
import type { DoneBatch, LedgerEntry, RouteOfTable } from './records.ts';

/** The newest batch that a table got, kept when the batch's own record is purged. */
export interface TableRecord {
  table: string;
  uuid: string;
  batchId: number;
  snapshotId: bigint;
  commitId: string;
  route?: RouteOfTable;
}

export interface Ledger {
  /** Batches up to this one are in `entries`; -1 for none. */
  through: number;
  tables: TableRecord[];
  entries: LedgerEntry[];
}

export const EMPTY_LEDGER: Ledger = { through: -1, tables: [], entries: [] };

/** The ledger that an index has listed; null where it is gone, because another process has written a newer one. */
export async function readLedger(files: CheckpointFiles, index: BatchIndex): Promise<Ledger | null> {
  if (index.ledgerThrough === null) return EMPTY_LEDGER;
  return files.read(ledgerFileName(index.ledgerThrough), FILE_KINDS.ledger, parseLedger);
}

/** The numbers of the ledger files as they are now, ascending. */
export async function ledgerFilesOf(files: CheckpointFiles): Promise<number[]> {
  const ids = (await files.list('_sluice/ledger')).flatMap(
    (name) => /^(\d{1,16})\.json$/.exec(name)?.[1] ?? [],
  );
  return ids.map(Number).sort((a, b) => a - b);
}

/** Writes a ledger, then removes the older files. Throws CHECKPOINT_CONCURRENT where another process wrote another one. */
export async function writeLedger(
  files: CheckpointFiles,
  index: BatchIndex,
  ledger: Ledger,
  writer: Writer,
  nowMs: number,
): Promise<void> {
  const name = ledgerFileName(ledger.through);
  const created = await files.createNew(name, formatEnvelope('ledger', writer, nowMs, ledger));
  if (!created) {
    const found = await files.read(name, FILE_KINDS.ledger, (bytes) =>
      parseEnvelope('ledger', bytes, decodeLedger),
    );
    // The same batches give the same ledger: then it is our own, written before its reply was lost.
    if (found === null || stringifyJson64(found.record) !== stringifyJson64(ledger)) {
      const by = found === null ? 'another process' : describeWriter(found.writer);
      throw new SluiceError(
        'CHECKPOINT_CONCURRENT',
        `${files.path(name)} was written by ${by} while ${describeWriter(writer)} was purging; let only one process run on a checkpoint`,
        {
          context: { path: files.path(name), location: files.location },
        },
      );
    }
  }
  index.ledgerThrough = ledger.through;
  const older = index.ledgerFiles.filter((through) => through < ledger.through);
  index.ledgerFiles = [...older, ledger.through];
  for (const through of older) await files.delete(ledgerFileName(through));
  index.ledgerFiles = [ledger.through];
}

/** The newest record of each table, from those that are kept and those of further batches. */
export function mergeTableRecords(
  records: readonly TableRecord[],
  batches: readonly DoneBatch[],
): TableRecord[] {
  const byTable = new Map(records.map((r) => [r.table, r]));
  for (const batch of batches) {
    for (const { table, uuid, snapshotId, commitId, route } of batch.tables) {
      if (snapshotId === null || commitId === null) continue;
      const known = byTable.get(table);
      if (known === undefined || known.batchId < batch.batchId)
        byTable.set(table, {
          table,
          uuid,
          batchId: batch.batchId,
          snapshotId,
          commitId,
          ...(route === undefined ? {} : { route }),
        });
    }
  }
  return [...byTable.values()].sort((a, b) => (a.table < b.table ? -1 : a.table > b.table ? 1 : 0));
}

function ledgerFileName(through: number): string {
  return `_sluice/ledger/${through}.json`;
}

export function parseLedger(bytes: Uint8Array): Ledger {
  return parseEnvelope('ledger', bytes, decodeLedger).record;
}

function decodeLedger(o: JsonObject): Ledger {
  return {
    through: o.count('through'),
    tables: o.objects('tables', (t) => ({
      table: t.string('table'),
      uuid: t.string('uuid'),
      batchId: t.count('batchId'),
      snapshotId: t.bigint('snapshotId'),
      commitId: t.string('commitId'),
      ...decodeRoute(t),
    })),
    entries: o.objects('entries', decodeLedgerEntry),
  };
}
