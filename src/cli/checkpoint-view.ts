import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { Checkpoint } from '../checkpoint/checkpoint.ts';
import { LEASE_STALE_MS, type LeaseInfo } from '../checkpoint/lease.ts';
import type { PipelineConfig } from '../config/pipeline-config.ts';
import type { OffsetMap } from '../core/offset-range.ts';
import { SluiceError } from '../errors.ts';
import { fedTables } from '../proof/fed-tables.ts';
import { resolveFileIO } from '../storage/resolve-file-io.ts';
import type { CliContext } from './context.ts';
import { isProcessAlive } from './host.ts';

/** Opens the checkpoint of a pipeline to look at it: nothing is written. */
export function openCheckpointReadOnly(config: PipelineConfig, context: CliContext): Promise<Checkpoint> {
  return Checkpoint.open({
    io: resolveFileIO(config.checkpointLocation),
    location: config.checkpointLocation,
    pipelineName: config.name,
    owner: { host: hostname(), pid: process.pid, writerId: randomUUID() },
    now: Date.now,
    randomUuid: randomUUID,
    warn: (message) => context.stderr.write(`warning ${message}\n`),
    readOnly: true,
  });
}

export interface BatchPosition {
  batchId: number;
  offsets: OffsetMap;
}

export async function positionOf(
  checkpoint: Checkpoint,
  batchId: number | null,
): Promise<BatchPosition | null> {
  return batchId === null ? null : { batchId, offsets: await checkpoint.offsets(batchId) };
}

/** Who runs the pipeline now: a lease whose heartbeat is fresh, and whose process lives where that can be told. */
export async function liveLease(checkpoint: Checkpoint): Promise<LeaseInfo | null> {
  const lease = await checkpoint.currentLease();
  if (lease === undefined || Math.abs(Date.now() - lease.heartbeatAtMs) > LEASE_STALE_MS) return null;
  return lease.host !== hostname() || isProcessAlive(lease.pid) ? lease : null;
}

/** The data tables that the checkpoint writes or ever wrote, by name. Throws NOT_VERIFIABLE where there is none. */
export async function dataTables(checkpoint: Checkpoint): Promise<string[]> {
  const tables = await fedTables(checkpoint);
  if (tables.length === 0)
    throw new SluiceError(
      'NOT_VERIFIABLE',
      `the checkpoint ${checkpoint.location} has planned no batch: there is nothing to verify`,
    );
  return tables;
}
