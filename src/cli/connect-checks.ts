import { randomUUID } from 'node:crypto';
import type { PipelineConfig } from '../config/pipeline-config.ts';
import { joinPath } from '../storage/file-io.ts';
import { resolveFileIO } from '../storage/resolve-file-io.ts';
import { catalogExists, withCatalog } from './catalog-view.ts';
import { askBrokers } from './source-view.ts';

/** One thing that a pipeline needs outside of itself, and that is there. */
export interface ConnectCheck {
  what: string;
  found: string;
}

const DEADLINE_MS = 15_000;

/**
 * Asks for everything that the pipeline names: the brokers and the topics, the catalog, and the storage, where a small
 * file is written and deleted again. Throws what the first of them throws.
 */
export async function connectChecks(config: PipelineConfig): Promise<ConnectCheck[]> {
  const state = await askBrokers(config, DEADLINE_MS);
  const checks = [
    {
      what: 'brokers',
      found: `cluster ${state.clusterId ?? 'without an id'} at ${config.source.bootstrapServers}`,
    },
    { what: 'topics', found: `${state.topicIds.size} topics, ${state.partitions.length} partitions` },
  ];
  for (const [what, location] of [
    ['warehouse', config.catalog.warehouse],
    ['checkpoint', config.checkpointLocation],
  ]) {
    await writeAndDelete(location);
    checks.push({ what, found: `${location} takes a file and gives it up` });
  }
  const { uri } = config.catalog;
  const namespaces = catalogExists(config)
    ? await withCatalog(config, ({ catalog }) => catalog.listNamespaces())
    : undefined;
  checks.push({
    what: 'catalog',
    found:
      namespaces === undefined
        ? `${uri} is made by the first run`
        : `${uri} with ${namespaces.length} namespaces`,
  });
  return checks;
}

async function writeAndDelete(location: string): Promise<void> {
  const io = resolveFileIO(location);
  const path = joinPath(location, `.sluice-validate-${randomUUID()}`);
  await io.createNew(
    path,
    new TextEncoder().encode('written by sluice validate --connect, and deleted at once\n'),
  );
  await io.delete(path);
}
