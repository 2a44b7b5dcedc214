/**
 * The marker of a requeue in a table: which records of the quarantine have gone back (spec 40, "Quarantine"). It stands in
 * the summary of the snapshot, and in a property that survives the snapshot's expiry; the property goes when the record of
 * what was requeued proves the same. It is no marker of a pipeline: batches neither see it nor are disturbed by it.
 */
import { parseJson64, stringifyJson64 } from '../core/json64.ts';
import { messageOf, SluiceError } from '../errors.ts';

import { JsonReader } from './json-reader.ts';
import { COMMIT_ID, markerOf } from './marker.ts';
import { ancestorsOf, type Snapshot, type TableMetadata } from './metadata.ts';
import { type HistoryEvidence, refHolds, type SoughtSnapshot } from './ref-history.ts';
import type { TableUpdate } from './updates.ts';

export const REQUEUE_ID = 'sluice.requeue-id';
/** Which records: their coordinates, or the hash of them where they are many. */
export const REQUEUE_RECORDS = 'sluice.requeue-records';
const PROPERTY_PREFIX = 'sluice.requeue.';

/** What a table's property says of a requeue. */
export interface RequeueMark {
  readonly requeueId: string;
  readonly commitId: string;
  readonly snapshotId: bigint;
  readonly sequenceNumber: bigint;
  /** Where the records came from. */
  readonly quarantine: string;
  /** Where its list of records is kept until it is finished. */
  readonly intent: string;
}

export function requeueProperty(requeueId: string): string {
  return `${PROPERTY_PREFIX}${requeueId}`;
}

/** Sets the mark of one requeue, and takes away those of finished ones. */
export function requeueMarks(mark: RequeueMark, finished: readonly string[]): TableUpdate[] {
  const value = stringifyJson64({
    'commit-id': mark.commitId,
    'snapshot-id': mark.snapshotId,
    'sequence-number': mark.sequenceNumber,
    quarantine: mark.quarantine,
    intent: mark.intent,
  });
  const updates: TableUpdate[] = [
    { action: 'set-properties', updates: { [requeueProperty(mark.requeueId)]: value } },
  ];
  if (finished.length > 0)
    updates.push({ action: 'remove-properties', removals: finished.map(requeueProperty) });
  return updates;
}

/** The requeues that a table's properties tell of. Throws METADATA_INVALID where somebody has changed one. */
export function requeuesOf(metadata: TableMetadata): RequeueMark[] {
  return Object.entries(metadata.properties)
    .filter(([key]) => key.startsWith(PROPERTY_PREFIX))
    .map(([key, text]) => readMark(key, text));
}

function readMark(key: string, text: string): RequeueMark {
  try {
    const reader = new JsonReader(parseJson64(text), key);
    return {
      requeueId: key.slice(PROPERTY_PREFIX.length),
      commitId: reader.string('commit-id'),
      snapshotId: reader.long('snapshot-id'),
      sequenceNumber: reader.long('sequence-number'),
      quarantine: reader.string('quarantine'),
      intent: reader.string('intent'),
    };
  } catch (e) {
    throw new SluiceError(
      'METADATA_INVALID',
      `table property ${key} is not the mark of a requeue: ${messageOf(e)}`,
      { cause: e },
    );
  }
}

/** Was a snapshot written by Sluice, by a batch or by a requeue? */
export function isOwnSnapshot(snapshot: Snapshot): boolean {
  return markerOf(snapshot) !== null || snapshot.summary[REQUEUE_ID] !== undefined;
}

/**
 * Where a requeue stands in the history of a ref, or null where the table tells of none. Throws TABLE_REWOUND where a property
 * tells of it and the history does not hold it.
 */
export async function findRequeue(
  metadata: TableMetadata,
  { table, ref, requeueId, commitId }: { table: string; ref: string; requeueId: string; commitId: string },
  evidence: HistoryEvidence,
): Promise<SoughtSnapshot | null> {
  const listed = ancestorsOf(metadata, ref).find(
    ({ summary }) => summary[REQUEUE_ID] === requeueId && summary[COMMIT_ID] === commitId,
  );
  if (listed !== undefined) return listed;
  const property = requeueProperty(requeueId);
  const text = Object.hasOwn(metadata.properties, property) ? metadata.properties[property] : undefined;
  if (text === undefined) return null;
  const mark = readMark(property, text);
  if ((await refHolds(metadata, ref, mark, evidence)) === 'held') return mark;
  throw new SluiceError(
    'TABLE_REWOUND',
    `table ${table}, ref ${ref}: its property says that requeue ${requeueId} was committed (snapshot ${mark.snapshotId}), but its history does not hold it: the table was rolled back. Roll it forward, or remove the property ${property}: then the records of that requeue go back once more`,
    { outcome: 'not-applied', context: { table, ref, requeueId, snapshotId: mark.snapshotId } },
  );
}
