/** Values in the frame of a real Schema Registry, from the topic to the table. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { avroRecord, avscType, hex } from '../../support/avro.ts';
import { useKafka } from '../../support/kafka.ts';
import { framed, registryMissing, startRegistry, type TestRegistry } from '../../support/registry.ts';
import { plainRows, TypedWorld } from '../../support/typed-world.ts';

const missing = await registryMissing();
const title = `values in the frame of a Schema Registry${missing === undefined ? '' : ` (${missing})`}`;

describe.skipIf(missing !== undefined)(title, () => {
  const { bootstrap } = useKafka();
  let registry: TestRegistry;
  let world: TypedWorld;

  beforeAll(async () => {
    registry = await startRegistry(bootstrap);
  });
  afterAll(() => registry?.stop());
  beforeEach(async () => {
    world = await TypedWorld.create(bootstrap);
  });
  afterEach(() => world.close());

  const withRegistry = () => ({ more: `registry: { schema.registry.url: "${registry.url}" }` });
  const avro = (schema: string) => {
    const type = avscType(JSON.parse(schema));
    return (id: number, value: unknown) => framed(id, type.toBuffer(value));
  };
  const register = (schema: string, part = 'value') =>
    registry.register(`${world.topic}-${part}`, { schema });

  it('takes the columns from the registry, and values of several writers in one batch', async () => {
    const first = avroRecord('E', { id: 'int', name: 'string' });
    const id1 = await register(first);
    await world.send(avro(first)(id1, { id: 1, name: 'a' }));
    const pipeline = world.make({ value: { format: 'avro' }, evolve: 'widen' }, withRegistry());
    await pipeline.run();
    const second = record('E', [
      { name: 'id', type: 'long' },
      { name: 'extra', type: ['null', { type: 'array', items: 'double' }], default: null },
      { name: 'name', type: 'string' },
    ]);
    const third = record('E', [
      { name: 'id', type: 'long' },
      { name: 'name', type: ['null', 'string'], default: null },
      {
        name: 'more',
        type: { type: 'record', name: 'M', fields: [{ name: 'x', type: 'boolean' }] },
        default: { x: true },
      },
    ]);
    const [id2, id3] = [await register(second), await register(third)];
    expect(new Set([id1, id2, id3]).size).toBe(3);
    await world.send(
      avro(first)(id1, { id: -5, name: 'b' }),
      avro(second)(id2, { id: 9007199254740993n, extra: { array: [1.5] }, name: 'c' }),
      avro(third)(id3, { id: 4n, name: null, more: { x: false } }),
      framed(999_999, Buffer.from('x')),
      avro(first)(id1, { id: 6, name: 'd' }),
    );
    expect((await pipeline.run()).summary).toMatchObject({ records: 5, quarantined: 1, batches: 1 });
    expect(plainRows(await world.rows(), ['extra', 'more'])).toEqual([
      // The file of the first batch has its id as an int.
      { id: 1, name: 'a', extra: null, more: null },
      { id: -5n, name: 'b', extra: null, more: null },
      { id: 9007199254740993n, name: 'c', extra: [1.5], more: null },
      { id: 4n, name: null, extra: null, more: { x: false } },
      { id: 6n, name: 'd', extra: null, more: null },
    ]);
    expect(await world.rows('silver.events__quarantine')).toMatchObject([
      { kafka_offset: 4n, reason: 'UNKNOWN_SCHEMA_ID', schema_id: 999_999 },
    ]);
    expect(await world.proof()).toMatchObject({ ok: true, rows: 5, quarantined: 1 });
  });

  it('makes rows of tombstones, quarantines what only looks like one, and goes on (case C04)', async () => {
    const schema = avroRecord('E', { id: 'long' });
    const id = await register(schema);
    const good = avro(schema)(id, { id: 1n });
    await world.send(['k7', null], ['k7', ''], ['k8', 'null'], ['k9', good]);
    const pipeline = world.make({ value: { format: 'avro', schema: 'id BIGINT' } }, withRegistry());
    expect((await pipeline.run()).summary).toMatchObject({ records: 4, quarantined: 2, batches: 1 });
    expect(plainRows(await world.rows())).toEqual([{ id: null }, { id: 1n }]);
    expect(await world.faults()).toEqual(['1 SHORT_FRAME value', '2 BAD_MAGIC value']);
    expect((await pipeline.run()).summary).toMatchObject({ records: 0, batches: 0 });
    world.make(
      { value: { format: 'avro', schema: 'id BIGINT NOT NULL' }, tombstones: 'drop' },
      withRegistry(),
    );
    expect((await world.pipeline.run()).reports[0]).toMatchObject({ records: 4, quarantined: 2, dropped: 1 });
    expect(plainRows(await world.rows())).toEqual([{ id: 1n }]);
    expect(await world.proof()).toMatchObject({ ok: true });
  });

  it('keeps an explicit null where the schema has a default (case C05)', async () => {
    const writer = record('E', [
      { name: 'id', type: 'int' },
      { name: 'tier', type: ['null', 'string'], default: null },
    ]);
    const without = avroRecord('E', { id: 'int' });
    const reader = record('E', [
      { name: 'id', type: 'int' },
      { name: 'tier', type: ['string', 'null'], default: 'basic' },
    ]);
    const [id, idWithout] = [await register(writer), await register(without)];
    await world.send(avro(writer)(id, { id: 1, tier: null }), avro(without)(idWithout, { id: 2 }));
    world.make(
      { value: { format: 'avro', readerSchema: JSON.parse(reader), schema: 'id INT, tier STRING' } },
      withRegistry(),
    );
    await world.pipeline.run();
    expect(plainRows(await world.rows())).toEqual([
      { id: 1, tier: null },
      { id: 2, tier: 'basic' },
    ]);
  });

  it('reads decimals with their sign, in the fewest bytes (case C07)', async () => {
    const schema = record('Fee', [
      { name: 'id', type: 'int' },
      { name: 'amt', type: ['null', { type: 'bytes', logicalType: 'decimal', precision: 9, scale: 2 }] },
    ]);
    const id = await register(schema);
    await world.send(
      ...['0E 02 04 FF 38', '0E 02 02 80', '0E 02 04 00 80', '0E 02 08 00 00 00 80', '0E 00'].map((body) =>
        framed(id, hex(body)),
      ),
    );
    world.make({ value: { format: 'avro' } }, withRegistry());
    expect((await world.pipeline.run()).summary).toMatchObject({ records: 5, quarantined: 0 });
    expect((await world.rows()).map((r) => r.amt)).toEqual([-2, -1.28, 1.28, 1.28, null]);
    const catalog = await world.pipeline.openCatalog();
    const table = await catalog.loadTable({ namespace: ['silver'], name: 'events' });
    await catalog.close();
    expect(table!.metadata.schemas[0].fields[1].type).toBe('decimal(9, 2)');
  });

  it('matches symbols of enums by name, with the default of the reader (case C08)', async () => {
    const symbols = ['OPEN', 'HELD', 'VOID', 'OTHER'];
    const writer = record('E', [{ name: 's', type: { type: 'enum', name: 'S', symbols } }]);
    const reader = (more: object) =>
      JSON.parse(
        record('E', [{ name: 's', type: { type: 'enum', name: 'S', symbols: ['OTHER', 'OPEN'], ...more } }]),
      );
    const id = await register(writer);
    await world.send(framed(id, hex('04')), framed(id, hex('00')));
    world.make(
      { value: { format: 'avro', readerSchema: reader({ default: 'OTHER' }), schema: 's STRING' } },
      withRegistry(),
    );
    await world.pipeline.run();
    expect(plainRows(await world.rows())).toEqual([{ s: 'OTHER' }, { s: 'OPEN' }]);
    world.make({ value: { format: 'avro', readerSchema: reader({}), schema: 's STRING' } }, withRegistry());
    await world.pipeline.run();
    expect(plainRows(await world.rows())).toEqual([{ s: 'OPEN' }]);
    expect(await world.faults()).toEqual(['0 AVRO_RESOLUTION s']);
    world.make({ value: { format: 'avro' } }, withRegistry());
    await world.pipeline.run();
    expect(plainRows(await world.rows())).toEqual([{ s: 'VOID' }, { s: 'OPEN' }]);
  });

  it('takes a logical type for what it annotates only (case C10)', async () => {
    const schema = record('E', [
      { name: 'a', type: 'long', logicalType: 'timestamp-millis' },
      { name: 'b', type: { type: 'long', logicalType: 'timestamp-millis' } },
    ]);
    const id = await register(schema);
    await world.send(avro(schema)(id, { a: 1784000106123n, b: 1784000106123n }));
    world.make({ value: { format: 'avro' } }, withRegistry());
    await world.pipeline.run();
    expect(plainRows(await world.rows())).toEqual([{ a: 1784000106123n, b: 1784000106123000n }]);
    const catalog = await world.pipeline.openCatalog();
    const table = await catalog.loadTable({ namespace: ['silver'], name: 'events' });
    await catalog.close();
    expect(table!.metadata.schemas[0].fields.slice(0, 2).map((f) => f.type)).toEqual(['long', 'timestamptz']);
  });

  it('reads values whose schema refers to others', async () => {
    const tier = JSON.stringify({ type: 'enum', name: 'Tier', namespace: 'n', symbols: ['A', 'B'] });
    await registry.register(`${world.topic}-tier`, { schema: tier });
    const id = await registry.register(`${world.topic}-value`, {
      schema: record('E', [
        { name: 't', type: 'n.Tier' },
        { name: 'list', type: { type: 'array', items: 'n.Tier' } },
      ]),
      references: [{ name: 'n.Tier', subject: `${world.topic}-tier`, version: 1 }],
    });
    await world.send(framed(id, hex('02 04 00 02 00')));
    world.make({ value: { format: 'avro' } }, withRegistry());
    await world.pipeline.run();
    expect(plainRows(await world.rows())).toEqual([{ t: 'B', list: ['A', 'B'] }]);
  });

  it('decodes keys and values by schemas of their own, the columns of the key behind a prefix', async () => {
    const keySchema = avroRecord('K', { id: 'long', region: 'string' });
    const valueSchema = avroRecord('V', { id: 'string' });
    const keyId = await register(keySchema, 'key');
    const id = await register(valueSchema);
    const key = avro(keySchema)(keyId, { id: 7n, region: 'eu' });
    const value = avro(valueSchema)(id, { id: 'v' });
    await world.send([key, value], [null, value], [key, null], [Buffer.from('plain'), value], [key, key]);
    world.make({ value: { format: 'avro' }, key: { format: 'avro' } }, withRegistry());
    expect((await world.pipeline.run()).summary).toMatchObject({ records: 5 });
    expect(plainRows(await world.rows())).toEqual([{ id: 'v', key_id: 7n, key_region: 'eu' }]);
    expect(await world.faults()).toEqual([
      '1 MISSING_REQUIRED key_id',
      '2 MISSING_REQUIRED id',
      '3 BAD_MAGIC key',
      '4 AVRO_RESOLUTION id',
    ]);
    expect(await world.proof()).toMatchObject({ ok: true, rows: 1, quarantined: 4 });
  });

  it('sends each record of a topic of several kinds to the table of its name', async () => {
    const order = named('shop.Order', [{ name: 'id', type: 'long' }]);
    const refund = named('shop.Refund', [
      { name: 'order', type: 'long' },
      { name: 'why', type: 'string' },
    ]);
    const ids = {
      order: await registry.register(`${world.topic}-shop.Order`, { schema: order }),
      refund: await registry.register(`${world.topic}-shop.Refund`, { schema: refund }),
    };
    await world.send(
      avro(order)(ids.order, { id: 1n }),
      avro(refund)(ids.refund, { order: 1n, why: 'broken' }),
      'nothing of it',
      avro(order)(ids.order, { id: 2n }),
      framed(999_998, Buffer.from('x')),
      null,
    );
    world.make(
      {
        value: { format: 'avro', subject: '${topic}-${route}' },
        route: { by: '$recordName', unknown: 'create' },
      },
      { ...withRegistry(), intoTable: 'silver.${route}' },
    );
    expect((await world.pipeline.run()).summary).toMatchObject({ records: 6, quarantined: 3 });
    expect(plainRows(await world.rows('silver.shop_order'))).toEqual([{ id: 1n }, { id: 2n }]);
    expect(plainRows(await world.rows('silver.shop_refund'))).toEqual([{ order: 1n, why: 'broken' }]);
    expect(await world.faults('silver.faults__quarantine')).toEqual([
      '2 BAD_MAGIC value',
      '4 UNKNOWN_SCHEMA_ID value',
      '5 ROUTE_UNKNOWN $recordName',
    ]);
    expect(await world.proof('silver.${route}')).toMatchObject({ ok: true, rows: 3, quarantined: 3 });
  });

  it('decodes Protobuf messages, one of several in a file, and takes fields that come later', async () => {
    const proto = (more: string) =>
      `syntax = "proto3"; package shop; message Line { string sku = 1; int32 qty = 2; }
       message Order { int64 id = 1; repeated Line lines = 2; optional string note = 3; ${more} }`;
    const id1 = await registry.register(`${world.topic}-value`, {
      schema: proto(''),
      schemaType: 'PROTOBUF',
    });
    const order = hex('08 81 80 80 80 80 80 80 10 12 05 0A 01 61 10 03');
    // Message indexes: one, the second message of the file.
    const message = (id: number, body: Buffer) => framed(id, Buffer.concat([hex('02 02'), body]));
    await world.send(message(id1, order));
    const pipeline = world.make(
      { value: { format: 'protobuf', message: 'shop.Order' }, evolve: 'add' },
      withRegistry(),
    );
    await pipeline.run();
    const id2 = await registry.register(`${world.topic}-value`, {
      schema: proto('bool paid = 4;'),
      schemaType: 'PROTOBUF',
    });
    await world.send(message(id2, Buffer.concat([order, hex('1A 01 78 20 01')])), framed(id2, hex('00 FF')));
    expect((await pipeline.run()).summary).toMatchObject({ records: 2, quarantined: 1 });
    expect(plainRows(await world.rows(), ['paid'])).toEqual([
      { id: 9007199254740993n, lines: [{ sku: 'a', qty: 3 }], note: null, paid: null },
      { id: 9007199254740993n, lines: [{ sku: 'a', qty: 3 }], note: 'x', paid: true },
    ]);
    expect(await world.faults()).toEqual(['2 PROTOBUF_DECODE value']);
    expect(await world.proof()).toMatchObject({ ok: true, rows: 2, quarantined: 1 });
  });

  it('decodes documents of a JSON Schema, and takes fields that come later', async () => {
    const schema = (more: object) =>
      JSON.stringify({
        $schema: 'http://json-schema.org/draft-07/schema#',
        type: 'object',
        properties: { id: { type: 'integer' }, at: { type: 'string', format: 'date-time' }, ...more },
        required: ['id'],
      });
    const registerJson = (text: string) =>
      registry.register(`${world.topic}-value`, { schema: text, schemaType: 'JSON' });
    const id1 = await registerJson(schema({}));
    await world.send(framed(id1, '{"id":9007199254740993,"at":"2026-07-14T09:05:06.123456+05:30"}'));
    const pipeline = world.make({ value: { format: 'json-schema' }, evolve: 'add' }, withRegistry());
    await pipeline.run();
    const id2 = await registerJson(schema({ paid: { type: 'boolean' } }));
    await world.send(
      framed(id2, '{"id":2,"paid":true}'),
      framed(id2, '{"paid":true}'),
      framed(id1, '{"id":'),
    );
    expect((await pipeline.run()).summary).toMatchObject({ records: 3, quarantined: 2 });
    expect(plainRows(await world.rows(), ['paid'])).toEqual([
      { id: 9007199254740993n, at: 1784000106123456n, paid: null },
      { id: 2n, at: null, paid: true },
    ]);
    expect(await world.faults()).toEqual(['2 MISSING_REQUIRED id', '3 INVALID_JSON value']);
  });
});

function record(name: string, fields: object[]): string {
  return JSON.stringify({ type: 'record', name, fields });
}

function named(full: string, fields: object[]): string {
  const dot = full.lastIndexOf('.');
  return JSON.stringify({ type: 'record', name: full.slice(dot + 1), namespace: full.slice(0, dot), fields });
}
