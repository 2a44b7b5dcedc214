import type { IcebergType } from './schema.ts';

/**
 * Every field at every level with its full name, as Iceberg builds it: names joined by dots, `element` for what a list
 * holds, `key` and `value` for what a map holds. Depth first.
 */
export function* fieldPaths(type: IcebergType, parent = ''): Generator<{ path: string; type: IcebergType }> {
  if (typeof type === 'string') return;
  for (const [name, nested] of children(type)) {
    const path = parent === '' ? name : `${parent}.${name}`;
    yield { path, type: nested };
    yield* fieldPaths(nested, path);
  }
}

function children(type: Exclude<IcebergType, string>): [name: string, type: IcebergType][] {
  if (type.type === 'struct') return type.fields.map((field) => [field.name, field.type]);
  if (type.type === 'list') return [['element', type.element]];
  return [
    ['key', type.key],
    ['value', type.value],
  ];
}
