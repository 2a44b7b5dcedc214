/** Merging of small manifests as Java's `ManifestMergeManager` does it. */
import type { FileIO, OutputFile } from '../storage/file-io.ts';
import { ADDED, bindSpec, DELETED, EXISTING, type ManifestEntry, ManifestWriter } from './manifest.ts';
import { withCounts } from './manifest-counts.ts';
import type { ManifestFile } from './manifest-list.ts';
import { propertyAsInteger, specById, type TableMetadata } from './metadata.ts';
import { knowsPartitionTypes } from './partition.ts';
import { manifestEntries } from './table-files.ts';

export interface MergeOptions {
  readonly enabled: boolean;
  /** Manifests that must come together before a bin with the new one is merged. */
  readonly minCountToMerge: number;
  readonly targetSizeBytes: number;
}

/** The table's `commit.manifest*` properties, with Java's defaults. */
export function mergeOptions(properties: Readonly<Record<string, string>>): MergeOptions {
  return {
    enabled: properties['commit.manifest-merge.enabled']?.toLowerCase() !== 'false',
    minCountToMerge: Math.max(2, propertyAsInteger(properties, 'commit.manifest.min-count-to-merge') ?? 100),
    targetSizeBytes: Math.max(
      1,
      propertyAsInteger(properties, 'commit.manifest.target-size-bytes') ?? 8 * 1024 * 1024,
    ),
  };
}

/**
 * The bins of manifests that would be written as one: filled from the end up to `targetSize`, so that the bin that
 * stays small is the first, where new manifests come in. The order of the manifests is kept.
 */
export function packFromEnd(manifests: readonly ManifestFile[], targetSize: number): ManifestFile[][] {
  const bins: ManifestFile[][] = [];
  let bin: ManifestFile[] = [];
  let size = 0;
  for (const manifest of manifests.toReversed()) {
    const length = Number(manifest.manifestLength);
    if (bin.length > 0 && size + length > targetSize) {
      bins.push(bin);
      bin = [];
      size = 0;
    }
    bin.push(manifest);
    size += length;
  }
  if (bin.length > 0) bins.push(bin);
  return bins.map((b) => b.reverse()).reverse();
}

/** Merges data manifests for one commit; what was merged is reused by the next attempt where its inputs are the same. */
export class ManifestMerger {
  readonly #io: FileIO;
  readonly #newLocation: () => string;
  readonly #merged = new Map<string, ManifestFile>();
  readonly #locations: string[] = [];
  /** Manifests whose list told no counts, for the next attempt. */
  readonly #countedOnce = new Map<string, ManifestFile>();

  constructor(io: FileIO, newLocation: () => string) {
    this.#io = io;
    this.#newLocation = newLocation;
  }

  /** The location of every manifest that this merger wrote or began to write. */
  get written(): readonly string[] {
    return this.#locations;
  }

  /**
   * The manifests after merging: `fresh` are those of this commit, `existing` those of the snapshot below it. Delete
   * manifests and manifests of other specs are never mixed, and those whose partition types are not certain stay as they are.
   */
  async merge(
    metadata: TableMetadata,
    snapshotId: bigint,
    fresh: readonly ManifestFile[],
    existing: readonly ManifestFile[],
  ): Promise<ManifestFile[]> {
    const options = mergeOptions(metadata.properties);
    const counted: ManifestFile[] = [];
    for (const manifest of existing) counted.push(await this.#counted(manifest, metadata));
    const deletes = counted.filter((m) => m.content === 1);
    const data = [...fresh, ...counted.filter((m) => m.content === 0 && holdsLiveFiles(m))];
    if (!options.enabled) return [...data, ...deletes];
    const first = data[0];
    const specs = [...new Set(data.map((m) => m.partitionSpecId))].sort((a, b) => b - a);
    const result: ManifestFile[] = [];
    for (const spec of specs) {
      const group = data.filter((m) => m.partitionSpecId === spec);
      if (!knowsPartitionTypes(bindSpec(metadata, specById(metadata, spec)))) {
        result.push(...group);
        continue;
      }
      for (const bin of packFromEnd(group, options.targetSizeBytes)) {
        const waits = bin.includes(first) && bin.length < options.minCountToMerge;
        if (bin.length === 1 || waits || bin.some((m) => m.keyMetadata !== null)) result.push(...bin);
        else result.push(await this.#mergeBin(metadata, snapshotId, bin));
      }
    }
    return [...result, ...deletes];
  }

  async #counted(manifest: ManifestFile, metadata: TableMetadata): Promise<ManifestFile> {
    const known = this.#countedOnce.get(manifest.manifestPath);
    if (known !== undefined) return known;
    const counted = await withCounts(this.#io, manifest, metadata);
    if (counted !== manifest) this.#countedOnce.set(manifest.manifestPath, counted);
    return counted;
  }

  async #mergeBin(
    metadata: TableMetadata,
    snapshotId: bigint,
    bin: readonly ManifestFile[],
  ): Promise<ManifestFile> {
    const key = bin.map((m) => m.manifestPath).join('\n');
    const known = this.#merged.get(key);
    if (known !== undefined) return known;
    const location = this.#newLocation();
    this.#locations.push(location);
    const output = await this.#io.create(location);
    try {
      const manifest = await this.#writeBin(metadata, snapshotId, bin, output);
      await output.close();
      this.#merged.set(key, manifest);
      return manifest;
    } catch (e) {
      await output.abort();
      throw e;
    }
  }

  /** From entry to entry: neither a manifest that is read nor the one that is written is ever held whole. */
  async #writeBin(
    metadata: TableMetadata,
    snapshotId: bigint,
    bin: readonly ManifestFile[],
    output: OutputFile,
  ): Promise<ManifestFile> {
    const spec = specById(metadata, bin[0].partitionSpecId);
    const writer = new ManifestWriter(metadata, spec, 0, snapshotId, output.path);
    for (const source of bin) {
      for await (const entry of manifestEntries(this.#io, source, metadata)) {
        const carried = carriedEntry(entry, source, snapshotId);
        if (carried === undefined) continue;
        writer.add(carried);
        if (writer.waiting >= WRITE_BYTES) await output.write(writer.take());
      }
    }
    const { bytes, manifest } = writer.finish();
    await output.write(bytes);
    return manifest;
  }
}

const WRITE_BYTES = 256 * 1024;

/** A manifest that only tells of files that an earlier snapshot deleted is of no use to later ones. */
function holdsLiveFiles(m: ManifestFile): boolean {
  return m.addedFilesCount !== 0 || m.existingFilesCount !== 0;
}

/** An entry in its next manifest: new files of this commit stay new and take its sequence number, others exist with theirs. */
function carriedEntry(
  entry: ManifestEntry,
  manifest: ManifestFile,
  snapshotId: bigint,
): ManifestEntry | undefined {
  if (entry.status === DELETED) return undefined;
  if (manifest.addedSnapshotId !== snapshotId) return { ...entry, status: EXISTING };
  return { ...entry, status: ADDED, sequenceNumber: null, fileSequenceNumber: null };
}
