import { setTimeout as delay } from 'node:timers/promises';
import { openCatalog } from '../catalog/open-catalog.ts';
import { Checkpoint } from '../checkpoint/checkpoint.ts';
import { LEASE_HEARTBEAT_MS } from '../checkpoint/lease.ts';
import type { PipelineConfig } from '../config/pipeline-config.ts';
import { SluiceError } from '../errors.ts';
import { KafkaCluster, type KafkaLogLine } from '../kafka/cluster.ts';
import { resolveFileIO } from '../storage/resolve-file-io.ts';
import { BatchRunner } from './batch-runner.ts';
import { Failpoints } from './failpoint.ts';
import type { EngineHost, RunSummary } from './host.ts';
import { kafkaClient } from './kafka-client.ts';
import { InlinePool, ThreadPool } from './local/worker-pool.ts';
import { isEndAskedFor, type LoopSummary, MicroBatchLoop } from './micro-batch-loop.ts';
import { SchemaRegistry } from './schema-registry.ts';

/**
 * Runs a pipeline by its trigger until there is nothing more to do, the host asks for the end, or an error. Everything
 * that was opened is closed again. Throws a SluiceError; after one, every offset is either committed or will be read
 * again: a later run goes on from the checkpoint.
 */
export async function runPipeline(config: PipelineConfig, host: EngineHost): Promise<RunSummary> {
  const startedAt = host.now();
  const failpoints = new Failpoints(host.failpoints);
  const writerId = host.randomUuid();
  // Threads load while the checkpoint, the catalog and the brokers are asked.
  const io = host.seams?.fileIO ?? resolveFileIO(config.checkpointLocation);
  const log = ({ level, msg, ...context }: KafkaLogLine): void => host.log[level](msg, context);
  const client = kafkaClient(config, log);
  const registry = new SchemaRegistry(config.registry, host.stop, host.log);
  const sources = { token: client.token, schema: registry.schema, log };
  const pool = host.seams?.inlineWorkers
    ? new InlinePool(1, io, host.failpoints, sources)
    : new ThreadPool(config.source.workers, host.failpoints, sources, config.memoryBytes);
  const connecting = new AbortController();
  const closers: (() => Promise<void>)[] = [
    () => pool.close(),
    () => registry.close(),
    async () => connecting.abort(),
  ];
  try {
    const cluster = KafkaCluster.connect({
      ...client,
      random: () => host.random(),
      // Only plans ask through this client: when the end is asked for, no answer is worth waiting for.
      signal: AbortSignal.any([connecting.signal, host.stop]),
    });
    // Its error is met where it is awaited, unless another one ends the run before.
    cluster.catch(() => undefined);
    const checkpoint = await Checkpoint.open({
      io,
      location: config.checkpointLocation,
      pipelineName: config.name,
      owner: { host: host.hostname, pid: host.pid, writerId },
      now: () => host.now(),
      randomUuid: () => host.randomUuid(),
      warn: (message, context) => host.log.warn(message, context),
      isProcessAlive: host.isProcessAlive,
    });
    await takeLease(checkpoint, host, closers);
    const sleep = (ms: number): Promise<void> => delay(ms);
    const services = {
      io,
      now: () => host.now(),
      randomUuid: () => host.randomUuid(),
      sleep,
      warn: (message: string, context?: object) => host.log.warn(message, context),
    };
    const catalog = await (host.seams?.openCatalog ?? openCatalog)(config.catalog, services);
    closers.push(() => catalog.close());
    const runId = host.randomUuid();
    const runner = new BatchRunner({
      config,
      host,
      checkpoint,
      catalog,
      io,
      pool,
      registry,
      failpoints,
      runId,
      writerId,
      sleep,
    });
    const connected = await connectedOrAsked(host, cluster);
    const summary: LoopSummary =
      connected === null
        ? { batches: 0, records: 0, quarantined: 0, bytes: 0, stopped: 'asked' }
        : await new MicroBatchLoop({
            config,
            host,
            checkpoint,
            catalog,
            io,
            cluster: connected,
            runner,
            registry,
            failpoints,
            runId,
            writerId,
            sleep,
          }).run();
    return { ...summary, pipelineId: checkpoint.id, runId, seconds: (host.now() - startedAt) / 1000 };
  } finally {
    for (const close of closers.reverse()) {
      await close().catch((error: unknown) =>
        host.log.warn('something could not be closed', { error: String(error) }),
      );
    }
  }
}

/** The brokers, or null where the end was asked for before they answered. */
async function connectedOrAsked(
  host: EngineHost,
  cluster: Promise<KafkaCluster>,
): Promise<KafkaCluster | null> {
  try {
    return await cluster;
  } catch (error) {
    if (!isEndAskedFor(host, error)) throw error;
    host.log.info('stopped as asked, before any broker answered');
    return null;
  }
}

/** Says who else is there, and keeps our own lease alive; it is never trusted for safety (spec 30). */
async function takeLease(
  checkpoint: Checkpoint,
  host: EngineHost,
  closers: (() => Promise<void>)[],
): Promise<void> {
  const { acquired, previous } = await checkpoint.acquireLease();
  if (!acquired) {
    throw new SluiceError(
      'CHECKPOINT_CONCURRENT',
      `the checkpoint ${checkpoint.location} is in use by process ${previous?.pid} on ${previous?.host} (last sign of life ${previous === undefined ? 'unknown' : new Date(previous.heartbeatAtMs).toISOString()}); this process has stopped and touched nothing. Stop the other one first`,
      { context: { owner: previous } },
    );
  }
  const timer = setInterval(() => {
    checkpoint
      .heartbeat()
      .then((other) => {
        if (other !== undefined)
          host.log.warn(
            `process ${other.pid} on ${other.host} has taken over this checkpoint, as this process gave no sign of life; one of the two will stop`,
          );
      })
      .catch((error: unknown) => host.log.warn('the lease could not be renewed', { error: String(error) }));
  }, LEASE_HEARTBEAT_MS);
  timer.unref();
  closers.push(async () => {
    clearInterval(timer);
    await checkpoint.releaseLease();
  });
}
