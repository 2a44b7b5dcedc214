import type { DataFile } from '../core/data-file.ts';
import { isSluiceError } from '../errors.ts';
import type { FileIO } from '../storage/file-io.ts';
import { CheckpointFiles, type FileKind } from './checkpoint-files.ts';
import { decodeDataFile, encodeDataFile } from './data-file-json.ts';
import { describeWriter, type Envelope, formatEnvelope, parseEnvelope, type Writer } from './envelope.ts';
import { decodeGaps, encodeGaps } from './gap-text.ts';
import type { JsonObject } from './json-fields.ts';
import { Malformed } from './malformed.ts';

/** Quarantined records of one partition that one batch set aside. */
export interface RequeuedRecords {
  topic: string;
  partition: number;
  /** The pipeline and the batch that set them aside; null where the quarantine does not say. */
  pipeline: string | null;
  batchId: bigint | null;
  /** Ascending and disjoint. */
  offsets: { from: bigint; until: bigint }[];
}

/**
 * What a requeue is about to do, written before it does it: with it any later process can finish the requeue, or see that
 * it is not needed, whatever became of the one that began it.
 */
export interface RequeueIntent {
  requeueId: string;
  pipelineName: string;
  quarantine: string;
  /** The data table. */
  table: string;
  uuid: string;
  commitId: string;
  snapshotId: bigint;
  /** In the names of the files. */
  writerId: string;
  /** The `ingested_at` of the rows. */
  requeuedAtMs: number;
  files: DataFile[];
  records: RequeuedRecords[];
}

const DIRECTORY = '_sluice/requeue';
const KIND: FileKind = {
  holds: 'the records and data files of a requeue that is not finished',
  repair: 'restore it from a copy',
  maxBytes: 480 * 1024 * 1024,
};

/** Is a requeue done, or must it never be? */
export type RequeueDecision = 'go' | 'void';

const DECISION: FileKind = {
  holds: 'whether a requeue goes on',
  repair: 'restore it from a copy',
  maxBytes: 1024 * 1024,
};

/**
 * The requeues of a checkpoint that are not finished. Each has a file that says what it is to do, and then a second one that
 * decides about it, made without overwriting: the one that began it may say `go` after it has seen that no other file names
 * the same records; anyone may say `void` before. Of two that name the same records at most one goes on.
 */
export class RequeueIntents {
  readonly #files: CheckpointFiles;

  constructor(io: FileIO, location: string) {
    this.#files = new CheckpointFiles(io, location);
  }

  /** The location of the file of a requeue, as it stands in the mark of the table. */
  path(requeueId: string): string {
    return this.#files.path(fileName(requeueId));
  }

  /**
   * Decides, unless it is decided: what holds is returned. `gone`: somebody has voided and removed it. Only the process that
   * wrote the intent may say `go`, and must not say it again after an error.
   */
  async decide(
    requeueId: string,
    decision: RequeueDecision,
    writer: Writer,
    nowMs: number,
  ): Promise<RequeueDecision | 'gone'> {
    const name = decisionName(requeueId);
    const bytes = formatEnvelope('requeue-decision', writer, nowMs, { requeueId, decision });
    const made = await this.#files.createNew(name, bytes);
    const found = made ? decision : ((await this.decision(requeueId)) ?? 'gone');
    // Who removes a requeue removes its file first, and what was decided of it last.
    return found === 'go' && !(await this.#files.exists(fileName(requeueId))) ? 'gone' : found;
  }

  async decision(requeueId: string): Promise<RequeueDecision | null> {
    return this.#files.read(decisionName(requeueId), DECISION, (bytes) => {
      const { record } = parseEnvelope('requeue-decision', bytes, (o) =>
        o.oneOf('decision', ['go', 'void'] as const),
      );
      return record;
    });
  }

  /** Ids are fresh, so that a file which is there already is this very one, its reply lost. */
  async write(intent: RequeueIntent, writer: Writer, nowMs: number): Promise<void> {
    await this.#files.createNew(
      fileName(intent.requeueId),
      formatEnvelope('requeue', writer, nowMs, encode(intent)),
    );
  }

  /** Ids, in the order of their names. */
  async list(): Promise<string[]> {
    const names = await this.#files.list(DIRECTORY);
    return names.flatMap((name) => /^([A-Za-z0-9-]+)\.json$/.exec(name)?.[1] ?? []).sort();
  }

  /** Null where it is finished. Throws CHECKPOINT_CORRUPT and CHECKPOINT_VERSION. */
  async read(requeueId: string): Promise<Envelope<RequeueIntent> | null> {
    return this.#files.read(fileName(requeueId), KIND, (bytes) => parse(bytes, requeueId));
  }

  /** It is finished, or void. */
  async remove(requeueId: string): Promise<void> {
    await this.#files.delete(fileName(requeueId));
    await this.#files.delete(decisionName(requeueId));
  }
}

/** The intent of another checkpoint, by its location; null where there is no such file. Throws as `read`. */
export async function readIntentAt(
  io: FileIO,
  path: string,
  requeueId: string,
): Promise<RequeueIntent | null> {
  const slash = path.lastIndexOf('/');
  const files = new CheckpointFiles(io, path.slice(0, slash));
  try {
    const found = await files.read(path.slice(slash + 1), KIND, (bytes) => parse(bytes, requeueId));
    return found?.record ?? null;
  } catch (error) {
    if (isSluiceError(error, 'FILE_NOT_FOUND')) return null;
    throw error;
  }
}

/** `host a, process 12 (writer 3f2a...)`, and when. */
export function describeIntent({ writer, writtenAt }: Envelope<RequeueIntent>): string {
  return `${describeWriter(writer)}, begun ${writtenAt}`;
}

function fileName(requeueId: string): string {
  return `${DIRECTORY}/${requeueId}.json`;
}

function decisionName(requeueId: string): string {
  return `${DIRECTORY}/${requeueId}.decision.json`;
}

function parse(bytes: Uint8Array, requeueId: string): Envelope<RequeueIntent> {
  const envelope = parseEnvelope('requeue', bytes, decode);
  if (envelope.record.requeueId !== requeueId)
    throw new Malformed(`it is of requeue ${envelope.record.requeueId}`);
  return envelope;
}

function encode(intent: RequeueIntent): object {
  return {
    ...intent,
    files: intent.files.map(encodeDataFile),
    records: intent.records.map((r) => ({ ...r, offsets: encodeGaps(r.offsets) })),
  };
}

function decode(o: JsonObject): RequeueIntent {
  return {
    requeueId: o.string('requeueId'),
    pipelineName: o.string('pipelineName'),
    quarantine: o.string('quarantine'),
    table: o.string('table'),
    uuid: o.string('uuid'),
    commitId: o.string('commitId'),
    snapshotId: o.bigint('snapshotId'),
    writerId: o.string('writerId'),
    requeuedAtMs: o.integer('requeuedAtMs'),
    files: o.objects('files', decodeDataFile),
    records: o.objects('records', (r) => ({
      topic: r.string('topic'),
      partition: r.integer('partition'),
      pipeline: r.stringOrNull('pipeline'),
      batchId: r.bigintOrNull('batchId'),
      offsets: decodeGaps(r.string('offsets')),
    })),
  };
}
