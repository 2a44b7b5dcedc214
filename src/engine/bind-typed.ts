import type { TableRule, TypedPart } from '../config/pipeline-config.ts';
import type { IcebergType, NestedField, Schema } from '../core/schema.ts';
import { evolveSchema } from '../core/schema-evolution.ts';
import type { ValueFormat } from '../core/value-format.ts';
import { provenanceSource, writeDefault } from './bind-columns.ts';
import type { ColumnSource, DecodePart, DecodePlan } from './column-source.ts';
import { extraColumns, isProvenance, partFields, type TypedColumns } from './typed-layout.ts';

/** What the columns of a typed table are filled with, and what stands against it. */
export interface TypedBinding {
  /** One per top-level column, in the schema's order. */
  sources: ColumnSource[];
  decode: DecodePlan;
  /** In words; empty where the table can take the rows. */
  faults: string[];
}

/**
 * Binds the columns of a table to the value, the key and the provenance of records. Columns given by the rule are those
 * that the decoders fill; where none are given, the decoder of the key takes the columns with its prefix and the decoder
 * of the value all others. What is left gets its write default, or null.
 */
export function bindTyped(schema: Schema, rule: TableRule, columns: TypedColumns): TypedBinding {
  const faults: string[] = [];
  const parts = {
    value: { given: givenFields(rule, columns, 'value'), columns: [] as NestedField[] },
    key: { given: givenFields(rule, columns, 'key'), columns: [] as NestedField[] },
  };
  const sources = schema.fields.map((column): ColumnSource => {
    if (isProvenance(rule, column.name)) {
      const { source, fault } = provenanceSource(column);
      if (fault !== undefined) faults.push(fault);
      return source;
    }
    const part = partOf(rule, parts, column.name);
    if (part === null) {
      if (column.required && writeDefault(column) === null)
        faults.push(`column ${column.name} is required, and the rule has nothing to put there`);
      return 'null';
    }
    const { prefix } = rule[part]!;
    const given = parts[part].given?.find((f) => f.name === column.name);
    parts[part].columns.push({
      ...asGiven(rule, part, column, given),
      name: column.name.slice(prefix.length),
    });
    return { part, index: parts[part].columns.length - 1 };
  });
  for (const { given } of Object.values(parts)) faults.push(...givenFaults(schema, given ?? []));
  for (const name of rule.provenance)
    if (!schema.fields.some((f) => f.name === name))
      faults.push(`there is no column \`${name}\` for provenance; add it, or leave it out of \`provenance\``);
  const decodePart = (part: 'value' | 'key'): DecodePart | null => {
    const options = rule[part];
    return options === null ? null : decodePartOf(rule, options, parts[part].columns);
  };
  return { sources, decode: { value: decodePart('value'), key: decodePart('key') }, faults };
}

/** The decoder of a part, and whether it looks for what the table lacks: for all of it under `evolve`, for the first columns under `infer`. */
function decodePartOf(rule: TableRule, part: TypedPart, columns: NestedField[]): DecodePart {
  const { format, prefix } = part;
  const extra = extraColumns(format);
  const empty = columns.every(({ name }) => extra.includes(name));
  const inferring = part.columns.from === 'infer' && empty ? { records: part.columns.records } : null;
  const discover = rule.evolve === 'none' ? inferring : { records: null };
  const unknown = 'unknownFields' in format ? format.unknownFields : 'ignore';
  if (discover === null) return { format, columns, prefix, discover, refuseUnknown: false };
  // Fields become columns first; what then has none is no row of nulls, and is told of by the row.
  const refuseUnknown = typeof unknown === 'string';
  return { format: passingUnknown(format), columns, prefix, discover, refuseUnknown };
}

function givenFields(rule: TableRule, columns: TypedColumns, part: 'value' | 'key'): NestedField[] | null {
  return columns[part] === null ? null : partFields(rule, columns, part);
}

function partOf(
  rule: TableRule,
  parts: Record<'value' | 'key', { given: NestedField[] | null }>,
  name: string,
): 'value' | 'key' | null {
  for (const part of ['key', 'value'] as const)
    if (parts[part].given?.some((f) => f.name === name)) return part;
  // A table that follows its records has columns that the rule does not know.
  const part = partOfNew(rule, name);
  return part !== null && (parts[part].given === null || rule.evolve !== 'none') ? part : null;
}

/** Which part a column belongs to that the rule does not name: the key where it begins with its prefix. */
export function partOfNew(rule: TableRule, name: string): 'value' | 'key' | null {
  if (rule.key !== null && name.startsWith(rule.key.prefix)) return 'key';
  return rule.value === null ? null : 'value';
}

function passingUnknown(format: ValueFormat): ValueFormat {
  if (!('unknownFields' in format) || format.unknownFields !== 'quarantine') return format;
  return { ...format, unknownFields: 'ignore' };
}

/** The first required column of a part: a record without the part is a row of nulls there, defaults or not. */
export function firstRequired(part: DecodePart | null): string | null {
  const column = part?.columns.find((f) => f.required);
  return column === undefined ? null : `${part!.prefix}${column.name}`;
}

/**
 * A column as the rule declares it: its defaults stand in for those that a table of an older version cannot hold, and what
 * its own schema requires is required although the table, as those of most writers, would take a null. Under
 * `evolve: widen` the records say what is required.
 */
function asGiven(
  rule: TableRule,
  part: 'value' | 'key',
  column: NestedField,
  given: NestedField | undefined,
): NestedField {
  if (given === undefined) return column;
  return new GivenColumns(rule.evolve !== 'widen' && rule[part]!.columns.from === 'given').field(
    column,
    given,
  );
}

class GivenColumns {
  private readonly asksForValues: boolean;

  constructor(asksForValues: boolean) {
    this.asksForValues = asksForValues;
  }

  field(column: NestedField, given: NestedField | undefined): NestedField {
    if (given === undefined) return column;
    const writeDefault = column.writeDefault ?? given.writeDefault;
    const required = this.required(column.required, given.required);
    const field = { ...column, required, type: this.type(column.type, given.type) };
    return writeDefault === undefined ? field : { ...field, writeDefault };
  }

  private required(column: boolean, given: boolean): boolean {
    return column || (this.asksForValues && given);
  }

  private type(type: IcebergType, given: IcebergType): IcebergType {
    if (typeof type === 'string' || typeof given === 'string') return type;
    if (type.type === 'struct' && given.type === 'struct') {
      const fields = type.fields.map((f) =>
        this.field(
          f,
          given.fields.find((g) => g.name === f.name),
        ),
      );
      return { ...type, fields };
    }
    if (type.type === 'list' && given.type === 'list') {
      const elementRequired = this.required(type.elementRequired, given.elementRequired);
      return { ...type, elementRequired, element: this.type(type.element, given.element) };
    }
    if (type.type === 'map' && given.type === 'map') {
      const valueRequired = this.required(type.valueRequired, given.valueRequired);
      return { ...type, valueRequired, value: this.type(type.value, given.value) };
    }
    return type;
  }
}

/** What keeps the columns that a rule gives from being in a table: one of a wider type is as good. */
function givenFaults(schema: Schema, given: readonly NestedField[]): string[] {
  const { refused } = evolveSchema(
    schema,
    { type: 'struct', fields: given },
    // Nothing is changed: it is only asked what would have to be.
    { rule: 'none', lastColumnId: 0, formatVersion: 3, caseInsensitive: false },
  );
  return refused
    .filter(({ kind }) => kind !== 'required')
    .map(({ kind, path, from, to, why }) =>
      kind === 'newColumn'
        ? `there is no column \`${path}\`, of type ${to}; \`evolve: add\` would add it`
        : `column ${path}: the rule says ${to}, the table has ${from}: ${why}`,
    );
}
