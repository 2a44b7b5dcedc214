import type { TableIdentifier } from '../iceberg/catalog.ts';
import type { Snapshot, TableMetadata } from '../iceberg/metadata.ts';

/** A table at a glance, from its metadata alone. */
export interface TableSummary {
  table: string;
  /** By the summary of the snapshot; null where its writer does not tell. */
  rows: bigint | null;
  dataFiles: bigint | null;
  bytes: bigint | null;
  snapshotId: bigint | null;
  formatVersion: number;
  location: string;
}

export function summaryOf(identifier: TableIdentifier, metadata: TableMetadata): TableSummary {
  const snapshot = currentSnapshot(metadata);
  const total = (name: string): bigint | null => {
    if (snapshot === undefined) return 0n;
    const text = snapshot.summary[name];
    return text !== undefined && /^\d{1,19}$/.test(text) ? BigInt(text) : null;
  };
  return {
    table: [...identifier.namespace, identifier.name].join('.'),
    rows: total('total-records'),
    dataFiles: total('total-data-files'),
    bytes: total('total-files-size'),
    snapshotId: metadata.currentSnapshotId,
    formatVersion: metadata.formatVersion,
    location: metadata.location,
  };
}

export function currentSnapshot(metadata: TableMetadata): Snapshot | undefined {
  return metadata.snapshots.find((snapshot) => snapshot.snapshotId === metadata.currentSnapshotId);
}
