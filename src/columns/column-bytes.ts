import type { GrowingColumn } from './growing-column.ts';

/** Memory of a column's buffers, room to grow included. */
export function columnBytes(column: GrowingColumn): number {
  switch (column.kind) {
    case 'bytes':
      return column.data.byteLength + column.starts.byteLength;
    case 'fixed':
      return column.data.byteLength + column.nulls.byteLength;
    case 'int64':
      return column.words.byteLength + column.nulls.byteLength;
    case 'struct':
      return column.fields.reduce((sum, f) => sum + columnBytes(f as GrowingColumn), column.nulls.byteLength);
    case 'list':
      return (
        column.starts.byteLength + column.nulls.byteLength + columnBytes(column.element as GrowingColumn)
      );
    case 'map':
      return (
        column.starts.byteLength +
        column.nulls.byteLength +
        columnBytes(column.key as GrowingColumn) +
        columnBytes(column.value as GrowingColumn)
      );
    default:
      return column.values.byteLength + column.nulls.byteLength;
  }
}
