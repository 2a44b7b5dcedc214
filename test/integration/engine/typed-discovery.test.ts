/** Columns that are found in records, under every mode and rule for what does not fit: no value is passed over on the way. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { useKafka } from '../../support/kafka.ts';
import type { TestPipelineOptions } from '../../support/test-pipeline.ts';
import { plainRows, TYPED_TABLE, TypedWorld } from '../../support/typed-world.ts';

describe('columns that are found in records', () => {
  const { bootstrap } = useKafka();
  let world: TypedWorld;

  beforeEach(async () => {
    world = await TypedWorld.create(bootstrap);
  });
  afterEach(() => world.close());

  const json = (schema: string, more: object = {}) => ({ value: { format: 'json', schema, ...more } });

  /** Runs a rule; gives the rows, the faults and the log. */
  async function run(rule: NonNullable<TestPipelineOptions['table']>, columns: readonly string[] = []) {
    world.make(rule);
    const { log, summary } = await world.pipeline.run();
    return { rows: plainRows(await world.rows(), columns), faults: await world.faults(), log, summary };
  }

  describe('under evolve', () => {
    const grown = ['{"id":1}', '{"id":3000000000}', '{"id":2,"y":5}'];

    it('gives failfast its columns before anything fails', async () => {
      await world.send(...grown, '{"y":6}');
      const { rows } = await run({ ...json('id INT NOT NULL', { mode: 'failfast' }), evolve: 'widen' });
      expect(rows).toEqual([
        { id: 1n, y: null },
        { id: 3000000000n, y: null },
        { id: 2n, y: 5n },
        { id: null, y: 6n },
      ]);
    });

    it('fails fast at what no column could mend, with nothing committed', async () => {
      await world.send(...grown, '{"id":"x"}');
      world.make({ ...json('id INT', { mode: 'failfast' }), evolve: 'widen' });
      await expect(world.pipeline.run()).rejects.toMatchObject({
        code: 'DECODE_ERROR',
        context: { offset: 3n, reason: 'TYPE_MISMATCH' },
      });
      expect(await world.rows()).toEqual([]);
      expect(world.pipeline.files(world.pipeline.warehouse).filter((f) => f.endsWith('.parquet'))).toEqual(
        [],
      );
    });

    it('fails fast at once where a document is none', async () => {
      await world.send('{"id":1', '{"id":3000000000}');
      world.make({ ...json('id INT', { mode: 'failfast' }), evolve: 'widen' });
      await expect(world.pipeline.run()).rejects.toMatchObject({
        code: 'DECODE_ERROR',
        context: { offset: 0n, reason: 'INVALID_JSON' },
      });
    });

    it('drops under dropmalformed only what no column could mend', async () => {
      await world.send(...grown, '{"id":"x"}', '{"id":');
      const { rows } = await run({ ...json('id INT', { mode: 'dropmalformed' }), evolve: 'widen' });
      expect(rows).toEqual([
        { id: 1n, y: null },
        { id: 3000000000n, y: null },
        { id: 2n, y: 5n },
      ]);
      expect(await world.proof()).toMatchObject({ ok: true, rows: 3, quarantined: 0 });
    });

    it('makes null under permissive only what no column could mend', async () => {
      await world.send(...grown, '{"id":"x","y":7}');
      const mode = { mode: 'permissive', corruptRecordColumn: '_corrupt' };
      const { rows } = await run({ ...json('id INT', mode), evolve: 'widen' });
      expect(rows).toEqual([
        { id: 1n, _corrupt: null, y: null },
        { id: 3000000000n, _corrupt: null, y: null },
        { id: 2n, _corrupt: null, y: 5n },
        { id: null, _corrupt: '{"id":"x","y":7}', y: 7n },
      ]);
    });

    it('gives unknown fields their columns before any is refused', async () => {
      await world.send('{"id":1,"x":5}', '{"id":2,"topic":"t"}', '{"id":3}');
      const rule = { ...json('id INT', { unknownFields: 'quarantine' }), evolve: 'add' };
      const { rows, faults, log } = await run(rule);
      expect(rows).toEqual([
        { id: 1, x: 5n },
        { id: 3, x: null },
      ]);
      expect(faults).toEqual(['1 UNKNOWN_FIELD value']);
      expect(log.join('\n')).toContain('of the value, topic become no columns');
    });

    it('gives a document of very many fields nothing, and those beside it what they ask for', async () => {
      const wide = `{"id":2,${Array.from({ length: 1500 }, (_, i) => `"w${i}":1`)}}`;
      await world.send(wide, '{"id":1,"good":1}', wide.replaceAll('w', 'v'), '{"id":3,"good":{"a":2},"b":1}');
      const { rows, faults } = await run({ ...json('id INT, good STRUCT<a: INT>'), evolve: 'add' });
      expect(rows).toEqual([{ id: 3, good: { a: 2 }, b: 1n }]);
      expect(faults).toEqual(['0 UNKNOWN_FIELD value', '1 TYPE_MISMATCH good', '2 UNKNOWN_FIELD value']);
    });

    it('makes decimals longer and floats doubles, at every level, as far as a number needs it', async () => {
      await world.send(
        '{"d":123.45,"f":1.5}',
        '{"d":-99999999.5,"f":1e39,"l":[{"m":{"k":1234.5}}]}',
        '{"d":1.234}',
        '{"d":1e40}',
      );
      const schema = 'd DECIMAL(5,2) NOT NULL, f FLOAT, l ARRAY<STRUCT<m: MAP<STRING, DECIMAL(3,1)>>>';
      const { rows, faults, log } = await run({ ...json(schema), evolve: 'widen' });
      expect(rows).toEqual([
        { d: 123.45, f: 1.5, l: null },
        { d: -99999999.5, f: 1e39, l: [{ m: { k: 1234.5 } }] },
      ]);
      expect(faults).toEqual(['2 OUT_OF_RANGE d', '3 OUT_OF_RANGE d']);
      expect(log.filter((line) => line.includes('widened')).map((line) => line.split('column ')[1])).toEqual([
        'd was widened from DECIMAL(5,2) to DECIMAL(10,2)',
        'f was widened from FLOAT to DOUBLE',
        'l.element.m.value was widened from DECIMAL(3,1) to DECIMAL(5,1)',
      ]);
    });

    it('makes elements of lists and values of maps optional, and nothing around them', async () => {
      const schema = JSON.stringify({
        type: 'struct',
        fields: [
          {
            id: 1,
            name: 'l',
            required: true,
            type: { type: 'list', 'element-id': 2, element: 'int', 'element-required': true },
          },
          {
            id: 3,
            name: 'm',
            required: true,
            type: {
              type: 'map',
              'key-id': 4,
              key: 'string',
              'value-id': 5,
              value: 'int',
              'value-required': true,
            },
          },
        ],
      });
      await world.send('{"l":[1,null],"m":{"a":1}}', '{"l":[],"m":{"a":null,"l":2}}', '{"l":null,"m":{}}');
      const { rows, faults, log } = await run({ ...json(schema), evolve: 'widen' });
      expect(rows).toEqual([
        { l: [1, null], m: { a: 1 } },
        { l: [], m: { a: null, l: 2 } },
        { l: null, m: {} },
      ]);
      expect(faults).toEqual([]);
      expect(log.filter((line) => line.includes('optional')).map((line) => line.split('column ')[1])).toEqual(
        ['l.element was made optional', 'm.value was made optional', 'l was made optional'],
      );
    });

    it('lets no spelling of a name change a column of provenance, or of the key', async () => {
      const format = { format: 'json', caseInsensitive: true };
      await world.send(
        ['{"K":1}', '{"KAFKA_PARTITION":3000000000,"id":1}'],
        ['{"k":2}', '{"KEY_K":3000000000,"id":2}'],
        ['{"k":3}', '{"ID":3,"Other":1}'],
      );
      const value = { ...format, schema: 'id INT' };
      const { rows, faults } = await run({ value, key: { ...format, schema: 'k INT' }, evolve: 'widen' });
      expect(rows).toEqual([{ id: 3, key_k: 3, Other: 1n }]);
      expect(faults).toEqual(['0 UNKNOWN_FIELD value', '1 UNKNOWN_FIELD value']);
      expect(await world.proof()).toMatchObject({ ok: true, rows: 1, quarantined: 2 });
    });

    it('widens for a number whatever else stood in its place before', async () => {
      await world.send('{"id":"x"}', '{"id":3000000000,"y":1}', '{"id":true}');
      const { rows, faults } = await run({ ...json('id INT'), evolve: 'widen' });
      expect(rows).toEqual([{ id: 3000000000n, y: 1n }]);
      expect(faults).toEqual(['0 TYPE_MISMATCH id', '2 TYPE_MISMATCH id']);
    });

    it('gives no records what only the rule of others in the table allows', async () => {
      const other = await TypedWorld.create(bootstrap);
      try {
        await world.send('{"id":3000000000,"x":1}');
        await other.send('{"id":4000000000,"y":1}');
        const rule = { table: TYPED_TABLE, layout: 'typed', ...json('id INT') };
        world.make(
          { ...json('id INT'), evolve: 'widen' },
          {
            topics: [world.topic, other.topic],
            rules: [{ match: other.topic, ...rule, evolve: 'add' }],
          },
        );
        await world.pipeline.run();
        // Widened for the one; the other finds it so.
        const found = plainRows(await world.rows(), ['x', 'y']).map(({ id, x, y }) => ({ id, x, y }));
        expect(found).toEqual(
          expect.arrayContaining([
            { id: 3000000000n, x: 1n, y: null },
            { id: 4000000000n, x: null, y: 1n },
          ]),
        );
        expect(await world.faults()).toEqual([]);
      } finally {
        await other.close();
      }
    });

    it('adds no column of the name of a partition field: Java could not open the table', async () => {
      await world.send(
        '{"id":1,"kafka_timestamp_day":5}',
        '{"id":2,"ID_Bucket":1}',
        '{"id":3,"s":{"x_trunc":1}}',
        '{"id":4,"s.x_trunc":1}',
        '{"id":5,"id_trunc":1}',
      );
      const rule = {
        ...json('id INT, s STRUCT<x: INT>'),
        evolve: 'add',
        partitionBy: ['days(kafka_timestamp)', 'bucket(4, id)', 'truncate(5, s.x)'],
      };
      const { rows, faults } = await run(rule);
      expect(rows).toEqual([{ id: 5, s: null, id_trunc: 1n }]);
      expect(faults).toEqual([0, 1, 2, 3].map((offset) => `${offset} UNKNOWN_FIELD value`));
    });

    it('follows the writer schema of Avro values that name none', async () => {
      const writerSchema = JSON.stringify({
        type: 'record',
        name: 'Point',
        fields: ['a', 'b', 'c'].map((name) => ({ name, type: 'long' })),
      });
      // 0, 60000000000, -1: the first byte is a zero, as that of a frame is.
      await world.send(Buffer.from([0, 0x80, 0xe0, 0xba, 0x84, 0xbf, 0x03, 1]), Buffer.from([2, 4, 6]));
      const value = { format: 'avro', framing: 'plain', writerSchema, schema: 'a INT, b INT' };
      const { rows } = await run({ value, evolve: 'widen' });
      expect(rows).toEqual([
        { a: 0n, b: 60000000000n, c: -1n },
        { a: 1n, b: 2n, c: 3n },
      ]);
    });
  });

  describe('by inference', () => {
    it('keeps only the rest in the column of the rest', async () => {
      await world.send('{"id":1}', '{"id":2,"y":5}');
      const { rows } = await run(json('infer', { unknownFields: 'rest' }));
      expect(rows).toEqual([
        { _rest: null, id: 1n, y: null },
        { _rest: null, id: 2n, y: 5n },
      ]);
      await world.send('{"id":3,"z":1}');
      await world.pipeline.run();
      expect(plainRows(await world.rows()).at(-1)).toEqual({ _rest: '{"z":1}', id: 3n, y: null });
    });

    it('finds the columns of sound documents beside those of broken ones', async () => {
      await world.send('{"id":1}', '{bad', '{"id":2}');
      const { rows } = await run(json('infer', { mode: 'permissive', corruptRecordColumn: '_corrupt' }));
      expect(rows).toEqual([
        { id: 1n, _corrupt: null },
        { id: null, _corrupt: '{bad' },
        { id: 2n, _corrupt: null },
      ]);
    });

    it('refuses unknown fields from the second batch on, where the rule says so', async () => {
      await world.send('{"id":1,"x":5}', '{"id":2}');
      const { rows } = await run(json('infer', { unknownFields: 'quarantine' }));
      expect(rows).toEqual([
        { id: 1n, x: 5n },
        { id: 2n, x: null },
      ]);
      await world.send('{"id":3,"z":1}');
      await world.pipeline.run();
      expect(await world.faults()).toEqual(['2 UNKNOWN_FIELD z']);
    });

    it('looks for the columns of the value though those of the key are there already', async () => {
      await world.send(['{"k":1}', null]);
      const key = { format: 'json', schema: 'infer' };
      expect((await run({ ...json('infer'), key })).rows).toEqual([{ key_k: 1n }]);
      await world.send(['{"k":2}', '{"v":5}']);
      await world.pipeline.run();
      expect(plainRows(await world.rows(), ['v'])).toEqual([
        { key_k: 1n, v: null },
        { key_k: 2n, v: 5n },
      ]);
    });

    it('makes no rows of nothing where no columns can be found', async () => {
      await world.send('{"topic":"mine"}', '{}', `{${Array.from({ length: 1500 }, (_, i) => `"w${i}":1`)}}`);
      const { rows, faults } = await run(json('infer'));
      expect(rows).toEqual([{}]);
      expect(faults).toEqual(['0 UNKNOWN_FIELD value', '2 UNKNOWN_FIELD value']);
    });

    it('says which fields become no columns', async () => {
      await world.send('{"id":1,"topic":"mine"}');
      const { rows, log } = await run(json('infer'));
      expect(rows).toEqual([{ id: 1n }]);
      expect(log.join('\n')).toContain('of the value, topic become no columns');
    });
  });

  describe('with defaults', () => {
    it('sets tombstones aside where a column is required, default or not', async () => {
      await world.send('{"id":1}', null, '{}');
      const { rows, faults } = await run(json('id INT NOT NULL DEFAULT 5'));
      expect(rows).toEqual([{ id: 1 }, { id: 5 }]);
      expect(faults).toEqual(['1 MISSING_REQUIRED id']);
    });

    it('keeps the digits of defaults of 64 bits, also over a restart', async () => {
      await world.send('{"id":1}', '{}');
      const rule = json('id BIGINT DEFAULT 9007199254740993');
      world.make(rule);
      await expect(world.pipeline.run({ failpoints: 'after-offsets=throw' })).rejects.toMatchObject({
        code: 'INTERNAL',
      });
      await world.pipeline.run();
      expect(plainRows(await world.rows())).toEqual([{ id: 1n }, { id: 9007199254740993n }]);
    });
  });
});
