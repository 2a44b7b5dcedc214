/** A real file system that is full, under the warehouse, the checkpoint or the catalog. */
import { execFileSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync, unlinkSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { checkExactlyOnce } from '../support/exactly-once.ts';
import { type FaultTopics, twoTopics } from '../support/fault-topics.ts';
import { useKafka } from '../support/kafka.ts';
import { TestPipeline } from '../support/test-pipeline.ts';

const PAGE = 4096;

/** Mounts a small file system; the reason where that is not possible here. */
function mount(directory: string): string | undefined {
  if (process.getuid?.() !== 0) return 'mounting a small file system needs root';
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'sluice-test', directory], { stdio: 'pipe' });
    return undefined;
  } catch (error) {
    return `a small file system could not be mounted: ${String(error).split('\n')[0]}`;
  }
}

describe('a disk that is full', () => {
  const { bootstrap } = useKafka();
  const disk = mkdtempSync(join(tmpdir(), 'sluice-full-'));
  const filler = join(disk, 'filler');
  const unmounted = mount(disk);
  let data: FaultTopics;

  beforeAll(async () => {
    data = await twoTopics(bootstrap, 'full', 36);
  });
  afterAll(async () => {
    await data.produced.close();
    if (unmounted === undefined) execFileSync('umount', [disk]);
    rmSync(disk, { recursive: true, force: true });
  });
  beforeEach(({ skip }) => skip(unmounted !== undefined, unmounted));

  /** Leaves room for so many pages: a new file takes one at least. */
  function fill(pages: number): void {
    const file = openSync(filler, 'w');
    const page = Buffer.alloc(PAGE, 1);
    let written = 0;
    try {
      for (;;) written += writeSync(file, page);
    } catch (error) {
      if ((error as { code?: string }).code !== 'ENOSPC') throw error;
    }
    closeSync(file);
    execFileSync('truncate', ['-s', String(Math.max(0, written - pages * PAGE)), filler]);
  }

  it.each([
    ['the warehouse', { warehouse: join(disk, 'warehouse') }, [0, 8, 20]],
    ['the checkpoint', { checkpoint: join(disk, 'checkpoint') }, [0, 5, 9]],
    ['the catalog', { catalogFile: join(disk, 'catalog.db') }, [0, 5, 7]],
  ])('under %s: STORAGE_FULL, and all is there once there is room', async (_, place, free) => {
    for (const pages of free) {
      const pipeline = new TestPipeline({
        bootstrap,
        topics: data.topics,
        maxOffsetsPerTrigger: 48,
        ...place,
      });
      fill(pages);
      const full = await pipeline.cli();
      expect(full.stderr, `${pages} pages`).toMatch(/STORAGE_FULL/);
      expect(full.stderr).toMatch(/no space is left|the disk of catalog \S+ is full/);
      expect(full.code).toBe(69);
      unlinkSync(filler);
      const free = await pipeline.cli();
      expect(free.code, free.stderr).toBe(0);
      await checkExactlyOnce({ pipeline, produced: data.produced });
      for (const path of Object.values(place)) rmSync(path, { recursive: true });
      pipeline.remove();
    }
  });
});
