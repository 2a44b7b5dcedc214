import { randomUUID } from 'node:crypto';
import { accessSync, constants, existsSync, readdirSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { PipelineConfig } from '../config/pipeline-config.ts';
import { counted } from '../monitor/progress-line.ts';
import { joinPath } from '../storage/file-io.ts';
import { toStorageError } from '../storage/local-error.ts';
import { resolveFileIO } from '../storage/resolve-file-io.ts';
import { catalogExists, catalogPlace, withCatalog } from './catalog-view.ts';
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
    {
      what: 'topics',
      found: `${counted(state.topicIds.size, 'topic')}, ${counted(state.partitions.length, 'partition')}`,
    },
  ];
  for (const [what, location] of [
    ['warehouse', config.catalog.warehouse],
    ['checkpoint', config.checkpointLocation],
  ]) {
    await writeAndDelete(location);
    checks.push({ what, found: `${location} takes a file and gives it up` });
  }
  const uri = catalogPlace(config);
  const namespaces = catalogExists(config)
    ? await withCatalog(config, ({ catalog }) => catalog.listNamespaces())
    : undefined;
  assertWritable(uri);
  checks.push({
    what: 'catalog',
    found:
      namespaces === undefined
        ? `${uri} is made by the first run`
        : `${uri} with ${counted(namespaces.length, 'namespace')}`,
  });
  return checks;
}

/** The file, or where it is missing the nearest directory that is there: a catalog is not made by looking. */
function assertWritable(file: string): void {
  let place = resolve(file);
  while (!existsSync(place) && dirname(place) !== place) place = dirname(place);
  try {
    if (place !== resolve(file)) readdirSync(place);
    accessSync(place, constants.W_OK);
  } catch (error) {
    throw toStorageError(error, 'write', file, 'not-applied');
  }
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
