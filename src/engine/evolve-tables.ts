import type { TableRule } from '../config/pipeline-config.ts';
import type { NestedField, StructType } from '../core/schema.ts';
import { matchesTopicPattern } from '../core/topic-pattern.ts';
import type { RegisteredSchema, ValueFormat } from '../core/value-format.ts';
import { columnsOfSchema } from '../decode/columns-of-schema.ts';
import { isSluiceError } from '../errors.ts';
import type { Catalog } from '../iceberg/catalog.ts';
import { partOfNew } from './bind-typed.ts';
import { isDecoded } from './column-source.ts';
import { evolveTable, type WantedSchema } from './evolve-table.ts';
import type { Log } from './host.ts';
import type { TargetTable } from './local/batch-task.ts';
import type { WantedColumns } from './local/discovery.ts';
import type { SchemaRegistry } from './schema-registry.ts';
import { type TargetTables, tellOfChanges } from './target-tables.ts';
import { isProvenance } from './typed-layout.ts';

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
    if (want.wider !== null) structs.push({ struct: want.wider, inferred: false });
    const writers = [want.configured ? configuredSchema(format) : null];
    for (const id of want.schemaIds) writers.push(await registry.schema(id));
    for (const registered of writers) {
      const { formatVersion } = tables.loaded.get(want.table)!.metadata;
      const struct = registered === null ? null : await columnsOf(registered, format, formatVersion, log);
      if (struct !== null) structs.push({ struct, inferred: false });
    }
    const caseInsensitive = 'caseInsensitive' in format && format.caseInsensitive;
    const target = targetOf(tables, want);
    for (const { struct, inferred } of structs) {
      const all = prefixed(struct, prefix);
      const fields = all.filter((f) => takes(target, rule, want.part, f.name, caseInsensitive));
      tellOfOthers(
        log,
        want,
        all.filter((f) => !fields.includes(f)),
      );
      entry.schema.structs.push({ struct: { type: 'struct', fields }, inferred, caseInsensitive });
    }
    entry.schema.optional.push(...want.optional.map(([name, ...below]) => [`${prefix}${name}`, ...below]));
  }
  let changed = false;
  for (const [table, { rule, schema }] of byTable) {
    // Columns that are inferred for a new table are added whatever the rule says of later ones.
    const allowed = rule.evolve === 'none' ? 'add' : rule.evolve;
    const before = tables.loaded.get(table)!;
    const evolved = await evolveTable(catalog, before, schema, allowed);
    tellOfChanges(log, table, evolved);
    // Another writer may have made the change first: then too the records were read into columns of before.
    changed ||= evolved.table.metadata.currentSchemaId !== before.metadata.currentSchemaId;
  }
  return changed;
}

/** What is not the part's to change is told, so that nobody looks for it in vain. */
function tellOfOthers(log: Log, { table, part }: WantedColumns, others: readonly NestedField[]): void {
  for (const { name } of others)
    log.warn(
      `table ${table}: field ${name} of the ${part} becomes no column: one of provenance, or of the other part of the record, has or would have this name`,
      { table, part, field: name },
    );
}

/** The schema that a rule gives for values that name none; it stands in no registry. */
function configuredSchema(format: ValueFormat): RegisteredSchema | null {
  if (format.format !== 'avro' || format.writerSchema === null) return null;
  return { id: 0, type: 'AVRO', schema: format.writerSchema, references: [] };
}

/** What `columnsOfSchema` says of a schema, not of the registry. */
const NO_COLUMNS: ReadonlySet<string> = new Set(['CONFIG_INVALID', 'UNSUPPORTED', 'REGISTRY_SCHEMA']);

/** Null for a schema that has no columns: its records are set aside, and stop nothing. */
async function columnsOf(
  registered: RegisteredSchema,
  format: ValueFormat,
  formatVersion: number,
  log: Log,
): Promise<StructType | null> {
  try {
    return await columnsOfSchema(registered, format, formatVersion);
  } catch (error) {
    if (!isSluiceError(error) || !NO_COLUMNS.has(error.code)) throw error;
    log.warn(`records of schema ${registered.id} ask for no columns: ${error.message}`);
    return null;
  }
}

function targetOf(tables: TargetTables, { topic, table }: WantedColumns): TargetTable {
  const { targets, route } = tables.byTopic.get(topic)!;
  const all = [...(targets === null ? [] : [targets]), ...(route?.destinations.map((d) => d.targets) ?? [])];
  return all.find(({ data }) => data.table === table)!.data;
}

/**
 * May a part of the records ask something of the column of this name? Columns of provenance and of the other part are
 * not theirs to change, whatever fields they have, and however they write them.
 */
function takes(
  target: TargetTable,
  rule: TableRule,
  part: 'value' | 'key',
  name: string,
  caseInsensitive: boolean,
): boolean {
  const folded = (text: string): string => (caseInsensitive ? text.toLowerCase() : text);
  const at = target.schema.fields.findIndex((f) => folded(f.name) === folded(name));
  if (at < 0) return !isProvenance(rule, folded(name)) && partOfNew(rule, name) === part;
  const source = target.sources[at];
  return isDecoded(source) && source.part === part;
}

function prefixed(struct: StructType, prefix: string): NestedField[] {
  return struct.fields.map((f): NestedField => ({ ...f, name: `${prefix}${f.name}` }));
}
