import { createColumn } from '../../columns/create-column.ts';
import type { GrowingColumn } from '../../columns/growing-column.ts';
import type { ListColumn } from '../../columns/list-column.ts';
import type { MapColumn } from '../../columns/map-column.ts';
import type { StructColumn } from '../../columns/struct-column.ts';
import {
  decimalWidth,
  type IcebergType,
  isPrimitive,
  type NestedField,
  parseDecimal,
  parseFixed,
} from '../../core/schema.ts';
import { SluiceError } from '../../errors.ts';
import { defaultAppender } from './default-value.ts';
import { FieldPlan, ObjectPlan, OP, type Op } from './field-plan.ts';

/** What the compiler is told beside the columns. */
export interface PlanOptions {
  caseInsensitive: boolean;
  /** Names of columns that the decoder fills by itself. */
  filled: ReadonlySet<string>;
}

/**
 * Compiles a table's columns. Throws CONFIG_INVALID for names of one object that cannot be told apart, UNSUPPORTED for
 * types that JSON cannot be decoded into.
 */
export function compileObject(
  fields: readonly NestedField[],
  columns: readonly GrowingColumn[],
  options: PlanOptions,
): ObjectPlan {
  return objectOf(fields, columns, null, 1, false, options);
}

function objectOf(
  fields: readonly NestedField[],
  columns: readonly GrowingColumn[],
  owner: FieldPlan | null,
  depth: number,
  repeated: boolean,
  options: PlanOptions,
): ObjectPlan {
  refuseTwins(fields, owner, options);
  const plans = fields.map((field, i) => {
    const plan = fieldOf(field.name, field.type, field.required, owner, columns[i], depth, repeated, options);
    plan.filled = owner === null && options.filled.has(field.name);
    if (field.writeDefault !== undefined && field.writeDefault !== null)
      plan.appendDefault = defaultAppender(plan, field.writeDefault);
    return plan;
  });
  return new ObjectPlan(plans, owner, depth, repeated, options.caseInsensitive);
}

function refuseTwins(fields: readonly NestedField[], owner: FieldPlan | null, options: PlanOptions): void {
  const names = new Map<string, string>();
  for (const { name } of fields) {
    if (owner === null && options.filled.has(name)) continue;
    const key = options.caseInsensitive ? name.toLowerCase() : name;
    const twin = names.get(key);
    if (twin !== undefined) {
      const where = owner === null ? 'columns' : `fields of ${owner.name}`;
      throw new SluiceError(
        'CONFIG_INVALID',
        twin === name
          ? `two ${where} have the name ${JSON.stringify(name)}; rename one of them`
          : `the ${where} ${JSON.stringify(twin)} and ${JSON.stringify(name)} differ only in case; leave caseInsensitive out or rename one of them`,
        { context: { names: [twin, name] } },
      );
    }
    names.set(key, name);
  }
}

function fieldOf(
  name: string,
  type: IcebergType,
  required: boolean,
  parent: FieldPlan | null,
  column: GrowingColumn,
  depth: number,
  repeated: boolean,
  options: PlanOptions,
): FieldPlan {
  const plan = new FieldPlan(opOf(type), name, type, required, parent, column);
  plan.depth = depth + 1;
  if (isPrimitive(type)) {
    setParameters(plan, type);
  } else if (type.type === 'struct') {
    const { fields } = column as StructColumn;
    plan.object = objectOf(type.fields, fields, plan, depth + 1, repeated, options);
  } else if (type.type === 'list') {
    const { element } = column as ListColumn;
    plan.element = fieldOf('', type.element, type.elementRequired, plan, element, depth + 1, true, options);
  } else {
    const { key, value } = column as MapColumn;
    if (type.key !== 'string' && type.key !== 'int' && type.key !== 'long' && type.key !== 'date')
      throw new SluiceError(
        'UNSUPPORTED',
        `${name || 'a map'}: the keys of a JSON object can be decoded into string, int, long and date, found ${JSON.stringify(type.key)}; use one of these`,
        { context: { field: name } },
      );
    plan.key = fieldOf('', type.key, true, plan, key, depth + 1, true, options);
    plan.element = fieldOf('', type.value, type.valueRequired, plan, value, depth + 1, true, options);
  }
  return plan;
}

/** The columns of `fields`, made anew. Throws UNSUPPORTED. */
export function createColumns(fields: readonly NestedField[]): ReturnType<typeof createColumn>[] {
  return fields.map((field) => createColumn(field.type));
}

function setParameters(plan: FieldPlan, type: IcebergType): void {
  const decimal = parseDecimal(type);
  if (decimal !== undefined) {
    plan.precision = decimal.precision;
    plan.scale = decimal.scale;
  }
  plan.width =
    type === 'uuid'
      ? 16
      : (parseFixed(type) ?? (decimal === undefined ? 0 : decimalWidth(decimal.precision)));
  plan.scratch = new Uint8Array(plan.width);
  if (type === 'timestamp_ns' || type === 'timestamptz_ns') plan.digits = 9;
  plan.zoned = type === 'timestamptz' || type === 'timestamptz_ns';
}

function opOf(type: IcebergType): Op {
  if (typeof type !== 'string') return OP[type.type];
  switch (type) {
    case 'timestamptz':
    case 'timestamp_ns':
    case 'timestamptz_ns':
      return OP.timestamp;
    case 'unknown':
      throw new SluiceError('UNSUPPORTED', 'the type unknown cannot be decoded into; use another type');
    default:
      if (parseDecimal(type) !== undefined) return OP.decimal;
      if (parseFixed(type) !== undefined) return OP.fixed;
      return OP[type as 'string'];
  }
}
