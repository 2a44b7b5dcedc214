import { mkdir, open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { stringifyJson64 } from '../../core/json64.ts';
import type { RunSummary } from '../../engine/host.ts';
import type { VerifyReport } from '../../proof/verify-table.ts';

/** A table as it is after the run: totals, not what the run added. */
export interface DemoTable {
  name: string;
  rows: bigint;
  dataFiles: number;
  /** Distinct partition values that have files. */
  partitions: number;
  snapshotId: bigint | null;
}

/** `report.json` of the demo. Written as plain JSON numbers; `snapshotId` is an integer with all its digits. */
export interface DemoReport {
  /** Read in this run. */
  records: number;
  seconds: number;
  recordsPerSecond: number;
  batches: number;
  tables: { name: string; rows: bigint; dataFiles: number; snapshotId: bigint | null }[];
  /** Over all tables. */
  verify: { ok: boolean; lost: bigint; duplicated: bigint };
}

export function demoReport(
  run: Pick<RunSummary, 'records' | 'seconds' | 'batches'>,
  tables: readonly DemoTable[],
  proofs: readonly Pick<VerifyReport, 'ok' | 'lost' | 'duplicated'>[],
): DemoReport {
  return {
    records: run.records,
    seconds: run.seconds,
    recordsPerSecond: run.seconds > 0 ? Math.round(run.records / run.seconds) : 0,
    batches: run.batches,
    tables: tables.map(({ name, rows, dataFiles, snapshotId }) => ({ name, rows, dataFiles, snapshotId })),
    verify: {
      ok: proofs.length > 0 && proofs.every((proof) => proof.ok),
      lost: proofs.reduce((sum, proof) => sum + proof.lost, 0n),
      duplicated: proofs.reduce((sum, proof) => sum + proof.duplicated, 0n),
    },
  };
}

export function reportPath(directory: string): string {
  return join(directory, 'report.json');
}

/** Takes away the report of the run before, so that none is there that this run has not earned. */
export async function removeReport(directory: string): Promise<void> {
  await rm(reportPath(directory), { force: true });
}

/** Writes the report whole or not at all. */
export async function writeReport(directory: string, report: DemoReport): Promise<void> {
  await mkdir(directory, { recursive: true });
  const path = reportPath(directory);
  const unfinished = `${path}.tmp`;
  const file = await open(unfinished, 'w');
  try {
    await file.writeFile(`${stringifyJson64(report, 2)}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(unfinished, path);
}
