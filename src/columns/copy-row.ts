import { BooleanColumn } from './boolean-column.ts';
import { BytesColumn } from './bytes-column.ts';
import type { TypedColumn } from './create-column.ts';
import { FixedColumn } from './fixed-column.ts';
import { Float32Column } from './float32-column.ts';
import { Float64Column } from './float64-column.ts';
import type { GrowingColumn } from './growing-column.ts';
import { Int32Column } from './int32-column.ts';
import { Int64Column } from './int64-column.ts';
import { ListColumn } from './list-column.ts';
import { MapColumn } from './map-column.ts';
import { StructColumn } from './struct-column.ts';

/** An empty column of the same type as another. */
export function emptyLike(column: TypedColumn): TypedColumn {
  switch (column.kind) {
    case 'boolean':
      return new BooleanColumn();
    case 'bytes':
      return new BytesColumn();
    case 'fixed':
      return new FixedColumn(column.width);
    case 'float32':
      return new Float32Column();
    case 'float64':
      return new Float64Column();
    case 'int32':
      return new Int32Column();
    case 'int64':
      return new Int64Column();
    case 'struct':
      return new StructColumn(column.fields.map((f) => emptyLike(f as TypedColumn)));
    case 'list':
      return new ListColumn(emptyLike(column.element as TypedColumn));
    case 'map':
      return new MapColumn(emptyLike(column.key as TypedColumn), emptyLike(column.value as TypedColumn));
  }
}

/** Appends row `row` of a column to another of the same type. */
export function copyRow(from: GrowingColumn, row: number, to: GrowingColumn): void {
  if (from.isNull(row)) {
    to.appendNull();
    return;
  }
  switch (from.kind) {
    case 'boolean':
      (to as BooleanColumn).append(from.values[row] === 1);
      break;
    case 'bytes':
      (to as BytesColumn).appendFrom(
        from.data,
        from.starts[row] + 4,
        from.starts[row + 1] - from.starts[row] - 4,
        true,
      );
      break;
    case 'fixed':
      (to as FixedColumn).append(from.data.subarray(row * from.width, (row + 1) * from.width));
      break;
    case 'float32':
      (to as Float32Column).append(from.values[row]);
      break;
    case 'float64':
      (to as Float64Column).append(from.values[row]);
      break;
    case 'int32':
      (to as Int32Column).append(from.values[row]);
      break;
    case 'int64':
      (to as Int64Column).appendWords(from.words[row * 2], from.words[row * 2 + 1]);
      break;
    default:
      copyNested(from, row, to as StructColumn | ListColumn | MapColumn);
  }
}

function copyNested(
  from: Extract<GrowingColumn, { kind: 'struct' | 'list' | 'map' }>,
  row: number,
  to: StructColumn | ListColumn | MapColumn,
): void {
  if (from.kind === 'struct') {
    const { fields } = to as StructColumn;
    for (let i = 0; i < fields.length; i++) copyRow(from.fields[i] as GrowingColumn, row, fields[i]);
  } else {
    for (let entry = from.starts[row]; entry < from.starts[row + 1]; entry++) {
      if (from.kind === 'list') {
        copyRow(from.element as GrowingColumn, entry, (to as ListColumn).element);
      } else {
        copyRow(from.key as GrowingColumn, entry, (to as MapColumn).key);
        copyRow(from.value as GrowingColumn, entry, (to as MapColumn).value);
      }
    }
  }
  to.endRow();
}
