import { describe, expect, it } from 'vitest';
import { checkCheckpoint } from '../../../src/checkpoint/checkpoint-check.ts';
import { appendReset } from '../../../src/checkpoint/reset-batch.ts';
import { offsetEntries } from '../../../src/core/offset-range.ts';
import { MemoryFileIO } from '../../../src/storage/memory-file-io.ts';
import {
  endsOf,
  LOCATION,
  openCheckpoint,
  planOf,
  preparedOf,
  runBatches,
} from '../../support/checkpoint.ts';

async function checkpointOf(batches: number, retain?: number): Promise<MemoryFileIO> {
  const io = new MemoryFileIO();
  const checkpoint = await openCheckpoint(io);
  await checkpoint.writeInitialOffsets(
    new Map(
      [...endsOf(0)].map(([topic, partitions]) => [topic, new Map([...partitions].map(([p]) => [p, 0n]))]),
    ),
  );
  await runBatches(checkpoint, 0, batches);
  if (retain !== undefined) await checkpoint.purge(retain);
  return io;
}

const file = (name: string) => `${LOCATION}/${name}`;

async function edit(io: MemoryFileIO, name: string, change: (text: string) => string): Promise<void> {
  const text = Buffer.from(await io.read(file(name))).toString();
  const changed = change(text);
  expect(changed).not.toBe(text);
  await io.replace(file(name), Buffer.from(changed));
}

describe('checkCheckpoint', () => {
  it('finds nothing in whole ones: empty, running, purged, planned and not read', async () => {
    expect(await checkCheckpoint(new MemoryFileIO(), LOCATION)).toMatchObject({
      id: null,
      batches: null,
      faults: [],
    });
    expect(await checkCheckpoint(await checkpointOf(4), LOCATION)).toMatchObject({
      batches: { first: 0, last: 3 },
      filesRead: 22,
      faults: [],
      notes: [],
    });
    const purged = await checkpointOf(8, 3);
    expect(await checkCheckpoint(purged, LOCATION)).toMatchObject({
      batches: { first: 5, last: 7 },
      faults: [],
    });
    const checkpoint = await openCheckpoint(purged);
    await checkpoint.writePlan(planOf(8));
    await checkpoint.writeOffsets(8, endsOf(8), planOf(8).batchTimestampMs);
    await checkpoint.writePrepared(preparedOf(8, 'w'));
    expect((await checkCheckpoint(purged, LOCATION)).faults).toEqual([]);
  });

  it('takes a reset for what it is, and the batch that it took back', async () => {
    const io = await checkpointOf(2);
    const checkpoint = await openCheckpoint(io);
    await checkpoint.writePlan(planOf(2));
    await checkpoint.writeOffsets(2, endsOf(2), planOf(2).batchTimestampMs);
    const ranges = [...offsetEntries(endsOf(0))].map(({ topic, partition, offset }) => ({
      topic,
      partition,
      from: offset,
      until: offset,
    }));
    const note = { reason: 'lost', by: 'me', at: '2026-01-01T00:00:00.000Z' };
    const reset = { ...note, command: 'sluice checkpoint reset', previous: { clusterId: null, topics: [] } };
    const plan = { ...planOf(3), ranges, lost: [], reset };
    await appendReset(checkpoint, { plan, offsets: endsOf(0), givesUp: 2, writerId: 'w' });
    const { faults, notes } = await checkCheckpoint(io, LOCATION);
    expect(faults).toEqual([]);
    expect(notes).toEqual([
      'batch 2 was taken back by a reset: lost',
      'batch 3 is a reset, by me at 2026-01-01T00:00:00.000Z: lost',
    ]);
  });

  it.each<[string, (io: MemoryFileIO) => Promise<void>, string]>([
    ['a torn offset file', (io) => edit(io, 'offsets/2', (t) => t.slice(0, -5)), 'offsets/2'],
    ['an empty commit', (io) => io.replace(file('commits/1'), new Uint8Array()), 'commits/1: it is empty'],
    ['a torn plan', (io) => edit(io, '_sluice/plan/1.json', (t) => t.slice(0, 100)), 'plan/1.json'],
    [
      'a missing done record',
      (io) => io.delete(file('_sluice/done/1.json')),
      'batch 1: it is committed, and its done record is missing',
    ],
    ['a missing id', (io) => io.delete(file('metadata')), 'metadata is missing'],
    ['a missing last offset file', (io) => io.delete(file('offsets/3')), 'knows batch 3'],
    [
      'a done record of another commit',
      (io) => edit(io, '_sluice/done/2.json', (t) => t.replaceAll('commit-2', 'commit-x')),
      'batch 2: table bronze.ad_clicks: 23 rows were prepared as commit commit-2, and the done record has 23 as commit-x',
    ],
    [
      'a batch that does not follow',
      async (io) => {
        await edit(io, 'offsets/1', (t) => t.replace('"0":20', '"0":19'));
      },
      'batch 2: ad-clicks-0 is planned from 20, and the batch before ended at 19',
    ],
    [
      'a partition that vanished',
      async (io) => {
        await edit(io, 'offsets/1', (t) => t.replace('"1":30', '"1":30,"2":4'));
      },
      'batch 2: ad-clicks-2 was in the offsets of the batch before and is no longer',
    ],
  ])('names %s', async (_, damage, expected) => {
    const io = await checkpointOf(4);
    await damage(io);
    const { faults } = await checkCheckpoint(io, LOCATION);
    expect(faults.join('\n')).toContain(expected);
  });

  it('names a range that was planned and is not on record', async () => {
    const io = await checkpointOf(4);
    await edit(io, '_sluice/plan/2.json', (t) => t.replace('"from":20,"until":30', '"from":18,"until":30'));
    const { faults } = await checkCheckpoint(io, LOCATION);
    expect(faults).toEqual([
      'batch 2: ad-clicks-0 was planned as [18, 30), and [20, 30) is on record as read',
      'batch 2: ad-clicks-0 is planned from 18, and the batch before ended at 20',
    ]);
  });
});
