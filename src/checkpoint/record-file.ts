import { batchFileName } from './batch-index.ts';
import { type CheckpointFiles, FILE_KINDS } from './checkpoint-files.ts';
import { type Envelope, parseEnvelope } from './envelope.ts';
import type { JsonObject } from './json-fields.ts';
import { Malformed } from './malformed.ts';

export type RecordDecoder<T> = (record: JsonObject) => T;

/** `prepared/N` or `done/N` with its writer, or null where there is none. Throws CHECKPOINT_CORRUPT and CHECKPOINT_VERSION. */
export function readEnvelope<T extends { batchId: number }>(
  files: CheckpointFiles,
  kind: 'prepared' | 'done',
  batchId: number,
  decode: RecordDecoder<T>,
): Promise<Envelope<T> | null> {
  return files.read(batchFileName(kind, batchId), FILE_KINDS[kind], (bytes) => {
    const envelope = parseEnvelope(kind, bytes, decode);
    if (envelope.record.batchId !== batchId) throw new Malformed(`it is of batch ${envelope.record.batchId}`);
    return envelope;
  });
}

export async function readRecord<T extends { batchId: number }>(
  files: CheckpointFiles,
  kind: 'prepared' | 'done',
  batchId: number,
  decode: RecordDecoder<T>,
): Promise<T | null> {
  return (await readEnvelope(files, kind, batchId, decode))?.record ?? null;
}
