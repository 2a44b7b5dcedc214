import type { Checkpoint } from '../checkpoint/checkpoint.ts';
import type { BatchPlan } from '../checkpoint/records.ts';

/** The data tables of a planned batch. */
export function plannedTables(plan: BatchPlan | null): string[] {
  return plan?.tables.filter((t) => t.role === 'data').map((t) => t.table) ?? [];
}

/** The tables that the checkpoint writes or ever wrote, in order. */
export async function fedTables(checkpoint: Checkpoint): Promise<string[]> {
  const { latestPlanned } = checkpoint;
  const newest = latestPlanned === null ? null : await checkpoint.plan(latestPlanned);
  const tables = [...plannedTables(newest), ...(await checkpoint.ledger()).map((e) => e.table)];
  return [...new Set(tables)].filter((table) => table !== '').sort();
}
