import type { IcebergType, StructType } from './schema.ts';

/**
 * The struct with fresh field ids from `firstId` on, in the order in which Iceberg gives them: all fields of a struct
 * first, then what is nested in each; of a map the key and the value, then what is nested in them. The ids that are
 * there are not looked at.
 */
export function assignFieldIds(struct: StructType, firstId = 1): StructType {
  let next = firstId;
  return freshStruct(struct, () => next++);
}

/** A type whose nested fields take their ids from `nextId`. */
export function freshType(type: IcebergType, nextId: () => number): IcebergType {
  if (typeof type === 'string') return type;
  if (type.type === 'struct') return freshStruct(type, nextId);
  if (type.type === 'list') {
    const elementId = nextId();
    return { ...type, elementId, element: freshType(type.element, nextId) };
  }
  const [keyId, valueId] = [nextId(), nextId()];
  const key = freshType(type.key, nextId);
  return { ...type, keyId, key, valueId, value: freshType(type.value, nextId) };
}

function freshStruct(struct: StructType, nextId: () => number): StructType {
  const ids = struct.fields.map(() => nextId());
  const fields = struct.fields.map((field, i) => ({
    ...field,
    id: ids[i],
    type: freshType(field.type, nextId),
  }));
  return { type: 'struct', fields };
}
