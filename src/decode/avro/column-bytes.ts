import type { TypedColumn } from '../../columns/create-column.ts';

/** Bytes of the buffers of a column, used or not, those of nested columns included. */
export function columnBytes(column: TypedColumn): number {
  switch (column.kind) {
    case 'bytes':
      return column.data.byteLength + column.starts.byteLength;
    case 'int64':
      return column.words.byteLength + column.nulls.byteLength;
    case 'fixed':
      return column.data.byteLength + column.nulls.byteLength;
    case 'struct':
      return column.fields.reduce(
        (sum, field) => sum + columnBytes(field as TypedColumn),
        column.nulls.byteLength,
      );
    case 'list':
      return column.starts.byteLength + column.nulls.byteLength + columnBytes(column.element as TypedColumn);
    case 'map':
      return (
        column.starts.byteLength +
        column.nulls.byteLength +
        columnBytes(column.key as TypedColumn) +
        columnBytes(column.value as TypedColumn)
      );
    default:
      return column.values.byteLength + column.nulls.byteLength;
  }
}
