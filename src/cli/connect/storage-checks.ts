import { randomUUID } from 'node:crypto';
import { accessSync, constants, existsSync, readdirSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { checkCheckpoint } from '../../checkpoint/checkpoint-check.ts';
import type { PipelineConfig } from '../../config/pipeline-config.ts';
import { SluiceError } from '../../errors.ts';
import { counted } from '../../monitor/progress-line.ts';
import { joinPath } from '../../storage/file-io.ts';
import { toStorageError } from '../../storage/local-error.ts';
import { toLocalPath } from '../../storage/local-path.ts';
import { resolveFileIO } from '../../storage/resolve-file-io.ts';
import { liveLease, openCheckpointReadOnly } from '../checkpoint-view.ts';
import type { CliContext } from '../context.ts';
import { CheckResults, type Deadline } from './check-result.ts';

/** Does the directory take a file and give it up again? */
export async function checkWritable(
  what: string,
  location: string,
  deadline: Deadline,
): Promise<CheckResults> {
  const results = new CheckResults();
  await results.try(
    what,
    () => deadline.within('STORAGE_UNREACHABLE', location, () => writeAndDelete(location)),
    () => `${location} takes a file and gives it up`,
  );
  return results;
}

/** Are the files of the checkpoint whole, and do they add up? Nothing of it is written. */
export async function checkState(
  config: PipelineConfig,
  context: CliContext,
  deadline: Deadline,
): Promise<CheckResults> {
  const results = new CheckResults();
  const location = config.checkpointLocation;
  await results.try(
    'checkpoint state',
    () => deadline.within('STORAGE_UNREACHABLE', location, () => stateOf(config, context)),
    (found) => found,
  );
  return results;
}

async function stateOf(config: PipelineConfig, context: CliContext): Promise<string> {
  const location = config.checkpointLocation;
  const { faults, filesRead, batches, id } = await checkCheckpoint(resolveFileIO(location), location);
  if (faults.length > 0)
    throw new SluiceError(
      'CHECKPOINT_CORRUPT',
      `checkpoint ${location} has ${counted(faults.length, 'fault')}; the first: ${faults[0]}. \`sluice checkpoint verify\` lists them`,
      { context: { location, faults: faults.length } },
    );
  if (id === null) return 'nothing was ever run here';
  const checkpoint = await openCheckpointReadOnly(config, context);
  const lease = await liveLease(checkpoint);
  const last = batches === null ? 'no batch' : `batches up to ${batches.last}`;
  const running = lease === null ? '' : `; process ${lease.pid} on ${lease.host} runs it now`;
  return `${last}, ${counted(filesRead, 'file')} read, no fault${running}`;
}

/** A file, or where it is missing the nearest directory that is there: nothing is made by looking. Throws STORAGE_ERROR. */
export function assertWritable(location: string): void {
  const file = resolve(toLocalPath(location));
  let place = file;
  while (!existsSync(place) && dirname(place) !== place) place = dirname(place);
  try {
    if (place !== file) readdirSync(place);
    accessSync(place, constants.W_OK);
  } catch (error) {
    throw toStorageError(error, 'write', location, 'not-applied');
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
