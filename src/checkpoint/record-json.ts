/** The records of `_sluice/` to JSON and back (types in records.ts). Decoders throw Malformed, naming the field. */
import type { OffsetRange } from '../core/offset-range.ts';
import { checkAccount } from './account-check.ts';
import { decodeDataFile, encodeDataFile } from './data-file-json.ts';
import { decodeGaps, encodeGaps } from './gap-text.ts';
import type { JsonObject } from './json-fields.ts';
import { Malformed } from './malformed.ts';
import type {
  BatchPlan,
  DoneBatch,
  DoneTable,
  LedgerEntry,
  LostRange,
  PlannedTable,
  PreparedBatch,
  PreparedTable,
  RangeFunnel,
  ResetNote,
  RouteOfTable,
  TopicIncarnation,
} from './records.ts';

export function encodePlan(plan: BatchPlan): object {
  return plan;
}

export function decodePlan(o: JsonObject): BatchPlan {
  const plan: BatchPlan = {
    batchId: o.count('batchId'),
    batchTimestampMs: o.integer('batchTimestampMs'),
    clusterId: o.stringOrNull('clusterId'),
    topics: o.objects('topics', decodeTopic),
    ranges: o.objects('ranges', decodeRange),
    leaderEpochs: o.objects('leaderEpochs', (e) => ({
      topic: e.string('topic'),
      partition: e.count('partition'),
      epoch: e.integer('epoch'),
      endOffset: e.bigint('endOffset'),
    })),
    tables: o.objects('tables', decodeTable),
    config: { hash: o.object('config').string('hash'), text: o.object('config').string('text') },
    lost: o.objects('lost', decodeLost),
  };
  if (o.has('reset')) {
    const r = o.object('reset');
    const previous = r.object('previous');
    plan.reset = {
      ...decodeNote(r),
      command: r.string('command'),
      previous: {
        clusterId: previous.stringOrNull('clusterId'),
        topics: previous.objects('topics', decodeTopic),
      },
    };
  }
  return plan;
}

export function encodePrepared(batch: PreparedBatch): object {
  return {
    ...batch,
    tables: batch.tables.map((t) => ({ ...t, files: Array.from(t.files, encodeDataFile) })),
    funnel: batch.funnel.map(encodeFunnel),
  };
}

export function decodePrepared(o: JsonObject): PreparedBatch {
  const batch: PreparedBatch = {
    batchId: o.count('batchId'),
    writerId: o.string('writerId'),
    tables: o.objects('tables', decodePreparedTable),
    funnel: o.objects('funnel', decodeFunnel),
    lost: o.objects('lost', decodeLost),
  };
  if (o.has('givenUp')) {
    const g = o.object('givenUp');
    batch.givenUp = { ...decodeNote(g), command: g.string('command') };
  }
  return batch;
}

export function encodeDone(batch: DoneBatch): object {
  return { ...batch, funnel: batch.funnel.map(encodeFunnel) };
}

export function decodeDone(o: JsonObject): DoneBatch {
  const batch: DoneBatch = {
    batchId: o.count('batchId'),
    clusterId: o.stringOrNull('clusterId'),
    topics: o.objects('topics', decodeTopic),
    tables: o.objects('tables', decodeDoneTable),
    funnel: o.objects('funnel', decodeFunnel),
    lost: o.objects('lost', decodeLost),
  };
  if (o.has('reset')) batch.reset = decodeNote(o.object('reset'));
  return batch;
}

export function decodeLedgerEntry(o: JsonObject): LedgerEntry {
  const entry: LedgerEntry = {
    table: o.string('table'),
    topic: o.string('topic'),
    topicId: o.stringOrNull('topicId'),
    partition: o.count('partition'),
    from: o.bigint('from'),
    until: o.bigint('until'),
    firstBatch: o.count('firstBatch'),
    lastBatch: o.count('lastBatch'),
    rows: o.count('rows'),
    quarantined: o.count('quarantined'),
    dropped: o.count('dropped'),
    control: o.count('control'),
    aborted: o.count('aborted'),
    holes: o.count('holes'),
    gaps: o.string('gaps'),
    gapsCut: o.boolean('gapsCut'),
    lost: o.objects('lost', (l) => ({ ...decodeStretch(l), reason: l.string('reason') })),
    lostOffsets: o.bigint('lostOffsets'),
    lostCut: o.boolean('lostCut'),
    gapSum: o.count('gapSum'),
  };
  if (o.has('byReset') && o.boolean('byReset')) entry.byReset = true;
  checkAccount(entry);
  return entry;
}

function decodeNote(o: JsonObject): ResetNote {
  return { reason: o.string('reason'), by: o.string('by'), at: o.string('at') };
}

function decodeTopic(o: JsonObject): TopicIncarnation {
  return { topic: o.string('topic'), topicId: o.stringOrNull('topicId') };
}

function decodeStretch(o: JsonObject): { from: bigint; until: bigint } {
  return { from: o.bigint('from'), until: o.bigint('until') };
}

function decodeRange(o: JsonObject): OffsetRange {
  return { topic: o.string('topic'), partition: o.count('partition'), ...decodeStretch(o) };
}

function decodeLost(o: JsonObject): LostRange {
  return {
    ...decodeRange(o),
    topicId: o.stringOrNull('topicId'),
    reason: o.string('reason'),
    acceptedBy: o.string('acceptedBy'),
  };
}

function decodeTable(o: JsonObject): PlannedTable {
  return {
    table: o.string('table'),
    uuid: o.string('uuid'),
    ref: o.string('ref'),
    role: o.oneOf('role', ['data', 'quarantine'] as const),
    ...decodeRoute(o),
  };
}

/** Absent where the table is not one of several. */
export function decodeRoute(o: JsonObject): { route?: RouteOfTable } {
  if (!o.has('route')) return {};
  const route = o.object('route');
  return { route: { group: route.string('group'), value: route.stringOrNull('value') } };
}

function decodePreparedTable(o: JsonObject): PreparedTable {
  return {
    ...decodeTable(o),
    commitId: o.string('commitId'),
    snapshotId: o.bigint('snapshotId'),
    rows: o.count('rows'),
    files: o.objects('files', decodeDataFile),
  };
}

function decodeDoneTable(o: JsonObject): DoneTable {
  return {
    ...decodeTable(o),
    commitId: o.stringOrNull('commitId'),
    snapshotId: o.bigintOrNull('snapshotId'),
    sequenceNumber: o.bigintOrNull('sequenceNumber'),
    rows: o.count('rows'),
  };
}

function encodeFunnel(range: RangeFunnel): object {
  return { ...range, gaps: encodeGaps(range.gaps) };
}

function decodeFunnel(o: JsonObject): RangeFunnel {
  const gaps = o.string('gaps');
  const range: RangeFunnel = {
    ...decodeRange(o),
    table: o.string('table'),
    rows: o.count('rows'),
    quarantined: o.count('quarantined'),
    dropped: o.count('dropped'),
    control: o.count('control'),
    aborted: o.count('aborted'),
    holes: o.count('holes'),
    bytes: o.count('bytes'),
    leaderEpoch: o.integer('leaderEpoch'),
    leaderEpochEnd: o.bigint('leaderEpochEnd'),
    maxTimestampMs: o.integerOrNull('maxTimestampMs'),
    gaps: decodeGaps(gaps),
    gapsCut: o.boolean('gapsCut'),
    gapSum: o.count('gapSum'),
  };
  if (o.has('routed')) range.routed = decodeRouted(o, range);
  checkAccount({ ...range, gaps });
  return range;
}

/** The tables that a range went to. Throws Malformed where their counts are not those of the range. */
function decodeRouted(o: JsonObject, { rows, quarantined }: RangeFunnel): RangeFunnel['routed'] {
  const routed = o.objects('routed', (t) => ({
    table: t.string('table'),
    rows: t.count('rows'),
    quarantined: t.count('quarantined'),
  }));
  const sum = (of: 'rows' | 'quarantined'): number => routed.reduce((n, t) => n + t[of], 0);
  if (sum('rows') !== rows || sum('quarantined') !== quarantined)
    throw new Malformed(
      `routed: its counts are ${sum('rows')} and ${sum('quarantined')}, expected ${rows} and ${quarantined}`,
    );
  return routed;
}
