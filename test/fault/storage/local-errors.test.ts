import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LocalFileIO } from '../../../src/storage/local-file-io.ts';
import { type LocalFs, nodeLocalFs } from '../../../src/storage/local-fs.ts';

type Call = keyof LocalFs | 'write' | 'sync' | 'close';

const BYTES = new TextEncoder().encode('content');
let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'sluice-errors-'));
});
afterEach(async () => {
  await rm(directory, { recursive: true, force: true });
});

/** The real file system, with one kind of call failing. */
function failing(call: Call, code: string): LocalFs {
  const fail = () => Promise.reject(Object.assign(new Error(`${code}: injected`), { code }));
  const fs: LocalFs = { ...nodeLocalFs };
  if (call === 'write' || call === 'sync' || call === 'close') {
    fs.createFile = async (path) => {
      const handle = await nodeLocalFs.createFile(path);
      const wrapped = {
        write: (b: Uint8Array) => handle.write(b),
        sync: () => handle.sync(),
        close: () => handle.close(),
      };
      const real = wrapped.close;
      wrapped[call] = call === 'close' ? () => real().then(fail) : fail;
      return wrapped;
    };
    return fs;
  }
  (fs as unknown as Record<string, unknown>)[call] = fail;
  return fs;
}

async function write(io: LocalFileIO, path: string): Promise<void> {
  const out = await io.create(path);
  await out.write(BYTES);
  await out.close();
}

describe('a place where no directory can be made', () => {
  const why = 'no directory can be made there (ENOENT)';

  it('is an error, also where each try says that the directory above is missing', async () => {
    const io = new LocalFileIO({ fs: failing('makeDirectory', 'ENOENT') });
    const path = join(directory, 'a/b/c/file');
    const expected = { code: 'STORAGE_ERROR', outcome: 'not-applied', message: expect.stringContaining(why) };
    await expect(io.createNew(path, BYTES)).rejects.toMatchObject(expected);
    await expect(io.create(path)).rejects.toMatchObject(expected);
    await expect(io.replace(path, BYTES)).rejects.toMatchObject(expected);
  });

  it.skipIf(process.platform !== 'linux')('as /proc', async () => {
    const io = new LocalFileIO();
    await expect(io.createNew('/proc/none/such/file', BYTES)).rejects.toMatchObject({
      code: 'STORAGE_ERROR',
      message: expect.stringContaining(`could not write /proc/none/such/file: ${why}`),
    });
    expect(await io.children('/proc/none/such')).toEqual([]);
  });
});

describe('a full disk', () => {
  it.each(['createFile', 'write', 'sync', 'makeDirectory', 'link'] as const)(
    'at %s is STORAGE_FULL, leaves no file and can be tried again',
    async (call) => {
      for (const code of ['ENOSPC', 'EDQUOT']) {
        const io = new LocalFileIO({ fs: failing(call, code) });
        const path = join(directory, 'new/file');
        const expected = {
          code: 'STORAGE_FULL',
          retryable: true,
          outcome: 'not-applied',
          message: expect.stringContaining(path),
        };
        await expect(io.createNew(path, BYTES)).rejects.toMatchObject(expected);
        await expect(write(io, path)).rejects.toMatchObject(expected);
        if (call !== 'link') await expect(io.replace(path, BYTES)).rejects.toMatchObject(expected);
        expect(await new LocalFileIO().stat(path)).toBeUndefined();
        expect(await readdir(join(directory, 'new')).catch(() => [])).toEqual([]);
      }
      expect(await new LocalFileIO().createNew(join(directory, 'new/file'), BYTES)).toBe(true);
    },
  );

  it('in the middle of an output file gives the file up', async () => {
    let room = 600_000;
    const fs: LocalFs = {
      ...nodeLocalFs,
      createFile: async (path) => {
        const handle = await nodeLocalFs.createFile(path);
        const limited = async (b: Uint8Array) => {
          room -= b.length;
          if (room < 0) throw Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' });
          await handle.write(b);
        };
        return { write: limited, sync: () => handle.sync(), close: () => handle.close() };
      },
    };
    const out = await new LocalFileIO({ fs }).create(join(directory, 'part'));
    await out.write(new Uint8Array(300_000));
    await out.write(new Uint8Array(200_000));
    await expect(out.write(new Uint8Array(300_000))).rejects.toMatchObject({ code: 'STORAGE_FULL' });
    await expect(out.write(BYTES)).rejects.toMatchObject({
      code: 'STORAGE_ERROR',
      message: expect.stringContaining('given up'),
    });
    await expect(out.close()).rejects.toMatchObject({ code: 'STORAGE_ERROR' });
    await out.abort();
    expect(await readdir(directory)).toEqual([]);
  });
});

describe('a refusal of the system', () => {
  it.each([
    ['EACCES', 'permission denied'],
    ['EROFS', 'mounted read-only'],
    ['EIO', 'input/output error'],
  ])('%s names path and cause', async (code, words) => {
    const path = join(directory, 'f');
    const expected = {
      code: 'STORAGE_ERROR',
      retryable: false,
      message: expect.stringMatching(`${path}.*${words}.*${code}`),
    };
    for (const call of ['createFile', 'sync'] as const) {
      const io = new LocalFileIO({ fs: failing(call, code) });
      await expect(io.createNew(path, BYTES)).rejects.toMatchObject(expected);
      await expect(io.replace(path, BYTES)).rejects.toMatchObject(expected);
      await expect(write(io, path)).rejects.toMatchObject(expected);
    }
    await expect(new LocalFileIO({ fs: failing('readFile', code) }).read(path)).rejects.toMatchObject(
      expected,
    );
    await expect(new LocalFileIO({ fs: failing('stat', code) }).stat(path)).rejects.toMatchObject(expected);
    await expect(new LocalFileIO({ fs: failing('unlink', code) }).delete(path)).rejects.toMatchObject(
      expected,
    );
    const listing = new LocalFileIO({ fs: failing('readDirectory', code) })
      .list(path)
      [Symbol.asyncIterator]();
    await expect(listing.next()).rejects.toMatchObject(expected);
    expect(await readdir(directory)).toEqual([]);
  });

  it('too many open files can be tried again', async () => {
    const io = new LocalFileIO({ fs: failing('createFile', 'EMFILE') });
    await expect(io.createNew(join(directory, 'f'), BYTES)).rejects.toMatchObject({
      code: 'STORAGE_ERROR',
      retryable: true,
    });
  });

  it('a file system without hard links is named as such', async () => {
    for (const code of ['EPERM', 'ENOTSUP', 'EOPNOTSUPP']) {
      const io = new LocalFileIO({ fs: failing('link', code) });
      await expect(io.createNew(join(directory, 'f'), BYTES)).rejects.toMatchObject({
        message: expect.stringContaining('hard links'),
      });
      expect(await readdir(directory)).toEqual([]);
      await io.replace(join(directory, 'f'), BYTES);
      await io.delete(join(directory, 'f'));
    }
  });

  it('a failed fsync of the directory leaves the outcome unknown and the whole file in place', async () => {
    // The directory is known already, so that the only fsync of a directory is the one after the link.
    const plain = new LocalFileIO();
    await plain.createNew(join(directory, 'first'), BYTES);
    let broken = false;
    const io = new LocalFileIO({
      fs: {
        ...nodeLocalFs,
        syncDirectory: (path) =>
          broken
            ? Promise.reject(Object.assign(new Error('EIO'), { code: 'EIO' }))
            : nodeLocalFs.syncDirectory(path),
      },
    });
    await io.createNew(join(directory, 'second'), BYTES);
    broken = true;
    await expect(io.createNew(join(directory, 'third'), BYTES)).rejects.toMatchObject({
      code: 'STORAGE_ERROR',
      outcome: 'unknown',
    });
    await expect(io.replace(join(directory, 'first'), BYTES)).rejects.toMatchObject({ outcome: 'unknown' });
    expect(Buffer.compare(await plain.read(join(directory, 'third')), BYTES)).toBe(0);
    broken = false;
    expect(await io.createNew(join(directory, 'third'), BYTES)).toBe(false);
  });

  it('directories above that may not be read do not matter when they were there before', async () => {
    const io = new LocalFileIO({
      fs: {
        ...nodeLocalFs,
        makeDirectory: (path) =>
          path === directory || !path.startsWith(directory)
            ? Promise.reject(Object.assign(new Error('EROFS'), { code: 'EROFS' }))
            : nodeLocalFs.makeDirectory(path),
        syncDirectory: (path) =>
          path.startsWith(directory)
            ? nodeLocalFs.syncDirectory(path)
            : Promise.reject(Object.assign(new Error('EACCES'), { code: 'EACCES' })),
      },
    });
    expect(await io.createNew(join(directory, 'a/b/f'), BYTES)).toBe(true);
  });

  it('a directory that somebody removed is made again', async () => {
    const io = new LocalFileIO();
    await io.createNew(join(directory, 'd/e/one'), BYTES);
    await rm(join(directory, 'd'), { recursive: true });
    expect(await io.createNew(join(directory, 'd/e/two'), BYTES)).toBe(true);
    expect(Buffer.compare(await io.read(join(directory, 'd/e/two')), BYTES)).toBe(0);
  });

  it('a file where a directory should be is named', async () => {
    const io = new LocalFileIO();
    await io.createNew(join(directory, 'file'), BYTES);
    await expect(io.createNew(join(directory, 'file/below'), BYTES)).rejects.toMatchObject({
      code: 'STORAGE_ERROR',
      message: expect.stringContaining('not a directory'),
    });
    expect(await io.stat(join(directory, 'file/below'))).toBeUndefined();
    await expect(io.read(join(directory, 'file/below'))).rejects.toMatchObject({ code: 'FILE_NOT_FOUND' });
    await io.delete(join(directory, 'file/below'));
  });
});
