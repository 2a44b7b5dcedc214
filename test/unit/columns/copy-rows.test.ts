import { describe, expect, it } from 'vitest';
import { copyRow, emptyLike } from '../../../src/columns/copy-row.ts';
import { copyRows } from '../../../src/columns/copy-rows.ts';
import { createColumn, type TypedColumn } from '../../../src/columns/create-column.ts';
import type { IcebergType } from '../../../src/core/schema.ts';
import { plainValue } from '../../../src/engine/local/partition-source.ts';

const TYPES: IcebergType[] = [
  'long',
  'int',
  'float',
  'double',
  'boolean',
  'string',
  'binary',
  'uuid',
  'decimal(30, 2)',
];
const ROWS = 300;

/** Row n is null where `isNull` says so, else holds a value that tells n apart; texts of 0 to 99 bytes. */
function columnOf(type: IcebergType, isNull: (n: number) => boolean): TypedColumn {
  const column = createColumn(type);
  for (let n = 0; n < ROWS; n++) {
    if (isNull(n)) column.appendNull();
    else if (column.kind === 'int64') column.appendBigInt(BigInt(n) * -12_345_678_901n);
    else if (column.kind === 'bytes')
      column.appendBytes(Buffer.from('x'.repeat((n * 7) % 100) + (n % 3 || '')));
    else if (column.kind === 'fixed') column.append(Buffer.alloc(column.width, n));
    else if (column.kind === 'boolean') column.append(n % 3 === 0);
    else if (column.kind === 'int32' || column.kind === 'float32' || column.kind === 'float64')
      column.append(n * -3);
  }
  return column;
}

function rowsOf(column: TypedColumn, type: IcebergType): unknown[] {
  return Array.from({ length: column.length }, (_, row) =>
    column.isNull(row) ? null : plainValue(column, type, row),
  );
}

describe('copyRows', () => {
  const nulls = {
    'no nulls': () => false,
    'some nulls': (n: number) => n % 5 === 1,
    'only nulls': () => true,
  };
  const choices = {
    all: () => true,
    none: () => false,
    'every third': (n: number) => n % 3 === 0,
    'runs of many lengths': (n: number) => Math.floor(Math.sqrt(n)) % 2 === 0,
  };
  for (const type of TYPES) {
    it.each(Object.keys(nulls).flatMap((a) => Object.keys(choices).map((b) => [a, b])))(
      `gives what copying row by row gives, of ${String(type)}: %s, %s`,
      (which, choice) => {
        const source = columnOf(type, nulls[which as keyof typeof nulls]);
        const chosen = Array.from({ length: ROWS }, (_, n) => n).filter(
          choices[choice as keyof typeof choices],
        );
        const [atOnce, byRow] = [emptyLike(source), emptyLike(source)];
        for (const column of [atOnce, byRow]) copyRow(source, 7, column);
        // The list holds more than is asked for.
        const rows = Int32Array.of(5, ...chosen, 299);
        copyRows(source, rows, 1, rows.length - 1, atOnce);
        for (const row of chosen) copyRow(source, row, byRow);
        for (const column of [atOnce, byRow]) column.appendNull();
        expect(atOnce.nullCount).toBe(byRow.nullCount);
        expect(rowsOf(atOnce, type)).toEqual(rowsOf(byRow, type));
        atOnce.clear();
        copyRows(source, rows, 1, rows.length - 1, atOnce);
        expect(rowsOf(atOnce, type)).toEqual(rowsOf(byRow, type).slice(1, -1));
      },
    );
  }

  it('copies structs, row by row', () => {
    const field = (name: string, type: IcebergType) => ({ id: 0, name, required: false, type });
    const source = createColumn({ type: 'struct', fields: [field('a', 'int'), field('b', 'string')] });
    if (source.kind !== 'struct') throw new Error('expected a struct');
    const [a, b] = source.fields as TypedColumn[];
    for (let n = 0; n < 4; n++) {
      if (a.kind === 'int32') a.append(n);
      if (b.kind === 'bytes') b.appendBytes(Buffer.from(`t${n}`));
      source.endRow();
    }
    source.appendNull();
    const to = emptyLike(source);
    copyRows(source, Int32Array.of(1, 3, 4), 0, 3, to);
    if (to.kind !== 'struct') throw new Error('expected a struct');
    expect(to.length).toBe(3);
    expect([0, 1, 2].map((row) => to.isNull(row))).toEqual([false, false, true]);
    expect(rowsOf(to.fields[0] as TypedColumn, 'int').slice(0, 2)).toEqual([1, 3]);
    expect(rowsOf(to.fields[1] as TypedColumn, 'string').slice(0, 2)).toEqual(['t1', 't3']);
  });
});
