import { parquetMetadata } from 'hyparquet';
import { describe, expect, it } from 'vitest';
import type { PrimitiveType } from '../../../src/core/schema.ts';
import { decimalWidth } from '../../../src/core/schema.ts';
import { PHYSICAL_TYPE } from '../../../src/parquet/format.ts';
import { toParquetSchema } from '../../../src/parquet/leaf-column.ts';
import { MemoryFileIO } from '../../../src/storage/memory-file-io.ts';
import { ALL_TYPES, field, tableSchema, toVector, writeTable } from '../../support/parquet-table.ts';

const { INT32, INT64, FIXED_LEN_BYTE_ARRAY } = PHYSICAL_TYPE;

describe('physical types', () => {
  it.each<[PrimitiveType, number, number]>([
    ['decimal(1, 0)', INT32, 4],
    ['decimal(7, 2)', INT32, 4],
    ['decimal(9, 9)', INT32, 4],
    ['decimal(10, 0)', INT64, 8],
    ['decimal(18, 4)', INT64, 8],
    ['decimal(19, 4)', FIXED_LEN_BYTE_ARRAY, 9],
    ['decimal(38, 10)', FIXED_LEN_BYTE_ARRAY, 16],
    ['uuid', FIXED_LEN_BYTE_ARRAY, 16],
    ['fixed[3]', FIXED_LEN_BYTE_ARRAY, 3],
  ])('%s (case C26)', (type, physicalType, width) => {
    expect(toParquetSchema(tableSchema([field(1, 'c', type)])).leaves[0]).toMatchObject({
      physicalType,
      width,
    });
  });

  it('holds every decimal in the least bytes', () => {
    for (let precision = 1; precision <= 38; precision++) {
      const most = 10n ** BigInt(precision) - 1n;
      const bits = BigInt(8 * decimalWidth(precision));
      expect(BigInt.asIntN(Number(bits), most)).toBe(most);
      expect(BigInt.asIntN(Number(bits - 8n), most)).not.toBe(most);
    }
  });

  it.each(['decimal(0, 0)', 'decimal(39, 1)', 'decimal(3, 4)', 'fixed[0]', 'geometry'])(
    'refuses %s',
    (type) => {
      const schema = tableSchema([field(1, 'bad', type as PrimitiveType)]);
      expect(() => toParquetSchema(schema)).toThrow(
        expect.objectContaining({ code: 'UNSUPPORTED', message: expect.stringContaining('bad') }),
      );
    },
  );
});

describe('the schema of a file', () => {
  it('has the converted and the logical type of every type', async () => {
    const io = new MemoryFileIO();
    const schema = tableSchema(ALL_TYPES.map((type, i) => field(i + 1, type, type, i % 2 === 0)));
    await writeTable(
      io,
      'memory://t',
      schema,
      ALL_TYPES.map((type) => toVector(type, [])),
      0,
    );
    const bytes = await io.read('memory://t');
    const elements = parquetMetadata(bytes.buffer as ArrayBuffer).schema.slice(1);
    const shown = Object.fromEntries(
      elements.map((e) => [e.name, [e.type, e.converted_type, e.logical_type]]),
    );
    const micros = 'MICROS';
    expect(shown).toEqual({
      boolean: ['BOOLEAN', undefined, undefined],
      int: ['INT32', undefined, undefined],
      long: ['INT64', undefined, undefined],
      float: ['FLOAT', undefined, undefined],
      double: ['DOUBLE', undefined, undefined],
      date: ['INT32', 'DATE', { type: 'DATE' }],
      time: ['INT64', 'TIME_MICROS', { type: 'TIME', isAdjustedToUTC: false, unit: micros }],
      timestamp: ['INT64', 'TIMESTAMP_MICROS', { type: 'TIMESTAMP', isAdjustedToUTC: false, unit: micros }],
      timestamptz: ['INT64', 'TIMESTAMP_MICROS', { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: micros }],
      timestamp_ns: ['INT64', undefined, { type: 'TIMESTAMP', isAdjustedToUTC: false, unit: 'NANOS' }],
      string: ['BYTE_ARRAY', 'UTF8', { type: 'STRING' }],
      binary: ['BYTE_ARRAY', undefined, undefined],
      uuid: ['FIXED_LEN_BYTE_ARRAY', undefined, { type: 'UUID' }],
      'fixed[5]': ['FIXED_LEN_BYTE_ARRAY', undefined, undefined],
      'decimal(7, 2)': ['INT32', 'DECIMAL', { type: 'DECIMAL', precision: 7, scale: 2 }],
      'decimal(18, 4)': ['INT64', 'DECIMAL', { type: 'DECIMAL', precision: 18, scale: 4 }],
      'decimal(19, 4)': ['FIXED_LEN_BYTE_ARRAY', 'DECIMAL', { type: 'DECIMAL', precision: 19, scale: 4 }],
      'decimal(38, 10)': ['FIXED_LEN_BYTE_ARRAY', 'DECIMAL', { type: 'DECIMAL', precision: 38, scale: 10 }],
    });
    expect(elements.map((e) => e.field_id)).toEqual(ALL_TYPES.map((_, i) => i + 1));
    expect(elements.map((e) => e.repetition_type)).toEqual(
      ALL_TYPES.map((_, i) => (i % 2 === 0 ? 'REQUIRED' : 'OPTIONAL')),
    );
  });

  it('has field ids at every level of lists, maps and structs (case C25)', () => {
    const schema = tableSchema([
      field(1, 'm', {
        type: 'map',
        keyId: 2,
        key: 'string',
        valueId: 3,
        value: { type: 'list', elementId: 4, element: 'int', elementRequired: false },
        valueRequired: true,
      }),
      field(5, 's', { type: 'struct', fields: [field(6, 'x', 'long', true)] }, true),
    ]);
    const { nodes, leaves, fieldLeaves } = toParquetSchema(schema);
    expect(nodes.map((n) => [n.name, n.fieldId, n.repetition])).toEqual([
      ['table', undefined, undefined],
      ['m', 1, 1],
      ['key_value', undefined, 2],
      ['key', 2, 0],
      ['value', 3, 0],
      ['list', undefined, 2],
      ['element', 4, 1],
      ['s', 5, 0],
      ['x', 6, 0],
    ]);
    expect(leaves.map((l) => [l.path.join('.'), l.maxDefinitionLevel, l.maxRepetitionLevel])).toEqual([
      ['m.key_value.key', 2, 1],
      ['m.key_value.value.list.element', 4, 2],
      ['s.x', 0, 0],
    ]);
    expect(fieldLeaves.map((list) => list.length)).toEqual([2, 1]);
  });
});
