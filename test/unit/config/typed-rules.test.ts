/** What a typed rule says of its own columns, its files and its registry is checked without asking anybody. */
import { expect, it } from 'vitest';
import type { Fault } from '../../../src/config/fault.ts';
import { loadPipeline } from '../../../src/config/load-pipeline.ts';

async function faultsOf(rule: object, more: object = {}): Promise<string[]> {
  const file = {
    name: 'p',
    checkpointLocation: './c',
    catalog: { type: 'sqlite', uri: './c.db', warehouse: './w' },
    source: { 'kafka.bootstrap.servers': 'b:1', subscribe: 'a' },
    tables: [{ match: '*', layout: 'typed', table: 'silver.a', ...rule }],
    ...more,
  };
  try {
    await loadPipeline({ file: 'a.yaml', text: JSON.stringify(file), env: {}, overrides: [], cwd: '/none' });
    return [];
  } catch (error) {
    const { faults } = (error as { context: { faults: Fault[] } }).context;
    return faults.map((f) => `${f.path}: ${f.message}`);
  }
}

const json = (schema: string, more: object = {}): object => ({ format: 'json', schema, ...more });

it.each([
  [
    'a column of the name of one of provenance',
    { value: json('topic STRING, a INT') },
    'column topic has the name of a column of provenance',
  ],
  [
    'one of the key, behind its prefix',
    { value: json('key_id INT'), key: json('id INT') },
    'the value has a column key_id too',
  ],
  [
    'keys of maps that no key of an object can be',
    { value: json('s STRUCT<m: ARRAY<MAP<DOUBLE, INT>>>') },
    'column s: keys of a JSON object can be string, int, long, date, found double',
  ],
  [
    'a struct in a field of CSV',
    { value: { format: 'csv', schema: 'a STRUCT<b: INT>' } },
    'column a: a field of CSV holds no struct',
  ],
])('finds %s', async (_, rule, message) => {
  const found = await faultsOf(rule);
  expect(found).toHaveLength(1);
  expect(found[0]).toMatch(/^tables\[0\]\.(value|key)\.schema: /);
  expect(found[0]).toContain(message);
});

it.each([
  ['a name that provenance does not have', { value: json('topic STRING'), provenance: ['kafka_offset'] }],
  [
    'keys of texts, numbers and days',
    { value: json('a MAP<STRING, MAP<BIGINT, INT>>, b MAP<DATE, INT>, c MAP<INT, INT>') },
  ],
  ['equal names of key and value apart by the prefix', { value: json('id INT'), key: json('id INT') }],
])('lets pass %s', async (_, rule) => {
  expect(await faultsOf(rule)).toEqual([]);
});

it('tells once of a schema file that is not there', async () => {
  expect(await faultsOf({ value: json('file:none.ddl') })).toEqual([
    'tables[0].value.schema: the schema file none.ddl cannot be read: there is no such file',
  ]);
  expect(
    await faultsOf({
      value: { format: 'avro', framing: 'plain', writerSchema: 'file:none.avsc', schema: 'a INT' },
    }),
  ).toEqual([
    'tables[0].value.writerSchema: the schema file none.avsc cannot be read: there is no such file',
  ]);
});

it('tells of columns that are written as a map how they are written', async () => {
  const [found, ...others] = await faultsOf({
    value: { format: 'json', schema: { id: 'BIGINT', name: 'STRING' } },
  });
  expect(others).toEqual([]);
  expect(found).toContain('columns by their names are written as text: "id BIGINT, name STRING"');
});

it('keeps names of what is set aside from the tables of rules', async () => {
  for (const table of ['silver.a__quarantine', 'silver.a__requeued'])
    expect(await faultsOf({ table, value: json('a INT') })).toEqual([
      `tables[0].table: "${table}" is a name for what is set aside; give another one`,
    ]);
});

it('finds the address of a registry that is none, and does not show it', async () => {
  const at = (url: string): Promise<string[]> =>
    faultsOf({ value: 'avro' }, { registry: { 'schema.registry.url': url } });
  const expected =
    'expected http://host:port or https://host:port, with the base path where the registry has one';
  expect(await at('u:secret@host:8081')).toEqual([`registry.schema.registry.url: ${expected}`]);
  expect(await at('http://a:8081,b:8081')).toEqual([`registry.schema.registry.url: address 2: ${expected}`]);
  expect(await at('http://a:8081, https://u:p@b/apis/ccompat/v7')).toEqual([]);
});

it('takes what leads to a table into the subject of the registry only where there is a route', async () => {
  const registry = { 'schema.registry.url': 'http://a:8081' };
  const value = { format: 'avro', subject: '${topic}-${route}' };
  expect(await faultsOf({ value }, { registry })).toEqual([
    'tables[0].value.subject: ${route} needs `route`',
  ]);
  const route = { by: '$recordName', unknown: 'create' };
  expect(await faultsOf({ value, route, table: 'silver.${route}' }, { registry })).toEqual([]);
});

it('keeps names of what is set aside from the tables of a route', async () => {
  const route = { by: 'a', tables: { x: 'silver.x__quarantine', y: 'silver.y' } };
  expect(await faultsOf({ value: json('a STRING'), route })).toEqual([
    'tables[0].route.tables: "silver.x__quarantine" is a name for what is set aside; give another one',
  ]);
});
