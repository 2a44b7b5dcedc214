import type { PipelineConfig } from '../../config/pipeline-config.ts';
import type { CliContext } from '../context.ts';
import { checkCatalog, checkTables } from './catalog-checks.ts';
import { CheckResults, Deadline } from './check-result.ts';
import { checkSource, type SourceFound } from './source-checks.ts';
import { checkState, checkWritable } from './storage-checks.ts';

/**
 * Asks for everything that the pipeline names, all at once and none hiding another: the brokers, the topics and the right
 * to read them, the warehouse and the checkpoint, where a small file is written and deleted again, the catalog and the
 * tables. Nothing else is written. It takes `timeoutMs` at most.
 */
export async function connectChecks(
  config: PipelineConfig,
  context: CliContext,
  timeoutMs: number,
): Promise<CheckResults> {
  const deadline = new Deadline(timeoutMs);
  const source = checkSource(config, deadline);
  const parts = await Promise.all([
    source.then(({ results }) => results),
    checkWritable('warehouse', config.catalog.warehouse, deadline),
    checkWritable('checkpoint', config.checkpointLocation, deadline),
    checkState(config, context, deadline),
    checkCatalog(config, deadline),
    topicsOf(config, source).then((topics) => checkTables(config, context, topics, deadline)),
  ]);
  const all = new CheckResults();
  for (const part of parts) all.add(part);
  deadline.end();
  // What did not answer may still hold a file handle: then the process is not to wait for it.
  if (deadline.passed) context.leave?.();
  return all;
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
