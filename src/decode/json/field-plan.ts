import type { BooleanColumn } from '../../columns/boolean-column.ts';
import type { BytesColumn } from '../../columns/bytes-column.ts';
import type { FixedColumn } from '../../columns/fixed-column.ts';
import type { Float32Column } from '../../columns/float32-column.ts';
import type { Float64Column } from '../../columns/float64-column.ts';
import type { GrowingColumn } from '../../columns/growing-column.ts';
import type { Int32Column } from '../../columns/int32-column.ts';
import type { Int64Column } from '../../columns/int64-column.ts';
import type { ListColumn } from '../../columns/list-column.ts';
import type { MapColumn } from '../../columns/map-column.ts';
import { StructColumn } from '../../columns/struct-column.ts';
import type { IcebergType } from '../../core/schema.ts';

/** How a value is read: one number per kind, so that one switch takes the place of a call that V8 cannot inline. */
export const OP = {
  string: 0,
  long: 1,
  int: 2,
  double: 3,
  timestamp: 4,
  boolean: 5,
  decimal: 6,
  float: 7,
  date: 8,
  time: 9,
  struct: 10,
  list: 11,
  map: 12,
  uuid: 13,
  binary: 14,
  fixed: 15,
  /** A name that no column has. */
  none: 16,
} as const;
export type Op = (typeof OP)[keyof typeof OP];

/** Appends a field's default to its column. */
export type AppendDefault = () => void;

/**
 * One field of a compiled schema: a column, a field of a struct, the element of a list, the value of a map. All fields
 * are of this one class, whatever their type, so that each access on the hot path meets one shape.
 */
export class FieldPlan {
  readonly op: Op;
  /** As it stands in the schema; empty for elements and values. */
  readonly name: string;
  readonly type: IcebergType;
  readonly required: boolean;
  /** The field that this one is in; null for a column of the table. */
  readonly parent: FieldPlan | null;
  readonly column: GrowingColumn;
  /** Does the field take values, or is it filled by the decoder (the rest of the record, the corrupt record)? */
  filled = false;
  appendDefault: AppendDefault | null = null;

  // The column again, under its own class; undefined where it is of another. Read only where `op` tells the class.
  readonly bytes: BytesColumn;
  readonly int32: Int32Column;
  readonly int64: Int64Column;
  readonly float64: Float64Column;
  readonly float32: Float32Column;
  readonly booleans: BooleanColumn;
  readonly fixed: FixedColumn;
  readonly struct: StructColumn;
  readonly list: ListColumn;
  readonly map: MapColumn;

  /** Of a struct. */
  object: ObjectPlan | null = null;
  /** Of a list: its elements; of a map: its values. */
  element: FieldPlan | null = null;
  /** Of a map. */
  key: FieldPlan | null = null;
  /** How many containers are open inside of this field's own, the document's object being 1; of lists, maps and structs. */
  depth = 0;

  // Of decimals, timestamps and fixed.
  precision = 0;
  scale = 0;
  /** Digits of the second that are kept: 6 or 9. */
  digits = 6;
  /** Is the value a moment, or a time on a clock? */
  zoned = false;
  width = 0;
  /** Of `width` bytes, where a value is put together. */
  scratch = new Uint8Array(0);

  // Matching: the name as it stands before a value, `"name":`, as little-endian words of four bytes.
  /** UTF-8 bytes of the name. */
  readonly nameBytes: Uint8Array;
  /** Bytes of the name, its quotes and the colon. */
  readonly keyLength: number;
  readonly firstWord: number;
  readonly secondWord: number;
  /** Words from the third on; the last one is left out. */
  readonly innerWords: Int32Array;
  /** The word that ends with the colon; it may overlap with those before it. */
  readonly lastWord: number;

  /** The field that followed this one in the record before. */
  next: FieldPlan | null = null;
  /** The object that the field was last met in. */
  stamp = 0;
  /** Where its key stood, with its quote; kept only where case makes no difference. */
  keyAt = 0;
  /** The buffer of `bytes` that `view` is of. */
  viewed: Uint8Array | null = null;
  view: DataView;

  constructor(
    op: Op,
    name: string,
    type: IcebergType,
    required: boolean,
    parent: FieldPlan | null,
    column: GrowingColumn,
  ) {
    this.op = op;
    this.name = name;
    this.type = type;
    this.required = required;
    this.parent = parent;
    this.column = column;
    this.bytes = column as unknown as BytesColumn;
    this.int32 = column as unknown as Int32Column;
    this.int64 = column as unknown as Int64Column;
    this.float64 = column as unknown as Float64Column;
    this.float32 = column as unknown as Float32Column;
    this.booleans = column as unknown as BooleanColumn;
    this.fixed = column as unknown as FixedColumn;
    this.struct = column as unknown as StructColumn;
    this.list = column as unknown as ListColumn;
    this.map = column as unknown as MapColumn;
    this.view = EMPTY_VIEW;
    this.nameBytes = new TextEncoder().encode(name);
    this.keyLength = this.nameBytes.length + 3;
    const key = new Uint8Array(Math.max(8, this.keyLength));
    key.set(this.nameBytes, 1);
    key[0] = 0x22;
    key[this.keyLength - 2] = 0x22;
    key[this.keyLength - 1] = 0x3a;
    const words = new DataView(key.buffer);
    this.firstWord = words.getInt32(0, true);
    this.secondWord = words.getInt32(4, true);
    const inner = Math.max(0, Math.ceil(this.keyLength / 4) - 3);
    this.innerWords = Int32Array.from({ length: inner }, (_, i) => words.getInt32(8 + i * 4, true));
    this.lastWord = words.getInt32(Math.max(0, this.keyLength - 4), true);
  }
}

/** Names that no column has, of one object, that are remembered; and how long they may be. */
const MAX_STRANGERS = 64;
const MAX_STRANGER_LENGTH = 64;

const NO_COLUMN = new StructColumn([]);
const EMPTY_VIEW = new DataView(new ArrayBuffer(0));

/** An object of the schema, the document or a struct: its fields in order, and a table to find them by their names. */
export class ObjectPlan {
  readonly fields: readonly FieldPlan[];
  /** The field that is this object; null for the document. */
  readonly owner: FieldPlan | null;
  /** Containers that are open inside of it, itself included: 1 for the document. */
  readonly depth: number;
  readonly caseInsensitive: boolean;
  /** The fields, and those inside of them at any depth. */
  readonly all: readonly FieldPlan[];
  /** Fields that take values. */
  readonly valueCount: number;
  /** The field that the last object began with. */
  first: FieldPlan | null = null;
  /** Inside of a list or a map: its unknown members have no place in the rest of the record. */
  readonly repeated: boolean;

  private readonly slots: (FieldPlan | null)[];
  private strangers = 0;

  constructor(
    fields: readonly FieldPlan[],
    owner: FieldPlan | null,
    depth: number,
    repeated: boolean,
    caseInsensitive: boolean,
  ) {
    this.fields = fields;
    this.owner = owner;
    this.depth = depth;
    this.repeated = repeated;
    this.caseInsensitive = caseInsensitive;
    this.all = fields.flatMap(withInner);
    const matched = fields.filter((f) => !f.filled);
    this.valueCount = matched.length;
    let size = 8;
    while (size < (matched.length + MAX_STRANGERS) * 2) size *= 2;
    this.slots = new Array<FieldPlan | null>(size).fill(null);
    for (const field of matched) this.enter(field);
  }

  /** The field of a name, be it a stranger, or null. `hash` is that of the name; see `hashOf`. Names are compared as they are in the table. */
  find(hash: number, bytes: Uint8Array, from: number, length: number): FieldPlan | null {
    const { slots } = this;
    const mask = slots.length - 1;
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const field = slots[slot];
      if (field === null) return null;
      if (sameBytes(lookUpBytes(field, this.caseInsensitive), bytes, from, length)) return field;
    }
  }

  /**
   * Takes down a name that no column has, so that the next record with it costs no look-up; null where there are enough of
   * them. To be called for names that `find` does not know.
   */
  addStranger(name: string): FieldPlan | null {
    if (this.strangers === MAX_STRANGERS || name.length > MAX_STRANGER_LENGTH) return null;
    this.strangers++;
    const stranger = new FieldPlan(OP.none, name, 'string', false, this.owner, NO_COLUMN);
    this.enter(stranger);
    return stranger;
  }

  private enter(field: FieldPlan): void {
    const bytes = lookUpBytes(field, this.caseInsensitive);
    const mask = this.slots.length - 1;
    let slot = hashOf(bytes, 0, bytes.length) & mask;
    while (this.slots[slot] !== null) slot = (slot + 1) & mask;
    this.slots[slot] = field;
  }
}

function withInner(field: FieldPlan): FieldPlan[] {
  const inner = [field.key, field.element].flatMap((f) => (f === null ? [] : withInner(f)));
  return [field, ...inner, ...(field.object?.all ?? [])];
}

const folded = new WeakMap<FieldPlan, Uint8Array>();

/** The bytes that a field is looked up by. */
function lookUpBytes(field: FieldPlan, caseInsensitive: boolean): Uint8Array {
  if (!caseInsensitive) return field.nameBytes;
  let bytes = folded.get(field);
  if (bytes === undefined) {
    bytes = new TextEncoder().encode(field.name.toLowerCase());
    folded.set(field, bytes);
  }
  return bytes;
}

function sameBytes(name: Uint8Array, bytes: Uint8Array, from: number, length: number): boolean {
  if (name.length !== length) return false;
  for (let i = 0; i < length; i++) if (name[i] !== bytes[from + i]) return false;
  return true;
}

/** The hash of a name; `HASH_START` and `hashByte` are its steps. */
export function hashOf(bytes: Uint8Array, from: number, until: number): number {
  let hash = HASH_START;
  for (let at = from; at < until; at++) hash = hashByte(hash, bytes[at]);
  return hash;
}

export const HASH_START = 0x811c9dc5 | 0;
export function hashByte(hash: number, byte: number): number {
  return Math.imul(hash ^ byte, 0x01000193);
}
