import { describe, expect, it } from 'vitest';
import type { FileIO } from '../../../src/storage/file-io.ts';
import { LocalFileIO } from '../../../src/storage/local-file-io.ts';
import { PowerLossFileIO } from '../../support/power-loss-file-io.ts';
import { PowerLossFs, type Survives } from '../../support/power-loss-fs.ts';

const PATH = '/warehouse/t/data/dt=2024-01-01/part.parquet';
const NEW = new TextEncoder().encode('new content');
const OLD = new TextEncoder().encode('the old one, longer');

const operations: Record<string, (io: FileIO) => Promise<void>> = {
  createNew: async (io) => {
    expect(await io.createNew(PATH, NEW)).toBe(true);
  },
  replace: (io) => io.replace(PATH, NEW),
  create: async (io) => {
    const out = await io.create(PATH);
    for (const byte of NEW) await out.write(Uint8Array.of(byte));
    await out.close();
  },
};

/** Nothing that was not fsynced, all of it, half of it, and one of everything. */
const survivals: Record<string, Survives> = {
  nothing: () => 0,
  all: (most) => most,
  half: (most) => most >> 1,
  one: () => 1,
};

async function contentOf(io: FileIO): Promise<string | null> {
  return (await io.stat(PATH)) === undefined ? null : new TextDecoder().decode(await io.read(PATH));
}

/** Opened once the disk has lived for a while: the directories above are there or not. */
async function diskWith(state: 'empty' | 'directory' | 'old file'): Promise<PowerLossFileIO> {
  const disk = new PowerLossFileIO();
  if (state === 'directory') await disk.createNew(`${PATH}.neighbour`, OLD);
  if (state === 'old file') await disk.createNew(PATH, OLD);
  disk.crash();
  return disk;
}

describe.each(Object.keys(operations))('%s and a power loss', (name) => {
  it.each(['empty', 'directory'] as const)('survives right after it resolved (%s)', async (state) => {
    const disk = await diskWith(state);
    await operations[name](disk);
    disk.crash();
    expect(await contentOf(disk)).toBe('new content');
  });

  it.each(['empty', 'directory', 'old file'] as const)(
    'leaves the old or the new, never a part, at every earlier system call (%s)',
    async (state) => {
      if (state === 'old file' && name !== 'replace') return expectRefusal(name);
      const old = state === 'old file' ? 'the old one, longer' : null;
      const whole = await diskWith(state);
      const before = whole.fs.calls;
      await operations[name](whole);
      const calls = whole.fs.calls - before;
      expect(calls).toBeGreaterThan(5);
      for (const survives of Object.values(survivals)) {
        for (let call = 1; call <= calls; call++) {
          const disk = await diskWith(state);
          disk.fs.failAt = disk.fs.calls + call;
          await operations[name](disk).catch(() => undefined);
          disk.crash(survives);
          const content = await contentOf(disk);
          expect([old, 'new content']).toContain(content);
          // The next process is not hindered by what the last one left.
          await disk.replace(PATH, NEW);
          expect(await contentOf(disk)).toBe('new content');
        }
      }
    },
  );
});

async function expectRefusal(name: string): Promise<void> {
  const disk = await diskWith('old file');
  await expect(operations[name](disk)).rejects.toThrow();
  disk.crash();
  expect(await contentOf(disk)).toBe('the old one, longer');
}

describe('createNew and what another process left', () => {
  it('makes a file durable that another process had linked but not fsynced', async () => {
    const disk = new PowerLossFileIO();
    await disk.createNew('/c/offsets/0', OLD);
    // The other process dies between link and the fsync of the directory.
    const { calls } = disk.fs;
    await disk.createNew('/c/offsets/1', OLD);
    const perCall = disk.fs.calls - calls;
    disk.fs.failAt = disk.fs.calls + perCall;
    await expect(disk.createNew('/c/offsets/2', NEW)).rejects.toMatchObject({
      code: 'STORAGE_ERROR',
      outcome: 'unknown',
    });
    disk.fs.failAt = Number.POSITIVE_INFINITY;
    expect(await disk.createNew('/c/offsets/2', NEW)).toBe(false);
    disk.crash();
    expect(Buffer.compare(await disk.read('/c/offsets/2'), NEW)).toBe(0);
  });

  it('does not trust a directory that another process made a moment ago', async () => {
    const disk = new PowerLossFileIO();
    await disk.fs.makeDirectory('/c');
    await disk.fs.makeDirectory('/c/offsets');
    await disk.createNew('/c/offsets/0', NEW);
    disk.crash();
    expect(Buffer.compare(await disk.read('/c/offsets/0'), NEW)).toBe(0);
  });
});

describe('the model itself', () => {
  it.each(['sync', 'syncDirectory'] as const)('notices when %s is left out', async (lacking) => {
    const disk = new PowerLossFs();
    const careless = Object.create(disk) as PowerLossFs;
    careless.createFile = async (path) => {
      const handle = await disk.createFile(path);
      return lacking === 'sync' ? { ...handle, sync: async () => undefined } : handle;
    };
    for (const name of [
      'readFile',
      'stat',
      'readDirectory',
      'makeDirectory',
      'link',
      'rename',
      'unlink',
      'syncDirectory',
    ] as const) {
      careless[name] = (name === lacking ? async () => undefined : disk[name].bind(disk)) as never;
    }
    for (const operation of Object.values(operations)) {
      await new LocalFileIO({ fs: careless }).delete(PATH);
      await operation(new LocalFileIO({ fs: careless }));
      disk.crash();
      const io = new LocalFileIO({ fs: disk });
      if (lacking === 'sync') expect((await io.read(PATH)).length).toBe(0);
      else expect(await io.stat(PATH)).toBeUndefined();
    }
  });
});
