import type { BatchPlan, PreparedTable } from '../checkpoint/records.ts';
import { SluiceError } from '../errors.ts';
import { newSnapshotId } from '../iceberg/snapshot-id.ts';
import type { EngineHost } from './host.ts';
import type { RangeResult, WrittenFile } from './local/batch-task.ts';
import type { TargetTables } from './target-tables.ts';

/** The funnel closes at the files too: every row counted while reading stands in a file of its table. */
export function assertRowsWritten(
  batchId: number,
  funnel: readonly RangeResult[],
  files: readonly WrittenFile[],
  tables: TargetTables,
): void {
  const expected = new Map<string, number>();
  const add = (table: string, rows: number): void =>
    void expected.set(table, (expected.get(table) ?? 0) + rows);
  for (const range of funnel) {
    const targets = tables.byTopic.get(range.topic)!;
    add(targets.data.table, range.rows);
    add(targets.quarantine.table, range.quarantined);
  }
  for (const { table, file } of files) add(table, -Number(file.recordCount));
  for (const [table, difference] of expected) {
    if (difference === 0) continue;
    throw new SluiceError(
      'FUNNEL_MISMATCH',
      `batch ${batchId}, table ${table}: ${Math.abs(difference)} rows ${difference > 0 ? 'are missing from' : 'too many in'} the files; nothing was committed`,
    );
  }
}

/** In commit order: quarantine tables first (spec 50.5). Tables without files are left out. */
export function preparedTables(
  plan: BatchPlan,
  files: readonly WrittenFile[],
  host: EngineHost,
): PreparedTable[] {
  const ordered = [
    ...plan.tables.filter((t) => t.role === 'quarantine'),
    ...plan.tables.filter((t) => t.role === 'data'),
  ];
  return ordered
    .map((t) => {
      const mine = files.filter((f) => f.table === t.table).map((f) => f.file);
      return {
        ...t,
        commitId: host.randomUuid(),
        snapshotId: newSnapshotId(host.randomUuid()),
        rows: mine.reduce((sum, f) => sum + Number(f.recordCount), 0),
        files: mine,
      };
    })
    .filter((t) => t.files.length > 0);
}
