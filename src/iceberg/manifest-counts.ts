import type { FileIO } from '../storage/file-io.ts';
import { ADDED, DELETED, EXISTING } from './manifest.ts';
import type { ManifestFile } from './manifest-list.ts';
import type { TableMetadata } from './metadata.ts';
import { manifestEntries } from './table-files.ts';

/**
 * The manifest with its counts, which a list of version 1 may leave out; they are counted from its entries then. From
 * version 2 they are required, and a 0 that was made up would have every reader pass the manifest over.
 */
export async function withCounts(
  io: FileIO,
  manifest: ManifestFile,
  metadata: TableMetadata,
): Promise<ManifestFile> {
  const { addedFilesCount, existingFilesCount, deletedFilesCount } = manifest;
  const { addedRowsCount, existingRowsCount, deletedRowsCount } = manifest;
  const counts = [addedFilesCount, existingFilesCount, deletedFilesCount];
  if (![...counts, addedRowsCount, existingRowsCount, deletedRowsCount].includes(null)) return manifest;
  const files = [0, 0, 0];
  const rows = [0n, 0n, 0n];
  for await (const { status, file } of manifestEntries(io, manifest, metadata)) {
    files[status]++;
    rows[status] += file.recordCount;
  }
  return {
    ...manifest,
    addedFilesCount: files[ADDED],
    existingFilesCount: files[EXISTING],
    deletedFilesCount: files[DELETED],
    addedRowsCount: rows[ADDED],
    existingRowsCount: rows[EXISTING],
    deletedRowsCount: rows[DELETED],
  };
}
