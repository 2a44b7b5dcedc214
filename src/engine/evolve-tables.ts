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
  // Rules that share a table may allow different things: what one allows is not given to the records of another.
  const asked = new Map<string, { table: string; evolve: TableRule['evolve']; schema: WantedSchema }>();
  const others = new OtherFields();
  for (const want of wanted) {
    const rule = rules.find((r) => matchesTopicPattern(r.match, want.topic))!;
    const { evolve } = rule;
    const name = `${want.table}\u0000${evolve}`;
    const entry = asked.get(name) ?? { table: want.table, evolve, schema: { structs: [], optional: [] } };
    asked.set(name, entry);
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
      for (const field of all) if (!fields.includes(field)) others.add(want, field.name);
      entry.schema.structs.push({ struct: { type: 'struct', fields }, inferred, caseInsensitive });
    }
    entry.schema.optional.push(...want.optional.map(([name, ...below]) => [`${prefix}${name}`, ...below]));
  }
  let changed = false;
  others.tell(log);
  for (const { table, evolve, schema } of asked.values()) {
    // Columns that are inferred for a new table are added whatever the rule says of later ones.
    const allowed = evolve === 'none' ? 'add' : evolve;
    const before = tables.loaded.get(table)!;
    const evolved = await evolveTable(catalog, before, schema, allowed);
    tellOfChanges(log, table, evolved);
    // Another writer may have made the change first: then too the records were read into columns of before.
    changed ||= evolved.table.metadata.currentSchemaId !== before.metadata.currentSchemaId;
  }
  return changed;
}

/** Fields that are told of by name: names from data are many. */
const MAX_TOLD = 20;

/** Fields of records that are not theirs to make columns of: told once, so that nobody looks for them in vain. */
class OtherFields {
  private readonly found = new Map<string, { table: string; part: string; names: Set<string> }>();

  add({ table, part }: WantedColumns, name: string): void {
    const key = `${table}\u0000${part}`;
    const found = this.found.get(key) ?? { table, part, names: new Set() };
    this.found.set(key, found);
    found.names.add(name);
  }

  tell(log: Log): void {
    for (const { table, part, names } of this.found.values()) {
      const told = [...names].slice(0, MAX_TOLD).join(', ');
      const more = names.size > MAX_TOLD ? ` and ${names.size - MAX_TOLD} others` : '';
      log.warn(
        `table ${table}: of the ${part}, ${told}${more} become no columns: one of provenance, or of the other part of the record, has or would have the name`,
        { table, part, fields: names.size },
      );
    }
  }
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
