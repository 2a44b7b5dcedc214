import type { Checkpoint } from '../checkpoint/checkpoint.ts';
import type { BatchPlan } from '../checkpoint/records.ts';

/** The data tables of a planned batch; a group in the place of the tables that a rule routes to. */
export function plannedTables(plan: BatchPlan | null): string[] {
  const tables = plan?.tables.filter((t) => t.role === 'data' || t.route?.value === null) ?? [];
  return [...new Set(tables.map((t) => t.route?.group ?? t.table))];
}

/** The tables and groups that the checkpoint writes or ever wrote, in order. */
export async function fedTables(checkpoint: Checkpoint): Promise<string[]> {
  const { latestPlanned } = checkpoint;
  const newest = latestPlanned === null ? null : await checkpoint.plan(latestPlanned);
  const tables = [...plannedTables(newest), ...(await checkpoint.ledger()).map((e) => e.table)];
  return [...new Set(tables)].filter((table) => table !== '').sort();
}
