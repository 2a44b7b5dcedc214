import { describe, expect, it } from 'vitest';
import type { NestedField, Schema } from '../../../src/core/schema.ts';
import { bindColumns, headersFault, writeDefault } from '../../../src/engine/bind-columns.ts';
import { quarantineFaults } from '../../../src/engine/bind-quarantine.ts';
import { bronzeSchema, headersField, quarantineSchema } from '../../../src/engine/bronze-layout.ts';
import { tableFaults } from '../../../src/engine/table-faults.ts';
import { newTableMetadata } from '../../../src/iceberg/metadata.ts';
import { buildPartitionSpec } from '../../../src/iceberg/partition.ts';

const BRONZE = bronzeSchema({ valueType: 'string', keyType: 'binary', includeHeaders: true });
const column = (name: string, type: NestedField['type'], more: Partial<NestedField> = {}): NestedField => ({
  id: 100,
  name,
  required: false,
  type,
  ...more,
});
const schemaOf = (...fields: NestedField[]): Schema => ({
  type: 'struct',
  schemaId: 0,
  fields: fields.map((f, i) => ({ ...f, id: i + 1 })),
});

describe('bindColumns', () => {
  it('finds the columns by name, in any order, and leaves the others to null', () => {
    const schema = schemaOf(
      column('hour', 'int'),
      column('note', 'string'),
      column('kafka_offset', 'long', { required: true }),
      column('value', 'binary'),
      column('toString', 'string'),
    );
    expect(bindColumns(schema, false)).toEqual({
      sources: ['hour', 'null', 'offset', 'value', 'null'],
      faults: [],
    });
  });

  it('names every fault', () => {
    const schema = schemaOf(
      column('key', 'string', { required: true }),
      column('kafka_partition', 'long'),
      column('kafka_timestamp', 'timestamp'),
      column('headers', {
        type: 'map',
        keyId: 50,
        key: 'string',
        valueId: 51,
        value: 'binary',
        valueRequired: false,
      }),
      column('note', 'string', { required: true }),
    );
    expect(bindColumns(schema, true).faults).toEqual([
      'column key is required, but records may have none',
      'column kafka_partition: expected int, found long',
      'column kafka_timestamp: expected timestamptz, found timestamp',
      'column headers: expected list<struct<key: string, value: binary>>, found map',
      'column note is required, and Sluice has nothing to put there',
      'there is no column `value` for the value of a record',
    ]);
  });

  it('asks for a column of headers only where headers are to be included', () => {
    const without = bronzeSchema({ valueType: 'string', keyType: 'binary', includeHeaders: false });
    expect(bindColumns(without, false).faults).toEqual([]);
    expect(bindColumns(without, true).faults).toEqual([
      expect.stringContaining('there is no column `headers`'),
    ]);
    expect(bindColumns(BRONZE, false)).toMatchObject({
      faults: [],
      sources: expect.arrayContaining(['headers']),
    });
  });

  it('fills a required column that has a write default with it', () => {
    const note = column('note', 'long', { required: true, writeDefault: 7 });
    expect(bindColumns(schemaOf(column('value', 'string'), note), false).faults).toEqual([]);
    expect(writeDefault(note)).toBe(7n);
    expect(writeDefault(column('note', 'string'))).toBeNull();
  });
});

describe('headersFault', () => {
  const { type } = headersField(1, 2);
  const list = type as Extract<typeof type, { type: 'list' }>;
  const of = (fields: NestedField[]) => headersFault({ ...list, element: { type: 'struct', fields } });
  const key = column('key', 'string');
  const value = column('value', 'binary');

  it('takes a list of key and value, required or not', () => {
    expect(headersFault(type)).toBeUndefined();
    expect(of([{ ...key, required: true }, value])).toBeUndefined();
  });

  it.each([
    ['a list of texts', [] as NestedField[]],
    ['other names', [{ ...key, name: 'name' }, value]],
    ['another type of the value', [key, { ...value, type: 'string' as const }]],
    ['a third field', [key, value, column('more', 'int')]],
  ])('refuses %s', (_, fields) => {
    expect(of(fields)).toContain('expected list<struct<key: string, value: binary>>');
  });

  it('refuses a value that must not be null', () => {
    expect(of([key, { ...value, required: true }])).toContain('is required');
  });
});

describe('quarantineFaults', () => {
  it('finds none in the table that Sluice makes, nor in one with other optional columns', () => {
    expect(quarantineFaults(quarantineSchema())).toEqual([]);
    const { fields } = quarantineSchema();
    const fewer = fields.filter((f) => f.name !== 'schema_id' && f.name !== 'message').toReversed();
    expect(quarantineFaults(schemaOf(...fewer, column('handled_by', 'string')))).toEqual([]);
  });

  it('names every fault', () => {
    const { fields } = quarantineSchema();
    const schema = schemaOf(
      ...fields
        .filter((f) => f.name !== 'reason' && f.name !== 'headers')
        .map((f) => (f.name === 'key' ? { ...f, type: 'string' as const } : f))
        .map((f) => (f.name === 'schema_id' ? { ...f, required: true } : f)),
      column('team', 'string', { required: true }),
    );
    expect(quarantineFaults(schema)).toEqual([
      'column key: expected binary, found string',
      'column schema_id is required, but records may have none',
      'column team is required, and Sluice has nothing to put there',
      'there is no column `headers`',
      'there is no column `reason`',
    ]);
  });
});

describe('tableFaults', () => {
  const metadata = newTableMetadata({
    tableUuid: '0f0e0d0c-0b0a-4908-8706-050403020100',
    location: 'memory://t',
    schema: BRONZE,
    partitionSpec: buildPartitionSpec(['dt'], BRONZE),
    properties: {},
    formatVersion: 2,
    nowMs: 0,
  });

  it('finds none in a table that Sluice makes, of version 2 and 3', () => {
    expect(tableFaults(metadata)).toEqual([]);
    expect(tableFaults({ ...metadata, formatVersion: 3 })).toEqual([]);
  });

  it('takes a spec of version 1 that was emptied: void transforms, their columns gone', () => {
    const field = { sourceId: 999, fieldId: 1000, name: 'gone', transform: 'void' };
    expect(tableFaults({ ...metadata, partitionSpecs: [{ specId: 0, fields: [field] }] })).toEqual([]);
  });

  it('names every fault', () => {
    const field = { sourceId: 1, fieldId: 1000, name: 'z', transform: 'zorder[3]' };
    const faults = tableFaults({
      ...metadata,
      formatVersion: 1,
      properties: { 'encryption.key-id': 'k' },
      partitionSpecs: [{ specId: 0, fields: [field] }],
      schemas: [{ ...BRONZE, fields: [...BRONZE.fields, column('v', 'variant' as never)] }],
    });
    expect(faults).toEqual([
      expect.stringContaining('format version 1'),
      expect.stringContaining('encryption.key-id'),
      expect.stringContaining('variant'),
      expect.stringContaining('zorder[3]'),
    ]);
  });
});
