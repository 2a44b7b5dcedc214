/** Too many records that cannot be decoded stop the run, which says why; what an earlier run set aside counts too. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { PipelineConfig } from '../../../src/config/pipeline-config.ts';
import { useKafka } from '../../support/kafka.ts';
import { TypedWorld } from '../../support/typed-world.ts';

describe('quarantine.maxRatio', () => {
  const { bootstrap } = useKafka();
  let world: TypedWorld;

  beforeEach(async () => {
    world = await TypedWorld.create(bootstrap);
    world.make({ value: { format: 'json', schema: 'id INT, at TIMESTAMP' } });
  });
  afterEach(() => world.close());

  const of = (window: number) => (config: PipelineConfig) => {
    Object.assign(config.quarantine, { maxRatio: 0.25, window });
  };
  const run = (window: number, acceptQuarantine = false) =>
    world.pipeline.run({ acceptQuarantine }, of(window));

  it('names the commonest reasons with an example of each, and commits nothing', async () => {
    const bad = ['x', '{"id":"1"}', '{"id":"2"}', '{"id":1.5}', '{"at":"14.07.2026"}'];
    await world.send('{"id":1}', ...bad, '{"id":2}');
    await expect(run(5)).rejects.toMatchObject({
      code: 'QUARANTINE_RATIO',
      message: expect.stringContaining('5 of the last 7 records could not be decoded'),
      context: {
        batchId: 0,
        records: 7,
        quarantined: 5,
        reasons: [
          `2 TYPE_MISMATCH in id (for example ${world.topic}/0/2: expected int, found a string at byte 6)`,
          `1 INVALID_JSON in value (for example ${world.topic}/0/1: expected a value, found 'x' at byte 0)`,
          `1 OUT_OF_RANGE in id (for example ${world.topic}/0/4: 1.5 does not fit int, as it is not whole, at byte 6)`,
          '1 for other reasons',
        ],
      },
    });
    expect(await world.rows()).toEqual([]);
    expect(await world.faults()).toEqual([]);
    expect(world.pipeline.files(world.pipeline.warehouse).filter((f) => f.endsWith('.parquet'))).toEqual([]);
    expect((await run(5, true)).summary).toMatchObject({ records: 7, quarantined: 5 });
    expect(await world.faults()).toHaveLength(5);
  });

  it('counts over the window, over runs, and a window that is not full as full', async () => {
    await world.send('x', 'x', '{"id":1}');
    expect((await run(8)).summary).toMatchObject({ records: 3, quarantined: 2 });
    await world.send('x', '{"id":2}', '{"id":3}', '{"id":4}');
    await expect(run(8)).rejects.toMatchObject({ code: 'QUARANTINE_RATIO', context: { quarantined: 3 } });
    expect((await run(100)).summary).toMatchObject({ records: 4, quarantined: 1 });
  });
});
