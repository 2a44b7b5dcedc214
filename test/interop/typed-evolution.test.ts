/** PyIceberg and a pipeline change the columns of one table by turns: each reads what the other wrote, by field id. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { useKafka } from '../support/kafka.ts';
import { type ForeignValue, readForeign, runPython } from '../support/python.ts';
import { plainRows, TYPED_TABLE, TypedWorld } from '../support/typed-world.ts';

const { bootstrap } = useKafka();

describe('a typed table that PyIceberg changes between batches', () => {
  let world: TypedWorld;

  beforeEach(async () => {
    world = await TypedWorld.create(bootstrap);
  });
  afterEach(() => world.close());

  const place = () => ({
    catalog: world.pipeline.catalogFile,
    warehouse: world.pipeline.warehouse,
    table: TYPED_TABLE,
  });
  const alter = (...changes: string[][]) =>
    runPython('alter_table.py', [place().catalog, place().warehouse, TYPED_TABLE, JSON.stringify(changes)]);
  const rows = async (): Promise<Record<string, ForeignValue>[]> =>
    plainRows((await readForeign(place())).rows) as Record<string, ForeignValue>[];

  it('keeps every value under its field, whatever the columns are called by then', async () => {
    await world.send('{"id":1,"name":"a","at":{"n":1},"gone":"x"}', '{"id":2,"name":"b"}');
    const schema = 'id INT, name STRING, at STRUCT<n: INT>, gone STRING';
    world.make({ value: { format: 'json', schema: schema.replace(', gone STRING', '') }, evolve: 'widen' });
    await world.pipeline.run();
    await alter(
      ['rename', 'name', 'title'],
      ['drop', 'gone'],
      ['add', 'note', 'string'],
      ['add', 'at.m', 'long'],
      ['widen', 'id', 'long'],
      ['first', 'note'],
    );
    await world.send(
      '{"id":3000000000,"title":"c","note":"n","at":{"n":3000000000,"m":5}}',
      '{"id":4,"name":"d","gone":7}',
    );
    await world.pipeline.run();
    expect(await rows()).toEqual([
      { note: null, id: 1, title: 'a', at: { n: 1, m: null }, name: null, gone: null },
      { note: null, id: 2, title: 'b', at: null, name: null, gone: null },
      { note: 'n', id: 3000000000, title: 'c', at: { n: 3000000000, m: 5 }, name: null, gone: null },
      { note: null, id: 4, title: null, at: null, name: 'd', gone: 7 },
    ]);
    // And once more, after a change that only renames.
    await alter(['rename', 'at', 'place'], ['rename', 'title', 'heading']);
    await world.send('{"id":5,"heading":"e","place":{"n":9}}');
    await world.pipeline.run();
    expect((await rows()).at(-1)).toEqual({
      note: null,
      id: 5,
      heading: 'e',
      place: { n: 9, m: null },
      name: null,
      gone: null,
      // The rule gives it, so that the table has it again.
      at: null,
    });
    expect(await world.faults()).toEqual([]);
    expect(await world.proof()).toMatchObject({ ok: true, rows: 5 });
  });

  it('stops where a column that the rule gives is gone, and goes on when it is back', async () => {
    await world.send('{"id":1,"name":"a"}');
    world.make({ value: { format: 'json', schema: 'id INT, name STRING' } });
    await world.pipeline.run();
    await alter(['rename', 'name', 'title']);
    await world.send('{"id":2,"name":"b"}');
    await expect(world.pipeline.run()).rejects.toMatchObject({ code: 'TABLE_INCOMPATIBLE' });
    await alter(['rename', 'title', 'name']);
    await world.pipeline.run();
    expect(await rows()).toEqual([
      { id: 1, name: 'a' },
      { id: 2, name: 'b' },
    ]);
  });

  it('takes an optional column for a required one, and fills it with what records have', async () => {
    await world.send('{"id":1}');
    world.make({ value: { format: 'json', schema: 'id INT NOT NULL' } });
    await world.pipeline.run();
    await alter(['optional', 'id'], ['widen', 'id', 'long']);
    await world.send('{"id":3000000000}', '{}');
    await world.pipeline.run();
    const found = await rows();
    // The rule still asks for a value in each record.
    expect(found).toEqual([{ id: 1 }, { id: 3000000000 }]);
    expect(await world.faults()).toEqual(['2 MISSING_REQUIRED id']);
  });
});
