import { beforeEach, describe, expect, it } from 'vitest';
import type { Checkpoint } from '../../../src/checkpoint/checkpoint.ts';
import { checkNextLog } from '../../../src/cli/explain-log.ts';
import type { OffsetMap } from '../../../src/core/offset-range.ts';
import type { SourceState } from '../../../src/engine/source-state.ts';
import { MemoryFileIO } from '../../../src/storage/memory-file-io.ts';
import { openCheckpoint } from '../../support/checkpoint.ts';
import { offsets, stateOf } from '../../support/source-state.ts';
import {
  commitWorldBatch,
  funnelOfKinds,
  planWorldBatch,
  preparedOfWorld,
  type WorldBatch,
} from '../../support/verify-world.ts';

const reads = (batchId: number, from: number, until: number): WorldBatch => ({
  batchId,
  topicIds: { t: 'id-t' },
  routes: { t: 'b.t' },
  funnel: [funnelOfKinds({ topic: 't', partition: 0, table: 'b.t' }, from, Array(until - from).fill('row'))],
  lost: [],
  positions: { 't/0': until },
});

const state = (logStart: number, end: number, more: Partial<SourceState> = {}): SourceState => ({
  ...stateOf({ t: [logStart] }, { t: [end] }),
  clusterId: 'cluster',
  ...more,
});

describe('the log that the next run finds', () => {
  let checkpoint: Checkpoint;
  beforeEach(async () => {
    checkpoint = await openCheckpoint(new MemoryFileIO());
  });

  const look = (found: SourceState, positions: OffsetMap, failOnDataLoss = true) =>
    checkNextLog(checkpoint, checkpoint.restart(), found, positions, failOnDataLoss);

  it('is any, where nothing was ever begun', async () => {
    const positions = offsets({ t: [0] });
    expect(await look(state(400, 600), positions)).toEqual({ positions, lost: [] });
  });

  it('has lost what retention took since: DATA_LOSS, or given up from the start of the log', async () => {
    await commitWorldBatch(checkpoint, reads(0, 0, 100));
    const positions = offsets({ t: [100] });
    expect(await look(state(100, 600), positions)).toEqual({ positions, lost: [] });
    await expect(look(state(500, 600), positions)).rejects.toMatchObject({
      code: 'DATA_LOSS',
      exitCode: 3,
      context: { lost: [{ from: '100', until: '500', count: '400' }] },
    });
    expect(await look(state(500, 600), positions, false)).toMatchObject({
      positions: offsets({ t: [500] }),
      lost: [{ topic: 't', partition: 0, from: 100n, until: 500n }],
    });
    // What was asked about stays as it was.
    expect(positions).toEqual(offsets({ t: [100] }));
    await expect(look(state(0, 99), positions, false)).rejects.toMatchObject({ code: 'DATA_LOSS' });
  });

  it('has lost what it began with, before the first batch', async () => {
    const positions = offsets({ t: [7] });
    await checkpoint.writeInitialOffsets(positions);
    await expect(look(state(9, 20), positions)).rejects.toMatchObject({ code: 'DATA_LOSS' });
  });

  it('may be another one', async () => {
    await commitWorldBatch(checkpoint, reads(0, 0, 100));
    const positions = offsets({ t: [100] });
    await expect(
      look(state(0, 600, { topicIds: new Map([['t', 'another']]) }), positions),
    ).rejects.toMatchObject({ code: 'TOPIC_REPLACED', exitCode: 3 });
    await expect(look(state(0, 600, { clusterId: 'another' }), positions)).rejects.toMatchObject({
      code: 'CLUSTER_REPLACED',
    });
    await expect(
      look(state(0, 600, { partitionCounts: new Map([['t', 0]]) }), positions),
    ).rejects.toMatchObject({ code: 'PARTITIONS_DELETED' });
  });

  it('is compared with the ranges of a batch that is planned and not read', async () => {
    await planWorldBatch(checkpoint, reads(0, 0, 100));
    const positions = offsets({ t: [100] });
    await expect(look(state(50, 600), positions)).rejects.toMatchObject({
      context: { lost: [{ from: '0', until: '50', count: '50' }] },
    });
    await checkpoint.writePrepared(preparedOfWorld(reads(0, 0, 100), {}));
    // It is finished from its list.
    expect(await look(state(50, 600), positions)).toEqual({ positions, lost: [] });
  });
});
