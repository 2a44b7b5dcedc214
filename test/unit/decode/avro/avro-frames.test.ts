import { describe, expect, it } from 'vitest';
import type { AvroFormat } from '../../../../src/core/value-format.ts';
import { type AvroDecoder, createAvroDecoder } from '../../../../src/decode/avro/avro-decoder.ts';
import { isSluiceError } from '../../../../src/errors.ts';
import {
  avroFormat,
  avroRecord,
  faultsOf,
  field,
  framed,
  hex,
  registered,
  rowsOf,
  valuesOf,
} from '../../../support/avro.ts';

const CITY = avroRecord('City', { name: 'string' });
const FIELDS = [field('name', 'string')];
const confluent = (options: Partial<AvroFormat> = {}): AvroFormat =>
  avroFormat({ framing: 'confluent', ...options });
const north = hex('0A 4E 6F 72 74 68');

function decoded(decoder: AvroDecoder, values: readonly (Uint8Array | null)[]): unknown {
  decoder.decode(valuesOf(values));
  return { rows: rowsOf(FIELDS, decoder).map((row) => row.name), faults: faultsOf(decoder) };
}

describe('the wire format of the registry', () => {
  it('tells bad magic, short frames and empty bodies apart, without a look-up for the first two (case C09)', () => {
    const decoder = createAvroDecoder(FIELDS, confluent());
    const values = [hex('48 0A 4E 6F 72 74 68'), hex('00 00 01'), hex('00 00 00 00 07'), framed(7, north)];
    expect(decoder.missingSchemas(valuesOf(values.slice(0, 2)))).toEqual([]);
    expect(decoder.missingSchemas(valuesOf(values))).toEqual([7]);
    decoder.addSchema(registered(7, CITY));
    expect(decoder.missingSchemas(valuesOf(values))).toEqual([]);
    expect(decoded(decoder, values)).toEqual({
      rows: [null, null, null, 'North'],
      faults: ['0 BAD_MAGIC', '1 SHORT_FRAME', '2 EMPTY_BODY'],
    });
    expect(decoder.faults[0].message).toContain('0x48');
    expect(decoder.faults.map((fault) => fault.schemaId)).toEqual([null, null, 7]);
  });

  it('takes a null value as a tombstone, and an empty one as short (case C04)', () => {
    const decoder = createAvroDecoder(FIELDS, confluent(), [registered(7, CITY)]);
    const values = [null, hex(''), framed(7, north)];
    expect(decoder.missingSchemas(valuesOf(values))).toEqual([]);
    expect(decoded(decoder, values)).toEqual({ rows: [null, null, 'North'], faults: ['1 SHORT_FRAME'] });
  });

  it('asks for each id once, in the order of the block', () => {
    const decoder = createAvroDecoder(FIELDS, confluent(), [registered(2, CITY)]);
    const ids = [9, 2, 9, 2_147_483_647, 9, 0];
    expect(decoder.missingSchemas(valuesOf(ids.map((id) => framed(id, north))))).toEqual([
      9, 2_147_483_647, 0,
    ]);
  });

  it('makes faults of ids that the registry does not know, and asks again for the next block', () => {
    const decoder = createAvroDecoder(FIELDS, confluent(), [registered(7, CITY)]);
    const values = [framed(8, north), framed(7, north), framed(8, hex(''))];
    decoder.markUnknown(8);
    expect(decoder.missingSchemas(valuesOf(values))).toEqual([]);
    expect(decoded(decoder, values)).toEqual({
      rows: [null, 'North', null],
      faults: ['0 UNKNOWN_SCHEMA_ID', '2 UNKNOWN_SCHEMA_ID'],
    });
    expect(decoder.faults[0].schemaId).toBe(8);
    expect(decoder.missingSchemas(valuesOf(values))).toEqual([8]);
    decoder.addSchema(registered(8, CITY));
    expect(decoded(decoder, values)).toEqual({ rows: ['North', 'North', null], faults: ['2 EMPTY_BODY'] });
  });

  it('asks no registry for a negative id', () => {
    const decoder = createAvroDecoder(FIELDS, confluent());
    const values = [framed(-1, north)];
    expect(decoder.missingSchemas(valuesOf(values))).toEqual([]);
    expect(decoded(decoder, values)).toEqual({ rows: [null], faults: ['0 UNKNOWN_SCHEMA_ID'] });
  });

  it('refuses to decode what it was not given the schema of', () => {
    const decoder = createAvroDecoder(FIELDS, confluent());
    expect(() => decoder.decode(valuesOf([framed(7, north)]))).toThrow(/schema 7 was neither given/);
  });

  it('makes faults of records whose schema is no Avro schema', () => {
    const decoder = createAvroDecoder(FIELDS, confluent(), [
      registered(1, '{"type":'),
      { ...registered(2, CITY), type: 'PROTOBUF' },
      registered(3, CITY),
    ]);
    expect(decoded(decoder, [framed(1, north), framed(2, hex('')), framed(3, north)])).toEqual({
      rows: [null, null, 'North'],
      faults: ['0 AVRO_RESOLUTION', '1 AVRO_RESOLUTION'],
    });
    expect(decoder.faults[0].message).toMatch(/schema 1 of the registry cannot be used: no JSON/);
    expect(decoder.faults[1].message).toMatch(/PROTOBUF/);
  });

  it('takes an empty body where the schema needs no bytes', () => {
    const decoder = createAvroDecoder(FIELDS, confluent(), [
      registered(1, avroRecord('R', { name: 'null' })),
    ]);
    expect(decoded(decoder, [framed(1, hex(''))])).toEqual({ rows: [null], faults: [] });
  });

  it('decodes schemas that take turns, with references', () => {
    const name = { name: 'Name', schema: avroRecord('Name', { first: 'string' }) };
    const decoder = createAvroDecoder(
      [field('a', 'int'), field('who', { type: 'struct', fields: [field('first', 'string')] })],
      confluent(),
      [
        registered(1, avroRecord('R', { who: 'Name' }), [name]),
        registered(2, avroRecord('R', { a: 'int', who: 'Name' }), [name]),
      ],
    );
    decoder.decode(
      valuesOf([framed(2, hex('02 02 41')), framed(1, hex('02 42')), framed(2, hex('04 02 43'))]),
    );
    expect(decoder.faults).toEqual([]);
    expect(
      rowsOf(
        [field('a', 'int'), field('who', { type: 'struct', fields: [field('first', 'string')] })],
        decoder,
      ),
    ).toEqual([
      { a: 1, who: { first: 'A' } },
      { a: null, who: { first: 'B' } },
      { a: 2, who: { first: 'C' } },
    ]);
  });

  it('forgets plans that are not used when there are too many, and asks for them again', () => {
    const decoder = createAvroDecoder(FIELDS, confluent());
    for (let id = 0; id < 1200; id++) decoder.addSchema(registered(id, CITY));
    const block = [framed(5, north), framed(900, north)];
    expect(decoder.missingSchemas(valuesOf(block))).toEqual([]);
    expect(decoded(decoder, block)).toEqual({ rows: ['North', 'North'], faults: [] });
    expect(
      decoder.missingSchemas(valuesOf([framed(5, north), framed(6, north), framed(900, north)])),
    ).toEqual([6]);
    expect(decoded(decoder, [framed(900, north)])).toMatchObject({ faults: [] });
  });

  it('keeps the plans of a block whose records are decoded in parts', () => {
    const decoder = createAvroDecoder(FIELDS, confluent());
    const block = Array.from({ length: 1500 }, (_, id) => framed(id, north));
    for (const id of decoder.missingSchemas(valuesOf(block))) decoder.addSchema(registered(id, CITY));
    expect(decoder.missingSchemas(valuesOf(block))).toEqual([]);
    for (const part of [block.slice(0, 700), block.slice(700)])
      expect(decoded(decoder, part)).toEqual({ rows: part.map(() => 'North'), faults: [] });
  });
});

describe('plain Avro', () => {
  it('is one datum from byte 0 to the end', () => {
    const decoder = createAvroDecoder(FIELDS, avroFormat({ writerSchema: CITY }));
    expect(decoder.missingSchemas(valuesOf([north]))).toEqual([]);
    expect(decoded(decoder, [north, hex(''), null, hex('0A 4E'), hex('02 41 00')])).toEqual({
      rows: ['North', null, null, null, null],
      faults: ['1 EMPTY_VALUE', '3 AVRO_DECODE name', '4 AVRO_DECODE'],
    });
    expect(decoder.faults.map((fault) => fault.schemaId)).toEqual([null, null, null]);
    expect(decoder.faults[2].message).toBe('1 bytes are left after the value, at byte 2');
  });
});

describe('single-object encoding', () => {
  // The fingerprint of City as Avro's Java library gives it, little-endian.
  const head = 'C3 01 38 AF D3 AF C1 4F 99 51';

  it('needs its marker and the fingerprint of the writer schema', () => {
    const decoder = createAvroDecoder(FIELDS, avroFormat({ writerSchema: CITY, framing: 'singleObject' }));
    const values = [
      `${head} 0A 4E 6F 72 74 68`,
      head,
      'C3 01 38 AF D3 AF C1 4F 99 52 02 41',
      'C3 02 38 AF D3 AF C1 4F 99 51 02 41',
      '00 00 00 00 07 02 41',
      'C3 01 4E',
      'C3',
      '',
    ];
    expect(decoded(decoder, values.map(hex))).toEqual({
      rows: ['North', null, null, null, null, null, null, null],
      faults: [
        '1 EMPTY_BODY',
        '2 UNKNOWN_SCHEMA_ID',
        '3 BAD_MAGIC',
        '4 BAD_MAGIC',
        '5 SHORT_FRAME',
        '6 SHORT_FRAME',
        '7 SHORT_FRAME',
      ],
    });
  });
});

describe('modes', () => {
  const values = [hex('02 41'), hex('04 41'), null, hex('02 42')];
  const fields = [field('name', 'string'), field('_corrupt', 'string')];
  const run = (options: Partial<AvroFormat>, columns = fields): { decoder: AvroDecoder; rows: unknown } => {
    const decoder = createAvroDecoder(columns, avroFormat({ writerSchema: CITY, ...options }));
    decoder.decode(valuesOf(values));
    return { decoder, rows: rowsOf(columns, decoder) };
  };

  it.each(['quarantine', 'failfast'] as const)('%s tells the fault', (mode) => {
    const { decoder } = run({ mode });
    expect(faultsOf(decoder)).toEqual(['1 AVRO_DECODE name']);
    expect(decoder.dropped).toEqual([]);
  });

  it('dropmalformed lists and counts the row', () => {
    const { decoder } = run({ mode: 'dropmalformed' });
    expect(decoder.faults).toEqual([]);
    expect(decoder.dropped).toEqual([1]);
    expect(decoder.counts.dropped).toBe(1);
    decoder.decode(valuesOf([hex('02 41')]));
    expect([decoder.dropped, decoder.counts.dropped]).toEqual([[], 0]);
  });

  it('permissive keeps a row of nulls with the bytes where a column asks for them', () => {
    const { decoder, rows } = run({ mode: 'permissive', corruptRecordColumn: '_corrupt' });
    expect(decoder.faults).toEqual([]);
    expect(rows).toEqual([
      { name: 'A', _corrupt: null },
      { name: null, _corrupt: 'BEE=' },
      { name: null, _corrupt: null },
      { name: 'B', _corrupt: null },
    ]);
    const binary = [field('name', 'string'), field('_corrupt', 'binary')];
    expect(run({ mode: 'permissive', corruptRecordColumn: '_corrupt' }, binary).rows).toMatchObject([
      {},
      { _corrupt: '0x0441' },
      {},
      {},
    ]);
    expect(run({ mode: 'permissive' }).rows).toMatchObject([{}, { name: null, _corrupt: null }, {}, {}]);
  });

  it('permissive has no row of nulls where a column is required', () => {
    const { decoder } = run({ mode: 'permissive' }, [field('name', 'string', { required: true })]);
    expect(faultsOf(decoder)).toEqual(['1 AVRO_DECODE name']);
  });

  it('a column for corrupt records takes nothing from a field of its name', () => {
    const writerSchema = avroRecord('R', { _corrupt: 'string' });
    const decoder = createAvroDecoder(
      fields,
      avroFormat({ writerSchema, mode: 'permissive', corruptRecordColumn: '_corrupt' }),
    );
    decoder.decode(valuesOf([hex('02 41')]));
    expect(rowsOf(fields, decoder)).toEqual([{ name: null, _corrupt: null }]);
    expect(decoder.rowsWithUnknownFields).toEqual([0]);
  });
});

describe('a configuration that cannot work is refused', () => {
  const refused = (options: Partial<AvroFormat>, columns = FIELDS): string => {
    try {
      createAvroDecoder(columns, avroFormat(options));
    } catch (e) {
      expect(isSluiceError(e, 'CONFIG_INVALID')).toBe(true);
      return (e as Error).message;
    }
    throw new Error('the format was taken');
  };

  it('with a reason', () => {
    expect(refused({})).toContain('framing plain need a writer schema');
    expect(refused({ writerSchema: '{' })).toContain('the writer schema is no usable Avro schema');
    expect(refused({ framing: 'confluent', readerSchema: '"Nowhere"' })).toContain(
      'the reader schema is no usable',
    );
    const badDefault = JSON.stringify({
      type: 'record',
      name: 'City',
      fields: [{ name: 'name', type: 'string', default: 1 }],
    });
    expect(refused({ writerSchema: avroRecord('City', {}), readerSchema: badDefault })).toContain(
      'name: the default 1 is no string',
    );
    expect(
      refused({ framing: 'confluent', readerSchema: `{"type":"array","items":${badDefault}}` }),
    ).toContain('name: the default 1 is no string');
    expect(refused({ writerSchema: CITY, corruptRecordColumn: 'name' }, [field('name', 'int')])).toContain(
      'column name',
    );
  });
});

describe('bytes held', () => {
  it('grow with the columns', () => {
    const decoder = createAvroDecoder(FIELDS, avroFormat({ writerSchema: CITY }));
    const before = decoder.byteLength;
    const long = Buffer.alloc(100_003, 0x41);
    hex('C0 9A 0C').copy(long);
    decoder.decode(valuesOf([long]));
    expect(decoder.faults).toEqual([]);
    expect(decoder.byteLength).toBeGreaterThan(before + 80_000);
  });
});
