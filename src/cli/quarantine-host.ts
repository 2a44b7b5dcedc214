import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Checkpoint } from '../checkpoint/checkpoint.ts';
import { RequeueIntents } from '../checkpoint/requeue-intents.ts';
import type { PipelineConfig } from '../config/pipeline-config.ts';
import { Failpoints } from '../engine/failpoint.ts';
import { RECORDS_AT_ONCE, type RequeueHost } from '../engine/requeue/requeue-host.ts';
import { isQuarantineName, quarantineNameOf } from '../engine/requeue/requeued-layout.ts';
import { SchemaRegistry } from '../engine/schema-registry.ts';
import { parseTableName } from '../engine/target-tables.ts';
import { resolveFileIO } from '../storage/resolve-file-io.ts';
import type { CatalogView } from './catalog-view.ts';
import type { CliContext } from './context.ts';
import { isProcessAlive, processHost } from './host.ts';
import { createLog } from './log.ts';

/** What a requeue takes from this process. Call `close` when it is done. */
export function requeueHost(
  context: CliContext,
  config: PipelineConfig,
  checkpoint: Checkpoint,
  { catalog, io }: CatalogView,
): RequeueHost & { close(): Promise<void> } {
  const here = processHost(context, createLog({ out: context.stderr, format: 'text', level: 'info' }));
  const registry = new SchemaRegistry(config.registry, new AbortController().signal, here.log);
  return {
    config,
    catalog,
    io,
    registry,
    checkpoint,
    intents: new RequeueIntents(resolveFileIO(config.checkpointLocation), config.checkpointLocation),
    owner: { host: hostname(), pid: here.pid, writerId: randomUUID() },
    isProcessAlive,
    failpoints: new Failpoints(here.failpoints),
    log: here.log,
    now: here.now,
    random: here.random,
    randomUuid: here.randomUuid,
    sleep: (ms) => sleep(ms),
    recordsAtOnce: RECORDS_AT_ONCE,
    close: () => registry.close(),
  };
}

/**
 * The quarantines that are asked for, by their own names or those of their tables; all that this checkpoint has put records
 * into, or is about to, where none is named.
 */
export async function quarantinesOf(
  asked: readonly string[],
  checkpoint: Checkpoint,
  { catalog }: CatalogView,
): Promise<string[]> {
  if (asked.length > 0) return [...new Set(asked.map(quarantineNameOf))];
  const { latestPlanned } = checkpoint;
  const plan = latestPlanned === null ? null : await checkpoint.plan(latestPlanned);
  const written = [...(await checkpoint.tableRecords()), ...(plan?.tables ?? [])].map((t) => t.table);
  const there: string[] = [];
  for (const table of new Set(written.filter(isQuarantineName).sort()))
    if ((await catalog.loadTable(parseTableName(table))) !== undefined) there.push(table);
  return there;
}
