/**
 * Which of a reader's schemas a writer's one is read as (Avro spec, "Schema Resolution"). Where the specification and
 * Java's library differ, what Java does counts, since that is what writers test against: the names of two records need
 * not agree outside of unions; in a union the exact match is taken before a promotion.
 */
import {
  type AvroEnum,
  type AvroField,
  type AvroFixed,
  type AvroRecord,
  type AvroSchema,
  describe,
  type LogicalType,
  unqualified,
} from './avro-schema.ts';

const PROMOTIONS: Partial<Record<AvroSchema['kind'], readonly AvroSchema['kind'][]>> = {
  int: ['long', 'float', 'double'],
  long: ['float', 'double'],
  float: ['double'],
  string: ['bytes'],
  bytes: ['string'],
};

export function isPromotable(writer: AvroSchema, reader: AvroSchema): boolean {
  return PROMOTIONS[writer.kind]?.includes(reader.kind) === true;
}

/**
 * For each of the reader's fields that the writer has, the writer's: of its name, else of the first of its aliases that no
 * other field of the reader has.
 */
export function pairFields(writer: AvroRecord, reader: AvroRecord): Map<AvroField, AvroField> {
  const byName = new Map(writer.fields.map((field) => [field.name, field]));
  const pairs = new Map<AvroField, AvroField>();
  const claim = (field: AvroField, names: readonly string[]): void => {
    const name = pairs.has(field) ? undefined : names.find((candidate) => byName.has(candidate));
    if (name === undefined) return;
    pairs.set(field, byName.get(name) as AvroField);
    byName.delete(name);
  };
  for (const field of reader.fields) claim(field, [field.name]);
  for (const field of reader.fields) claim(field, field.aliases);
  return pairs;
}

/** The index of the branch of a reader's union that a writer's type, itself no union, is read as, or -1. */
export function branchFor(
  writer: AvroSchema,
  branches: readonly AvroSchema[],
  comparison: Comparison = new Comparison(),
): number {
  const exact = branches.findIndex((branch) => isSameType(writer, branch));
  if (exact >= 0) return exact;
  const fits = (branch: AvroSchema): boolean => comparison.mismatch(writer, branch) === null;
  const named = branches.findIndex((branch) => isNamesake(writer, branch) && fits(branch));
  if (named >= 0) return named;
  const alike = branches.findIndex(
    (branch) => writer.kind === 'record' && branch.kind === 'record' && fits(branch),
  );
  return alike >= 0 ? alike : branches.findIndex((branch) => isPromotable(writer, branch));
}

/** Of one kind and, where types have names, of one full name, which may be an alias of the reader's. */
function isSameType(writer: AvroSchema, reader: AvroSchema): boolean {
  if (writer.kind !== reader.kind) return false;
  if (!('fullName' in writer) || !('fullName' in reader)) return true;
  return reader.fullName === writer.fullName || reader.aliases.includes(writer.fullName);
}

function isNamesake(writer: AvroSchema, reader: AvroSchema): boolean {
  return writer.kind === reader.kind && 'fullName' in writer && namesAgree(writer, reader as typeof writer);
}

/** Unqualified names, as both the specification and Java compare them. */
function namesAgree(
  writer: AvroEnum | AvroFixed | AvroRecord,
  reader: AvroEnum | AvroFixed | AvroRecord,
): boolean {
  const name = unqualified(writer.fullName);
  return name === unqualified(reader.fullName) || reader.aliases.some((alias) => unqualified(alias) === name);
}

class Comparison {
  private readonly results = new Map<AvroRecord, Map<AvroSchema, string | null>>();

  /**
   * Why no value of the writer's type can be read as the reader's, or null where some can: an enum without a symbol, or a
   * union's branch, is at fault only where a record holds it.
   */
  mismatch(writer: AvroSchema, reader: AvroSchema): string | null {
    if (writer.kind === 'union') {
      const some = writer.branches.some((branch) => this.mismatch(branch, reader) === null);
      return some ? null : differs(writer, reader);
    }
    if (reader.kind === 'union')
      return branchFor(writer, reader.branches, this) < 0 ? differs(writer, reader) : null;
    if (writer.kind !== reader.kind) return isPromotable(writer, reader) ? null : differs(writer, reader);
    switch (writer.kind) {
      case 'array':
        return this.mismatch(writer.items, (reader as typeof writer).items);
      case 'map':
        return this.mismatch(writer.values, (reader as typeof writer).values);
      case 'record':
        return this.records(writer, reader as AvroRecord);
      case 'enum':
      case 'fixed':
        return namedMismatch(writer, reader as AvroEnum | AvroFixed);
      default:
        return null;
    }
  }

  private records(writer: AvroRecord, reader: AvroRecord): string | null {
    const results = this.results.get(writer) ?? new Map<AvroSchema, string | null>();
    this.results.set(writer, results);
    const known = results.get(reader);
    if (known !== undefined) return known;
    // A pair under way is taken to fit: what does not is found where it stands.
    results.set(reader, null);
    const found = this.fields(writer, reader);
    results.set(reader, found);
    return found;
  }

  private fields(writer: AvroRecord, reader: AvroRecord): string | null {
    const pairs = pairFields(writer, reader);
    for (const field of reader.fields) {
      const from = pairs.get(field);
      if (from === undefined) {
        if (field.default === undefined) return missingField(field);
        continue;
      }
      const found = this.mismatch(from.schema, field.schema);
      if (found !== null) return found;
    }
    return null;
  }
}

export function missingField(field: AvroField): string {
  return `the reader's field ${field.name} has no default and the writer's schema does not have it`;
}

/** For enums and fixed: the names, and the sizes, must agree. */
export function namedMismatch(writer: AvroEnum | AvroFixed, reader: AvroEnum | AvroFixed): string | null {
  if (!namesAgree(writer, reader)) return differs(writer, reader);
  if (writer.kind === 'fixed' && reader.kind === 'fixed' && writer.size !== reader.size)
    return `${describe(writer)} has ${writer.size} bytes, the reader's ${reader.size}`;
  return null;
}

export function differs(writer: AvroSchema, reader: AvroSchema): string {
  return `the writer's ${describe(writer)} cannot be read as the reader's ${describe(reader)}`;
}

/** What a value of a primitive or fixed type means once it is resolved. */
export interface Meaning {
  /** The type it counts as: the writer's, or the reader's that it is promoted to. */
  readonly kind: AvroSchema['kind'];
  readonly logical: LogicalType | null;
}

/**
 * What the writer's values mean to the reader (null: there is none). A unit is the writer's where both have logical types
 * of one family: the bytes are in that unit, whatever the reader's schema calls them (Java takes the reader's, and so gives
 * other times than were written). Decimals must have one scale. Text: why the two do not fit.
 */
export function meaningOf(
  writer: Extract<AvroSchema, { logical: unknown }>,
  reader: AvroSchema | null,
): Meaning | string {
  if (reader === null) return writer;
  if (writer.kind !== reader.kind && !isPromotable(writer, reader)) return differs(writer, reader);
  if (writer.kind === 'fixed') {
    const fault = namedMismatch(writer, reader as AvroFixed);
    if (fault !== null) return fault;
  }
  const { logical } = reader as typeof writer;
  if (logical === null || writer.logical === null) return { kind: reader.kind, logical };
  return sameFamily(writer.logical, logical) ? writer : differs(writer, reader);
}

function sameFamily(writer: LogicalType, reader: LogicalType): boolean {
  if (writer.name === 'decimal' && reader.name === 'decimal') return writer.scale === reader.scale;
  return writer.name === reader.name;
}
