import { describe, expect, it } from 'vitest';
import { BytesColumn } from '../../../src/columns/bytes-column.ts';

const text = (s: string) => new TextEncoder().encode(s);

describe('BytesColumn', () => {
  it('holds values in the PLAIN layout and tells null from empty', () => {
    const column = new BytesColumn(8, 1);
    column.appendBytes(text('ab'));
    column.appendNull();
    column.appendBytes(new Uint8Array(0));
    expect(column.length).toBe(3);
    expect(column.nullCount).toBe(1);
    expect([...column.data.subarray(0, column.end)]).toEqual([2, 0, 0, 0, 97, 98, 0, 0, 0, 0]);
    expect([...column.starts.subarray(0, 4)]).toEqual([0, 6, 6, 10]);
    expect(column.get(0)).toEqual(text('ab'));
    expect(column.get(1)).toBeNull();
    expect(column.isNull(1)).toBe(true);
    expect(column.get(2)).toEqual(new Uint8Array(0));
    expect(column.isNull(2)).toBe(false);
  });

  it('keeps what it holds while it grows, and its buffers when cleared', () => {
    const column = new BytesColumn(4, 1);
    const values = Array.from({ length: 500 }, (_, i) => text('x'.repeat(i % 37) + i));
    for (const value of values) column.appendBytes(value);
    expect(values.every((value, i) => Buffer.from(column.get(i)!).equals(value))).toBe(true);
    const { data, starts } = column;
    column.clear();
    expect(column.length).toBe(0);
    expect(column.end).toBe(0);
    column.appendBytes(text('again'));
    expect(column.data).toBe(data);
    expect(column.starts).toBe(starts);
    expect(column.get(0)).toEqual(text('again'));
  });

  it('writes lengths of more than 16 bits', () => {
    const column = new BytesColumn();
    column.appendBytes(new Uint8Array(0x01_02_03));
    expect([...column.data.subarray(0, 4)]).toEqual([3, 2, 1, 0]);
  });

  it('finds the rows that are not UTF-8 before it is sealed, and none where all are', () => {
    const column = new BytesColumn();
    const append = (bytes: Uint8Array) => column.appendFrom(bytes, 0, bytes.length, false);
    append(text('grün'));
    column.appendNull();
    append(text(''));
    expect(column.invalidUtf8Rows(0)).toEqual([]);
    append(Uint8Array.from([0xc3])); // a character cut off ...
    append(Uint8Array.from([0xbc])); // ... whose rest begins the next value
    append(Uint8Array.from([0xff]));
    append(text('ok'));
    expect(column.invalidUtf8Rows(0)).toEqual([3, 4, 5]);
    expect(column.invalidUtf8Rows(4)).toEqual([4, 5]);
    column.seal(0);
    expect(column.get(0)).toEqual(text('grün'));
    expect([...column.data.subarray(column.starts[6], column.starts[7])]).toEqual([2, 0, 0, 0, 111, 107]);
  });

  it('appends a stretch of a larger array', () => {
    const column = new BytesColumn();
    column.appendFrom(text('abcdef'), 2, 3, true);
    expect(column.get(0)).toEqual(text('cde'));
  });

  it('gives a view of the present data, also after it was replaced', () => {
    const column = new BytesColumn(8);
    column.appendBytes(text('a'));
    expect(column.view.getUint32(0, true)).toBe(1);
    column.growData(column.end, 1000);
    expect(column.data.length).toBeGreaterThanOrEqual(1000);
    expect(column.view.buffer).toBe(column.data.buffer);
    expect(column.view.getUint32(0, true)).toBe(1);
  });

  it('gives memory back only while it is empty', () => {
    const column = new BytesColumn();
    column.appendBytes(new Uint8Array(100_000));
    column.trim(1000);
    expect(column.data.length).toBeGreaterThan(100_000);
    column.clear();
    column.trim(1000);
    expect(column.data.length).toBe(1000);
    column.appendBytes(text('fits again'));
    expect(column.get(0)).toEqual(text('fits again'));
  });
});
