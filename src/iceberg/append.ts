/**
 * Appends. `prepareAppend` writes the manifests of new data files once; `stageAppend` writes a manifest list on top of
 * the head of the ref for each attempt (Iceberg spec, "Sequence Number Inheritance": a manifest takes its numbers from
 * the list, so that it can be written before they are known).
 */
import type { DataFiles } from '../core/data-file.ts';
import { SluiceError } from '../errors.ts';
import { type FileIO, joinPath } from '../storage/file-io.ts';
import { ADDED, ManifestWriter } from './manifest.ts';
import { type ManifestFile, writeManifestList } from './manifest-list.ts';
import { ManifestMerger, mergeOptions } from './manifest-merge.ts';
import { type Snapshot, snapshotOfRef, specById, type TableMetadata } from './metadata.ts';
import { appendSummary, totals } from './summary.ts';
import { type ManifestLists, metadataDirectory, writeNewFile } from './table-files.ts';
import type { TableRequirement, TableUpdate } from './updates.ts';

export interface AppendRequest {
  snapshotId: bigint;
  commitId: string;
  /** In the names of all files, so that a clean-up knows its own. */
  writerId: string;
  /** Makes the names fresh when the same commit is prepared again. */
  nonce: string;
  files: DataFiles;
}

export interface PreparedAppend {
  readonly request: AppendRequest;
  readonly manifests: readonly ManifestFile[];
  /** The part of the summary that holds for every attempt. */
  readonly summary: Readonly<Record<string, string>>;
  readonly merger: ManifestMerger;
  /** The directory and the beginning of the name of everything that the append writes. */
  readonly prefix: string;
}

export interface StagedAppend {
  readonly snapshot: Snapshot;
  readonly manifests: readonly ManifestFile[];
  readonly requirements: TableRequirement[];
  /** add-snapshot and set-snapshot-ref; the caller adds its own. */
  readonly updates: TableUpdate[];
}

/** Only letters, digits, `-` and `_` of an id go into a file's name. */
function nameSafe(id: string): string {
  return id.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, 80);
}

/** Writes the manifests of the files, durably. Throws TABLE_INCOMPATIBLE for a table that cannot be appended to. */
export async function prepareAppend(
  io: FileIO,
  metadata: TableMetadata,
  request: AppendRequest,
): Promise<PreparedAppend> {
  if (metadata.formatVersion === 1) {
    throw new SluiceError(
      'TABLE_INCOMPATIBLE',
      `the table at ${metadata.location} has format version 1, whose snapshots have no sequence numbers to prove a commit by; upgrade it to 2 ("format-version" = "2") first`,
    );
  }
  const suffix = `${nameSafe(request.commitId)}-${nameSafe(request.writerId)}-${nameSafe(request.nonce)}`;
  const directory = metadataDirectory(metadata);
  let count = 0;
  const newLocation = (): string => joinPath(directory, `${suffix}-m${count++}.avro`);
  const manifests: ManifestFile[] = [];
  const target = mergeOptions(metadata.properties).targetSizeBytes;
  for (const specId of specIdsOf(request.files)) {
    let writer: ManifestWriter | undefined;
    const flush = async (): Promise<void> => {
      if (writer === undefined) return;
      const { bytes, manifest } = writer.finish();
      writer = undefined;
      await writeNewFile(io, manifest.manifestPath, bytes);
      manifests.push(manifest);
    };
    for (const file of request.files) {
      if (file.specId !== specId) continue;
      if (file.content !== 0)
        throw new SluiceError('INTERNAL', `${file.filePath} is a delete file: an append takes data files`);
      writer ??= new ManifestWriter(
        metadata,
        specById(metadata, specId),
        0,
        request.snapshotId,
        newLocation(),
      );
      writer.add({
        status: ADDED,
        snapshotId: request.snapshotId,
        sequenceNumber: null,
        fileSequenceNumber: null,
        file,
      });
      if (writer.sizeGuess >= target) await flush();
    }
    await flush();
  }
  return {
    request,
    manifests,
    summary: appendSummary(metadata, request.files),
    merger: new ManifestMerger(io, newLocation),
    prefix: suffix,
  };
}

function specIdsOf(files: DataFiles): Set<number> {
  const ids = new Set<number>();
  for (const { specId } of files) ids.add(specId);
  return ids;
}

export interface StageRequest {
  metadata: TableMetadata;
  ref: string;
  attempt: number;
  nowMs: number;
  /** Entries of the summary beside those of the append. */
  summary: Readonly<Record<string, string>>;
}

/** Writes the manifest list of one attempt on top of the ref's head. */
export async function stageAppend(
  io: FileIO,
  lists: ManifestLists,
  prepared: PreparedAppend,
  stage: StageRequest,
): Promise<StagedAppend> {
  const { metadata, ref } = stage;
  const { snapshotId } = prepared.request;
  // A branch that does not exist yet begins at the head of main, as Java's does.
  const parent = snapshotOfRef(metadata, ref) ?? snapshotOfRef(metadata, 'main');
  const current = metadata.refs.get(ref);
  if (current?.type === 'tag')
    throw new SluiceError('TABLE_INCOMPATIBLE', `ref ${ref} is a tag: only a branch can be appended to`);
  const existing = parent === undefined ? [] : await lists.read(parent);
  const manifests = await prepared.merger.merge(metadata, snapshotId, prepared.manifests, existing);
  const location = joinPath(
    metadataDirectory(metadata),
    `snap-${snapshotId}-${stage.attempt}-${prepared.prefix}.avro`,
  );
  const sequenceNumber = metadata.lastSequenceNumber + 1n;
  const list = writeManifestList({
    location,
    formatVersion: metadata.formatVersion === 3 ? 3 : 2,
    snapshotId,
    parentSnapshotId: parent?.snapshotId ?? null,
    sequenceNumber,
    firstRowId: metadata.nextRowId,
    manifests,
  });
  await writeNewFile(io, location, list.bytes);
  const summary = { ...prepared.summary, ...stage.summary };
  const snapshot: Snapshot = {
    snapshotId,
    parentSnapshotId: parent?.snapshotId ?? null,
    sequenceNumber,
    // Never behind the table: Java refuses a history whose times run back by more than a minute.
    timestampMs: Math.max(stage.nowMs, metadata.lastUpdatedMs),
    manifestList: location,
    summary: { ...summary, ...totals(parent, summary) },
    schemaId: metadata.currentSchemaId,
    ...(metadata.formatVersion === 3
      ? { firstRowId: metadata.nextRowId, addedRows: list.nextRowId - metadata.nextRowId }
      : {}),
  };
  return {
    snapshot,
    manifests: list.manifests,
    requirements: [
      { type: 'assert-table-uuid', uuid: metadata.tableUuid },
      { type: 'assert-ref-snapshot-id', ref, snapshotId: current?.snapshotId ?? null },
    ],
    updates: [
      { action: 'add-snapshot', snapshot },
      {
        action: 'set-snapshot-ref',
        refName: ref,
        ref: { ...(current ?? { type: 'branch' as const }), snapshotId },
      },
    ],
  };
}
