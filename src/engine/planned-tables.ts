import type { PlannedTable } from '../checkpoint/records.ts';
import type { TargetTable } from './local/batch-task.ts';
import type { TargetTables } from './target-tables.ts';

/** As a plan names them: the quarantine of each data table before it. */
export function plannedTables(tables: TargetTables): PlannedTable[] {
  const planned = new Map<string, PlannedTable>();
  const add = ({ table, uuid, role }: TargetTable): void => {
    if (planned.has(table)) return;
    const route = tables.routes.get(table);
    planned.set(table, { table, uuid, ref: 'main', role, ...(route === undefined ? {} : { route }) });
  };
  for (const { quarantine, targets, route } of tables.byTopic.values()) {
    add(quarantine);
    if (targets !== null) add(targets.data);
    for (const destination of route?.destinations ?? []) {
      add(destination.targets.quarantine);
      add(destination.targets.data);
    }
  }
  return [...planned.values()];
}
