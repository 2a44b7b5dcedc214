import { type FieldPlan, OP } from './field-plan.ts';

const utf8 = new TextDecoder();

/**
 * The path of the field that is being read: names joined by dots, list elements as `[3]`, entries of maps by their keys.
 * Told from what the columns hold at this moment, so that nothing has to be kept while all is well.
 */
export function fieldPath(field: FieldPlan): string {
  const { parent } = field;
  if (parent === null) return field.name;
  const path = fieldPath(parent);
  if (parent.op === OP.struct) return `${path}.${field.name}`;
  if (parent.op === OP.list) {
    const { list } = parent;
    return `${path}[${list.element.length - list.starts[list.length]}]`;
  }
  // Of a map: the key of the entry has been appended, the value has not.
  const key = parent.key as FieldPlan;
  const row = parent.map.value.length;
  if (key.column.length <= row) return path;
  if (key.op === OP.string) return `${path}.${shortName(utf8.decode(key.bytes.get(row) as Uint8Array))}`;
  if (key.op === OP.long) return `${path}.${key.int64.getBigInt(row)}`;
  const number = key.int32.values[row];
  return `${path}.${key.op === OP.date ? new Date(number * 86_400_000).toISOString().slice(0, 10) : number}`;
}

/** A name out of a record, short enough for a message. */
export function shortName(name: string): string {
  return name.length > 100 ? `${name.slice(0, 100)}...` : name;
}
