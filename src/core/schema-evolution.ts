/**
 * What a table's schema becomes when other columns are wanted of it (spec 50, "Schema evolution"): columns are added,
 * types widened, columns made optional; nothing is narrowed, dropped or renamed. Fields are matched by name.
 */
import { freshType } from './field-ids.ts';
import { fieldPaths } from './field-paths.ts';
import type {
  IcebergType,
  ListType,
  MapType,
  NestedField,
  PrimitiveType,
  Schema,
  StructType,
} from './schema.ts';
import { highestFieldId, parseDecimal } from './schema.ts';
import { formatDdlType } from './schema-text/format-ddl.ts';

/** `none` changes nothing; `add` adds columns; `widen` adds, widens types and makes columns optional. */
export type EvolutionRule = 'none' | 'add' | 'widen';

export interface EvolutionContext {
  rule: EvolutionRule;
  /** Of the table: the ids of new fields lie above it. */
  lastColumnId: number;
  formatVersion: number;
  /** Names that differ only in case are the same. Otherwise such a name is refused: engines read without regard to case. */
  caseInsensitive: boolean;
  /**
   * What is wanted was inferred from JSON documents, where a number, a text or an object may stand for a value of other
   * types: a text for a timestamp, an object for a map. Where the table's type is such a one nothing is asked of it. An
   * int is a long of which all values seen fit an int: as a new column it is a long. No column is made optional.
   */
  inferred?: boolean;
  /** Names that no new column may have: those of partition fields, which Java takes for the columns that they come from. */
  taken?: readonly string[];
}

export interface SchemaChange {
  kind: 'add' | 'widen' | 'makeOptional';
  /** Full name: names joined by dots, `element`, `key` and `value` inside lists and maps. */
  path: string;
  /** Types as DDL; `from` of an added column is null. */
  from: string | null;
  to: string;
}

export interface RefusedChange {
  /**
   * `newColumn` and `required`: the rule does not allow it; `type`: no change of types leads there; `name`: another column
   * has this name, but for its case or a dot, or Iceberg keeps it; `version`: the table's format has no such type.
   */
  kind: 'newColumn' | 'type' | 'required' | 'name' | 'version';
  path: string;
  from: string | null;
  to: string;
  why: string;
}

export interface Evolution {
  /** The schema as it was, the same object, where `changes` is empty; else with the same `schemaId`. */
  schema: Schema;
  lastColumnId: number;
  changes: SchemaChange[];
  refused: RefusedChange[];
}

/** Columns that readers of Iceberg add of their own (spec, "Reserved Field IDs"): one of the table would be hidden by them. */
const RESERVED: ReadonlySet<string> = new Set([
  '_file',
  '_pos',
  '_deleted',
  '_spec_id',
  '_partition',
  '_row_id',
  '_last_updated_sequence_number',
  '_change_type',
  '_change_ordinal',
  '_commit_snapshot_id',
]);
const VERSION_3: ReadonlySet<IcebergType> = new Set(['timestamp_ns', 'timestamptz_ns', 'unknown']);

/**
 * Pure, and the same for the same input: fields are taken in the order of `wanted`, new ones stand at the end of their
 * struct. A type of the table that holds all values of the one that is wanted is left as it is, as is a column that
 * is not wanted. New columns are optional; their defaults are kept from format version 3 on, which has them.
 */
export function evolveSchema(table: Schema, wanted: StructType, context: EvolutionContext): Evolution {
  const run = new EvolutionRun(table, context);
  const fields = run.fields(table.fields, wanted.fields, '');
  const { changes, refused, lastColumnId } = run;
  return { schema: changes.length === 0 ? table : { ...table, fields }, lastColumnId, changes, refused };
}

class EvolutionRun {
  readonly changes: SchemaChange[] = [];
  readonly refused: RefusedChange[] = [];
  lastColumnId: number;
  private readonly context: EvolutionContext;
  /** Full names of the table and of what was added, in lower case: engines read without regard to it, and dots join names. */
  private readonly paths: Set<string>;
  /** Identifier fields and the structs that hold them: required for ever. */
  private readonly identifiers: ReadonlySet<number>;
  private readonly taken: ReadonlySet<string>;

  constructor(table: Schema, context: EvolutionContext) {
    this.context = context;
    this.lastColumnId = Math.max(context.lastColumnId, highestFieldId(table));
    this.paths = new Set([...fieldPaths(table)].map(({ path }) => path.toLowerCase()));
    this.taken = new Set(context.taken?.map((name) => name.toLowerCase()));
    this.identifiers = withAncestors(table, new Set(table.identifierFieldIds ?? []));
  }

  /** The fields of a struct after the change; the same list where nothing changes. */
  fields(
    table: readonly NestedField[],
    wanted: readonly NestedField[],
    parent: string,
  ): readonly NestedField[] {
    const fields = [...table];
    const index = new NameIndex(table, this.context.caseInsensitive);
    let changed = false;
    for (const want of wanted) {
      const at = index.find(want.name);
      if (typeof at === 'string') {
        this.refuse('name', joined(parent, want.name), null, want.type, `${at} differs from it only in case`);
        continue;
      }
      const kept = at === undefined ? undefined : fields[at];
      const path = joined(parent, kept?.name ?? want.name);
      const field = kept === undefined ? this.added(want, path) : this.kept(kept, want, path);
      if (field === undefined || field === kept) continue;
      changed = true;
      if (at !== undefined) fields[at] = field;
      else index.add(want.name, fields.push(field) - 1);
    }
    return changed ? fields : table;
  }

  private added(want: NestedField, path: string): NestedField | undefined {
    const why = this.whyNotAdded(want, path);
    if (why !== undefined) {
      this.refuse(why.kind, path, null, want.type, why.text);
      return undefined;
    }
    const nextId = (): number => ++this.lastColumnId;
    const id = nextId();
    const { initialDefault, writeDefault, ...rest } = want;
    const defaults = {
      ...(initialDefault === undefined ? {} : { initialDefault }),
      ...(writeDefault === undefined ? {} : { writeDefault }),
    };
    const given = this.context.formatVersion >= 3 ? defaults : {};
    const asked = this.context.inferred ? withLongs(want.type) : want.type;
    const type = this.withoutDefaults(freshType(asked, nextId));
    this.paths.add(path.toLowerCase());
    for (const nested of fieldPaths(type, path)) this.paths.add(nested.path.toLowerCase());
    this.changes.push({ kind: 'add', path, from: null, to: formatDdlType(asked) });
    return { ...rest, ...given, id, required: false, type };
  }

  private whyNotAdded(
    want: NestedField,
    path: string,
  ): { kind: RefusedChange['kind']; text: string } | undefined {
    const full = [path, ...[...fieldPaths(want.type, path)].map((nested) => nested.path)];
    const clash = full.find((name) => this.paths.has(name.toLowerCase()));
    if (clash !== undefined)
      return { kind: 'name', text: `the table has another field with the full name ${clash}` };
    if (new Set(full.map((name) => name.toLowerCase())).size < full.length)
      return { kind: 'name', text: 'two of its fields differ only in case' };
    const taken = full.find((name) => this.taken.has(name.toLowerCase()));
    if (taken !== undefined)
      return { kind: 'name', text: `a partition field of the table has the name ${taken}` };
    if (RESERVED.has(path.toLowerCase()))
      return { kind: 'name', text: 'Iceberg keeps this name for a column of its own' };
    if (this.context.formatVersion < 3 && holdsVersion3(want.type))
      return {
        kind: 'version',
        text: `tables of format version ${this.context.formatVersion} have no such type`,
      };
    if (this.context.rule === 'none') return { kind: 'newColumn', text: 'the rule `none` adds no columns' };
    return undefined;
  }

  private withoutDefaults(type: IcebergType): IcebergType {
    if (typeof type === 'string' || this.context.formatVersion >= 3) return type;
    if (type.type === 'list') return { ...type, element: this.withoutDefaults(type.element) };
    if (type.type === 'map')
      return { ...type, key: this.withoutDefaults(type.key), value: this.withoutDefaults(type.value) };
    const fields = type.fields.map(({ initialDefault: _initial, writeDefault: _write, ...field }) => ({
      ...field,
      type: this.withoutDefaults(field.type),
    }));
    return { type: 'struct', fields };
  }

  private kept(field: NestedField, want: NestedField, path: string): NestedField {
    const required = this.required(
      field.required,
      want.required,
      this.identifiers.has(field.id),
      path,
      field.type,
    );
    const type = this.type(field.type, want.type, path);
    return required === field.required && type === field.type ? field : { ...field, required, type };
  }

  /** Whether a field is required after the change. */
  private required(
    is: boolean,
    wanted: boolean,
    identifier: boolean,
    path: string,
    type: IcebergType,
  ): boolean {
    // A document that was looked at says nothing of those that were not: what lacks a value asks for that itself.
    if (!is || wanted || this.context.inferred) return is;
    const why = identifier
      ? 'it is an identifier field of the table, or holds one'
      : this.context.rule === 'widen'
        ? undefined
        : `the rule \`${this.context.rule}\` makes no column optional`;
    const [from, to] = [`${formatDdlType(type)} NOT NULL`, formatDdlType(type)];
    if (why === undefined) this.changes.push({ kind: 'makeOptional', path, from, to });
    else this.refused.push({ kind: 'required', path, from, to, why });
    return why !== undefined;
  }

  private type(table: IcebergType, wanted: IcebergType, path: string): IcebergType {
    if (typeof table === 'string') return this.plainType(table, wanted, path);
    if (typeof wanted === 'string' || wanted.type !== table.type) {
      const isMap = table.type === 'map' && typeof wanted !== 'string' && wanted.type === 'struct';
      return isMap && this.context.inferred ? table : this.otherType(table, wanted, path);
    }
    if (table.type === 'struct') {
      const fields = this.fields(table.fields, (wanted as StructType).fields, path);
      return fields === table.fields ? table : { ...table, fields };
    }
    if (table.type === 'list') {
      const { element, elementRequired } = wanted as ListType;
      const at = joined(path, 'element');
      const required = this.required(table.elementRequired, elementRequired, false, at, table.element);
      const type = this.type(table.element, element, at);
      if (required === table.elementRequired && type === table.element) return table;
      return { ...table, element: type, elementRequired: required };
    }
    return this.mapType(table, wanted as MapType, path);
  }

  private mapType(table: MapType, wanted: MapType, path: string): MapType {
    if (!holdsKeys(table.key, wanted.key))
      this.refuse('type', joined(path, 'key'), table.key, wanted.key, 'keys of maps are never changed');
    const at = joined(path, 'value');
    const required = this.required(table.valueRequired, wanted.valueRequired, false, at, table.value);
    const value = this.type(table.value, wanted.value, at);
    if (required === table.valueRequired && value === table.value) return table;
    return { ...table, value, valueRequired: required };
  }

  private plainType(table: PrimitiveType, wanted: IcebergType, path: string): IcebergType {
    if (table === wanted || isWidening(wanted, table)) return table;
    if (this.context.inferred && standsFor(wanted, table)) return table;
    if (!isWidening(table, wanted)) return this.otherType(table, wanted, path);
    if (this.context.rule !== 'widen') {
      this.refuse('type', path, table, wanted, `the rule \`${this.context.rule}\` widens no types`);
      return table;
    }
    this.changes.push({ kind: 'widen', path, from: formatDdlType(table), to: formatDdlType(wanted) });
    return wanted;
  }

  private otherType(table: IcebergType, wanted: IcebergType, path: string): IcebergType {
    this.refuse('type', path, table, wanted, 'no table is changed from the one type to the other');
    return table;
  }

  private refuse(
    kind: RefusedChange['kind'],
    path: string,
    from: IcebergType | null,
    to: IcebergType,
    why: string,
  ): void {
    this.refused.push({
      kind,
      path,
      from: from === null ? null : formatDdlType(from),
      to: formatDdlType(to),
      why,
    });
  }
}

/** The fields of one struct by name. */
class NameIndex {
  private readonly exact = new Map<string, number>();
  private readonly folded = new Map<string, string[]>();
  private readonly caseInsensitive: boolean;

  constructor(fields: readonly NestedField[], caseInsensitive: boolean) {
    this.caseInsensitive = caseInsensitive;
    for (const [i, { name }] of fields.entries()) this.add(name, i);
  }

  add(name: string, at: number): void {
    this.exact.set(name, at);
    const folded = name.toLowerCase();
    this.folded.set(folded, [...(this.folded.get(folded) ?? []), name]);
  }

  /** Where the field stands that is meant, undefined where there is none; the names of others that are too much like it. */
  find(name: string): number | string | undefined {
    const exact = this.exact.get(name);
    if (exact !== undefined) return exact;
    const alike = this.folded.get(name.toLowerCase());
    if (alike === undefined) return undefined;
    return this.caseInsensitive && alike.length === 1 ? this.exact.get(alike[0]) : alike.join(' and ');
  }
}

/** Iceberg's promotions that keep every value (spec, "Schema Evolution"), without those of version 3. */
export function isWidening(from: IcebergType, to: IcebergType): boolean {
  if ((from === 'int' && to === 'long') || (from === 'float' && to === 'double')) return true;
  const [narrow, wide] = [parseDecimal(from), parseDecimal(to)];
  if (narrow === undefined || wide === undefined) return false;
  return narrow.scale === wide.scale && narrow.precision < wide.precision;
}

const TEXT_FORMS = /^(?:date|time|timestamp|timestamptz|timestamp_ns|timestamptz_ns|uuid|binary|fixed.*)$/;
const WHOLE_FORMS = /^(?:float|double|decimal.*|timestamp|timestamptz|timestamp_ns|timestamptz_ns)$/;

/** May a JSON value of the inferred type stand for one of the table's type? */
function standsFor(inferred: IcebergType, table: PrimitiveType): boolean {
  if (inferred === 'string') return TEXT_FORMS.test(table);
  if (inferred === 'int' || inferred === 'long') return WHOLE_FORMS.test(table);
  const decimal = parseDecimal(inferred) !== undefined;
  if (inferred === 'double' || decimal)
    return table === 'float' || table === 'double' || /^decimal/.test(table);
  return false;
}

function withLongs(type: IcebergType): IcebergType {
  if (typeof type === 'string') return type === 'int' ? 'long' : type;
  if (type.type === 'list') return { ...type, element: withLongs(type.element) };
  if (type.type === 'map') return { ...type, key: withLongs(type.key), value: withLongs(type.value) };
  return { ...type, fields: type.fields.map((field) => ({ ...field, type: withLongs(field.type) })) };
}

/** True where keys of the type `wanted` can be written as they are to a map with keys of the type `table`. */
function holdsKeys(table: IcebergType, wanted: IcebergType): boolean {
  return formatDdlType(table) === formatDdlType(wanted) || isWidening(wanted, table);
}

function holdsVersion3(type: IcebergType): boolean {
  return VERSION_3.has(type) || [...fieldPaths(type)].some((nested) => VERSION_3.has(nested.type));
}

function withAncestors(struct: StructType, ids: ReadonlySet<number>): ReadonlySet<number> {
  const found = new Set<number>();
  const visit = (fields: readonly NestedField[]): boolean =>
    fields.reduce((any, { id, type }) => {
      const below = typeof type !== 'string' && type.type === 'struct' && visit(type.fields);
      if (below || ids.has(id)) found.add(id);
      return any || below || ids.has(id);
    }, false);
  visit(struct.fields);
  return found;
}

function joined(parent: string, name: string): string {
  return parent === '' ? name : `${parent}.${name}`;
}
