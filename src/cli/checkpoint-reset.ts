import { randomUUID } from 'node:crypto';
import { hostname, userInfo } from 'node:os';
import { Checkpoint } from '../checkpoint/checkpoint.ts';
import type { PipelineConfig } from '../config/pipeline-config.ts';
import { kafkaClient } from '../engine/kafka-client.ts';
import {
  executeReset,
  lookAtReset,
  type ResetContext,
  type ResetOutcome,
} from '../engine/reset/checkpoint-reset.ts';
import type { ResetBase } from '../engine/reset/reset-base.ts';
import type { ResetPreview } from '../engine/reset/reset-preview.ts';
import type { ResetRequest } from '../engine/reset/reset-request.ts';
import { SluiceError } from '../errors.ts';
import { KafkaCluster } from '../kafka/cluster.ts';
import { resolveFileIO } from '../storage/resolve-file-io.ts';
import { liveLease, openCheckpointReadOnly } from './checkpoint-view.ts';
import type { CliContext } from './context.ts';
import { isProcessAlive } from './host.ts';

/** A reset as it is shown: what it would do, or what it did. */
export type ShownReset =
  | { executed: false; preview: ResetPreview; unfinished: ResetBase['unfinished'] }
  | ({ executed: true } & ResetOutcome);

/** `user@host`. */
export function whoAsks(): string {
  return `${userName()}@${hostname()}`;
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // A process in a container may run under a number that has no name.
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}

/** Previews a reset, or does it. Throws RESET_REFUSED where it is to be done and cannot be. */
export async function runReset(
  context: CliContext,
  config: PipelineConfig,
  request: ResetRequest,
  options: { execute: boolean; deadlineMs: number },
): Promise<ShownReset> {
  const looking = await openCheckpointReadOnly(config, context);
  if (!looking.exists) {
    throw new SluiceError(
      'RESET_REFUSED',
      `there is no checkpoint at ${looking.location}: the first run begins where startingOffsets says`,
      { context: { location: looking.location } },
    );
  }
  const writerId = randomUUID();
  const checkpoint = options.execute ? await openToWrite(config, context, writerId) : looking;
  const cluster = await KafkaCluster.connect({
    ...kafkaClient(config),
    requestDeadlineMs: Math.min(options.deadlineMs, config.source.requestDeadlineMs),
  });
  try {
    const reset: ResetContext = { config, checkpoint, cluster, writerId, now: Date.now };
    if (options.execute) return { executed: true, ...(await executeReset(reset, request)) };
    const found = await lookAtReset(reset, request);
    const lease = await liveLease(checkpoint);
    if (lease !== null)
      found.preview.refusals.unshift(
        `process ${lease.pid} on ${lease.host} runs the pipeline: stop it before the reset`,
      );
    return { executed: false, ...found };
  } finally {
    await cluster.close();
  }
}

function openToWrite(config: PipelineConfig, context: CliContext, writerId: string): Promise<Checkpoint> {
  return Checkpoint.open({
    io: resolveFileIO(config.checkpointLocation),
    location: config.checkpointLocation,
    pipelineName: config.name,
    owner: { host: hostname(), pid: process.pid, writerId },
    now: Date.now,
    randomUuid: randomUUID,
    warn: (message) => context.stderr.write(`warning ${message}\n`),
    isProcessAlive,
  });
}
