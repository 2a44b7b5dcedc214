import type { GrowingColumn } from '../../columns/growing-column.ts';

/** Bytes of the buffers of a column and the columns inside of it. */
export function columnBytes(column: GrowingColumn): number {
  switch (column.kind) {
    case 'bytes':
      return column.data.length + column.starts.byteLength;
    case 'int64':
      return column.words.byteLength + column.nulls.length;
    case 'fixed':
      return column.data.length + column.nulls.length;
    case 'struct':
      return column.fields.reduce(
        (sum, field) => sum + columnBytes(field as GrowingColumn),
        column.nulls.length,
      );
    case 'list':
      return columnBytes(column.element as GrowingColumn) + column.starts.byteLength + column.nulls.length;
    case 'map':
      return (
        columnBytes(column.key as GrowingColumn) +
        columnBytes(column.value as GrowingColumn) +
        column.starts.byteLength +
        column.nulls.length
      );
    default:
      return column.values.byteLength + column.nulls.length;
  }
}
