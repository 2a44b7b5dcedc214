/** Unions of several types as structs, as Spark's SchemaConverters makes them. */

import type { IcebergType, StructType } from '../../core/schema.ts';
import { type AvroSchema, type AvroUnion, nonNullBranches } from './avro-schema.ts';

/** The field of the branch `index`, null not counted. */
export function memberName(index: number): string {
  return `member${index}`;
}

export function isMemberName(name: string): boolean {
  return /^member\d+$/.test(name);
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

/** Whether every field of a struct, but that called `except`, is named as a member. */
export function isMemberStruct(type: IcebergType, except: string | null = null): type is StructType {
  if (typeof type === 'string' || type.type !== 'struct') return false;
  const members = type.fields.filter((field) => field.name !== except);
  return members.length > 0 && members.every((field) => isMemberName(field.name));
}

/** Whether a union is one of those that are held as structs. */
export function isMemberUnion(union: AvroUnion): boolean {
  return nonNullBranches(union).length > 1 && commonBranch(union) === undefined;
}
