/** A Schema Registry that is down, slow, closed to us or wrong while a batch is read: no record pays for it, and the next run goes on. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { avroRecord, avscType, hex } from '../../support/avro.ts';
import { FakeRegistry, type Fault, json } from '../../support/fake-registry.ts';
import { useKafka } from '../../support/kafka.ts';
import { framed } from '../../support/registry.ts';
import { plainRows, TypedWorld } from '../../support/typed-world.ts';

const FIRST = avroRecord('E', { id: 'long' });
const SECOND = avroRecord('E', { id: 'long', name: 'string' });
const TEXT = avroRecord('T', { t: 'string' });

describe('a pipeline whose Schema Registry is at fault', () => {
  const { bootstrap } = useKafka();
  let world: TypedWorld;
  let registry: FakeRegistry;

  beforeEach(async () => {
    world = await TypedWorld.create(bootstrap);
    const subject = `${world.topic}-value`;
    registry = await FakeRegistry.start([
      { id: 1, subject, version: 1, schema: FIRST },
      { id: 2, subject, version: 2, schema: SECOND },
      { id: 7, subject: 'texts', version: 1, schema: TEXT },
    ]);
  });
  afterEach(async () => {
    await registry.down();
    await world.close();
  });

  const first = (id: bigint) => framed(1, avscType(JSON.parse(FIRST)).toBuffer({ id }));
  const second = (id: bigint, name: string) => framed(2, avscType(JSON.parse(SECOND)).toBuffer({ id, name }));
  const make = (table: object = {}, deadlineMs = 400) =>
    world.make(
      { value: { format: 'avro', schema: 'id BIGINT, name STRING' }, ...table },
      {
        more: [
          `registry: { schema.registry.url: "${registry.url}", schema.registry.deadline.ms: ${deadlineMs},`,
          '  schema.registry.request.timeout.ms: 150 }',
        ].join('\n'),
      },
    );

  it('asks nothing for frames that are broken (case C09)', async () => {
    await world.send(
      hex('48 0A 4E 6F 72 74 68'),
      hex('00 00 01'),
      hex('00 00 00 00 07'),
      framed(7, avscType(JSON.parse(TEXT)).toBuffer({ t: 'good' })),
    );
    const pipeline = make({ value: { format: 'avro', schema: 't STRING' } });
    const { summary } = await pipeline.run();
    expect(summary).toMatchObject({ records: 4, quarantined: 3, batches: 1 });
    expect(registry.asked).toEqual(['GET /schemas/ids/7']);
    const quarantined = await world.rows('silver.events__quarantine');
    expect(quarantined.map((r) => [r.reason, Buffer.from(r.value as Uint8Array).toString('base64')])).toEqual(
      [
        ['BAD_MAGIC', 'SApOb3J0aA=='],
        ['SHORT_FRAME', 'AAAB'],
        ['EMPTY_BODY', 'AAAAAAc='],
      ],
    );
    expect(String(quarantined[0].message)).toMatch(/48/);
    expect(plainRows(await world.rows())).toEqual([{ t: 'good' }]);
    expect(await world.proof()).toMatchObject({ ok: true, rows: 1, quarantined: 3 });
    const offsets = await (await pipeline.openCheckpoint()).offsets(0);
    expect([...offsets.values()].flatMap((partitions) => [...partitions.values()])).toEqual([4n]);
  });

  it('asks for no schema of an empty body where every frame is broken', async () => {
    await world.send(hex('48 0A'), hex('00 00 01'));
    make();
    await world.pipeline.run();
    expect(registry.asked).toEqual([]);
  });

  const hang: Fault = () => undefined;
  it.each<[string, Fault | 'down', string]>([
    ['is down', 'down', 'REGISTRY_UNREACHABLE'],
    ['does not answer', hang, 'REGISTRY_UNREACHABLE'],
    ['answers 503', json(503, { error_code: 50301, message: 'leader unknown' }), 'REGISTRY_UNREACHABLE'],
    ['wants credentials', json(401, { error_code: 401, message: 'Unauthorized' }), 'REGISTRY_AUTH'],
    ['refuses these credentials', json(403, { error_code: 403, message: 'Forbidden' }), 'REGISTRY_AUTH'],
    ['answers what no registry says', json(200, { hello: 1 }), 'REGISTRY_CONFIG'],
  ])(
    'that %s in the middle of a run: the run stops, nothing is quarantined, the next goes on',
    async (_, fault, code) => {
      await world.send(first(1n), 'no frame');
      await make().run();
      await world.send(first(2n), second(3n, 'c'), first(4n));
      const asked = registry.asked.length;
      // The first record of the batch needs schema 1, asked for anew by each process.
      if (fault === 'down') await registry.down();
      else registry.always = fault;
      await expect(world.pipeline.run()).rejects.toMatchObject({ code });
      expect((await world.rows()).length).toBe(1);
      expect(await world.faults()).toEqual(['1 BAD_MAGIC value']);
      registry.always = null;
      if (fault === 'down') await registry.up();
      else expect(registry.asked.length).toBeGreaterThan(asked);
      expect((await world.pipeline.run()).summary).toMatchObject({ records: 3, quarantined: 0, batches: 1 });
      expect(plainRows(await world.rows())).toEqual([
        { id: 1n, name: null },
        { id: 2n, name: null },
        { id: 3n, name: 'c' },
        { id: 4n, name: null },
      ]);
      expect(await world.proof()).toMatchObject({ ok: true, rows: 4, quarantined: 1 });
    },
  );

  it('waits for a registry that comes back before the deadline, with one look-up for all of a schema', async () => {
    await world.send(first(1n), second(2n, 'b'), first(3n), second(4n, 'd'));
    make({}, 30_000);
    registry.faults.push(json(503, {}), json(503, {}), hang);
    expect((await world.pipeline.run()).summary).toMatchObject({ records: 4, quarantined: 0 });
    expect((await world.rows()).map((r) => r.id)).toEqual([1n, 2n, 3n, 4n]);
    expect(registry.count('/schemas/ids/1') + registry.count('/schemas/ids/2')).toBe(5);
  });

  it('sets records aside whose schema is none of Avro: it never changes under its id', async () => {
    await world.send(first(1n), second(2n, 'b'));
    registry.schemas[1].schema = '{"type":"nothing"}';
    make();
    expect((await world.pipeline.run()).summary).toMatchObject({ records: 2, quarantined: 1 });
    expect(await world.rows('silver.events__quarantine')).toMatchObject([
      { kafka_offset: 1n, reason: 'AVRO_RESOLUTION', schema_id: 2 },
    ]);
  });

  it('stops when it is asked to while the batch waits for the registry, and leaves nothing behind', async () => {
    await world.send(first(1n));
    const pipeline = make({}, 60_000);
    registry.always = hang;
    const stop = new AbortController();
    const run = pipeline.run({ stop: stop.signal }, (config) => {
      config.shutdownTimeoutMs = 1;
    });
    await registry.nextRequest('/schemas/ids/1');
    stop.abort();
    expect((await run).summary).toMatchObject({ records: 0, batches: 0, stopped: 'abandoned' });
    expect(pipeline.files(pipeline.warehouse).filter((f) => f.endsWith('.parquet'))).toEqual([]);
    registry.always = null;
    expect((await pipeline.run()).summary).toMatchObject({ records: 1, quarantined: 0 });
  });

  it('stops where the schema of a writer is needed for the columns and cannot be had', async () => {
    await world.send(first(1n));
    const pipeline = make({ value: { format: 'avro' }, evolve: 'add' });
    registry.schemas.pop();
    registry.schemas.pop();
    await pipeline.run();
    registry.schemas.push({ id: 2, subject: `${world.topic}-value`, version: 2, schema: SECOND });
    await world.send(second(2n, 'b'));
    await registry.down();
    await expect(pipeline.run()).rejects.toMatchObject({ code: 'REGISTRY_UNREACHABLE' });
    await registry.up();
    expect((await pipeline.run()).summary).toMatchObject({ records: 1, quarantined: 0 });
    expect(plainRows(await world.rows(), ['name'])).toEqual([
      { id: 1n, name: null },
      { id: 2n, name: 'b' },
    ]);
  });

  it('says what is missing where no registry is given', async () => {
    await world.send(first(1n));
    world.make({ value: { format: 'avro', schema: 'id BIGINT' } });
    await expect(world.pipeline.run()).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('schema.registry.url'),
    });
  });

  it('shares the answers between threads, and hands its errors over from them', async () => {
    await world.send(first(1n), second(2n, 'b'), framed(99, Buffer.from('x')));
    make();
    registry.always = json(401, { error_code: 401, message: 'Unauthorized' });
    const failed = await world.pipeline.cli();
    expect(failed.code, failed.stderr).not.toBe(0);
    expect(failed.stderr).toContain('REGISTRY_AUTH');
    registry.always = null;
    const done = await world.pipeline.cli();
    expect(done.code, done.stderr).toBe(0);
    expect((await world.rows()).map((r) => [r.id, r.name])).toEqual([
      [1n, null],
      [2n, 'b'],
    ]);
    expect(await world.faults()).toEqual(['2 UNKNOWN_SCHEMA_ID value']);
  });
});
