/** A reset of a test pipeline's checkpoint, done in this process as the command line does it. */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { Checkpoint } from '../../src/checkpoint/checkpoint.ts';
import { executeReset, lookAtReset, type ResetOutcome } from '../../src/engine/reset/checkpoint-reset.ts';
import type { ResetPreview } from '../../src/engine/reset/reset-preview.ts';
import {
  parseResetTarget,
  type ResetRequest,
  type ResetScope,
} from '../../src/engine/reset/reset-request.ts';
import type { FileIO } from '../../src/storage/file-io.ts';
import { LocalFileIO } from '../../src/storage/local-file-io.ts';
import { withCluster } from './kafka-topics.ts';
import type { TestPipeline } from './test-pipeline.ts';

/** `topic`, `topic-3` is not parsed: the partition is given apart. Without a topic it is the cluster. */
export function resetRequest(
  topic: string | null,
  to: string,
  more: Partial<ResetRequest> & { partition?: number } = {},
): ResetRequest {
  const { partition, ...rest } = more;
  const scope: ResetScope =
    topic === null ? { kind: 'cluster' } : { kind: 'topic', topic, partition: partition ?? null };
  return {
    scope,
    target: parseResetTarget(to, scope),
    to,
    reason: 'a test',
    by: 'tester@host',
    allowDuplicates: false,
    giveUpBatch: false,
    ...rest,
  };
}

/** A live process seems gone to a reset whose clock is far ahead. */
export interface ResetSeams {
  io?: FileIO;
  now?: () => number;
}

async function withReset<T>(
  pipeline: TestPipeline,
  seams: ResetSeams,
  work: (context: Parameters<typeof executeReset>[0]) => Promise<T>,
): Promise<T> {
  const writerId = randomUUID();
  const now = seams.now ?? Date.now;
  const checkpoint = await Checkpoint.open({
    io: seams.io ?? new LocalFileIO(),
    location: pipeline.checkpoint,
    pipelineName: pipeline.name,
    owner: { host: hostname(), pid: process.pid + 1, writerId },
    now,
    randomUuid: randomUUID,
    warn: () => undefined,
    isProcessAlive: () => true,
  });
  const config = await pipeline.config();
  return withCluster(pipeline.options.bootstrap, (cluster) =>
    work({ config, checkpoint, cluster, writerId, now }),
  );
}

export function reset(
  pipeline: TestPipeline,
  request: ResetRequest,
  seams: ResetSeams = {},
): Promise<ResetOutcome> {
  return withReset(pipeline, seams, (context) => executeReset(context, request));
}

export function lookAt(pipeline: TestPipeline, request: ResetRequest): Promise<ResetPreview> {
  return withReset(pipeline, {}, async (context) => (await lookAtReset(context, request)).preview);
}
