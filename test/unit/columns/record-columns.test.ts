import { describe, expect, it } from 'vitest';
import { RecordColumns } from '../../../src/columns/record-columns.ts';

describe('RecordColumns', () => {
  it('counts rows and bytes, and is empty when cleared', () => {
    const columns = new RecordColumns();
    columns.reserveRows(5000);
    for (let i = 0; i < 3; i++) {
      columns.offsets.appendNumber(i);
      columns.timestampsMs.appendNull();
      columns.timestampTypes.append(0);
      columns.keys.appendNull();
      columns.values.appendBytes(new Uint8Array(10));
      columns.headers.appendNull();
    }
    columns.invalidUtf8Values = [1];
    expect(columns.length).toBe(3);
    expect(columns.byteLength).toBe(3 * (14 + 32));
    columns.clear();
    expect(columns.length).toBe(0);
    expect(columns.byteLength).toBe(0);
    expect(columns.invalidUtf8Values).toEqual([]);
    for (const name of ['timestampsMs', 'timestampTypes', 'keys', 'values', 'headers'] as const) {
      expect([name, columns[name].length, columns[name].nullCount]).toEqual([name, 0, 0]);
    }
  });
});
