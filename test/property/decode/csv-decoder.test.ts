import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { NestedField, PrimitiveType } from '../../../src/core/schema.ts';
import { singleValueToJson } from '../../../src/core/single-value.ts';
import type { CsvFormat } from '../../../src/core/value-format.ts';
import { createCsvDecoder } from '../../../src/decode/csv/csv-decoder.ts';
import { show, vectorValue } from '../../support/parquet-model.ts';
import { arbitraryValue, bytesVector, type TableValue } from '../../support/parquet-table.ts';

const TYPES: PrimitiveType[] = [
  'boolean',
  'int',
  'long',
  'float',
  'double',
  'date',
  'time',
  'timestamp',
  'timestamptz',
  'timestamp_ns',
  'string',
  'uuid',
  'binary',
  'fixed[5]',
  'decimal(9, 2)',
  'decimal(18, 0)',
  'decimal(38, 10)',
];

const format = (delimiter: string, quote: string, escapeMark: string): CsvFormat => ({
  format: 'csv',
  mode: 'quarantine',
  corruptRecordColumn: null,
  timeZone: 'UTC',
  delimiter,
  quote,
  escape: escapeMark,
  nullValue: '',
  timestampUnit: 'micros',
  decimalRounding: 'refuse',
});
const marks = fc.constantFrom(
  format(',', '"', '"'),
  format(';', "'", '\\'),
  format('\t', '"', '\\'),
  format('|', '`', '`'),
);

function textOf(type: PrimitiveType, value: Exclude<TableValue, null>): string {
  if (value instanceof Uint8Array && type !== 'uuid') return Buffer.from(value).toString('base64');
  if (typeof value === 'number')
    return String(type === 'date' ? singleValueToJson(type, value) : Object.is(value, -0) ? '-0' : value);
  return String(singleValueToJson(type, value));
}

function fieldText(text: string, { delimiter, quote, escape: mark }: CsvFormat, quoted: boolean): string {
  const must = text === '' || text.startsWith(quote) || /[\r\n]/.test(text) || text.includes(delimiter);
  if (!must && !quoted) return text;
  const escaped = mark === quote ? text : text.replaceAll(mark, mark + mark);
  return quote + escaped.replaceAll(quote, mark + quote) + quote;
}

const columns = fc
  .array(fc.constantFrom(...TYPES), { minLength: 1, maxLength: 6 })
  .map((types) => types.map((type, i): NestedField => ({ id: i + 1, name: `c${i}`, required: false, type })));
const cells = columns.chain((fields) =>
  fc.record({
    fields: fc.constant(fields),
    rows: fc.array(
      fc.tuple(
        ...fields.map(({ type }) =>
          fc.option(
            arbitraryValue(type as PrimitiveType).filter((v) => typeof v !== 'number' || Number.isFinite(v)),
            { freq: 5 },
          ),
        ),
      ),
      { maxLength: 8 },
    ),
    quoted: fc.infiniteStream(fc.boolean()),
    marks,
  }),
);

describe('CSV', () => {
  it('gives back the values that were written, whatever is quoted', () => {
    fc.assert(
      fc.property(cells, ({ fields, rows, quoted, marks: csv }) => {
        const lines = rows.map((row) =>
          row
            .map((value, i) =>
              value === null
                ? ''
                : fieldText(
                    textOf(fields[i].type as PrimitiveType, value),
                    csv,
                    quoted.next().value === true,
                  ),
            )
            .join(csv.delimiter),
        );
        const decoder = createCsvDecoder(fields, csv);
        decoder.decode(bytesVector(lines));
        // A line of nothing but nulls in one column is an empty value.
        const empty = lines.flatMap((line, row) => (line === '' ? [row] : []));
        expect(decoder.faults.map((f) => [f.row, f.reason])).toEqual(
          empty.map((row) => [row, 'EMPTY_VALUE']),
        );
        for (const [row, values] of rows.entries()) {
          const read = fields.map(({ type }, i) => {
            const value = vectorValue(decoder.columns[i] as never, row, type as PrimitiveType);
            return show(
              type === 'string' && value instanceof Uint8Array ? Buffer.from(value).toString() : value,
            );
          });
          expect(read).toEqual(values.map(show));
        }
      }),
      { numRuns: 3000 },
    );
  });

  it('takes any bytes: each record is a row or a fault, and the others are not touched', () => {
    const junk = fc.oneof(
      fc.uint8Array({ maxLength: 30 }),
      fc
        .array(fc.constantFrom('"', ',', '\n', '\r', '1', 'x', '\\', '2026-07-14T', ':', '-', 'é', 'e9'), {
          maxLength: 12,
        })
        .map((w) => Buffer.from(w.join(''))),
    );
    fc.assert(
      fc.property(
        columns,
        fc.array(junk, { maxLength: 6 }),
        marks,
        fc.constantFrom('quarantine', 'permissive', 'dropmalformed'),
        (fields, values, csv, mode) => {
          const decoder = createCsvDecoder(
            [...fields, { id: 99, name: 'last', required: false, type: 'long' }],
            { ...csv, mode },
          );
          const good = Buffer.from(`${csv.delimiter.repeat(fields.length)}42`);
          const lines = values.flatMap((bytes) => [bytes, good]);
          decoder.decode(bytesVector(lines));
          for (const column of decoder.columns) expect(column.length).toBe(lines.length);
          for (let row = 1; row < lines.length; row += 2) {
            expect(vectorValue(decoder.columns.at(-1) as never, row, 'long')).toBe(42n);
            expect(decoder.faults.some((f) => f.row === row) || decoder.dropped.includes(row)).toBe(false);
          }
          const rows = decoder.faults.map((f) => f.row);
          expect(rows).toEqual([...new Set(rows)].sort((a, b) => a - b));
        },
      ),
      { numRuns: 300 },
    );
  });
});
