/**
 * The marker of a pipeline in a table, and what it proves (spec 50, "The exactly-once commit" 2; spec 30, "Checkpoint
 * and tables watch each other"). It stands in the summary of each snapshot that Sluice writes, and in a property of the
 * table that survives the expiry of snapshots. The property alone proves nothing about the ref: properties are
 * table-wide and outlive a rollback, so the ref's history must be shown to hold the snapshot that it names.
 */
import { parseJson64, stringifyJson64 } from '../core/json64.ts';
import { messageOf, SluiceError } from '../errors.ts';
import { JsonReader } from './json-reader.ts';
import { ancestorsOf, type Snapshot, type TableMetadata } from './metadata.ts';
import { type HistoryEvidence, refHolds } from './ref-history.ts';

export const PIPELINE_ID = 'sluice.pipeline-id';
export const PIPELINE_NAME = 'sluice.pipeline-name';
export const BATCH_ID = 'sluice.batch-id';
export const COMMIT_ID = 'sluice.commit-id';
export const OFFSETS = 'sluice.offsets';
const PROPERTY_PREFIX = 'sluice.';

export interface Marker {
  readonly pipelineId: string;
  readonly pipelineName: string;
  readonly batchId: number;
  readonly snapshotId: bigint;
  readonly sequenceNumber: bigint;
  readonly commitId: string;
}

/** What the checkpoint says about itself and a table. */
export interface MarkerQuestion {
  /** For messages: `namespace.name`. */
  table: string;
  ref: string;
  expectedUuid: string;
  pipelineId: string;
  pipelineName: string;
  recorded(batchId: number): Promise<{ snapshotId: bigint; commitId: string } | null | 'purged'>;
  lastRecorded: { batchId: number; snapshotId: bigint; commitId: string } | null;
  /** The batch that may have been committed without having been recorded yet. */
  inFlight: { batchId: number; commitId: string } | null;
}

export function propertyKey(pipelineId: string, ref: string): string {
  return `${PROPERTY_PREFIX}${pipelineId}.${ref}`;
}

export function propertyValue(marker: Marker): string {
  return stringifyJson64({
    'pipeline-name': marker.pipelineName,
    'batch-id': marker.batchId,
    'snapshot-id': marker.snapshotId,
    'commit-id': marker.commitId,
    'sequence-number': marker.sequenceNumber,
  });
}

/** The marker in a property. Throws METADATA_INVALID where somebody has changed it. */
function readProperty(
  properties: Readonly<Record<string, string>>,
  key: string,
  pipelineId: string,
): Marker | null {
  const text = Object.hasOwn(properties, key) ? properties[key] : undefined;
  if (text === undefined) return null;
  try {
    const reader = new JsonReader(parseJson64(text), key);
    return {
      pipelineId,
      pipelineName: reader.optionalString('pipeline-name') ?? '',
      batchId: reader.millis('batch-id'),
      snapshotId: reader.long('snapshot-id'),
      sequenceNumber: reader.long('sequence-number'),
      commitId: reader.string('commit-id'),
    };
  } catch (e) {
    throw new SluiceError(
      'METADATA_INVALID',
      `table property ${key} is not a marker of Sluice: ${messageOf(e)}`,
      { cause: e },
    );
  }
}

/** The marker in a snapshot's summary, or null. */
export function markerOf(snapshot: Snapshot): Marker | null {
  const { summary } = snapshot;
  const batchId = Number(summary[BATCH_ID]);
  if (
    summary[PIPELINE_ID] === undefined ||
    summary[COMMIT_ID] === undefined ||
    !Number.isSafeInteger(batchId)
  )
    return null;
  return {
    pipelineId: summary[PIPELINE_ID],
    pipelineName: summary[PIPELINE_NAME] ?? '',
    batchId,
    snapshotId: snapshot.snapshotId,
    sequenceNumber: snapshot.sequenceNumber,
    commitId: summary[COMMIT_ID],
  };
}

/**
 * Asks the table for the batch in flight: where it is, or null where it must still be committed. Throws TABLE_REWOUND,
 * STALE_WRITER, CHECKPOINT_LOST where table and checkpoint do not fit.
 */
export async function judgeTable(
  metadata: TableMetadata,
  question: MarkerQuestion,
  evidence: HistoryEvidence,
): Promise<Marker | null> {
  const { inFlight, lastRecorded } = question;
  if (metadata.tableUuid.toLowerCase() !== question.expectedUuid.toLowerCase()) {
    throw rewound(
      question,
      `it is another table now: expected uuid ${question.expectedUuid}, found ${metadata.tableUuid}`,
      null,
      metadata,
    );
  }
  const chain = ancestorsOf(metadata, question.ref);
  const inHistory = chain
    .map(markerOf)
    .filter((m): m is Marker => m !== null && m.pipelineId === question.pipelineId);
  const landed = inFlight === null ? undefined : inHistory.find((m) => m.commitId === inFlight.commitId);
  if (landed !== undefined) return landed;
  const property = readProperty(
    metadata.properties,
    propertyKey(question.pipelineId, question.ref),
    question.pipelineId,
  );
  const newestHeld = inHistory.reduce<Marker | null>(
    (max, m) => (max === null || m.batchId > max.batchId ? m : max),
    null,
  );
  const marker =
    property !== null && (newestHeld === null || property.batchId >= newestHeld.batchId)
      ? property
      : newestHeld;
  if (marker === null) {
    if (lastRecorded !== null)
      throw rewound(question, 'it bears no marker of this pipeline any more', null, metadata);
    await refuseOtherCheckpoint(metadata, chain, question, evidence);
    return null;
  }
  if (inFlight !== null && marker.batchId >= inFlight.batchId) {
    if (marker.commitId !== inFlight.commitId)
      throw stale(
        question,
        marker,
        `this process is about to commit batch ${inFlight.batchId} as ${inFlight.commitId}`,
      );
    // Our own commit, but no snapshot that is listed says so: expired from below the ref, or rolled back.
    await assertHeld(metadata, marker, newestHeld, question, evidence);
    return marker;
  }
  await compareWithRecord(marker, question);
  await assertHeld(metadata, marker, newestHeld, question, evidence);
  if (lastRecorded !== null && lastRecorded.batchId > marker.batchId) {
    throw rewound(question, `its newest batch is ${marker.batchId}`, marker, metadata);
  }
  return null;
}

/** Throws TABLE_REWOUND unless the ref's history is shown to hold the marker's snapshot. */
async function assertHeld(
  metadata: TableMetadata,
  marker: Marker,
  newestHeld: Marker | null,
  question: MarkerQuestion,
  evidence: HistoryEvidence,
): Promise<void> {
  if (newestHeld?.snapshotId === marker.snapshotId) return;
  const held = await refHolds(metadata, question.ref, marker, evidence);
  if (held === 'held') return;
  const why =
    held === 'lost'
      ? `its property says that batch ${marker.batchId} was committed (snapshot ${marker.snapshotId}), but its history no longer holds it`
      : `its property says that batch ${marker.batchId} was committed, but snapshot ${marker.snapshotId} is listed no more, and neither the older metadata files nor the manifests of the head show that its history ever held it`;
  throw rewound(question, why, newestHeld, metadata, marker.batchId);
}

/** The table's newest marker against the checkpoint's own record of that batch. */
async function compareWithRecord(marker: Marker, question: MarkerQuestion): Promise<void> {
  const { lastRecorded } = question;
  const record = await question.recorded(marker.batchId);
  if (record === 'purged') {
    if (lastRecorded !== null && marker.batchId > lastRecorded.batchId)
      throw stale(question, marker, `the newest that this checkpoint knows is ${lastRecorded.batchId}`);
    return;
  }
  if (record === null) {
    if (lastRecorded === null) throw lost(question, marker);
    throw stale(
      question,
      marker,
      `this checkpoint did not commit that batch; its newest is ${lastRecorded.batchId}`,
    );
  }
  if (record.commitId !== marker.commitId || record.snapshotId !== marker.snapshotId) {
    throw stale(
      question,
      marker,
      `this checkpoint committed that batch as snapshot ${record.snapshotId}, commit ${record.commitId}`,
    );
  }
}

/**
 * A checkpoint that has never committed here must not begin beneath the marker of another one of the same pipeline: only
 * where it is proven that the ref lost that marker's snapshot may it go on.
 */
async function refuseOtherCheckpoint(
  metadata: TableMetadata,
  chain: readonly Snapshot[],
  question: MarkerQuestion,
  evidence: HistoryEvidence,
): Promise<void> {
  const isOther = (m: Marker | null): m is Marker =>
    m !== null && m.pipelineName === question.pipelineName && m.pipelineId !== question.pipelineId;
  const inHistory = chain.map(markerOf).find(isOther);
  if (inHistory !== undefined) throw lost(question, inHistory);
  for (const key of Object.keys(metadata.properties)) {
    const suffix = `.${question.ref}`;
    if (
      !key.startsWith(PROPERTY_PREFIX) ||
      !key.endsWith(suffix) ||
      !metadata.properties[key].startsWith('{')
    )
      continue;
    const marker = readProperty(metadata.properties, key, key.slice(PROPERTY_PREFIX.length, -suffix.length));
    if (isOther(marker) && (await refHolds(metadata, question.ref, marker, evidence)) !== 'lost')
      throw lost(question, marker);
  }
}

function lost(question: MarkerQuestion, marker: Marker): SluiceError {
  return new SluiceError(
    'CHECKPOINT_LOST',
    `table ${question.table}, ref ${question.ref} holds batch ${marker.batchId} of pipeline "${question.pipelineName}" (checkpoint ${marker.pipelineId}, snapshot ${marker.snapshotId}), but the checkpoint ${question.pipelineId} has committed nothing there; a fresh start would double the rows: restore the checkpoint`,
    {
      context: {
        table: question.table,
        ref: question.ref,
        batchId: marker.batchId,
        pipelineId: marker.pipelineId,
        snapshotId: marker.snapshotId,
      },
    },
  );
}

function stale(question: MarkerQuestion, marker: Marker, known: string): SluiceError {
  return new SluiceError(
    'STALE_WRITER',
    `table ${question.table}, ref ${question.ref} bears batch ${marker.batchId} (snapshot ${marker.snapshotId}, commit ${marker.commitId}) of this pipeline; ${known}: an older copy of the checkpoint or a second process is running; nothing was committed`,
    {
      outcome: 'not-applied',
      context: {
        table: question.table,
        ref: question.ref,
        batchId: marker.batchId,
        snapshotId: marker.snapshotId,
        commitId: marker.commitId,
      },
    },
  );
}

/** Names the batches that the checkpoint has committed and the table lost. `held`: the newest one that it still holds. */
function rewound(
  question: MarkerQuestion,
  why: string,
  held: Marker | null,
  metadata: TableMetadata,
  markerBatch = -1,
): SluiceError {
  const last = Math.max(question.lastRecorded?.batchId ?? -1, markerBatch);
  const first = held === null ? 0 : held.batchId + 1;
  const batches =
    last < first ? 'no batch' : last === first ? `batch ${last}` : `batches ${first} to ${last}`;
  const head = metadata.refs.get(question.ref)?.snapshotId ?? 'none';
  return new SluiceError(
    'TABLE_REWOUND',
    `table ${question.table}, ref ${question.ref} (head: snapshot ${head}) was rolled back, restored or recreated: ${why}; ${batches} would have to be read again`,
    {
      outcome: 'not-applied',
      context: {
        table: question.table,
        ref: question.ref,
        firstBatch: first,
        lastBatch: last,
        expectedUuid: question.expectedUuid,
        foundUuid: metadata.tableUuid,
      },
    },
  );
}
