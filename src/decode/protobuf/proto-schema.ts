/** Protobuf schemas as the decoder needs them: messages, fields, enums; names are full names without a leading dot. */

export type Scalar =
  | 'double'
  | 'float'
  | 'int32'
  | 'int64'
  | 'uint32'
  | 'uint64'
  | 'sint32'
  | 'sint64'
  | 'fixed32'
  | 'fixed64'
  | 'sfixed32'
  | 'sfixed64'
  | 'bool'
  | 'string'
  | 'bytes';

export const SCALARS: ReadonlySet<string> = new Set<Scalar>([
  'double',
  'float',
  'int32',
  'int64',
  'uint32',
  'uint64',
  'sint32',
  'sint64',
  'fixed32',
  'fixed64',
  'sfixed32',
  'sfixed64',
  'bool',
  'string',
  'bytes',
]);

export interface ProtoEnum {
  readonly kind: 'enum';
  readonly fullName: string;
  readonly name: string;
  /** By number; of several names for one number the first. */
  readonly names: ReadonlyMap<number, string>;
  readonly numbers: ReadonlyMap<string, number>;
  /** The number that is listed first: the default. */
  readonly first: number;
  /** A number without a name is no value of the field but an unknown field (proto2, and editions that say so). */
  readonly isClosed: boolean;
}

export interface ProtoMessage {
  readonly kind: 'message';
  readonly fullName: string;
  readonly name: string;
  readonly fields: readonly ProtoField[];
  /** The messages declared in it, in order, without groups and map entries: what message indexes count. */
  readonly nested: readonly ProtoMessage[];
}

/** `group`: a field that stands between two tags; it is moved over. */
export type ProtoType =
  | { readonly kind: 'scalar'; readonly scalar: Scalar }
  | ProtoEnum
  | ProtoMessage
  | { readonly kind: 'group' };

export interface ProtoField {
  readonly name: string;
  readonly number: number;
  readonly label: 'singular' | 'repeated' | 'map';
  /** Of a map; null else. */
  readonly key: Scalar | null;
  readonly isRequired: boolean;
  /** A singular field that is not there has the value zero (proto3 without `optional`); else it is missing. */
  isImplicit(): boolean;
  /** The declared default (proto2); null where there is none. */
  readonly declaredDefault: string | number | boolean | null;
  /** Of the oneof that it belongs to; null where it does to none. */
  readonly oneof: string | null;
  /** The type of the field, of the elements, or of a map's values. Throws ProtoSchemaFault where its name leads nowhere. */
  type(): ProtoType;
}

/** Why a schema, or a part of it, cannot be used. */
export class ProtoSchemaFault extends Error {}

const ZIGZAG_AND_VARINTS: ReadonlySet<Scalar> = new Set<Scalar>([
  'int32',
  'int64',
  'uint32',
  'uint64',
  'sint32',
  'sint64',
  'bool',
]);

/** Wire types: 0 varint, 1 eight bytes, 2 length and bytes, 3 and 4 around a group, 5 four bytes. */
export function wireTypeOf(type: ProtoType): number {
  if (type.kind === 'enum') return 0;
  if (type.kind === 'message') return 2;
  if (type.kind === 'group') return 3;
  const { scalar } = type;
  if (ZIGZAG_AND_VARINTS.has(scalar)) return 0;
  if (scalar === 'string' || scalar === 'bytes') return 2;
  return scalar === 'double' || scalar === 'fixed64' || scalar === 'sfixed64' ? 1 : 5;
}
