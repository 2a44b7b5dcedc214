import type { ColumnVector } from '../columns/vector.ts';
import type { IcebergType, NestedField } from '../core/schema.ts';
import { SluiceError } from '../errors.ts';
import type { ColumnWriter } from './column-writer.ts';
import { isStored } from './leaf-column.ts';
import { LeafNode } from './leaf-node.ts';
import { ListNode } from './list-node.ts';
import { BLOCK_ROWS } from './page-values.ts';
import { isNullConstant, type NodePlace, nullFault, type ShredNode } from './shred-node.ts';
import { StructNode } from './struct-node.ts';

/** Entries of a block of rows, unless one row alone has more: bounds the scratch. */
const BLOCK_ENTRIES = 32 * 1024;
/** More in one row would need gigabytes of scratch. */
const MAX_ROW_ENTRIES = 64 * 1024 * 1024;

/**
 * Takes vectors of a struct, list or map apart into its leaves, a block of rows at a time. Leaves that nothing repeats go
 * straight from the vector to their page where no struct above them is null.
 */
export class NestedShredder {
  private readonly root: ShredNode;
  private readonly place: NodePlace;
  private readonly columns: readonly ColumnWriter[];

  /** `columns` are the leaves of the field, in the order of its Parquet schema. */
  constructor(field: NestedField, columns: readonly ColumnWriter[]) {
    this.place = { path: field.name, required: field.required, level: 0, repetition: 0, depth: 0 };
    this.columns = columns;
    this.root = nodeOf(field.type, this.place, columns[Symbol.iterator]());
  }

  /**
   * Appends rows [from, until). Throws INTERNAL where the vector does not fit the type or a required value is null,
   * UNSUPPORTED for a row of more than 64 Mi entries or 1 GiB in one leaf.
   */
  append(vector: ColumnVector, from: number, until: number): void {
    if (isNullConstant(vector)) {
      if (this.place.required && until > from) throw nullFault(this.place);
      for (const column of this.columns) column.appendNulls(0, until - from);
      return;
    }
    for (let row = from; row < until; ) {
      const end = this.blockEnd(vector, row, until);
      this.root.shredRows(vector, { from: row, until: end, levels: undefined });
      row = end;
    }
  }

  private blockEnd(vector: ColumnVector, from: number, until: number): number {
    let rows = Math.min(BLOCK_ROWS, until - from);
    let entries = this.root.weigh(vector, from, from + rows);
    while (rows > 1 && entries > BLOCK_ENTRIES) {
      rows >>>= 1;
      entries = this.root.weigh(vector, from, from + rows);
    }
    if (entries > MAX_ROW_ENTRIES) {
      throw new SluiceError(
        'UNSUPPORTED',
        `column ${this.place.path}: a row with ${entries} entries in its lists; at most ${MAX_ROW_ENTRIES} are written. Split the row before it is written`,
        { context: { column: this.place.path, entries, most: MAX_ROW_ENTRIES } },
      );
    }
    return from + rows;
  }
}

/** The tree of a type; takes its columns from `leaves`, depth first. */
function nodeOf(type: IcebergType, place: NodePlace, leaves: Iterator<ColumnWriter>): ShredNode {
  if (typeof type === 'string') return new LeafNode(place, leaves.next().value as ColumnWriter);
  const level = place.level + (place.required ? 0 : 1);
  // a node has two scratches
  const depth = place.depth + 2;
  if (type.type === 'struct') {
    const children = type.fields.map((field) =>
      isStored(field)
        ? nodeOf(
            field.type,
            {
              path: `${place.path}.${field.name}`,
              required: field.required,
              level,
              repetition: place.repetition,
              depth,
            },
            leaves,
          )
        : undefined,
    );
    return new StructNode(place, children);
  }
  const entry = (name: string, of: IcebergType, required: boolean): ShredNode =>
    nodeOf(
      of,
      { path: `${place.path}.${name}`, required, level: level + 1, repetition: place.repetition + 1, depth },
      leaves,
    );
  if (type.type === 'list')
    return new ListNode(place, 'list', [entry('element', type.element, type.elementRequired)]);
  return new ListNode(place, 'map', [
    entry('key', type.key, true),
    entry('value', type.value, type.valueRequired),
  ]);
}
