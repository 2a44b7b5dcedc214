import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { type FileIO, joinPath } from '../../src/storage/file-io.ts';
import { LocalFileIO } from '../../src/storage/local-file-io.ts';
import { MemoryFileIO } from '../../src/storage/memory-file-io.ts';
import { FaultyFileIO } from '../support/faulty-file-io.ts';
import { PowerLossFileIO } from '../support/power-loss-file-io.ts';

const made: string[] = [];

async function temporaryDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'sluice-file-io-'));
  made.push(directory);
  return directory;
}

/** Each opens a fresh, empty place. `io` makes a second object on the same place where there can be one. */
const implementations: Record<string, () => Promise<{ io: FileIO; root: string }>> = {
  'local, plain paths': async () => ({ io: new LocalFileIO(), root: await temporaryDirectory() }),
  'local, file: locations': async () => ({
    io: new LocalFileIO(),
    root: `file://${await temporaryDirectory()}`,
  }),
  memory: async () => ({ io: new MemoryFileIO(), root: 'memory://bucket/place' }),
  'power loss': async () => ({ io: new PowerLossFileIO(), root: '/place' }),
  'faulty without a fault': async () => ({ io: new FaultyFileIO(new MemoryFileIO()), root: 'memory://x' }),
};

const bytes = (text: string) => new TextEncoder().encode(text);
const text = (b: Uint8Array) => new TextDecoder().decode(b);

async function listed(io: FileIO, directory: string): Promise<string[]> {
  const paths: string[] = [];
  for await (const entry of io.list(directory)) paths.push(entry.path);
  return paths.sort();
}

afterAll(async () => {
  for (const directory of made) await rm(directory, { recursive: true, force: true });
});

describe.each(Object.entries(implementations))('FileIO: %s', (_name, open) => {
  it('creates a file once and leaves the first one as it is', async () => {
    const { io, root } = await open();
    const path = joinPath(root, 'a/b/c');
    expect(await io.createNew(path, bytes('one'))).toBe(true);
    expect(await io.createNew(path, bytes('two'))).toBe(false);
    expect(text(await io.read(path))).toBe('one');
    expect(await listed(io, root)).toEqual([path]);
  });

  it('lets exactly one of several creators at once win', async () => {
    const { io, root } = await open();
    const path = joinPath(root, 'offsets/7');
    const won = await Promise.all(
      Array.from({ length: 16 }, (_, i) => io.createNew(path, bytes(`writer ${i}`))),
    );
    expect(won.filter(Boolean)).toHaveLength(1);
    expect(text(await io.read(path))).toBe(`writer ${won.indexOf(true)}`);
    expect(await listed(io, root)).toEqual([path]);
  });

  it('replaces, whether the file was there or not', async () => {
    const { io, root } = await open();
    const path = joinPath(root, 'lease');
    await io.replace(path, bytes('a long first text'));
    await io.replace(path, bytes('short'));
    expect(text(await io.read(path))).toBe('short');
    expect(await listed(io, root)).toEqual([path]);
  });

  it("keeps the bytes it was given, not the caller's buffer", async () => {
    const { io, root } = await open();
    const buffer = bytes('before');
    await io.createNew(joinPath(root, 'n'), buffer);
    await io.replace(joinPath(root, 'r'), buffer);
    const out = await io.create(joinPath(root, 'o'));
    await out.write(buffer);
    buffer.fill(0);
    await out.close();
    for (const name of ['n', 'r', 'o']) expect(text(await io.read(joinPath(root, name)))).toBe('before');
    (await io.read(joinPath(root, 'n'))).fill(0);
    expect(text(await io.read(joinPath(root, 'n')))).toBe('before');
  });

  it('writes a file front to back in pieces of every size', async () => {
    const { io, root } = await open();
    const path = joinPath(root, 'data/part.parquet');
    const out = await io.create(path);
    expect(out.path).toBe(path);
    const sizes = [0, 1, 255, 4096, 262_143, 262_144, 262_145, 3, 700_000, 100_000, 100_000, 100_000, 1];
    const expected = new Uint8Array(sizes.reduce((a, b) => a + b, 0));
    let at = 0;
    for (const size of sizes) {
      const piece = new Uint8Array(size).map((_, i) => (at + i * 7) & 255);
      expected.set(piece, at);
      await out.write(piece);
      piece.fill(0xee);
      at += size;
      expect(out.position).toBe(at);
    }
    expect(await io.stat(path)).toBeUndefined();
    expect(await listed(io, root)).toEqual([]);
    await out.close();
    expect(Buffer.compare(await io.read(path), expected)).toBe(0);
    expect((await io.stat(path))?.sizeBytes).toBe(expected.length);
    expect(await listed(io, root)).toEqual([path]);
  });

  it('leaves nothing behind an aborted file, and abort never throws', async () => {
    const { io, root } = await open();
    const path = joinPath(root, 'data/given-up');
    const out = await io.create(path);
    await out.write(bytes('half'));
    await out.abort();
    await out.abort();
    expect(await io.stat(path)).toBeUndefined();
    expect(await listed(io, root)).toEqual([]);
    await expect(out.write(bytes('x'))).rejects.toMatchObject({ code: 'STORAGE_ERROR' });
    await expect(out.close()).rejects.toMatchObject({ code: 'STORAGE_ERROR' });
    const closed = await io.create(path);
    await closed.close();
    await closed.abort();
    expect((await io.stat(path))?.sizeBytes).toBe(0);
  });

  it('refuses to create over an existing file, at the start and at the end', async () => {
    const { io, root } = await open();
    const path = joinPath(root, 'taken');
    const late = await io.create(path);
    await late.write(bytes('late'));
    await io.createNew(path, bytes('first'));
    await expect(io.create(path)).rejects.toMatchObject({ code: 'STORAGE_ERROR', retryable: false });
    await expect(late.close()).rejects.toMatchObject({
      code: 'STORAGE_ERROR',
      message: expect.stringContaining(path),
    });
    await late.abort();
    expect(text(await io.read(path))).toBe('first');
    expect(await listed(io, root)).toEqual([path]);
  });

  it('reads ranges, cut at the end of the file', async () => {
    const { io, root } = await open();
    const path = joinPath(root, 'digits');
    await io.createNew(path, bytes('0123456789'));
    expect(text(await io.read(path, { start: 0, end: 10 }))).toBe('0123456789');
    expect(text(await io.read(path, { start: 3, end: 5 }))).toBe('34');
    expect(text(await io.read(path, { start: 8, end: 99 }))).toBe('89');
    expect((await io.read(path, { start: 4, end: 4 })).length).toBe(0);
    expect((await io.read(path, { start: 5, end: 4 })).length).toBe(0);
    expect((await io.read(path, { start: 10, end: 20 })).length).toBe(0);
    expect((await io.read(path, { start: 50, end: 60 })).length).toBe(0);
  });

  it('tells what is not there', async () => {
    const { io, root } = await open();
    const path = joinPath(root, 'no/such/file');
    await expect(io.read(path)).rejects.toMatchObject({
      code: 'FILE_NOT_FOUND',
      message: expect.stringContaining(path),
    });
    await expect(io.read(path, { start: 0, end: 5 })).rejects.toMatchObject({ code: 'FILE_NOT_FOUND' });
    expect(await io.stat(path)).toBeUndefined();
    await io.delete(path);
    expect(await listed(io, joinPath(root, 'no/such'))).toEqual([]);
  });

  it('takes a directory for no file', async () => {
    const { io, root } = await open();
    await io.createNew(joinPath(root, 'dir/file'), bytes('x'));
    expect(await io.stat(joinPath(root, 'dir'))).toBeUndefined();
    await expect(io.read(joinPath(root, 'dir'))).rejects.toMatchObject({ code: 'FILE_NOT_FOUND' });
    await expect(io.createNew(`${root}/dir/`, bytes('x'))).rejects.toMatchObject({ code: 'STORAGE_ERROR' });
    await expect(io.create(`${root}/`)).rejects.toMatchObject({ code: 'STORAGE_ERROR' });
    await expect(io.replace(`${root}/.`, bytes('x'))).rejects.toMatchObject({ code: 'STORAGE_ERROR' });
  });

  it('deletes, and lets the name be used again', async () => {
    const { io, root } = await open();
    const path = joinPath(root, 'x/y');
    await io.createNew(path, bytes('1'));
    await io.delete(path);
    await io.delete(path);
    expect(await io.stat(path)).toBeUndefined();
    expect(await io.createNew(path, bytes('2'))).toBe(true);
    expect(text(await io.read(path))).toBe('2');
  });

  it('lists every file below a directory and none beside it', async () => {
    const { io, root } = await open();
    const names = [
      't/data/dt=2024-01-01/hour=3/a.parquet',
      't/data/b.parquet',
      't/metadata/v1.json',
      't/.hidden',
      't2/c',
    ];
    for (const name of names) await io.createNew(joinPath(root, name), bytes(name));
    const under = names.filter((n) => n.startsWith('t/')).map((n) => joinPath(root, n));
    expect(await listed(io, joinPath(root, 't'))).toEqual(under.sort());
    expect(await listed(io, `${joinPath(root, 't')}/`)).toEqual(under.sort());
    for await (const entry of io.list(joinPath(root, 't'))) {
      expect(entry.sizeBytes).toBe((await io.read(entry.path)).length);
      expect(Number.isSafeInteger(entry.modifiedMs)).toBe(true);
    }
  });

  it('names what is directly below a directory', async () => {
    const { io, root } = await open();
    for (const name of ['t/a', 't/b/c', 't/b/d/e', 't/.f', 't2/g'])
      await io.createNew(joinPath(root, name), bytes(name));
    const below = async (directory: string) =>
      (await io.children(directory)).map(({ name, kind }) => `${kind} ${name}`).sort();
    expect(await below(joinPath(root, 't'))).toEqual(['directory b', 'file .f', 'file a']);
    expect(await below(`${joinPath(root, 't')}/`)).toEqual(['directory b', 'file .f', 'file a']);
    expect(await below(joinPath(root, 't/b'))).toEqual(['directory d', 'file c']);
    expect(await below(joinPath(root, 'none'))).toEqual([]);
  });

  it.each([
    'with spaces/a b c',
    'city=a%20b/x=%/100%',
    'ünïcödé/서울/日本.parquet',
    'quote\'"?#&+;:@[]{}~`$!*()',
    'dots/..a/.../b.',
    'back\\slash',
    'emoji-😀',
    '-dash',
  ])('keeps the name %s as it is', async (name) => {
    const { io, root } = await open();
    const path = joinPath(root, name);
    expect(await io.createNew(path, bytes(name))).toBe(true);
    expect(text(await io.read(path))).toBe(name);
    expect((await io.stat(path))?.sizeBytes).toBe(bytes(name).length);
    expect(await listed(io, root)).toEqual([path]);
    await io.replace(path, bytes('2'));
    const out = await io.create(`${path}.next`);
    await out.close();
    expect(await listed(io, root)).toEqual([path, `${path}.next`].sort());
    await io.delete(path);
    expect(await io.stat(path)).toBeUndefined();
  });

  it('takes names as long as the file system does', async () => {
    const { io, root } = await open();
    const path = joinPath(root, `${'n'.repeat(247)}.parquet`);
    expect(await io.createNew(path, bytes('long'))).toBe(true);
    expect(await listed(io, root)).toEqual([path]);
  });

  it('writes many files at once into new directories', async () => {
    const { io, root } = await open();
    const paths = Array.from({ length: 40 }, (_, i) => joinPath(root, `dt=${i % 5}/hour=${i % 3}/f${i}`));
    await Promise.all(
      paths.map(async (path) => {
        const out = await io.create(path);
        await out.write(bytes(path));
        await out.close();
      }),
    );
    expect(await listed(io, root)).toEqual([...paths].sort());
    for (const path of paths) expect(text(await io.read(path))).toBe(path);
  });
});
