import { describe, expect, it } from 'vitest';
import { Checkpoint } from '../../../src/checkpoint/checkpoint.ts';
import type { FileIO } from '../../../src/storage/file-io.ts';
import { MemoryFileIO } from '../../../src/storage/memory-file-io.ts';
import {
  doneOf,
  endsOf,
  finishBatch,
  LOCATION,
  listFiles,
  makeProcess,
  openCheckpoint,
  planOf,
  preparedOf,
  runBatches,
} from '../../support/checkpoint.ts';
import { FaultyFileIO } from '../../support/faulty-file-io.ts';

const bytes = (s: string) => new TextEncoder().encode(s);
const put = (io: FileIO, name: string, content: string) => io.replace(`${LOCATION}/${name}`, bytes(content));
const get = async (io: FileIO, name: string) =>
  new TextDecoder().decode(await io.read(`${LOCATION}/${name}`));
const sparkOffsets = (n: number) =>
  `v1\n{"batchWatermarkMs":0,"batchTimestampMs":5,"conf":{}}\n{"ad-clicks":{"1":${(n + 1) * 15},"0":${(n + 1) * 10}}}`;

/** A checkpoint as Spark leaves it: offsets of some batches, commits of others. */
async function sparkCheckpoint(offsets: number[], commits: number[]): Promise<MemoryFileIO> {
  const io = new MemoryFileIO();
  await put(io, 'metadata', '{"id":"spark-id"}');
  for (const n of offsets) await put(io, `offsets/${n}`, sparkOffsets(n));
  for (const n of commits) await put(io, `commits/${n}`, 'v1\n{"nextBatchWatermarkMs":0}');
  return io;
}

describe('opening', () => {
  it('makes the id of an empty directory once', async () => {
    const io = new MemoryFileIO();
    const first = await openCheckpoint(io);
    expect(first.exists).toBe(true);
    expect(await get(io, 'metadata')).toBe(`{"id":"${first.id}"}`);
    expect((await openCheckpoint(io)).id).toBe(first.id);
    expect([first.latestPlanned, first.latestCommitted]).toEqual([null, null]);
    expect(first.restart()).toEqual({ kind: 'fresh' });
  });

  it('gives two processes that begin at once one id', async () => {
    const io = new MemoryFileIO();
    const [a, b] = await Promise.all([openCheckpoint(io), openCheckpoint(io)]);
    expect(a.id).toBe(b.id);
  });

  it("keeps the pipeline's name beside the id and warns of another one", async () => {
    const io = new MemoryFileIO();
    await openCheckpoint(io);
    const other = makeProcess(io, { pipelineName: 'views' });
    expect((await Checkpoint.open(other.options)).storedPipelineName).toBe('clicks');
    expect(other.warnings).toEqual([expect.stringMatching(/clicks.*views/)]);
  });

  it('writes nothing when read-only', async () => {
    const io = new MemoryFileIO();
    const empty = await openCheckpoint(io, { readOnly: true });
    expect(empty.exists).toBe(false);
    expect(empty.restart()).toEqual({ kind: 'fresh' });
    expect(await empty.ledger()).toEqual([]);
    expect(await listFiles(io)).toEqual([]);
    await runBatches(await openCheckpoint(io), 0, 2);
    const files = await listFiles(io);
    const reader = await openCheckpoint(io, { readOnly: true });
    expect(reader.exists).toBe(true);
    expect(reader.restart()).toEqual({ kind: 'next', batchId: 2 });
    expect(await reader.offsets(1)).toEqual(endsOf(1));
    await expect(reader.writePlan(planOf(2))).rejects.toMatchObject({ code: 'INTERNAL' });
    await expect(reader.purge(100)).rejects.toMatchObject({ code: 'INTERNAL' });
    expect(() => reader.acquireLease()).toThrow();
    expect(await listFiles(io)).toEqual(files);
  });

  it.each([
    'offsets/0',
    'commits/0',
    'sources/0/0',
    '_sluice/plan/0.json',
    '_sluice/ledger/3.json',
    'state/0/0/1.delta',
  ])('never invents an id where %s is left without one', async (name) => {
    const io = new MemoryFileIO();
    await put(io, name, 'x');
    for (const readOnly of [false, true]) {
      await expect(openCheckpoint(io, { readOnly })).rejects.toMatchObject({
        code: 'CHECKPOINT_METADATA_MISSING',
        message: expect.stringContaining(`${LOCATION}/metadata`),
      });
    }
    expect(await listFiles(io)).toEqual([name]);
  });

  it.each(['', '{"id":', '{}'])('names a metadata file that holds %j', async (content) => {
    const io = new MemoryFileIO();
    await put(io, 'metadata', content);
    await expect(openCheckpoint(io)).rejects.toMatchObject({
      code: 'CHECKPOINT_CORRUPT',
      message: expect.stringMatching(/\/metadata: .*should hold.*restore/s),
    });
  });
});

describe('restart', () => {
  const restartOf = async (offsets: number[], commits: number[]) => {
    const process = makeProcess(await sparkCheckpoint(offsets, commits));
    const checkpoint = await Checkpoint.open(process.options);
    return { point: checkpoint.restart(), warnings: process.warnings.filter((w) => w.includes('commit')) };
  };

  it.each<[string, number[], number[], object, number]>([
    ['nothing planned', [], [], { kind: 'fresh' }, 0],
    ['the first batch not committed', [0], [], { kind: 'rerun', batchId: 0 }, 0],
    ['the first batch committed', [0], [0], { kind: 'next', batchId: 1 }, 0],
    ['the last batch committed', [0, 1, 2], [0, 1, 2], { kind: 'next', batchId: 3 }, 0],
    ['the last batch not committed', [0, 1, 2], [0, 1], { kind: 'rerun', batchId: 2 }, 0],
    ['an older commit', [0, 1, 2, 3], [0, 1], { kind: 'rerun', batchId: 3 }, 1],
    ['no commit at all', [0, 1, 2], [], { kind: 'rerun', batchId: 2 }, 1],
    ['old batches purged', [7, 8, 9], [8, 9], { kind: 'next', batchId: 10 }, 0],
    ['gaps of asynchronous progress tracking', [0, 4, 8, 9], [0, 9], { kind: 'next', batchId: 10 }, 0],
    ['numbers by value, not by text', [8, 9, 10], [8, 9], { kind: 'rerun', batchId: 10 }, 0],
  ])('%s', async (_what, offsets, commits, point, warnings) => {
    const found = await restartOf(offsets, commits);
    expect(found.point).toEqual(point);
    expect(found.warnings).toHaveLength(warnings);
  });

  it.each<[string, number[], number[], string]>([
    ['the batch before the last is missing', [0, 2], [0], 'offsets/1 is missing'],
    ['and also where the last is committed', [0, 2], [0, 2], 'offsets/1 is missing'],
    ['a commit without its offsets', [0, 1], [0, 1, 2], 'commits/ knows batch 2'],
    ['commits alone', [], [0], 'offsets/ is empty'],
  ])('refuses: %s', async (_what, offsets, commits, words) => {
    await expect(restartOf(offsets, commits)).rejects.toMatchObject({
      code: 'CHECKPOINT_CORRUPT',
      message: expect.stringContaining(words),
    });
  });

  it('never uses a number again whose files somebody deleted', async () => {
    for (const lost of [
      ['offsets/2'],
      ['offsets/2', 'commits/2'],
      ['offsets/0', 'offsets/1', 'offsets/2', 'commits/0', 'commits/1', 'commits/2'],
    ]) {
      const io = new MemoryFileIO();
      await runBatches(await openCheckpoint(io), 0, 3);
      for (const name of lost) await io.delete(`${LOCATION}/${name}`);
      const checkpoint = await openCheckpoint(io);
      expect(() => checkpoint.restart()).toThrowError(
        expect.objectContaining({
          code: 'CHECKPOINT_CORRUPT',
          message: expect.stringContaining('knows batch 2'),
        }),
      );
    }
  });

  it('takes no notice of files that are no batch', async () => {
    const io = await sparkCheckpoint([0], [0]);
    for (const name of [
      'offsets/.1.crc',
      'offsets/.2.0b7a1f0e-0000-4000-8000-000000000000.tmp',
      'offsets/_tmp',
      'offsets/007',
      'offsets/-3',
      'offsets/1.bak',
      'offsets/sub/9',
    ]) {
      await put(io, name, 'x');
    }
    expect((await openCheckpoint(io)).restart()).toEqual({ kind: 'next', batchId: 1 });
  });
});

describe('the steps of a batch', () => {
  it('leave exactly the files of spec 30', async () => {
    const io = new MemoryFileIO();
    const checkpoint = await openCheckpoint(io);
    await checkpoint.writeInitialOffsets(
      new Map([
        [
          'ad-clicks',
          new Map([
            [0, 0n],
            [1, 0n],
          ]),
        ],
      ]),
    );
    await finishBatch(checkpoint, 0, 'w');
    expect(await listFiles(io)).toEqual(
      [
        '_sluice/done/0.json',
        '_sluice/pipeline.json',
        '_sluice/plan/0.json',
        '_sluice/prepared/0.json',
        'commits/0',
        'metadata',
        'offsets/0',
        'sources/0/0',
      ].sort(),
    );
    expect(await get(io, 'offsets/0')).toBe(
      'v1\n{"batchWatermarkMs":0,"batchTimestampMs":1700000000000,"conf":{}}\n{"ad-clicks":{"0":10,"1":15}}',
    );
    expect(await get(io, 'commits/0')).toBe('v1\n{"nextBatchWatermarkMs":0}');
    expect([checkpoint.latestPlanned, checkpoint.latestCommitted]).toEqual([0, 0]);
  });

  it('come back as they were written, in a new process', async () => {
    const io = new MemoryFileIO();
    await runBatches(await openCheckpoint(io), 0, 2, 'w');
    const later = await openCheckpoint(io);
    expect(await later.plan(1)).toEqual(planOf(1));
    expect(await later.offsets(1)).toEqual(endsOf(1));
    const prepared = (await later.prepared(1))!;
    const tables = prepared.tables.map((table) => ({ ...table, files: [...table.files] }));
    expect({ ...prepared, tables }).toEqual(preparedOf(1, 'w'));
    expect(await later.done(1)).toEqual(doneOf(1));
    expect(await later.prepared(2)).toBeNull();
    expect(await later.done(2)).toBeNull();
    expect(await later.plan(2)).toBeNull();
    await expect(later.offsets(2)).rejects.toMatchObject({
      code: 'CHECKPOINT_CORRUPT',
      message: expect.stringContaining('offsets/2 is missing'),
    });
  });

  it('are held to their order', async () => {
    const checkpoint = await openCheckpoint(new MemoryFileIO());
    for (const wrong of [
      () => checkpoint.writePlan(planOf(1)),
      () => checkpoint.writeOffsets(1, endsOf(1), 0),
      () => checkpoint.writePrepared(preparedOf(0, 'w')),
      () => checkpoint.writeDone(doneOf(0)),
      () => checkpoint.writeCommit(0),
    ]) {
      await expect(wrong()).rejects.toMatchObject({ code: 'INTERNAL' });
    }
    await checkpoint.writePlan(planOf(0));
    await checkpoint.writeOffsets(0, endsOf(0), planOf(0).batchTimestampMs);
    await expect(checkpoint.writeCommit(0)).rejects.toMatchObject({
      code: 'INTERNAL',
      message: expect.stringContaining('done'),
    });
    await expect(checkpoint.writeOffsets(1, new Map(), 0)).rejects.toMatchObject({
      code: 'INTERNAL',
      message: expect.stringContaining('no partition'),
    });
  });

  it('let the plan be replaced until the offsets are there', async () => {
    const io = new MemoryFileIO();
    await (await openCheckpoint(io)).writePlan({ ...planOf(0), clusterId: 'first' });
    const second = await openCheckpoint(io);
    expect(second.restart()).toEqual({ kind: 'fresh' });
    await second.writePlan({ ...planOf(0), clusterId: 'second' });
    await second.writePlan({ ...planOf(0), clusterId: 'third' });
    await second.writeOffsets(0, endsOf(0), planOf(0).batchTimestampMs);
    expect((await (await openCheckpoint(io)).plan(0))?.clusterId).toBe('third');
    expect((await listFiles(io)).filter((f) => f.startsWith('_sluice/plan/'))).toHaveLength(1);
  });

  it('keep the initial offsets of the first start', async () => {
    const io = new MemoryFileIO();
    const first = await openCheckpoint(io);
    expect(await first.initialOffsets()).toBeNull();
    await first.writeInitialOffsets(endsOf(0));
    await first.writeInitialOffsets(endsOf(0));
    expect(await (await openCheckpoint(io)).initialOffsets()).toEqual(endsOf(0));
    await expect((await openCheckpoint(io)).writeInitialOffsets(endsOf(1))).rejects.toMatchObject({
      code: 'CHECKPOINT_CONCURRENT',
    });
  });

  it('give no plan for a batch that Spark planned', async () => {
    const io = await sparkCheckpoint([0, 1], [0]);
    const checkpoint = await openCheckpoint(io);
    expect(await checkpoint.plan(1)).toBeNull();
    expect(await checkpoint.offsets(1)).toEqual(endsOf(1));
    await finishBatch(checkpoint, 1, 'w');
    expect((await openCheckpoint(io)).restart()).toEqual({ kind: 'next', batchId: 2 });
  });

  it('give no plan that Spark overtook', async () => {
    const io = new MemoryFileIO();
    const first = await openCheckpoint(io);
    await runBatches(first, 0, 1);
    await first.writePlan(planOf(1));
    await put(io, 'offsets/1', sparkOffsets(1).replace('15,', '16,').replace(':30', ':31'));
    const process = makeProcess(io);
    const checkpoint = await Checkpoint.open(process.options);
    expect(checkpoint.restart()).toEqual({ kind: 'rerun', batchId: 1 });
    expect(await checkpoint.plan(1)).toBeNull();
    expect(process.warnings).toEqual([expect.stringContaining('is ignored')]);
  });

  it("take Hadoop's checksums away with the files that they were for", async () => {
    const io = await sparkCheckpoint([0], [0]);
    for (const name of ['offsets/.0.crc', 'commits/.0.crc', 'offsets/.1.crc', 'commits/.1.crc'])
      await put(io, name, 'crc');
    const checkpoint = await openCheckpoint(io);
    await finishBatch(checkpoint, 1, 'w');
    const files = await listFiles(io);
    expect(files).toContain('offsets/.0.crc');
    expect(files).not.toContain('offsets/.1.crc');
    expect(files).not.toContain('commits/.1.crc');
    await runBatches(checkpoint, 2, 6);
    await checkpoint.purge(2);
    expect((await listFiles(io)).filter((f) => f.includes('crc'))).toEqual([]);
  });
});

describe('torn and foreign files', () => {
  const torn = ['', '{"format":1,"kind":"plan","wri', '{}', 'null', '[]', '\u0000\u0000\u0000'];

  it.each(torn)('CHECKPOINT_CORRUPT where plan, prepared, done, offsets hold %j', async (content) => {
    const io = new MemoryFileIO();
    await runBatches(await openCheckpoint(io), 0, 2);
    for (const name of [
      '_sluice/plan/1.json',
      '_sluice/prepared/1.json',
      '_sluice/done/1.json',
      'offsets/1',
      '_sluice/pipeline.json',
    ]) {
      const whole = await get(io, name);
      await put(io, name, content);
      const read = async () => {
        const checkpoint = await openCheckpoint(io);
        return [
          await checkpoint.plan(1),
          await checkpoint.prepared(1),
          await checkpoint.done(1),
          await checkpoint.offsets(1),
        ];
      };
      await expect(read()).rejects.toMatchObject({
        code: 'CHECKPOINT_CORRUPT',
        exitCode: 78,
        message: expect.stringMatching(
          new RegExp(`${LOCATION}/${name}: .*It should hold .*(restore it from a copy|written anew)`, 's'),
        ),
      });
      await put(io, name, whole);
    }
  });

  it('CHECKPOINT_VERSION for formats of other versions', async () => {
    const io = new MemoryFileIO();
    await runBatches(await openCheckpoint(io), 0, 2);
    for (const [name, content] of [
      ['_sluice/plan/1.json', '{"format":2}'],
      ['_sluice/done/1.json', '{"format":7}'],
      ['offsets/1', 'v2\n{}\n0:{"t":{"0":1}}'],
    ]) {
      const whole = await get(io, name);
      await put(io, name, content);
      const checkpoint = await openCheckpoint(io);
      const read = async () => [
        await checkpoint.plan(1),
        await checkpoint.done(1),
        await checkpoint.offsets(1),
      ];
      await expect(read()).rejects.toMatchObject({
        code: 'CHECKPOINT_VERSION',
        message: expect.stringMatching(/(version v2|format is [27])/),
      });
      await put(io, name, whole);
    }
  });

  it('names the field that is wrong, and a record of another batch', async () => {
    const io = new MemoryFileIO();
    await runBatches(await openCheckpoint(io), 0, 2);
    await put(
      io,
      '_sluice/done/1.json',
      (await get(io, '_sluice/done/1.json')).replace('"rows":9', '"rows":"many"'),
    );
    await expect((await openCheckpoint(io)).done(1)).rejects.toMatchObject({
      message: expect.stringContaining('funnel[0].rows: expected an integer, found "many"'),
    });
    await put(io, '_sluice/done/1.json', await get(io, '_sluice/done/0.json'));
    await expect((await openCheckpoint(io)).done(1)).rejects.toMatchObject({
      code: 'CHECKPOINT_CORRUPT',
      message: expect.stringContaining('it is of batch 0'),
    });
  });
});

describe('two processes on one checkpoint', () => {
  /** Both opened at the same moment, after two batches. */
  async function pair() {
    const io = new MemoryFileIO();
    await runBatches(await openCheckpoint(io), 0, 2);
    const a = makeProcess(io);
    const b = makeProcess(io);
    return { io, a, b, A: await Checkpoint.open(a.options), B: await Checkpoint.open(b.options) };
  }
  const concurrent = (...names: string[]) => ({
    code: 'CHECKPOINT_CONCURRENT',
    retryable: false,
    exitCode: 75,
    message: expect.stringMatching(new RegExp(names.map((n) => `(?=.*${n})`).join(''), 's')),
  });

  it('the second stops at its plan, naming both, and touches nothing', async () => {
    const { io, a, b, A, B } = await pair();
    await A.writePlan(planOf(2));
    await A.writeOffsets(2, endsOf(2), planOf(2).batchTimestampMs);
    const before = await get(io, '_sluice/plan/2.json');
    await expect(B.writePlan({ ...planOf(2), clusterId: 'b' })).rejects.toMatchObject(
      concurrent(a.options.owner.host, b.options.owner.host),
    );
    expect(await get(io, '_sluice/plan/2.json')).toBe(before);
  });

  it("the second to create offsets/N loses, and the plan is the winner's", async () => {
    const { io, a, b, A, B } = await pair();
    await A.writePlan({ ...planOf(2), clusterId: 'a' });
    await B.writePlan({ ...planOf(2), clusterId: 'b' });
    await A.writeOffsets(2, endsOf(2), planOf(2).batchTimestampMs);
    expect((await A.plan(2))?.clusterId).toBe('a');
    await expect(B.writeOffsets(2, endsOf(3), planOf(2).batchTimestampMs)).rejects.toMatchObject(
      concurrent(a.options.owner.writerId, b.options.owner.writerId),
    );
    expect((await (await openCheckpoint(io)).plan(2))?.clusterId).toBe('a');
    expect(await (await openCheckpoint(io)).offsets(2)).toEqual(endsOf(2));
  });

  it.each(['before', 'after'])(
    "a plan that another process writes %s the winner's takes nothing away, even when both die",
    async (order) => {
      const { io, A, B } = await pair();
      // B has looked for offsets/2 and found none; its plan comes when A is through.
      const late = { ...planOf(2), clusterId: 'b', batchTimestampMs: planOf(2).batchTimestampMs + 1 };
      if (order === 'before') {
        await B.writePlan(late);
        await A.writePlan({ ...planOf(2), clusterId: 'a' });
        await A.writeOffsets(2, endsOf(2), planOf(2).batchTimestampMs);
      } else {
        const exists = io.stat.bind(io);
        io.stat = async (path) => (path.endsWith('offsets/2') ? undefined : exists(path));
        await A.writePlan({ ...planOf(2), clusterId: 'a' });
        await A.writeOffsets(2, endsOf(2), planOf(2).batchTimestampMs);
        await B.writePlan(late);
        io.stat = exists;
      }
      const next = makeProcess(io);
      const C = await Checkpoint.open(next.options);
      expect(C.restart()).toEqual({ kind: 'rerun', batchId: 2 });
      expect((await C.plan(2))?.clusterId).toBe('a');
      expect(next.warnings).toEqual([]);
      // B finds out and takes its own away, not A's.
      await expect(B.writeOffsets(2, endsOf(2), late.batchTimestampMs)).rejects.toMatchObject({
        code: 'CHECKPOINT_CONCURRENT',
      });
      expect((await listFiles(io)).filter((f) => f.startsWith('_sluice/plan/2'))).toHaveLength(1);
      expect((await (await openCheckpoint(io)).plan(2))?.clusterId).toBe('a');
    },
  );

  it('plans of both go when the batch is purged', async () => {
    const { io, A, B } = await pair();
    await B.writePlan({ ...planOf(2), batchTimestampMs: 7 });
    await A.writePlan(planOf(2));
    await A.writeOffsets(2, endsOf(2), planOf(2).batchTimestampMs);
    const C = await openCheckpoint(io);
    await finishBatch(C, 2, 'c');
    await runBatches(C, 3, 7);
    expect((await listFiles(io)).filter((f) => f.startsWith('_sluice/plan/2'))).toHaveLength(2);
    await C.purge(2);
    expect((await listFiles(io)).filter((f) => f.startsWith('_sluice/plan/'))).toEqual([
      '_sluice/plan/5.json',
      '_sluice/plan/6.json',
    ]);
  });

  it('a plan that cannot be read is a fault only where no other fits', async () => {
    const { io, A, B } = await pair();
    await B.writePlan({ ...planOf(2), batchTimestampMs: 7 });
    await A.writePlan(planOf(2));
    await A.writeOffsets(2, endsOf(2), planOf(2).batchTimestampMs);
    const names = (await listFiles(io)).filter((f) => f.startsWith('_sluice/plan/2'));
    expect(names).toHaveLength(2);
    await put(io, '_sluice/plan/2.json', '{');
    expect(await (await openCheckpoint(io)).plan(2)).toEqual(planOf(2));
    await put(io, names.find((f) => f !== '_sluice/plan/2.json')!, '{');
    await expect((await openCheckpoint(io)).plan(2)).rejects.toMatchObject({ code: 'CHECKPOINT_CORRUPT' });
  });

  it('a plan whose reply was lost is known again, and replaced', async () => {
    const io = new MemoryFileIO();
    const faulty = new FaultyFileIO(io, {
      faults: [{ kind: 'createNew', path: /plan/, nth: 1, when: 'after' }],
    });
    const checkpoint = await openCheckpoint(faulty);
    await expect(checkpoint.writePlan(planOf(0))).rejects.toMatchObject({ code: 'STORAGE_UNREACHABLE' });
    await checkpoint.writePlan({ ...planOf(0), clusterId: 'again' });
    await checkpoint.writeOffsets(0, endsOf(0), planOf(0).batchTimestampMs);
    expect((await listFiles(io)).filter((f) => f.startsWith('_sluice/plan/'))).toEqual([
      '_sluice/plan/0.json',
    ]);
    expect((await (await openCheckpoint(io)).plan(0))?.clusterId).toBe('again');
  });

  it("a plan of the very same text is not taken for one's own", async () => {
    const { A, B } = await pair();
    await B.writePlan(planOf(2));
    await A.writePlan(planOf(2));
    await A.writeOffsets(2, endsOf(2), planOf(2).batchTimestampMs);
    await expect(B.writeOffsets(2, endsOf(2), planOf(2).batchTimestampMs)).rejects.toMatchObject({
      code: 'CHECKPOINT_CONCURRENT',
    });
  });

  it('a Spark query that was first is said to be another writer', async () => {
    const { io, A } = await pair();
    await A.writePlan(planOf(2));
    await put(io, 'offsets/2', sparkOffsets(2));
    await expect(A.writeOffsets(2, endsOf(2), planOf(2).batchTimestampMs)).rejects.toMatchObject(
      concurrent('Spark'),
    );
    expect(await get(io, 'offsets/2')).toBe(sparkOffsets(2));
    expect(await (await openCheckpoint(io)).plan(2)).toBeNull();
  });

  it('prepared and done of another writer stop the second', async () => {
    const { A, B, a, b, io } = await pair();
    await A.writePlan(planOf(2));
    await A.writeOffsets(2, endsOf(2), planOf(2).batchTimestampMs);
    const rerun = makeProcess(io);
    const C = await Checkpoint.open(rerun.options);
    expect(C.restart()).toEqual({ kind: 'rerun', batchId: 2 });
    await A.writePrepared(preparedOf(2, a.options.owner.writerId));
    await A.writePrepared(preparedOf(2, a.options.owner.writerId));
    await expect(C.writePrepared(preparedOf(2, rerun.options.owner.writerId))).rejects.toMatchObject(
      concurrent(a.options.owner.host, rerun.options.owner.host),
    );
    await A.writeDone(doneOf(2));
    await A.writeDone(doneOf(2));
    const other = doneOf(2);
    other.tables[0] = { ...other.tables[0], snapshotId: 5n, commitId: 'other' };
    await expect(C.writeDone(other)).rejects.toMatchObject(
      concurrent(a.options.owner.host, rerun.options.owner.host),
    );
    expect(await C.done(2)).toEqual(doneOf(2));
    await A.writeCommit(2);
    await expect(C.writeDone(doneOf(2)).then(() => C.writeCommit(2))).rejects.toMatchObject({
      code: 'CHECKPOINT_CONCURRENT',
    });
    await expect(B.writePlan(planOf(2))).rejects.toMatchObject(concurrent(b.options.owner.host));
  });

  it('a process that finishes what an earlier one left after done is no second writer', async () => {
    const { A, a, io } = await pair();
    await A.writePlan(planOf(2));
    await A.writeOffsets(2, endsOf(2), planOf(2).batchTimestampMs);
    await A.writePrepared(preparedOf(2, a.options.owner.writerId));
    const first = doneOf(2);
    first.tables[0] = { ...first.tables[0], sequenceNumber: null };
    await A.writeDone(first);
    const C = await openCheckpoint(io);
    await finishBatch(C, 2, 'another');
    expect(await C.done(2)).toEqual(first);
    expect(C.restart()).toEqual({ kind: 'next', batchId: 3 });
  });
});

describe('what was recorded for a table', () => {
  it('is known for batches that are kept, and the newest also when purged', async () => {
    const io = new MemoryFileIO();
    const checkpoint = await openCheckpoint(io);
    await runBatches(checkpoint, 0, 3);
    // From batch 3 on the table gets nothing.
    for (let n = 3; n < 12; n++) {
      await checkpoint.writePlan(planOf(n));
      await checkpoint.writeOffsets(n, endsOf(n), planOf(n).batchTimestampMs);
      const done = doneOf(n);
      done.tables[0] = { ...done.tables[0], commitId: null, snapshotId: null, sequenceNumber: null, rows: 0 };
      await checkpoint.writeDone(done);
      await checkpoint.writeCommit(n);
    }
    const expected = { snapshotId: 9_007_199_254_740_995n, commitId: 'commit-2' };
    for (const purged of [false, true]) {
      if (purged) await checkpoint.purge(4);
      for (const c of [checkpoint, await openCheckpoint(io, { readOnly: true })]) {
        expect(await c.lastRecorded('bronze.ad_clicks')).toMatchObject({ batchId: 2, ...expected });
        expect(await c.doneRecord('bronze.ad_clicks', 2)).toEqual(expected);
        expect(await c.doneRecord('bronze.ad_clicks', 1)).toEqual(
          purged ? 'purged' : { snapshotId: 9_007_199_254_740_994n, commitId: 'commit-1' },
        );
        expect(await c.doneRecord('bronze.ad_clicks', 10)).toBeNull();
        expect(await c.doneRecord('bronze.ad_clicks', 12)).toBeNull();
        expect(await c.doneRecord('bronze.other', 10)).toBeNull();
        expect(await c.lastRecorded('bronze.other')).toBeNull();
      }
    }
  });
});
