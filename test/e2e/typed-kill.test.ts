/** SIGKILL in the middle of batches that route, make tables, give them columns and set records aside. */
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FAILPOINTS, type FailpointName } from '../../src/engine/failpoint.ts';
import { avroRecord, avscType } from '../support/avro.ts';
import { FakeRegistry } from '../support/fake-registry.ts';
import { useKafka } from '../support/kafka.ts';
import { framed } from '../support/registry.ts';
import { THOROUGH } from '../support/thorough.ts';
import { checkTypedRecords, sendTypedRecords, TYPED_GROUP, TYPED_RULE } from '../support/typed-records.ts';
import { TypedWorld } from '../support/typed-world.ts';

const RECORDS_PER_PARTITION = 32;
/** Four batches of 16 offsets; each brings kinds, columns, or both. A batch is read up to three times. */
const BATCH = 16;

type Kill = readonly [FailpointName, number];

/** One after another on one pipeline: what a kill leaves is what the next run begins with. */
const QUICK: Kill[][] = [
  [
    ['before-evolve', 1],
    ['after-evolve', 1],
    ['read', 5],
    ['write', 3],
    ['after-evolve', 2],
    ['before-prepared', 1],
  ],
  [
    ['after-offsets', 1],
    ['before-evolve', 3],
    ['after-prepared', 1],
    ['between-tables', 1],
    ['between-tables', 3],
  ],
  [
    ['after-write', 2],
    ['before-catalog-commit', 2],
    ['after-catalog-commit', 1],
    ['after-catalog-commit', 4],
    ['after-done', 1],
    ['after-evolve', 3],
  ],
];

/** In the long form each point of a batch by itself, twice. */
const ALL: Kill[][] = FAILPOINTS.filter((point) => !/purge|initial/.test(point)).map((point) => [
  [point, 1],
  [point, 2],
]);

describe('a run into routed tables that is killed', () => {
  const { bootstrap } = useKafka();
  let world: TypedWorld;

  beforeEach(async () => {
    world = await TypedWorld.create(bootstrap, 2);
    await sendTypedRecords(world, RECORDS_PER_PARTITION);
  });
  afterEach(() => world.close());

  it.each((THOROUGH ? [...QUICK, ...ALL] : QUICK).map((kills) => [kills.map((k) => k.join('@')).join(', ')]))(
    'at %s ends with each record in its place once, with its values',
    async (kills) => {
      world.make(TYPED_RULE, { intoTable: TYPED_GROUP, maxOffsetsPerTrigger: BATCH });
      for (const kill of kills.split(', ')) {
        const killed = await world.pipeline.cli({ failpoints: `${kill}=kill` });
        expect(killed.signal, `${kill}: ${killed.stderr}`).toBe('SIGKILL');
      }
      const last = await world.pipeline.cli();
      expect(last.code, last.stderr).toBe(0);
      const proof = await checkTypedRecords(world);
      const file = join(world.pipeline.directory, 'sluice.yaml');
      const verified = await world.pipeline.cli({ args: ['verify', '-c', file] });
      expect(verified.code, verified.stdout + verified.stderr).toBe(0);
      expect(proof.rows).toBeGreaterThan(30);
      expect(proof.quarantined).toBeGreaterThan(10);
    },
  );
});

describe('a run of Avro values that is killed', () => {
  const { bootstrap } = useKafka();
  let world: TypedWorld;
  let registry: FakeRegistry;

  /** Each writer knows a field more than the one before; ids outgrow 32 bits with the second. */
  const writer = (n: number): string =>
    avroRecord('E', {
      id: n === 0 ? 'int' : 'long',
      ...Object.fromEntries(Array.from({ length: n }, (_, i) => [`c${i}`, ['null', 'string']])),
    });

  beforeEach(async () => {
    world = await TypedWorld.create(bootstrap, 2);
    const subject = `${world.topic}-value`;
    registry = await FakeRegistry.start(
      [0, 1, 2, 3].map((n) => ({ id: 10 + n, subject, version: n + 1, schema: writer(n) })),
    );
    for (const partition of [0, 1])
      await world.sendTo(
        partition,
        Array.from({ length: 24 }, (_, i) => {
          const n = i >> 3;
          if (i % 8 === 5) return framed(999, Buffer.from('x'));
          const id = n === 0 ? i : BigInt(3_000_000_000 + i);
          const row = {
            id,
            ...Object.fromEntries(Array.from({ length: n }, (_, c) => [`c${c}`, { string: `v${i}` }])),
          };
          return framed(10 + n, avscType(JSON.parse(writer(n))).toBuffer(row));
        }),
      );
  });
  afterEach(async () => {
    await registry.down();
    await world.close();
  });

  it('at the change of the columns and after it, has every value in its column once', async () => {
    const more = `registry: { schema.registry.url: "${registry.url}" }`;
    world.make(
      { value: { format: 'avro', schema: 'id INT' }, evolve: 'widen' },
      { more, maxOffsetsPerTrigger: 16 },
    );
    for (const kill of [
      'before-evolve@1',
      'after-evolve@1',
      'before-evolve@1',
      'after-evolve@1',
      'after-catalog-commit@1',
    ]) {
      const killed = await world.pipeline.cli({ failpoints: `${kill}=kill` });
      expect(killed.signal, `${kill}: ${killed.stderr}`).toBe('SIGKILL');
    }
    const last = await world.pipeline.cli();
    expect(last.code, last.stderr).toBe(0);
    const rows = await world.rows();
    expect(rows.length).toBe(42);
    for (const row of rows) {
      const i = Number(row.kafka_offset);
      const n = i >> 3;
      expect(Number(row.id)).toBe(n === 0 ? i : 3_000_000_000 + i);
      for (let c = 0; c < n; c++) expect(row[`c${c}`]).toBe(`v${i}`);
    }
    expect(await world.proof()).toMatchObject({ ok: true, rows: 42, quarantined: 6 });
  });
});
