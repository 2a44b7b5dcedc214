import type { BatchPlan, PreparedTable } from '../checkpoint/records.ts';
import { PackedDataFiles } from '../core/packed-data-files.ts';
import { SluiceError } from '../errors.ts';
import { newSnapshotId } from '../iceberg/snapshot-id.ts';
import type { EngineHost } from './host.ts';
import type { RangeResult, WrittenFiles } from './local/batch-task.ts';
import { plannedTables } from './planned-tables.ts';
import { quarantineOf } from './routing.ts';
import type { TargetTables } from './target-tables.ts';

/** The funnel closes at the files too: every row counted while reading stands in a file of its table. */
export function assertRowsWritten(
  batchId: number,
  funnel: readonly RangeResult[],
  written: readonly WrittenFiles[],
  tables: TargetTables,
): void {
  const expected = new Map<string, number>();
  const add = (table: string, rows: number): void =>
    void expected.set(table, (expected.get(table) ?? 0) + rows);
  for (const range of funnel) {
    const plan = tables.byTopic.get(range.topic)!;
    if (plan.targets !== null) {
      add(plan.targets.data.table, range.rows);
      add(plan.quarantine.table, range.quarantined);
    }
    for (const { table, rows, quarantined } of range.routed ?? []) {
      if (table !== '') add(table, rows);
      add(table === '' ? plan.quarantine.table : quarantineOf(table), quarantined);
    }
  }
  for (const { table, files } of written) add(table, -Number(files.rows));
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
  written: readonly WrittenFiles[],
  tables: TargetTables,
  host: EngineHost,
): PreparedTable[] {
  // Tables of a group may have been made for this batch, after it was planned.
  const planned = new Map(plannedTables(tables).map((t) => [t.table, t]));
  for (const t of plan.tables) planned.set(t.table, t);
  const all = [...planned.values()];
  const ordered = [...all.filter((t) => t.role === 'quarantine'), ...all.filter((t) => t.role === 'data')];
  return ordered
    .map((t) => {
      const mine = new PackedDataFiles();
      for (const { table, files } of written) if (table === t.table) mine.addAll(files);
      return {
        ...t,
        commitId: host.randomUuid(),
        snapshotId: newSnapshotId(host.randomUuid()),
        rows: Number(mine.rows),
        files: mine,
      };
    })
    .filter((t) => t.files.length > 0);
}
