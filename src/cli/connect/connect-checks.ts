import type { PipelineConfig } from '../../config/pipeline-config.ts';
import type { CliContext } from '../context.ts';
import { checkCatalog, checkTables } from './catalog-checks.ts';
import { CheckResults, Deadline } from './check-result.ts';
import { checkRegistry } from './registry-check.ts';
import { checkSource, type SourceFound } from './source-checks.ts';
import { checkState, checkWritable } from './storage-checks.ts';

/**
 * Asks for everything that the pipeline names, all at once and none hiding another: the brokers, the topics and the right
 * to read them, the warehouse and the checkpoint, where a small file is written and deleted again, the catalog, the
 * Schema Registry where one is needed, and the tables. Nothing else is written. It takes `timeoutMs` at most.
 */
export async function connectChecks(
  config: PipelineConfig,
  context: CliContext,
  timeoutMs: number,
): Promise<CheckResults> {
  const deadline = new Deadline(timeoutMs);
  const source = checkSource(config, deadline);
  const topics = topicsOf(config, source);
  const parts = await Promise.all([
    source.then(({ results }) => results),
    checkWritable('warehouse', config.catalog.warehouse, deadline),
    checkWritable('checkpoint', config.checkpointLocation, deadline),
    checkState(config, context, deadline),
    checkCatalog(config, deadline),
    topics.then((names) => registryAndTables(config, context, names, deadline)),
  ]);
  const all = new CheckResults();
  for (const part of parts) all.add(part);
  deadline.end();
  // What did not answer may still hold a file handle: then the process is not to wait for it.
  if (deadline.passed) context.leave?.();
  return all;
}

/** Tables may need the registry for their columns: where it is at fault each of them would only say so again. */
async function registryAndTables(
  config: PipelineConfig,
  context: CliContext,
  topics: readonly string[],
  deadline: Deadline,
): Promise<CheckResults> {
  const results = await checkRegistry(config, topics, deadline);
  if (results.errors.length > 0) results.skipped('tables', 'the registry was not reached');
  else results.add(await checkTables(config, context, topics, deadline));
  return results;
}

/** The topics as the file names them; only those of a pattern are for the brokers to tell. */
async function topicsOf(
  { source: { selection } }: PipelineConfig,
  source: Promise<SourceFound>,
): Promise<readonly string[]> {
  if (selection.kind === 'subscribe') return selection.topics;
  if (selection.kind === 'assign') return [...selection.partitions.keys()];
  const { state } = await source;
  return state === undefined ? [] : [...state.topicIds.keys()].sort();
}
