import type { TableRule } from '../config/pipeline-config.ts';
import type { NestedField, StructType } from '../core/schema.ts';
import { matchesTopicPattern } from '../core/topic-pattern.ts';
import { columnsOfSchema } from '../decode/columns-of-schema.ts';
import type { Catalog } from '../iceberg/catalog.ts';
import { evolveTable, type WantedSchema } from './evolve-table.ts';
import type { Log } from './host.ts';
import type { WantedColumns } from './local/discovery.ts';
import type { SchemaRegistry } from './schema-registry.ts';
import { type TargetTables, tellOfChanges } from './target-tables.ts';

export interface EvolveContext {
  catalog: Catalog;
  registry: SchemaRegistry;
  log: Log;
}

/**
 * Gives the tables of a batch the columns that its records ask for, as far as their rules allow. True where any table has
 * changed: then the batch is to be read again. Throws what the catalog and the registry throw.
 */
export async function evolveTables(
  { catalog, registry, log }: EvolveContext,
  tables: TargetTables,
  rules: readonly TableRule[],
  wanted: readonly WantedColumns[],
): Promise<boolean> {
  const byTable = new Map<string, { rule: TableRule; schema: WantedSchema }>();
  for (const want of wanted) {
    const rule = rules.find((r) => matchesTopicPattern(r.match, want.topic))!;
    const entry = byTable.get(want.table) ?? { rule, schema: { structs: [], optional: [] } };
    byTable.set(want.table, entry);
    const { prefix, format } = rule[want.part]!;
    const structs = want.structs.map((struct) => ({ struct, inferred: true }));
    for (const id of want.schemaIds) {
      const registered = await registry.schema(id);
      if (registered !== null)
        structs.push({ struct: await columnsOfSchema(registered, format), inferred: false });
    }
    entry.schema.structs.push(
      ...structs.map(({ struct, inferred }) => ({ struct: prefixed(struct, prefix), inferred })),
    );
    entry.schema.optional.push(...want.optional.map((path) => `${prefix}${path}`));
  }
  let changed = false;
  for (const [table, { rule, schema }] of byTable) {
    // Columns that are inferred for a new table are added whatever the rule says of later ones.
    const allowed = rule.evolve === 'none' ? 'add' : rule.evolve;
    const evolved = await evolveTable(catalog, tables.loaded.get(table)!, schema, allowed);
    tellOfChanges(log, table, evolved);
    changed ||= evolved.changes.length > 0;
  }
  return changed;
}

function prefixed(struct: StructType, prefix: string): StructType {
  if (prefix === '') return struct;
  const fields = struct.fields.map((f): NestedField => ({ ...f, name: `${prefix}${f.name}` }));
  return { type: 'struct', fields };
}
