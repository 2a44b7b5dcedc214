/** Snapshot summaries with the entries that Java's writers give (Iceberg spec, appendix F "Metrics"). */
import type { DataFiles } from '../core/data-file.ts';
import { totalsOfFiles } from '../core/packed-data-files.ts';
import { bindSpec } from './manifest.ts';
import { type Snapshot, specById, type TableMetadata } from './metadata.ts';
import { partitionPath } from './partition.ts';

/** The part of an append's summary that does not depend on the table's state. Counts above 0 only, as Java writes them. */
export function appendSummary(metadata: TableMetadata, files: DataFiles): Record<string, string> {
  const { rows, fileBytes } = totalsOfFiles(files);
  const partitions = new Set<string>();
  const bound = new Map<number, ReturnType<typeof bindSpec>>();
  for (const file of files) {
    if (!bound.has(file.specId)) bound.set(file.specId, bindSpec(metadata, specById(metadata, file.specId)));
    partitions.add(partitionPath(bound.get(file.specId)!, file.partition));
  }
  return {
    operation: 'append',
    ...(files.length > 0 ? { 'added-data-files': String(files.length) } : {}),
    ...(rows > 0n ? { 'added-records': String(rows) } : {}),
    ...(fileBytes > 0n ? { 'added-files-size': String(fileBytes) } : {}),
    'changed-partition-count': String(partitions.size),
  };
}

/** Total, what is added to it, what is taken from it. */
const TOTALS: [total: string, added: string, removed: string][] = [
  ['total-records', 'added-records', 'deleted-records'],
  ['total-files-size', 'added-files-size', 'removed-files-size'],
  ['total-data-files', 'added-data-files', 'deleted-data-files'],
  ['total-delete-files', 'added-delete-files', 'removed-delete-files'],
  ['total-position-deletes', 'added-position-deletes', 'removed-position-deletes'],
  ['total-equality-deletes', 'added-equality-deletes', 'removed-equality-deletes'],
];

/**
 * The totals after a summary's changes, from those of the snapshot below: 0 where there is none. A total that the head
 * does not tell, or that would fall below 0, is left out rather than invented, as Java does.
 */
export function totals(
  head: Snapshot | undefined,
  summary: Readonly<Record<string, string>>,
): Record<string, string> {
  const result: Record<string, string> = {};
  for (const [total, added, removed] of TOTALS) {
    const before = head === undefined ? 0n : count(head.summary[total]);
    const plus = summary[added] === undefined ? 0n : count(summary[added]);
    const minus = summary[removed] === undefined ? 0n : count(summary[removed]);
    if (before === undefined || plus === undefined || minus === undefined) continue;
    const after = before + plus - minus;
    if (after >= 0n) result[total] = String(after);
  }
  return result;
}

function count(text: string | undefined): bigint | undefined {
  return text !== undefined && /^\d{1,19}$/.test(text) ? BigInt(text) : undefined;
}
