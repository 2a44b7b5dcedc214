/**
 * Expiry of snapshots within a commit, so that commit 10,000 costs what commit 10 costs (spec 50). It takes ancestors of
 * the branch that is written, and of these only what Sluice wrote; their manifest lists, and manifests that no snapshot
 * names any more, are deleted after the commit has landed. Data files are never deleted here.
 */
import type { FileIO } from '../storage/file-io.ts';
import type { ManifestFile } from './manifest-list.ts';
import {
  ancestorsOf,
  propertyAsInteger,
  type Snapshot,
  type SnapshotRef,
  type TableMetadata,
} from './metadata.ts';
import { isOwnSnapshot } from './requeue-marker.ts';
import type { ManifestLists } from './table-files.ts';

export interface SnapshotExpiry {
  /** Snapshots of a branch that are kept whatever their age, the head included. */
  minSnapshotsToKeep: number;
  /** Beyond those, snapshots younger than this are kept too ... */
  maxAgeMs: number;
  /**
   * ... but not more than this many in all (twice `minSnapshotsToKeep` when left out): every snapshot is listed in each
   * metadata file, and a batch a second for five days would be 432,000. Of no effect where the table or the ref sets
   * its own retention, which goes before all three.
   */
  maxSnapshotsToKeep?: number;
}

const MIN_PROPERTY = 'history.expire.min-snapshots-to-keep';
const AGE_PROPERTY = 'history.expire.max-snapshot-age-ms';

interface Retention {
  min: number;
  maxAgeMs: number;
  max: number;
}

function retentionOf(
  metadata: TableMetadata,
  ref: SnapshotRef | undefined,
  policy: SnapshotExpiry,
): Retention {
  const ownMin = ref?.minSnapshotsToKeep ?? propertyAsInteger(metadata.properties, MIN_PROPERTY);
  const refAge = ref?.maxSnapshotAgeMs;
  const ownAge = refAge === undefined ? propertyAsInteger(metadata.properties, AGE_PROPERTY) : Number(refAge);
  const min = Math.max(1, ownMin ?? policy.minSnapshotsToKeep);
  const own = ownMin !== undefined || ownAge !== undefined;
  return {
    min,
    maxAgeMs: ownAge ?? policy.maxAgeMs,
    max: own
      ? Number.POSITIVE_INFINITY
      : Math.max(min, policy.maxSnapshotsToKeep ?? 2 * policy.minSnapshotsToKeep),
  };
}

/** How many of a chain, newest first, are kept: those before the first that is neither among the newest `min` nor young enough (spec, "Snapshot Retention Policy"). `ahead`: snapshots that are about to stand above the chain. */
function retainedCount(
  chain: readonly Snapshot[],
  retention: Retention,
  nowMs: number,
  ahead: number,
): number {
  const expired = chain.findIndex((snapshot, i) => {
    const position = i + ahead;
    if (position < retention.min) return false;
    return position >= retention.max || nowMs - snapshot.timestampMs > retention.maxAgeMs;
  });
  return expired === -1 ? chain.length : expired;
}

/**
 * The ancestors of `ref` that a commit on top of it may expire, oldest first: those that bear a marker of Sluice, down to
 * the first that does not. What others wrote is theirs to expire, and below it nothing is touched. What any other branch
 * retains or any tag names is kept; snapshots outside the ref's history are left to `table expire`. Empty where
 * `gc.enabled` is false.
 */
export function selectExpired(
  metadata: TableMetadata,
  ref: string,
  policy: SnapshotExpiry,
  nowMs: number,
): Snapshot[] {
  if (metadata.properties['gc.enabled']?.toLowerCase() === 'false') return [];
  const chain = ancestorsOf(metadata, ref);
  const kept = retainedCount(chain, retentionOf(metadata, metadata.refs.get(ref), policy), nowMs, 1);
  const below = chain.slice(kept);
  const foreign = below.findIndex((s) => !isOwnSnapshot(s));
  const ours = foreign === -1 ? below : below.slice(0, foreign);
  if (ours.length === 0) return [];
  const retained = new Set<bigint>();
  for (const [name, other] of metadata.refs) {
    if (name === ref) continue;
    retained.add(other.snapshotId);
    if (other.type === 'tag') continue;
    const history = ancestorsOf(metadata, name);
    for (const s of history.slice(0, retainedCount(history, retentionOf(metadata, other, policy), nowMs, 0)))
      retained.add(s.snapshotId);
  }
  return ours.filter((s) => !retained.has(s.snapshotId)).reverse();
}

/**
 * The manifest lists and manifests that nothing reaches once `expired` are gone from `before`, and `landed` stands on
 * top. A manifest is in a snapshot because it was added by it (its `added_snapshot_id`) or because the parent had it; so
 * only the lists of the expired snapshots and of those without a parent need to be read, however long the table's
 * history is, and of these only what is not older than a manifest in question. What another writer's overwrite, delete
 * or replace expired is left alone: its manifests tell which data files it removed.
 */
export async function unreachableFiles(
  lists: ManifestLists,
  before: TableMetadata,
  expired: readonly Snapshot[],
  landed: { manifests: readonly ManifestFile[] },
): Promise<string[]> {
  const gone = new Set(expired.map((s) => s.snapshotId));
  const kept = before.snapshots.filter((s) => !gone.has(s.snapshotId));
  const keptIds = new Set(kept.map((s) => s.snapshotId));
  const inQuestion = new Map<string, ManifestFile>();
  const files = new Set<string>();
  for (const snapshot of expired) {
    if (snapshot.manifestList === null || snapshot.summary['operation'] !== 'append') continue;
    for (const manifest of await lists.read(snapshot)) {
      if (!keptIds.has(manifest.addedSnapshotId) && manifest.deletedFilesCount === 0)
        inQuestion.set(manifest.manifestPath, manifest);
    }
    files.add(snapshot.manifestList);
  }
  for (const manifest of landed.manifests) inQuestion.delete(manifest.manifestPath);
  for (const snapshot of kept) {
    // No parent may mean one that PyIceberg expired: it takes the parent away from the survivors.
    if (snapshot.parentSnapshotId !== null && keptIds.has(snapshot.parentSnapshotId)) continue;
    const mayList = (m: ManifestFile): boolean => m.sequenceNumber <= snapshot.sequenceNumber;
    if (![...inQuestion.values()].some(mayList)) continue;
    for (const manifest of await lists.read(snapshot)) inQuestion.delete(manifest.manifestPath);
  }
  for (const snapshot of kept) if (snapshot.manifestList !== null) files.delete(snapshot.manifestList);
  return [...files, ...inQuestion.keys()];
}

/** Deletes files, each on its own: one that cannot be deleted is left and counted. */
export async function deleteFiles(
  io: FileIO,
  paths: readonly string[],
): Promise<{ failed: number; firstError: unknown }> {
  let failed = 0;
  let firstError: unknown;
  for (const path of paths) {
    try {
      await io.delete(path);
    } catch (e) {
      failed++;
      firstError ??= e;
    }
  }
  return { failed, firstError };
}
