import type { PipelineConfig } from '../config/pipeline-config.ts';
import type { Catalog } from '../iceberg/catalog.ts';
import type { CommitContext } from '../iceberg/commit.ts';
import type { FileIO } from '../storage/file-io.ts';
import type { FailpointName, Failpoints } from './failpoint.ts';
import type { EngineHost } from './host.ts';

/** Times that a commit may lose against other writers. */
const MAX_ATTEMPTS = 20;

/** What a commit takes from the engine: the same for every table of a run; which snapshots it expires is by table. */
export function commitContext(run: {
  config: PipelineConfig;
  host: EngineHost;
  catalog: Catalog;
  io: FileIO;
  failpoints: Failpoints;
  sleep(ms: number): Promise<void>;
}): CommitContext {
  const { host } = run;
  return {
    catalog: run.catalog,
    io: run.io,
    now: () => host.now(),
    random: () => host.random(),
    randomUuid: () => host.randomUuid(),
    sleep: run.sleep,
    deadlineMs: run.config.source.requestDeadlineMs,
    maxAttempts: MAX_ATTEMPTS,
    log: (level, message, context) => host.log[level](message, context),
    failpoint: (name) => run.failpoints.hit(name as FailpointName),
  };
}
