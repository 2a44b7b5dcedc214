/**
 * The metadata files of a table that is nothing but a directory (Iceberg spec, "File System Tables"; Iceberg Java,
 * HadoopTableOperations): `vN.metadata.json`, and `version-hint.text` with a number that is N or was.
 */
import { gzipSync } from 'node:zlib';
import { isSluiceError, messageOf, SluiceError } from '../errors.ts';
import type { TableMetadata } from '../iceberg/metadata.ts';
import { serializeTableMetadata } from '../iceberg/metadata-json.ts';
import { type FileIO, joinPath } from '../storage/file-io.ts';
import { type CatalogServices, notApplied } from './catalog-base.ts';

const VERSION_HINT = 'version-hint.text';
/** In the order in which Java looks for them; the last was written before Iceberg 1.0. */
const ENDINGS = ['.metadata.json', '.gz.metadata.json', '.metadata.json.gz'] as const;
const VERSION_NAME = /^v(\d{1,9})(\.metadata\.json|\.gz\.metadata\.json|\.metadata\.json\.gz)$/;
/** A hint that is further behind is passed by a listing. */
const MAX_STEPS = 32;
const MAX_HINT_BYTES = 64;
/** How often a table without a version is looked at where its hint says that it has one. */
const MAX_LOOKS = 10;

export interface MetadataVersion {
  version: number;
  location: string;
}

export class VersionedMetadata {
  /** `<table>/metadata`. */
  readonly directory: string;
  readonly #services: CatalogServices;

  constructor(directory: string, services: CatalogServices) {
    this.directory = directory;
    this.#services = services;
  }

  get #io(): FileIO {
    return this.#services.io;
  }

  /**
   * The newest version, found as Java finds it: from the hint forward as long as there is a next one. By a listing where
   * the hint is missing, no number, or of a file that was cleaned away. Undefined where there is no table.
   */
  async newest(): Promise<MetadataVersion | undefined> {
    // A listing takes time: where others commit and clean meanwhile, it may see none of the versions.
    for (let look = 1; ; look++) {
      const hint = await this.#hint();
      const found = await this.#newestBy(hint);
      if (found !== undefined || look >= (hint === undefined ? 2 : MAX_LOOKS)) return found;
    }
  }

  async #newestBy(hint: number | undefined): Promise<MetadataVersion | undefined> {
    let at = hint === undefined ? undefined : await this.#find(hint);
    if (at === undefined) return this.newestListed();
    for (let step = 0; step < MAX_STEPS; step++) {
      const next = await this.#find(at.version + 1);
      if (next === undefined) return at;
      at = next;
    }
    return this.newestListed();
  }

  /** The newest version, whatever the hint says. */
  async newestListed(): Promise<MetadataVersion | undefined> {
    return (await this.listed()).at(-1);
  }

  /** Every version that is there, oldest first; of two files of one version the one that readers take is the later. */
  async listed(): Promise<MetadataVersion[]> {
    const found: (MetadataVersion & { preference: number })[] = [];
    for (const { name, kind } of await this.#io.children(this.directory)) {
      const match = kind === 'file' ? VERSION_NAME.exec(name) : null;
      if (match === null) continue;
      const preference = ENDINGS.length - ENDINGS.indexOf(match[2] as (typeof ENDINGS)[number]);
      found.push({ version: Number(match[1]), location: joinPath(this.directory, name), preference });
    }
    found.sort((a, b) => a.version - b.version || a.preference - b.preference);
    return found.map(({ version, location }) => ({ version, location }));
  }

  /** Where Java would write this version of the table: two writers must want the same name, or both would get theirs. */
  location(version: number, metadata: TableMetadata): string {
    return joinPath(this.directory, `v${version}${isGzipped(metadata) ? ENDINGS[1] : ENDINGS[0]}`);
  }

  /**
   * Points the hint at a version, never backwards: a writer that stood still must not undo what a later one wrote. A
   * hint that cannot be written costs readers a listing, and no commit: it is told and no error.
   */
  async hintAt(version: number): Promise<void> {
    const path = joinPath(this.directory, VERSION_HINT);
    try {
      const hint = await this.#hint();
      if (hint !== undefined && hint >= version && (await this.#find(hint)) !== undefined) return;
      await this.#io.delete(checksumOf(path));
      await this.#io.replace(path, Buffer.from(String(version), 'utf8'));
    } catch (error) {
      this.#services.warn?.(`${path} could not be set to ${version}; readers look for themselves`, {
        error: messageOf(error),
      });
    }
  }

  async deleteHint(): Promise<void> {
    await this.delete(joinPath(this.directory, VERSION_HINT));
  }

  /** Deletes a file of the table and what Hadoop keeps beside it. */
  async delete(location: string): Promise<void> {
    await this.#io.delete(location);
    await this.#io.delete(checksumOf(location));
  }

  /** Creates a version without overwriting: false where it is there. */
  async create(location: string, bytes: Uint8Array): Promise<boolean> {
    // Of a table that was here before: Java would call our file damaged.
    await notApplied(this.#io.delete(checksumOf(location)));
    return this.#io.createNew(location, bytes);
  }

  async #hint(): Promise<number | undefined> {
    let bytes: Uint8Array;
    try {
      bytes = await this.#io.read(joinPath(this.directory, VERSION_HINT), { start: 0, end: MAX_HINT_BYTES });
    } catch (error) {
      if (isSluiceError(error, 'FILE_NOT_FOUND')) return undefined;
      throw error;
    }
    const match = /^\s*\+?(\d{1,9})\s*(?:\n|$)/.exec(Buffer.from(bytes).toString('latin1'));
    return match === null ? undefined : Number(match[1]);
  }

  async #find(version: number): Promise<MetadataVersion | undefined> {
    for (const ending of ENDINGS) {
      const location = joinPath(this.directory, `v${version}${ending}`);
      if ((await this.#io.stat(location)) !== undefined) return { version, location };
    }
    return undefined;
  }
}

/** Hadoop's local file system keeps a checksum beside each file that it writes, and believes it when it reads. */
export function checksumOf(location: string): string {
  const slash = location.lastIndexOf('/');
  return `${location.slice(0, slash + 1)}.${location.slice(slash + 1)}.crc`;
}

/** The bytes of a metadata file, gzipped where the table says so. Throws CATALOG_ERROR for a codec that Iceberg has not. */
export function metadataBytes(metadata: TableMetadata): Buffer {
  const plain = Buffer.from(serializeTableMetadata(metadata), 'utf8');
  return isGzipped(metadata) ? gzipSync(plain) : plain;
}

function isGzipped({ properties }: TableMetadata): boolean {
  const codec = properties['write.metadata.compression-codec']?.toLowerCase() ?? 'none';
  if (codec === 'none' || codec === 'gzip') return codec === 'gzip';
  throw new SluiceError(
    'CATALOG_ERROR',
    `table property write.metadata.compression-codec: expected none or gzip, found ${JSON.stringify(codec)}`,
    { outcome: 'not-applied' },
  );
}
