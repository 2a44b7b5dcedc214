import { batchFileName } from './batch-index.ts';
import { type CheckpointFiles, FILE_KINDS } from './checkpoint-files.ts';
import { type Envelope, parseEnvelope } from './envelope.ts';
import { Malformed } from './malformed.ts';
import { parsePrepared } from './prepared-json.ts';
import { decodeDone } from './record-json.ts';
import type { DoneBatch, PreparedBatch } from './records.ts';

/** The records of a batch by the kind of their file. */
export interface BatchRecords {
  prepared: PreparedBatch;
  done: DoneBatch;
}

const PARSERS: { [K in keyof BatchRecords]: (bytes: Uint8Array) => Envelope<BatchRecords[K]> } = {
  prepared: parsePrepared,
  done: (bytes) => parseEnvelope('done', bytes, decodeDone),
};

/** `prepared/N` or `done/N` with its writer, or null where there is none. Throws CHECKPOINT_CORRUPT and CHECKPOINT_VERSION. */
export function readEnvelope<K extends keyof BatchRecords>(
  files: CheckpointFiles,
  kind: K,
  batchId: number,
): Promise<Envelope<BatchRecords[K]> | null> {
  return files.read(batchFileName(kind, batchId), FILE_KINDS[kind], (bytes) => {
    const envelope = PARSERS[kind](bytes);
    if (envelope.record.batchId !== batchId) throw new Malformed(`it is of batch ${envelope.record.batchId}`);
    return envelope;
  });
}

export async function readRecord<K extends keyof BatchRecords>(
  files: CheckpointFiles,
  kind: K,
  batchId: number,
): Promise<BatchRecords[K] | null> {
  return (await readEnvelope(files, kind, batchId))?.record ?? null;
}
