/**
 * The name under which a file is written until it is whole: `.NAME.UUID.tmp` beside its final place, as Spark's
 * CheckpointFileManager names them. Listings leave such names out.
 */
const TEMPORARY = /^\.(?:.*\.)?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\.tmp$/is;

/** Most file systems take names of 255 bytes; the name itself is left out where it would not fit. */
const MAX_NAME_BYTES = 255;

export function temporaryName(name: string, uuid: string): string {
  const long = `.${name}.${uuid}.tmp`;
  return Buffer.byteLength(long) <= MAX_NAME_BYTES ? long : `.${uuid}.tmp`;
}

export function isTemporaryName(name: string): boolean {
  return TEMPORARY.test(name);
}
