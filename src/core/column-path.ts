/** From the place of a value in a record to the column that it is a value of. */
import type { IcebergType, NestedField, StructType } from './schema.ts';

/** The way to a column: names of fields, `element` into a list, `value` into a map. */
export type ColumnSteps = readonly string[];

/**
 * The column of a value by its path in a record: names joined by dots, elements of lists as `[3]`, entries of maps by their
 * keys or as `[3]`. Names and keys may hold dots: the longest name and the shortest key that lead to a column are meant.
 * Undefined where none does.
 */
export function columnOfPath(columns: readonly NestedField[], path: string): ColumnSteps | undefined {
  const candidates = columns
    .filter(({ name }) => path.startsWith(name) && isEnd(path, name.length))
    .sort((a, b) => b.name.length - a.name.length);
  for (const { name, type } of candidates) {
    const below = stepsBelow(type, path.slice(name.length));
    if (below !== undefined) return [name, ...below];
  }
  return undefined;
}

/** `rest`: what follows in the path, from its dot or bracket on; empty for the column itself. */
function stepsBelow(type: IcebergType, rest: string): ColumnSteps | undefined {
  if (rest === '') return [];
  if (typeof type === 'string') return undefined;
  if (type.type === 'struct')
    return rest.startsWith('.') ? columnOfPath(type.fields, rest.slice(1)) : undefined;
  const index = /^\[\d+\]/.exec(rest)?.[0];
  if (type.type === 'list')
    return index === undefined ? undefined : step('element', type.element, rest.slice(index.length));
  if (index !== undefined) return step('value', type.value, rest.slice(index.length));
  for (let end = 1; end <= rest.length; end++) {
    if (!isEnd(rest, end)) continue;
    const found = step('value', type.value, rest.slice(end));
    if (found !== undefined) return found;
  }
  return undefined;
}

function step(name: string, type: IcebergType, rest: string): ColumnSteps | undefined {
  const below = stepsBelow(type, rest);
  return below === undefined ? undefined : [name, ...below];
}

function isEnd(path: string, at: number): boolean {
  return at === path.length || path[at] === '.' || path[at] === '[';
}

/** A struct of nothing but the column at the end of `steps`, which is optional there; undefined where there is no such column. */
export function optionalColumn(struct: StructType, steps: ColumnSteps): StructType | undefined {
  const [name, ...rest] = steps;
  const field = struct.fields.find((f) => f.name === name);
  if (field === undefined) return undefined;
  if (rest.length === 0) return { type: 'struct', fields: [{ ...field, required: false }] };
  const type = optionalBelow(field.type, rest);
  return type === undefined ? undefined : { type: 'struct', fields: [{ ...field, type }] };
}

function optionalBelow(type: IcebergType, steps: ColumnSteps): IcebergType | undefined {
  if (typeof type === 'string') return undefined;
  if (type.type === 'struct') return optionalColumn(type, steps);
  const [name, ...rest] = steps;
  const isLast = rest.length === 0;
  if (type.type === 'list') {
    if (name !== 'element') return undefined;
    const element = isLast ? type.element : optionalBelow(type.element, rest);
    return element === undefined
      ? undefined
      : { ...type, element, elementRequired: isLast ? false : type.elementRequired };
  }
  if (name !== 'value') return undefined;
  const value = isLast ? type.value : optionalBelow(type.value, rest);
  return value === undefined
    ? undefined
    : { ...type, value, valueRequired: isLast ? false : type.valueRequired };
}
