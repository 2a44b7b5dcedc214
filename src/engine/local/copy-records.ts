import { copyRow } from '../../columns/copy-row.ts';
import { RecordColumns } from '../../columns/record-columns.ts';

/** A copy of all rows, for those that have to wait. */
export function copyRecords(from: RecordColumns): RecordColumns {
  const to = new RecordColumns();
  for (let row = 0; row < from.length; row++) copyRecord(from, row, to);
  to.invalidUtf8Values = [...from.invalidUtf8Values];
  to.invalidUtf8Keys = [...from.invalidUtf8Keys];
  return to;
}

/** Appends one row to other columns. */
export function copyRecord(from: RecordColumns, row: number, to: RecordColumns): void {
  copyRow(from.offsets, row, to.offsets);
  copyRow(from.timestampsMs, row, to.timestampsMs);
  copyRow(from.timestampTypes, row, to.timestampTypes);
  copyRow(from.keys, row, to.keys);
  copyRow(from.values, row, to.values);
  copyRow(from.headers, row, to.headers);
}
