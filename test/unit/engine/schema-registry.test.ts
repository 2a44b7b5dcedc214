import { afterEach, expect, it } from 'vitest';
import { SchemaRegistry } from '../../../src/engine/schema-registry.ts';
import { FakeRegistry } from '../../support/fake-registry.ts';

const AVRO = { id: 7, subject: 'a-value', version: 1, schema: '{"type":"string"}' };

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

it('tells of a registry that stays away, with its fault, and not of a blip', async () => {
  const fake = await FakeRegistry.start([AVRO]);
  const told: { level: string; message: string; context?: object }[] = [];
  const at = (level: string) => (message: string, context?: object) =>
    void told.push({ level, message, context });
  const registry = new SchemaRegistry(
    { options: { 'schema.registry.url': fake.url }, secrets: {} },
    new AbortController().signal,
    { debug: at('debug'), warn: at('warn') },
  );
  closers.push(
    () => registry.close(),
    () => fake.down(),
  );
  const busy = (response: import('node:http').ServerResponse) => void response.writeHead(503).end();

  fake.faults.push(busy);
  expect(await registry.schema(7)).toMatchObject({ type: 'AVRO' });
  expect(told.map(({ level }) => level)).toEqual(['debug']);

  fake.faults.push(busy, busy, busy, busy);
  expect(await registry.latest('a-value')).toMatchObject({ id: 7 });
  expect(told.map(({ level }) => level)).toEqual(['debug', 'debug', 'debug', 'warn', 'debug']);
  expect(told[3]).toMatchObject({
    message: expect.stringContaining('the Schema Registry gives no answer'),
    context: { doing: 'GET /subjects/a-value/versions/latest', error: `${fake.url}: status 503`, tries: 3 },
  });
});
