import { describe, expect, it } from 'vitest';
import { SluiceError } from '../../../src/errors.ts';
import type { BatchProgress } from '../../../src/monitor/progress.ts';
import { ProgressLog, readProgress } from '../../../src/monitor/progress-log.ts';

class Files {
  readonly texts = new Map<string, string>();
  writes = 0;
  failing = false;
  async read(path: string): Promise<Uint8Array> {
    const text = this.texts.get(path);
    if (text === undefined) throw new SluiceError('FILE_NOT_FOUND', path);
    return new TextEncoder().encode(text);
  }
  async replace(path: string, bytes: Uint8Array): Promise<void> {
    if (this.failing) throw new SluiceError('STORAGE_FULL', path);
    this.writes++;
    this.texts.set(path, new TextDecoder().decode(bytes));
  }
}

const PATH = '/cp/_sluice/progress.jsonl';
const progress = (batchId: number, name = 'p') =>
  ({ batchId, name, sources: [], sluice: { offset: 9007199254740993n } }) as unknown as BatchProgress;

async function open(files: Files, keep = 3) {
  const clock = { ms: 0 };
  const warnings: string[] = [];
  const log = await ProgressLog.open({
    files,
    checkpointLocation: '/cp/',
    keep,
    now: () => clock.ms,
    warn: (m) => warnings.push(m),
    minIntervalMs: 1000,
  });
  return { log, clock, warnings };
}

const ids = async (files: Files) => (await readProgress(files, '/cp')).map((p) => p.batchId);

describe('ProgressLog', () => {
  it('keeps the last ones, over runs, with every digit', async () => {
    const files = new Files();
    const first = await open(files);
    for (let i = 0; i < 5; i++) {
      first.clock.ms += 1000;
      await first.log.append(progress(i));
    }
    expect(await ids(files)).toEqual([2, 3, 4]);
    const second = await open(files);
    await second.log.append(progress(5));
    expect(await ids(files)).toEqual([3, 4, 5]);
    expect((await readProgress(files, '/cp'))[0]).toEqual(progress(3));
  });

  it('writes at most once in an interval, and the rest at the end', async () => {
    const files = new Files();
    const { log, clock } = await open(files, 100);
    for (let i = 0; i < 50; i++) {
      clock.ms += 10;
      await log.append(progress(i));
    }
    expect(files.writes).toBe(1);
    await log.flush();
    await log.flush();
    expect(files.writes).toBe(2);
    expect(await ids(files)).toHaveLength(50);
  });

  it('passes over lines that are torn or strange', async () => {
    const files = new Files();
    files.texts.set(
      PATH,
      '{"batchId":1,"sources":[]}\n[]\nnull\n5\n{"batchId":"x","sources":[]}\n\u0000\u0001\n{"batchId":2,"sources":[]}\n{"batchId":3,"sour',
    );
    expect(await ids(files)).toEqual([1, 2]);
    const { log } = await open(files);
    await log.append(progress(4));
    expect(await ids(files)).toEqual([1, 2, 4]);
  });

  it('never stops a run', async () => {
    const files = new Files();
    const { log, clock, warnings } = await open(files);
    files.failing = true;
    await log.append(progress(1));
    expect(warnings).toHaveLength(1);
    files.failing = false;
    clock.ms += 1000;
    await log.append(progress(2));
    expect(await ids(files)).toEqual([1, 2]);
    const unreadable = new Files();
    unreadable.read = () => Promise.reject(new SluiceError('STORAGE_ERROR', 'no permission'));
    expect((await open(unreadable)).warnings).toHaveLength(1);
  });

  it('stays small whatever is kept', async () => {
    const files = new Files();
    const { log, clock } = await open(files, 10_000);
    for (let i = 0; i < 10; i++) {
      clock.ms += 1000;
      await log.append(progress(i, 'x'.repeat(1_000_000)));
    }
    expect(files.texts.get(PATH)!.length).toBeLessThan(4.2 * 1024 * 1024);
    expect((await ids(files)).at(-1)).toBe(9);
  });

  it('is empty where there is none', async () => {
    expect(await readProgress(new Files(), '/cp')).toEqual([]);
  });
});
