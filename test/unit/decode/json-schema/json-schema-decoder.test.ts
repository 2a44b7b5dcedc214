import { describe, expect, it } from 'vitest';
import type { NestedField } from '../../../../src/core/schema.ts';
import type { JsonSchemaFormat, RegisteredSchema } from '../../../../src/core/value-format.ts';
import { createJsonSchemaDecoder } from '../../../../src/decode/json-schema/json-schema-decoder.ts';
import { field, framed, hex, plainValue, valuesOf } from '../../../support/avro.ts';

const COLUMNS = [field('id', 'long'), field('name', 'string')];
const SCHEMA: RegisteredSchema = { id: 7, type: 'JSON', schema: '{}', references: [] };

function format(options: Partial<JsonSchemaFormat> = {}): JsonSchemaFormat {
  return {
    format: 'json-schema',
    mode: 'quarantine',
    corruptRecordColumn: null,
    timeZone: 'UTC',
    compat: 'strict',
    unknownFields: 'ignore',
    caseInsensitive: false,
    timestampUnit: 'millis',
    decimalRounding: 'refuse',
    nullDocument: 'quarantine',
    ...options,
  };
}

const value = (text: string, id = 7): Buffer => framed(id, Buffer.from(text));

function decode(
  values: (Buffer | null)[],
  options: Partial<JsonSchemaFormat> = {},
  columns: NestedField[] = COLUMNS,
) {
  const decoder = createJsonSchemaDecoder(columns, format(options), [
    SCHEMA,
    { ...SCHEMA, id: 8, type: 'AVRO' },
  ]);
  decoder.markUnknown(9);
  decoder.decode(valuesOf(values));
  const rows = values.map((_, row) => columns.map((f, i) => plainValue(f.type, decoder.columns[i], row)));
  const faults = decoder.faults.map(({ row, reason, schemaId }) => `${row} ${reason} ${schemaId}`);
  return { rows, faults, decoder };
}

describe('documents in the registry’s frame', () => {
  it('are read as JSON behind it, frames at fault are told (cases C04 and C09)', () => {
    const values = [
      value('{"id":9007199254740993,"name":"a"}'),
      null,
      hex(''),
      Buffer.from('{"id":1}'),
      hex('00 00 01'),
      value('{"id":1}', 9),
      value('{"id":1}', -3),
      value('{"id":1}', 8),
      value(''),
      value('  '),
      value('{"id":"x"}'),
      value('null'),
      value('{"id":2}'),
    ];
    const { rows, faults } = decode(values);
    expect(faults).toEqual([
      '2 SHORT_FRAME null',
      '3 BAD_MAGIC null',
      '4 SHORT_FRAME null',
      '5 UNKNOWN_SCHEMA_ID 9',
      '6 UNKNOWN_SCHEMA_ID -3',
      '7 UNKNOWN_SCHEMA_ID 8',
      '8 EMPTY_BODY 7',
      '9 EMPTY_VALUE 7',
      '10 TYPE_MISMATCH 7',
      '11 NOT_AN_OBJECT 7',
    ]);
    expect(rows[0]).toEqual([9_007_199_254_740_993n, 'a']);
    expect(rows[1]).toEqual([null, null]);
    expect(rows[12]).toEqual([2n, null]);
  });

  it('are asked for by their ids, each once', () => {
    const decoder = createJsonSchemaDecoder(COLUMNS, format());
    const values = valuesOf([value('{}'), value('{}', 9), value('{}'), Buffer.from('{}'), null]);
    expect(decoder.missingSchemas(values)).toEqual([7, 9]);
    decoder.addSchema(SCHEMA);
    decoder.markUnknown(9);
    expect(decoder.missingSchemas(values)).toEqual([]);
    decoder.decode(values);
    expect(decoder.missingSchemas(values)).toEqual([9]);
  });

  it('follow the modes: the text of a document at fault, the whole value where the frame is', () => {
    const columns = [...COLUMNS, field('_corrupt', 'string')];
    const values = [value('{"id":1'), Buffer.from('{"id":1}'), value('{"id":3}')];
    const permissive = decode(values, { mode: 'permissive', corruptRecordColumn: '_corrupt' }, columns);
    expect(permissive.faults).toEqual([]);
    expect(permissive.rows).toEqual([
      [null, null, '{"id":1'],
      [null, null, '{"id":1}'],
      [3n, null, null],
    ]);
    const { decoder } = decode(values, { mode: 'dropmalformed' });
    expect(decoder.dropped).toEqual([0, 1]);
    expect(decoder.counts.dropped).toBe(2);
  });

  it('tell fields that no column takes', () => {
    const { decoder } = decode([value('{"id":1}'), value('{"id":1,"more":2}'), hex('00')]);
    expect(decoder.rowsWithUnknownFields).toEqual([1]);
    expect(decoder.counts.unknownFields).toBe(1);
  });
});
