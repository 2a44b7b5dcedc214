/**
 * Relative paths of a pipeline file mean the working directory. From another one the same file would be another pipeline,
 * with a checkpoint, a catalog and tables of its own: that must not happen unseen.
 */
import { existsSync, realpathSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { configInvalid } from '../config/fault.ts';
import type { LoadedPipeline } from '../config/load-pipeline.ts';

/**
 * Throws CONFIG_INVALID where the working directory has no checkpoint at the relative place that the file names, and the
 * file's own directory has one: the pipeline was run there before.
 */
export function refuseOtherCheckpoint(loaded: LoadedPipeline, file: string, cwd: string): void {
  const { relativeCheckpoint: written } = loaded;
  if (written === null || !isElsewhere(loaded, file, cwd)) return;
  const beside = resolve(dirname(resolve(cwd, file)), written.text);
  if (!isCheckpoint(beside)) return;
  throw configInvalid(file, [
    {
      code: 'CONTRADICTION',
      message: `"${written.text}" means ${loaded.config.checkpointLocation}, by the working directory, and there is no checkpoint; there is one in ${beside}, beside the file. Run in the directory of the file, or give whole paths`,
      file: written.file,
      line: written.line,
      column: written.column,
      path: 'checkpointLocation',
    },
  ]);
}

/** For a run that begins a checkpoint by a relative path, in another directory than the file's: what to say. */
export function beginsHere(loaded: LoadedPipeline, file: string, cwd: string): string | undefined {
  if (loaded.relativeCheckpoint === null || !isElsewhere(loaded, file, cwd)) return undefined;
  return `the relative paths of ${file} mean the working directory ${cwd}: a new checkpoint begins at ${loaded.config.checkpointLocation}. If this pipeline ran in another directory before, stop it and run it there, or give whole paths`;
}

/** Is the file in another directory than the working one, which holds no checkpoint of it? */
function isElsewhere({ config }: LoadedPipeline, file: string, cwd: string): boolean {
  const [one, other] = [dirname(resolve(cwd, file)), cwd].map(realPath);
  return one !== other && !isCheckpoint(config.checkpointLocation);
}

/** Every checkpoint has its id in this file from its first moment. */
function isCheckpoint(directory: string): boolean {
  return existsSync(join(directory, 'metadata'));
}

function realPath(directory: string): string {
  try {
    return realpathSync(directory);
  } catch {
    return directory;
  }
}
