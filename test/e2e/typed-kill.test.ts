/** SIGKILL in the middle of batches that route, make tables, give them columns and set records aside. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FAILPOINTS, type FailpointName } from '../../src/engine/failpoint.ts';
import { useKafka } from '../support/kafka.ts';
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
      expect(proof.rows).toBeGreaterThan(30);
      expect(proof.quarantined).toBeGreaterThan(10);
    },
  );
});
