import { stringifyJson64 } from '../core/json64.ts';
import { SluiceError } from '../errors.ts';
import { count } from '../monitor/progress-line.ts';
import type { Interval } from '../proof/offset-runs.ts';
import type { PartitionProof, VerifyReport } from '../proof/verify-table.ts';
import { textTable } from './text-table.ts';

/** A table of which nothing can be said, and why. */
export interface Unproven {
  table: string;
  error: SluiceError;
}

/** What `verify` found, as one JSON object on a line. */
export function verifyJson(reports: readonly VerifyReport[], unproven: readonly Unproven[]): string {
  const failed = unproven.map(({ table, error }) => ({ table, code: error.code, message: error.message }));
  const ok = failed.length === 0 && reports.every((report) => report.ok);
  return `${stringifyJson64({ ok, tables: reports, ...(failed.length === 0 ? {} : { unproven: failed }) })}\n`;
}

/** The same for people. */
export function verifyTexts(reports: readonly VerifyReport[], unproven: readonly Unproven[]): string {
  return [
    ...reports.map(verifyText),
    ...unproven.map(({ table, error }) => `${table}: NOT PROVEN: ${error.message}\n`),
  ].join('\n');
}

/** What `verify` found in one table, for people. */
export function verifyText(report: VerifyReport): string {
  const word = report.ok ? 'ok' : 'DIFFERENT';
  const misplaced = report.misplaced > 0n ? `, ${count(report.misplaced)} misplaced` : '';
  const requeued = report.requeued > 0 ? ` (${count(report.requeued)} of them requeued)` : '';
  const counts = `${count(report.rows)} rows${requeued}, ${count(report.quarantined)} quarantined, ${differenceText(report)}${misplaced}, ${count(report.acceptedLoss)} accepted as lost`;
  const counted = countColumns([report]);
  const rows = report.partitions.map((p) => [
    p.topic,
    String(p.partition),
    rangesText(p),
    count(p.rows),
    count(p.quarantined),
    count(p.dropped),
    count(p.control + p.aborted + p.holes),
    count(p.acceptedLoss),
    ...counted.cells(p),
  ]);
  const table = textTable(
    [
      'topic',
      'partition',
      'read',
      'rows',
      'quarantined',
      'dropped',
      'gaps',
      'accepted loss',
      ...counted.header,
    ],
    rows,
  );
  const lines = [...report.partitions.flatMap(differences), ...notes(report)];
  return `${report.table}: ${word}: ${counts}\n${table}${lines.map((line) => `  ${line}\n`).join('')}`;
}

/** `0 lost, 0 doubled, 0 unknown`. */
function differenceText(report: VerifyReport): string {
  return `${count(report.lost)} lost, ${count(report.duplicated)} doubled, ${count(report.unexpected)} unknown`;
}

/** What a reader of the numbers must know of them. */
function notes(report: VerifyReport): string[] {
  const byNumber = report.partitions
    .filter((p) => p.unlisted > 0)
    .map(
      (p) =>
        `${p.topic}-${p.partition}: ${count(p.unlisted)} offsets without a row are compared by number and checksum only: too many to list`,
    );
  const requeues = report.unfinishedRequeues.map(
    (r) =>
      `requeue ${r.requeueId} of ${count(r.records)} records into ${r.table} is not finished${r.landed ? ': its rows are there, and are counted as requeued' : ''}; \`sluice quarantine requeue --execute\` finishes it`,
  );
  const told = [...byNumber, ...requeues, ...report.partitions.flatMap(brokerNote)];
  if (report.otherRows === 0) return told;
  return [
    ...told,
    `${count(report.otherRows)} other rows, of partitions that this checkpoint never read into the table: not judged`,
  ];
}

/** `[0, 120) [120, 400)`, one for each incarnation of the topic. */
export function rangesText(p: PartitionProof): string {
  return p.ranges.map((range) => `[${range.from}, ${range.until})`).join(' ');
}

function brokerNote({ topic, partition, broker }: PartitionProof): string[] {
  if (broker === undefined || broker.asked === 0) return [];
  const { from, until, asked, records } = broker;
  const found = records.length === 0 ? 'no lost record' : `records at ${intervalsText(records)}`;
  return [
    `${topic}-${partition}: of [${from}, ${until}), which the brokers still have, ${count(asked)} offsets have no row: ${found} there`,
  ];
}

const MOST_COUNT_COLUMNS = 8;

export interface CountColumns {
  header: string[];
  cells(p: PartitionProof): string[];
}

/** A column for each value of the counted field, most frequent first, and one for the rest; none where nothing was counted. */
export function countColumns(reports: readonly VerifyReport[]): CountColumns {
  const total = new Map<string, number>();
  for (const { countBy } of reports) {
    for (const [label, rows] of Object.entries(countBy?.counts ?? {}))
      total.set(label, (total.get(label) ?? 0) + rows);
  }
  const labels = [...total].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1)).map(([label]) => label);
  const shown = labels.slice(0, MOST_COUNT_COLUMNS);
  const rest = labels.slice(MOST_COUNT_COLUMNS);
  const field = reports.find((report) => report.countBy !== undefined)?.countBy?.field;
  const of = (p: PartitionProof, label: string): number => p.counts?.[label] ?? 0;
  return {
    header: [
      ...shown.map((label) => `${field}=${label}`),
      ...(rest.length > 0 ? [`${rest.length} other values`] : []),
    ],
    cells: (p) => [
      ...shown.map((label) => count(of(p, label))),
      ...(rest.length > 0 ? [count(rest.reduce((sum, label) => sum + of(p, label), 0))] : []),
    ],
  };
}

/** Throws VERIFY_DIFFERENCE where a table is not as it should be. */
export function refuseDifferences(reports: readonly VerifyReport[]): void {
  const bad = reports.filter((report) => !report.ok);
  if (bad.length === 0) return;
  throw new SluiceError(
    'VERIFY_DIFFERENCE',
    bad.map((r) => `${r.table}: ${differenceText(r)}, ${count(r.misplaced)} misplaced`).join('; '),
    { context: { tables: bad.map((r) => r.table) } },
  );
}

const MOST_RANGES = 20;

function differences(p: PartitionProof): string[] {
  const name = `${p.topic}-${p.partition}`;
  const places: [string, readonly Interval[]][] = [
    ['lost', p.missing],
    ['doubled', p.doubled],
    ['unknown', p.unknown],
    [`without a row, ${count(p.unlisted)} of them rightly`, p.candidates],
  ];
  const lines = places
    .filter(([, intervals]) => intervals.length > 0)
    .map(([kind, intervals]) => `${kind}: ${name} ${intervalsText(intervals)}`);
  return p.misplaced === 0n
    ? lines
    : [
        ...lines,
        `misplaced: ${name} ${count(p.misplaced)} records are in the quarantine instead of the table, or the other way round`,
      ];
}

function intervalsText(intervals: readonly Interval[]): string {
  const shown = intervals.slice(0, MOST_RANGES).map((range) => `[${range.from}, ${range.until})`);
  const more = intervals.length - shown.length;
  return `${shown.join(', ')}${more > 0 ? ` and ${count(more)} more` : ''}`;
}
