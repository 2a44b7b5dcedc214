import type { Checkpoint } from '../../checkpoint/checkpoint.ts';
import type { Writer } from '../../checkpoint/envelope.ts';
import type { RequeueIntents } from '../../checkpoint/requeue-intents.ts';
import type { PipelineConfig } from '../../config/pipeline-config.ts';
import { matchesTopicPattern } from '../../core/topic-pattern.ts';
import type { Catalog } from '../../iceberg/catalog.ts';
import type { CommitContext, SnapshotExpiry } from '../../iceberg/commit.ts';
import type { FileIO } from '../../storage/file-io.ts';
import type { FailpointName, Failpoints } from '../failpoint.ts';
import type { Log } from '../host.ts';
import type { SchemaRegistry } from '../schema-registry.ts';

/** What a requeue takes from the process that it runs in. */
export interface RequeueHost {
  config: PipelineConfig;
  catalog: Catalog;
  io: FileIO;
  registry: SchemaRegistry;
  /** To be read only. */
  checkpoint: Checkpoint;
  intents: RequeueIntents;
  /** This process. */
  owner: Writer;
  isProcessAlive(pid: number): boolean;
  failpoints: Failpoints;
  log: Log;
  now(): number;
  random(): number;
  randomUuid(): string;
  sleep(ms: number): Promise<void>;
  /** Records of one requeue at most: its intent and its mark are bounded, and a crash costs no more than this again. */
  recordsAtOnce: number;
}

export const RECORDS_AT_ONCE = 50_000;

const MAX_ATTEMPTS = 20;

/** For commits into the table of a topic, and into the record beside it. */
export function requeueCommitContext(host: RequeueHost, topic: string | undefined): CommitContext {
  return {
    catalog: host.catalog,
    io: host.io,
    now: () => host.now(),
    random: () => host.random(),
    randomUuid: () => host.randomUuid(),
    sleep: (ms) => host.sleep(ms),
    deadlineMs: host.config.source.requestDeadlineMs,
    maxAttempts: MAX_ATTEMPTS,
    log: (level, message, context) => host.log[level](message, context),
    failpoint: (name) => host.failpoints.hit(name as FailpointName),
    expireSnapshots: expiryOf(host.config, topic),
  };
}

/** By the rule of the topic, as for its batches. */
function expiryOf(config: PipelineConfig, topic: string | undefined): SnapshotExpiry | undefined {
  const rule = config.tables.find((r) => topic !== undefined && matchesTopicPattern(r.match, topic));
  if (rule === undefined) return undefined;
  const { keep, maxAgeMs, max } = rule.snapshots;
  return { minSnapshotsToKeep: keep, maxAgeMs, maxSnapshotsToKeep: max };
}
