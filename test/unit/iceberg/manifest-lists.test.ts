import { expect, it } from 'vitest';
import type { ManifestFile } from '../../../src/iceberg/manifest-list.ts';
import type { Snapshot } from '../../../src/iceberg/metadata.ts';
import { ManifestLists } from '../../../src/iceberg/table-files.ts';
import { MemoryFileIO } from '../../../src/storage/memory-file-io.ts';

const snapshot = (manifestList: string): Snapshot => ({ snapshotId: 1n, manifestList }) as Snapshot;

/** Which of the lists are read from storage, where none is: those that were forgotten. */
async function forgotten(lists: ManifestLists, names: string[]): Promise<string[]> {
  const gone: string[] = [];
  for (const name of names) await lists.read(snapshot(name)).catch(() => gone.push(name));
  return gone;
}

const list = (length: number): ManifestFile[] => Array.from({ length }, () => ({}) as ManifestFile);

it('lists are forgotten oldest first, by their number', async () => {
  const lists = new ManifestLists(new MemoryFileIO(), 2);
  for (const name of ['a', 'b', 'c']) lists.put(name, list(1));
  expect(await forgotten(lists, ['a', 'b', 'c'])).toEqual(['a']);
});

it('and by the manifests in them: long lists leave little room, and none is kept that takes more than all', async () => {
  const lists = new ManifestLists(new MemoryFileIO());
  for (const [name, length] of Object.entries({ a: 12_000, b: 12_000, c: 5_000 }))
    lists.put(name, list(length));
  expect(await forgotten(lists, ['a', 'b', 'c'])).toEqual([]);
  lists.put('b', list(12_000));
  lists.put('d', list(4_000));
  expect(await forgotten(lists, ['a', 'b', 'c', 'd'])).toEqual(['a']);
  lists.put('huge', list(30_001));
  expect(await forgotten(lists, ['b', 'c', 'd', 'huge'])).toEqual(['huge']);
});
