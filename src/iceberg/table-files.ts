/** Where a table keeps its files, and reading its manifest lists once. */
import { setImmediate } from 'node:timers/promises';
import { SluiceError } from '../errors.ts';
import { type FileIO, joinPath } from '../storage/file-io.ts';
import type { ManifestEntry } from './manifest.ts';
import { type ManifestFile, readManifestList } from './manifest-list.ts';
import { ManifestReader } from './manifest-reader.ts';
import type { Snapshot, TableMetadata } from './metadata.ts';

/** `write.metadata.path`, or `metadata` under the table's location (Iceberg spec, appendix F "Path Construction"). */
export function metadataDirectory(metadata: Pick<TableMetadata, 'location' | 'properties'>): string {
  return directoryOf(metadata, 'write.metadata.path', 'metadata');
}

/** `write.data.path`, or `data` under the table's location. */
export function dataDirectory(metadata: Pick<TableMetadata, 'location' | 'properties'>): string {
  return directoryOf(metadata, 'write.data.path', 'data');
}

function directoryOf(
  metadata: Pick<TableMetadata, 'location' | 'properties'>,
  property: string,
  name: string,
): string {
  const own = metadata.properties[property]?.replace(/\/+$/, '');
  if (own === undefined || own === '') return joinPath(metadata.location, name);
  return own.startsWith('/') || /^[A-Za-z][A-Za-z0-9+.-]+:/.test(own)
    ? own
    : joinPath(metadata.location, own);
}

/** The name of a file in text that may be a path of another system: what comes after the last slash. */
export function fileName(location: string): string {
  return location.slice(location.lastIndexOf('/') + 1);
}

/** Manifests of all lists together that are kept: some 20 MB at most. */
const MAX_KEPT_MANIFESTS = 30_000;

/**
 * Reads manifest lists and keeps the newest: a chain of commits reads each list once, whoever wrote it. Lists are
 * immutable, so a location is enough to know one by.
 */
export class ManifestLists {
  readonly #io: FileIO;
  readonly #capacity: number;
  readonly #lists = new Map<string, readonly ManifestFile[]>();
  #manifests = 0;

  constructor(io: FileIO, capacity = 64) {
    this.#io = io;
    this.#capacity = capacity;
  }

  /** The manifests of a snapshot. Throws METADATA_INVALID, FILE_NOT_FOUND. */
  async read(snapshot: Snapshot): Promise<readonly ManifestFile[]> {
    const location = snapshot.manifestList;
    if (location === null) {
      throw new SluiceError(
        'UNSUPPORTED',
        `snapshot ${snapshot.snapshotId} has no manifest list (format version 1 of 2018): rewrite the table with a newer engine`,
      );
    }
    const known = this.#lists.get(location);
    if (known !== undefined) {
      this.put(location, known);
      return known;
    }
    const manifests = readManifestList(await this.#io.read(location), location);
    this.put(location, manifests);
    return manifests;
  }

  /** Notes a list that this process wrote itself. */
  put(location: string, manifests: readonly ManifestFile[]): void {
    this.#drop(location);
    if (manifests.length > MAX_KEPT_MANIFESTS) return;
    this.#lists.set(location, manifests);
    this.#manifests += manifests.length;
    while (this.#lists.size > this.#capacity || this.#manifests > MAX_KEPT_MANIFESTS)
      this.#drop(this.#lists.keys().next().value!);
  }

  #drop(location: string): void {
    this.#manifests -= this.#lists.get(location)?.length ?? 0;
    this.#lists.delete(location);
  }
}

/** Read at a time of a manifest: small ones, which are nearly all, in one go. */
const PIECE_BYTES = 1024 * 1024;
/** After so many entries other work gets its turn: a large manifest takes seconds. */
const ENTRIES_AT_ONCE = 500;

/** The entries of a manifest, one at a time. Throws METADATA_INVALID, FILE_NOT_FOUND. */
export async function* manifestEntries(
  io: FileIO,
  manifest: ManifestFile,
  metadata: TableMetadata,
): AsyncGenerator<ManifestEntry> {
  const reader = new ManifestReader(manifest, metadata);
  let count = 0;
  for await (const piece of pieces(io, manifest.manifestPath, Number(manifest.manifestLength))) {
    reader.push(piece);
    for (const entry of reader.entries()) {
      yield entry;
      if (++count % ENTRIES_AT_ONCE === 0) await setImmediate();
    }
  }
  reader.end();
}

/** A file front to back. `length` may be wrong: it spares the look beyond the end. */
async function* pieces(io: FileIO, path: string, length: number): AsyncGenerator<Uint8Array> {
  for (let start = 0; ; ) {
    const bytes = await io.read(path, { start, end: start + PIECE_BYTES });
    yield bytes;
    start += bytes.length;
    if (bytes.length < PIECE_BYTES || start === length) return;
  }
}

/** Writes a new file in one go; it is durable when this resolves. Throws STORAGE_ERROR where the name is taken. */
export async function writeNewFile(io: FileIO, location: string, bytes: Uint8Array): Promise<void> {
  if (await io.createNew(location, bytes)) return;
  throw new SluiceError('STORAGE_ERROR', `${location} is there already; its name should have been fresh`, {
    context: { path: location },
  });
}
