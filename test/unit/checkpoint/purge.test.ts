import { describe, expect, it } from 'vitest';
import type { LedgerEntry } from '../../../src/checkpoint/records.ts';
import { MemoryFileIO } from '../../../src/storage/memory-file-io.ts';
import { finishBatch, LOCATION, listFiles, openCheckpoint, runBatches } from '../../support/checkpoint.ts';
import { FaultyFileIO } from '../../support/faulty-file-io.ts';

const batchesIn = (files: string[], directory: string) =>
  files
    .filter((f) => f.startsWith(directory))
    .map((f) => Number(f.slice(directory.length).replace('.json', '')))
    .sort((a, b) => a - b);

/** What the ledger must say after batches 0 to `until`. */
function expectCoverage(entries: LedgerEntry[], until: number): void {
  expect(
    entries.map((e) => [e.partition, e.from, e.until, e.firstBatch, e.lastBatch, e.rows, e.control]),
  ).toEqual([
    [0, 0n, BigInt(until) * 10n, 0, until - 1, until * 9, until],
    [1, 0n, BigInt(until) * 15n, 0, until - 1, until * 14, until],
  ]);
}

describe('purge', () => {
  it('keeps the newest batches, and the ledger keeps the rest', async () => {
    const io = new MemoryFileIO();
    const checkpoint = await openCheckpoint(io);
    for (let n = 0; n < 25; n++) {
      await finishBatch(checkpoint, n, 'w');
      await checkpoint.purge(5);
      const files = await listFiles(io);
      for (const directory of [
        'offsets/',
        'commits/',
        '_sluice/plan/',
        '_sluice/prepared/',
        '_sluice/done/',
      ]) {
        const kept = batchesIn(files, directory);
        expect(kept).toEqual(Array.from({ length: Math.min(n + 1, 5) }, (_, i) => Math.max(0, n - 4) + i));
      }
      expect(batchesIn(files, '_sluice/ledger/')).toEqual(n < 5 ? [] : [n - 5]);
      expectCoverage(await checkpoint.ledger(), n + 1);
    }
    const later = await openCheckpoint(io);
    expectCoverage(await later.ledger(), 25);
    expect(later.restart()).toEqual({ kind: 'next', batchId: 25 });
  });

  it('goes in strides of a tenth, so that the ledger is not written for every batch', async () => {
    const io = new MemoryFileIO();
    const checkpoint = await openCheckpoint(io);
    const counts = new Set<number>();
    for (let n = 0; n < 90; n++) {
      await finishBatch(checkpoint, n, 'w');
      await checkpoint.purge(30);
      counts.add(batchesIn(await listFiles(io), 'offsets/').length);
    }
    expect(Math.max(...counts)).toBe(32);
    expect(Math.min(...[...counts].filter((c) => c >= 30))).toBe(30);
    expectCoverage(await checkpoint.ledger(), 90);
  });

  it('never takes the batch before the last, and refuses to', async () => {
    const checkpoint = await openCheckpoint(new MemoryFileIO());
    await runBatches(checkpoint, 0, 6);
    for (const wrong of [1, 0, -1, 2.5, Number.NaN])
      await expect(checkpoint.purge(wrong)).rejects.toMatchObject({ code: 'INTERNAL' });
    await checkpoint.purge(2);
    expect(await checkpoint.offsets(4)).toBeDefined();
    expect(checkpoint.restart()).toEqual({ kind: 'next', batchId: 6 });
  });

  it('does nothing before the first commit', async () => {
    const io = new MemoryFileIO();
    const checkpoint = await openCheckpoint(io);
    await checkpoint.purge(2);
    expect(await checkpoint.ledger()).toEqual([]);
  });

  it('refuses to forget a batch of ours whose counts are lost', async () => {
    const io = new MemoryFileIO();
    await runBatches(await openCheckpoint(io), 0, 6);
    await io.delete(`${LOCATION}/_sluice/done/1.json`);
    const checkpoint = await openCheckpoint(io);
    const before = await listFiles(io);
    await expect(checkpoint.purge(2)).rejects.toMatchObject({
      code: 'CHECKPOINT_CORRUPT',
      message: expect.stringContaining('done/1.json is missing'),
    });
    expect(await listFiles(io)).toEqual(before);
  });

  it('purges the batches of another engine, and says that their counts are unknown', async () => {
    const io = new MemoryFileIO();
    await runBatches(await openCheckpoint(io), 0, 6);
    for (const kind of ['done', 'plan', 'prepared']) await io.delete(`${LOCATION}/_sluice/${kind}/0.json`);
    const warnings: string[] = [];
    const checkpoint = await openCheckpoint(io, { warn: (m) => warnings.push(m) });
    await checkpoint.purge(2);
    expect(warnings).toEqual([expect.stringContaining('batch 0 was run by another engine')]);
    expect((await checkpoint.ledger()).map((e) => [e.partition, e.from])).toEqual([
      [0, 10n],
      [1, 15n],
    ]);
  });

  it('stops where another process purges too', async () => {
    const io = new MemoryFileIO();
    await runBatches(await openCheckpoint(io), 0, 6);
    const a = await openCheckpoint(io);
    const b = await openCheckpoint(io);
    await a.purge(3);
    await expect(b.purge(3)).rejects.toMatchObject({ code: 'CHECKPOINT_CONCURRENT' });
    const c = await openCheckpoint(io);
    const d = await openCheckpoint(io);
    await runBatches(c, 6, 7);
    await io.createNew(
      `${LOCATION}/_sluice/ledger/3.json`,
      await io.read(`${LOCATION}/_sluice/ledger/2.json`),
    );
    await expect(c.purge(3)).rejects.toMatchObject({
      code: 'CHECKPOINT_CONCURRENT',
      message: expect.stringContaining('ledger/3.json'),
    });
    await io.delete(`${LOCATION}/_sluice/ledger/3.json`);
    await c.purge(3);
    expectCoverage(await c.ledger(), 7);
    expectCoverage(await d.ledger(), 7);
  });

  it('does not disturb a reader whose listing is older', async () => {
    const io = new MemoryFileIO();
    const writer = await openCheckpoint(io);
    await runBatches(writer, 0, 6);
    for (let until = 6; until < 20; until++) {
      const reader = await openCheckpoint(io, { readOnly: true });
      await runBatches(writer, until, until + 1);
      await writer.purge(3);
      expectCoverage(await reader.ledger(), until + 1);
      // And one that is overtaken after it has read the ledger.
      const slow = new FaultyFileIO(io);
      const overtaken = await openCheckpoint(slow, { readOnly: true });
      let once = false;
      const read = slow.read.bind(slow);
      slow.read = async (path, range) => {
        const bytes = await read(path, range);
        if (!once && path.includes('ledger')) {
          once = true;
          await runBatches(writer, ++until, until + 1);
          await writer.purge(3);
        }
        return bytes;
      };
      expectCoverage(await overtaken.ledger(), until + 1);
      expect(once).toBe(true);
    }
  });

  it('names a torn ledger', async () => {
    const io = new MemoryFileIO();
    const checkpoint = await openCheckpoint(io);
    await runBatches(checkpoint, 0, 6);
    await checkpoint.purge(3);
    await io.replace(`${LOCATION}/_sluice/ledger/2.json`, new Uint8Array(0));
    await expect((await openCheckpoint(io)).ledger()).rejects.toMatchObject({
      code: 'CHECKPOINT_CORRUPT',
      message: expect.stringContaining('ledger/2.json'),
    });
  });
});
