/** The live files of a snapshot, with their partition and metrics (Iceberg spec, "Scan Planning"). */
import type { DataFile } from '../core/data-file.ts';
import type { FileIO } from '../storage/file-io.ts';
import { DELETED } from './manifest.ts';
import type { ManifestFile } from './manifest-list.ts';
import type { Snapshot, TableMetadata } from './metadata.ts';
import { ManifestLists, manifestEntries } from './table-files.ts';

export interface LiveFile {
  readonly file: DataFile;
  /** Data sequence number: which delete files apply to it. */
  readonly sequenceNumber: bigint;
  /** When the file was added; null where an old writer kept no account of it. */
  readonly fileSequenceNumber: bigint | null;
  /** The snapshot that added the file. */
  readonly snapshotId: bigint;
}

/** The manifests of a snapshot. Throws METADATA_INVALID, FILE_NOT_FOUND. */
export async function snapshotManifests(io: FileIO, snapshot: Snapshot): Promise<readonly ManifestFile[]> {
  return new ManifestLists(io).read(snapshot);
}

/**
 * Data files, then delete files, of a snapshot, one at a time: no manifest is held whole.
 * Throws METADATA_INVALID, FILE_NOT_FOUND.
 */
export async function* liveFiles(
  io: FileIO,
  metadata: TableMetadata,
  snapshot: Snapshot,
): AsyncGenerator<LiveFile> {
  const manifests = await snapshotManifests(io, snapshot);
  for (const manifest of manifests.toSorted((a, b) => a.content - b.content)) {
    for await (const entry of manifestEntries(io, manifest, metadata)) {
      if (entry.status === DELETED) continue;
      yield {
        file: entry.file,
        sequenceNumber: entry.sequenceNumber ?? manifest.sequenceNumber,
        fileSequenceNumber: entry.fileSequenceNumber,
        snapshotId: entry.snapshotId,
      };
    }
  }
}

/** All live files of a snapshot at once, data and delete files apart. */
export async function listLiveFiles(
  io: FileIO,
  metadata: TableMetadata,
  snapshot: Snapshot,
): Promise<{ dataFiles: LiveFile[]; deleteFiles: LiveFile[] }> {
  const dataFiles: LiveFile[] = [];
  const deleteFiles: LiveFile[] = [];
  for await (const live of liveFiles(io, metadata, snapshot))
    (live.file.content === 0 ? dataFiles : deleteFiles).push(live);
  return { dataFiles, deleteFiles };
}
