/** Unions of several types as structs, as Spark's SchemaConverters makes them. */

import type { IcebergType, StructType } from '../../core/schema.ts';
import { type AvroSchema, type AvroUnion, nonNullBranches } from './avro-schema.ts';

/** The field of the branch `index`, null not counted. */
export function memberName(index: number): string {
  return `member${index}`;
}

/** The one type that all branches but null have, as Spark sees it: [int, long] is a plain long, [float, double] a double. */
export function commonBranch(union: AvroUnion): AvroSchema | undefined {
  const branches = nonNullBranches(union);
  if (branches.length === 1) return branches[0];
  if (branches.length !== 2) return undefined;
  const kinds = branches
    .map((branch) => branch.kind)
    .sort()
    .join();
  if (kinds === 'int,long') return { kind: 'long', logical: null };
  return kinds === 'double,float' ? { kind: 'double', logical: null } : undefined;
}

export function isMemberStruct(type: IcebergType): type is StructType {
  if (typeof type === 'string' || type.type !== 'struct' || type.fields.length === 0) return false;
  return type.fields.every((field) => /^member\d+$/.test(field.name));
}

/** Whether a type holds the branches of a union each in a field of its own. */
export function memberStructFor(union: AvroUnion, type: IcebergType): boolean {
  return isMemberStruct(type) && nonNullBranches(union).length > 1 && commonBranch(union) === undefined;
}
