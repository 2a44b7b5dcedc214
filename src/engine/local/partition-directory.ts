import type { PartitionValue } from '../../core/data-file.ts';
import { type BoundPartitionField, partitionPath } from '../../iceberg/partition.ts';
import { sha256Hex } from '../sha256.ts';

/** File systems take 255 bytes in a name, object stores 1024 in a key. */
const MAX_NAME = 128;
const MAX_PATH = 512;
const HASH_DIGITS = 16;

/**
 * The directory of a partition's files under the table's data: as Java names it, but for values so long that no file
 * system takes the name. These are cut, with a hash of the whole. Readers take partitions from manifests, never from
 * paths. Empty for an unpartitioned table.
 */
export function partitionDirectory(
  bound: readonly BoundPartitionField[],
  partition: readonly PartitionValue[],
): string {
  const path = partitionPath(bound, partition);
  const cut = path
    .split('/')
    .map((name) => cutTo(name, MAX_NAME))
    .join('/');
  return cut.length <= MAX_PATH ? cut : `partition-${sha256Hex(path).slice(0, HASH_DIGITS * 2)}`;
}

/** The names are URL-encoded, so that a character is a byte; no escape is cut in two. */
function cutTo(name: string, length: number): string {
  if (name.length <= length) return name;
  const kept = name.slice(0, length - HASH_DIGITS - 1).replace(/%[0-9A-F]?$/, '');
  return `${kept}-${sha256Hex(name).slice(0, HASH_DIGITS)}`;
}
