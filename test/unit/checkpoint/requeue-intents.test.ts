import { beforeEach, describe, expect, it } from 'vitest';
import { checkCheckpoint } from '../../../src/checkpoint/checkpoint-check.ts';
import { type RequeueIntent, RequeueIntents, readIntentAt } from '../../../src/checkpoint/requeue-intents.ts';
import { MemoryFileIO } from '../../../src/storage/memory-file-io.ts';
import { LOCATION, openCheckpoint, runBatches } from '../../support/checkpoint.ts';
import { dataFile } from '../../support/iceberg-fixture.ts';

const OWNER = { host: 'a', pid: 1, writerId: 'w1' };
const OTHER = { host: 'b', pid: 2, writerId: 'w2' };
const NOW = 1_700_000_000_000;

const intent = (requeueId: string): RequeueIntent => ({
  requeueId,
  pipelineName: 'clicks',
  quarantine: 'bronze.t__quarantine',
  table: 'bronze.t',
  uuid: 'u',
  commitId: 'c',
  snapshotId: 9_007_199_254_740_993n,
  writerId: 'w1',
  requeuedAtMs: NOW,
  files: [dataFile('memory://w/f.parquet', ['2026-01-01', 0])],
  records: [
    {
      topic: 't',
      partition: 0,
      pipeline: null,
      batchId: null,
      offsets: [
        { from: 3n, until: 4n },
        { from: 2n ** 62n, until: 2n ** 62n + 2n },
      ],
    },
    { topic: 't', partition: 1, pipeline: 'p', batchId: 7n, offsets: [{ from: 0n, until: 9n }] },
  ],
});

describe('RequeueIntents', () => {
  let io: MemoryFileIO;
  let intents: RequeueIntents;
  beforeEach(() => {
    io = new MemoryFileIO();
    intents = new RequeueIntents(io, LOCATION);
  });

  it('keeps an intent as it is, for any checkpoint to read', async () => {
    expect(await intents.list()).toEqual([]);
    await intents.write(intent('id-1'), OWNER, NOW);
    expect(await intents.list()).toEqual(['id-1']);
    expect(await intents.read('id-1')).toMatchObject({ writer: OWNER, record: intent('id-1') });
    expect(await readIntentAt(io, intents.path('id-1'), 'id-1')).toEqual(intent('id-1'));
    expect(await readIntentAt(io, intents.path('id-2'), 'id-2')).toBeNull();
    expect(await intents.read('id-2')).toBeNull();
  });

  it.each([
    ['go', 'void'],
    ['void', 'go'],
  ] as const)('is decided once: %s stays, whoever says %s later', async (first, second) => {
    await intents.write(intent('id'), OWNER, NOW);
    expect(await intents.decision('id')).toBeNull();
    expect(await intents.decide('id', first, OWNER, NOW)).toBe(first);
    expect(await intents.decide('id', second, OTHER, NOW)).toBe(first);
    expect(await intents.decision('id')).toBe(first);
    expect(await intents.list()).toEqual(['id']);
  });

  it('cannot go once it was voided and removed, even by a process that slept meanwhile', async () => {
    await intents.write(intent('id'), OWNER, NOW);
    await intents.decide('id', 'void', OTHER, NOW);
    await intents.remove('id');
    expect(await intents.decide('id', 'go', OWNER, NOW)).toBe('gone');
    await intents.remove('id');
    expect(await intents.list()).toEqual([]);
    expect(await intents.decision('id')).toBeNull();
  });

  it('refuses a file that is torn, of another requeue, or of a version to come', async () => {
    await intents.write(intent('id'), OWNER, NOW);
    const bytes = await io.read(intents.path('id'));
    await io.replace(intents.path('id'), bytes.subarray(0, bytes.length - 20));
    await expect(intents.read('id')).rejects.toMatchObject({ code: 'CHECKPOINT_CORRUPT' });
    await io.replace(intents.path('other'), bytes);
    await expect(intents.read('other')).rejects.toMatchObject({ code: 'CHECKPOINT_CORRUPT' });
    const text = Buffer.from(bytes).toString().replace('"format":1', '"format":2');
    await io.replace(intents.path('id'), Buffer.from(text));
    await expect(intents.read('id')).rejects.toMatchObject({ code: 'CHECKPOINT_VERSION' });
  });

  it('is told of by `checkpoint verify`, and is in nobody else’s way', async () => {
    await runBatches(await openCheckpoint(io), 0, 2);
    await intents.write(intent('id-1'), OWNER, NOW);
    await intents.decide('id-1', 'go', OWNER, NOW);
    const check = await checkCheckpoint(io, LOCATION);
    expect(check.faults).toEqual([]);
    expect(check.notes.join()).toContain('requeue id-1 into bronze.t is not finished (host a, process 1');
    await runBatches(await openCheckpoint(io), 2, 3);
    await io.replace(intents.path('id-1'), Buffer.from('{'));
    expect((await checkCheckpoint(io, LOCATION)).faults).toHaveLength(1);
  });
});
