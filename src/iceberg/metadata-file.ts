import { gunzipSync } from 'node:zlib';
import { messageOf, SluiceError } from '../errors.ts';
import type { FileIO } from '../storage/file-io.ts';
import type { TableMetadata } from './metadata.ts';
import { parseTableMetadata } from './metadata-json.ts';

const MAX_METADATA_BYTES = 512 * 1024 * 1024;
const decoder = new TextDecoder('utf-8', { fatal: true });

/** Reads a metadata file. Throws METADATA_INVALID, FILE_NOT_FOUND. */
export async function readMetadataFile(io: FileIO, location: string): Promise<TableMetadata> {
  return parseMetadataFile(await io.read(location), location);
}

/** The content of a metadata file, gzipped or plain, told by its first bytes. Throws METADATA_INVALID. */
export function parseMetadataFile(bytes: Uint8Array, location: string): TableMetadata {
  let text: string;
  try {
    const gzipped = bytes[0] === 0x1f && bytes[1] === 0x8b;
    text = decoder.decode(gzipped ? gunzipSync(bytes, { maxOutputLength: MAX_METADATA_BYTES }) : bytes);
  } catch (e) {
    throw new SluiceError('METADATA_INVALID', `${location} is damaged: ${messageOf(e)}`, {
      cause: e,
      context: { path: location },
    });
  }
  return parseTableMetadata(text, location);
}
