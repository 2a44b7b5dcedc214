/**
 * Does the history of a ref hold a snapshot that may have been expired? Snapshots that are listed answer it as far as
 * they reach; beyond, the table's older metadata files do, and after them the manifests of the head. A snapshot without
 * a parent is no proof of a beginning: PyIceberg takes the parent away from the survivors of an expiry.
 */
import { isSluiceError } from '../errors.ts';
import type { FileIO } from '../storage/file-io.ts';
import { type Snapshot, snapshotOfRef, type TableMetadata } from './metadata.ts';
import { readMetadataFile } from './metadata-file.ts';
import { type ManifestLists, manifestEntries } from './table-files.ts';

/** `held` and `lost` are proven. */
export type Held = 'held' | 'lost' | 'unknown';

export interface SoughtSnapshot {
  readonly snapshotId: bigint;
  readonly sequenceNumber: bigint;
}

/** What the table's storage tells beyond its metadata. */
export interface HistoryEvidence {
  /** Older metadata of the table, newest first, as far as files are there. */
  olderMetadata(metadata: TableMetadata): AsyncIterable<TableMetadata>;
  /** Do the manifests of `head` tell of a file that the sought snapshot added? A file that was rewritten since is not found. */
  listsFilesOf(metadata: TableMetadata, head: Snapshot, sought: SoughtSnapshot): Promise<boolean>;
}

/** Throws what the storage throws; what is looked for was read only where the listed snapshots leave it open. */
export async function refHolds(
  metadata: TableMetadata,
  ref: string,
  sought: SoughtSnapshot,
  evidence: HistoryEvidence,
): Promise<Held> {
  const head = snapshotOfRef(metadata, ref);
  if (head === undefined) return 'lost';
  const ancestry = new Ancestry(head, sought);
  let verdict = ancestry.extend(metadata);
  if (verdict !== undefined) return verdict;
  for await (const older of evidence.olderMetadata(metadata)) {
    verdict = ancestry.extend(older);
    if (verdict !== undefined) return verdict;
    // From before the oldest ancestor was committed: its parent was the head then, or it had none.
    if (older.lastSequenceNumber < ancestry.oldest.sequenceNumber) break;
  }
  if (beganTheTable(ancestry.oldest)) return 'lost';
  return (await evidence.listsFilesOf(metadata, head, sought)) ? 'held' : 'unknown';
}

/** The way down from a head, over the snapshots that are known so far. */
class Ancestry {
  readonly #known = new Map<bigint, Snapshot>();
  readonly #sought: SoughtSnapshot;
  #oldest: Snapshot;

  constructor(head: Snapshot, sought: SoughtSnapshot) {
    this.#oldest = head;
    this.#sought = sought;
  }

  get oldest(): Snapshot {
    return this.#oldest;
  }

  /** Goes on with what a metadata file lists; undefined where it does not come to an end. */
  extend(metadata: TableMetadata): 'held' | 'lost' | undefined {
    for (const snapshot of metadata.snapshots) {
      const known = this.#known.get(snapshot.snapshotId);
      if (known === undefined || (known.parentSnapshotId === null && snapshot.parentSnapshotId !== null))
        this.#known.set(snapshot.snapshotId, snapshot);
    }
    for (;;) {
      const { snapshotId, sequenceNumber, parentSnapshotId } = this.#known.get(this.#oldest.snapshotId)!;
      if (snapshotId === this.#sought.snapshotId || parentSnapshotId === this.#sought.snapshotId)
        return 'held';
      // Numbers fall from a snapshot to its parent, so what is looked for would have come by now.
      if (sequenceNumber <= this.#sought.sequenceNumber) return 'lost';
      const parent = parentSnapshotId === null ? undefined : this.#known.get(parentSnapshotId);
      // A parent that is not older would be a cycle in damaged metadata.
      if (parent === undefined || parent.sequenceNumber >= sequenceNumber) return undefined;
      this.#oldest = parent;
    }
  }
}

/** Its totals are what it added itself, and it removed nothing: there was nothing below it. */
function beganTheTable(snapshot: Snapshot): boolean {
  const { summary, parentSnapshotId } = snapshot;
  const isNone = (key: string): boolean => (summary[key] ?? '0') === '0';
  return (
    parentSnapshotId === null &&
    summary['total-records'] === (summary['added-records'] ?? '0') &&
    summary['total-data-files'] === (summary['added-data-files'] ?? '0') &&
    isNone('deleted-records') &&
    isNone('deleted-data-files')
  );
}

/** Metadata files that are looked at, at most. */
const MAX_OLDER_FILES = 500;

export function tableEvidence(io: FileIO, lists: ManifestLists): HistoryEvidence {
  return {
    async *olderMetadata(metadata) {
      let log = metadata.metadataLog;
      const seen = new Set<string>();
      while (log.length > 0) {
        let oldest: TableMetadata | undefined;
        for (const { metadataFile } of log.toReversed()) {
          if (seen.has(metadataFile)) continue;
          if (seen.size >= MAX_OLDER_FILES) return;
          seen.add(metadataFile);
          const older = await readOlder(io, metadataFile);
          if (older?.tableUuid !== metadata.tableUuid) continue;
          yield older;
          oldest = older;
        }
        // Its own log leads further back, where nobody cleans old files.
        log = oldest?.metadataLog ?? [];
      }
    },
    async listsFilesOf(metadata, head, sought) {
      for (const manifest of await lists.read(head)) {
        if (manifest.addedSnapshotId === sought.snapshotId) return true;
        const { minSequenceNumber, sequenceNumber } = manifest;
        if (minSequenceNumber > sought.sequenceNumber || sequenceNumber < sought.sequenceNumber) continue;
        for await (const entry of manifestEntries(io, manifest, metadata)) {
          // A number is given once, so it tells as much as the id; entries of deleted files bear the id of who deleted.
          if (entry.snapshotId === sought.snapshotId || entry.sequenceNumber === sought.sequenceNumber)
            return true;
        }
      }
      return false;
    },
  };
}

/** Undefined where the file was cleaned away or tells nothing. */
async function readOlder(io: FileIO, location: string): Promise<TableMetadata | undefined> {
  try {
    return await readMetadataFile(io, location);
  } catch (e) {
    if (['FILE_NOT_FOUND', 'METADATA_INVALID', 'UNSUPPORTED'].some((c) => isSluiceError(e) && e.code === c))
      return undefined;
    throw e;
  }
}
