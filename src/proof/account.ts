import type { Checkpoint } from '../checkpoint/checkpoint.ts';
import type { PlannedTable, RouteOfTable } from '../checkpoint/records.ts';
import { isGroup, isQuarantine, quarantineOf } from '../engine/routing.ts';

/** The tables under one account of offsets: a data table and its quarantine, or all tables that a rule routes to. */
export interface Account {
  /** As the ledger names it: the data table, or the group. */
  name: string;
  data: string[];
  quarantine: string[];
}

/** The account of a data table, of one of several tables of a rule, or of the group itself. */
export async function accountOf(checkpoint: Checkpoint, table: string): Promise<Account> {
  const routes = await routesOf(checkpoint);
  const group = isGroup(table) ? table : routes.get(table)?.group;
  if (group === undefined) return { name: table, data: [table], quarantine: [quarantineOf(table)] };
  // Records without a destination are set aside in one table for all groups of its namespace.
  const mine = [...routes]
    .filter(([, route]) => route.group === group || route.value === null)
    .map(([name]) => name)
    .sort();
  return {
    name: group,
    data: mine.filter((name) => !isQuarantine(name)),
    quarantine: mine.filter(isQuarantine),
  };
}

/**
 * The account of a group with the tables that records went back into before any batch was planned for them: their rule
 * names them since. Rows of other topics in them are not judged.
 */
export async function withTargets(
  checkpoint: Checkpoint,
  account: Account,
  targets: readonly string[],
): Promise<Account> {
  if (!isGroup(account.name) || targets.every((name) => account.data.includes(name))) return account;
  const routes = await routesOf(checkpoint);
  const mine = targets.filter((name) => (routes.get(name)?.group ?? account.name) === account.name);
  return { ...account, data: [...new Set([...account.data, ...mine])].sort() };
}

/** The tables of groups that the checkpoint writes or ever wrote. */
async function routesOf(checkpoint: Checkpoint): Promise<Map<string, RouteOfTable>> {
  const { latestPlanned } = checkpoint;
  const routes = new Map<string, RouteOfTable>();
  const add = (tables: readonly Pick<PlannedTable, 'table' | 'route'>[]): void => {
    for (const { table, route } of tables) if (route !== undefined) routes.set(table, route);
  };
  add(await checkpoint.tableRecords());
  if (latestPlanned !== null) {
    add((await checkpoint.plan(latestPlanned))?.tables ?? []);
    add((await checkpoint.prepared(latestPlanned))?.tables ?? []);
  }
  return routes;
}
