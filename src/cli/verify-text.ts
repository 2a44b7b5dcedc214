import { SluiceError } from '../errors.ts';
import { count } from '../monitor/progress-line.ts';
import type { PartitionProof, VerifyReport } from '../proof/verify-table.ts';
import { textTable } from './text-table.ts';

/** What `verify` found in one table, for people. */
export function verifyText(report: VerifyReport): string {
  const word = report.ok ? 'ok' : 'DIFFERENT';
  const counts = `${count(report.rows)} rows, ${count(report.quarantined)} quarantined, ${count(report.lost)} lost, ${count(report.duplicated)} doubled, ${count(report.unexpected)} unknown`;
  const counted = countColumns([report]);
  const rows = report.partitions.map((p) => [
    p.topic,
    String(p.partition),
    rangesText(p),
    count(p.rows),
    count(p.quarantined),
    count(p.dropped),
    count(p.control + p.aborted + p.holes),
    ...counted.cells(p),
  ]);
  const table = textTable(
    ['topic', 'partition', 'read', 'rows', 'quarantined', 'dropped', 'gaps', ...counted.header],
    rows,
  );
  return `${report.table}: ${word}: ${counts}\n${table}${report.partitions.flatMap(differences).join('')}`;
}

/** `[0, 120) [120, 400)`, one for each incarnation of the topic. */
export function rangesText(p: PartitionProof): string {
  return p.ranges.map((range) => `[${range.from}, ${range.until})`).join(' ');
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
    bad
      .map((r) => `${r.table}: ${r.lost} offsets missing, ${r.duplicated} doubled, ${r.unexpected} unknown`)
      .join('; '),
    { context: { tables: bad.map((r) => r.table) } },
  );
}

const MOST_RANGES = 20;

function differences(p: PartitionProof): string[] {
  return (['missing', 'duplicated', 'unexpected'] as const).flatMap((kind) => {
    const shown = p[kind].slice(0, MOST_RANGES).map((range) => `[${range.from}, ${range.until})`);
    const more = p[kind].length > MOST_RANGES ? ` and ${p[kind].length - MOST_RANGES} more` : '';
    return shown.length === 0 ? [] : [`  ${kind}: ${p.topic}-${p.partition} ${shown.join(', ')}${more}\n`];
  });
}
