/** Metadata files of a table whose catalog keeps a pointer to the newest (Iceberg spec, "Metastore Tables"). */
import { SluiceError } from '../errors.ts';
import { type MetadataLogEntry, propertyAsInteger, type TableMetadata } from '../iceberg/metadata.ts';
import { serializeTableMetadata } from '../iceberg/metadata-json.ts';
import { fileName, metadataDirectory } from '../iceberg/table-files.ts';
import { type FileIO, joinPath } from '../storage/file-io.ts';

/** `00012-<uuid>.metadata.json`: the version of the file before plus one; 0 where there is none, or it has no number. */
export function newMetadataLocation(
  metadata: TableMetadata,
  previous: string | undefined,
  uuid: string,
): string {
  const match = previous === undefined ? null : /^v?(\d{1,9})[-.]/.exec(fileName(previous));
  const version = match === null ? 0 : Number(match[1]) + 1;
  return joinPath(metadataDirectory(metadata), `${String(version).padStart(5, '0')}-${uuid}.metadata.json`);
}

export async function writeMetadataFile(
  io: FileIO,
  location: string,
  metadata: TableMetadata,
): Promise<void> {
  if (await io.createNew(location, Buffer.from(serializeTableMetadata(metadata), 'utf8'))) return;
  throw new SluiceError('STORAGE_ERROR', `${location} is there already; its name should have been fresh`, {
    context: { path: location },
  });
}

/**
 * The metadata with the file it replaces in its log, cut to `write.metadata.previous-versions-max` (100), and the
 * files that fell out of the log.
 */
export function withPreviousFile(
  next: TableMetadata,
  base: TableMetadata,
  baseLocation: string,
): { metadata: TableMetadata; dropped: MetadataLogEntry[] } {
  const max = Math.max(1, propertyAsInteger(next.properties, 'write.metadata.previous-versions-max') ?? 100);
  const log = [...next.metadataLog, { timestampMs: base.lastUpdatedMs, metadataFile: baseLocation }];
  return { metadata: { ...next, metadataLog: log.slice(-max) }, dropped: log.slice(0, -max) };
}

/** Are files that fell out of the log to be deleted? */
export function deletesOldMetadata(metadata: TableMetadata): boolean {
  return metadata.properties['write.metadata.delete-after-commit.enabled']?.toLowerCase() === 'true';
}
