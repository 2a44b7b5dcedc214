import { SluiceError } from '../errors.ts';
import type { BatchIndex } from './batch-index.ts';
import { type CheckpointFiles, FILE_KINDS } from './checkpoint-files.ts';
import type { CheckpointOptions } from './checkpoint-options.ts';
import { formatEnvelope, parseEnvelope } from './envelope.ts';
import { formatMetadata, parseMetadata } from './spark-format.ts';

const METADATA = 'metadata';
const PIPELINE = '_sluice/pipeline.json';

/** The query's id from `metadata`; made where the checkpoint is empty, null where it is empty and read-only. */
export async function openId(
  files: CheckpointFiles,
  index: BatchIndex,
  options: CheckpointOptions,
): Promise<string | null> {
  const read = () => files.read(METADATA, FILE_KINDS.metadata, parseMetadata);
  const found = await read();
  if (found !== null) return found;
  if (index.anyLog) {
    throw new SluiceError(
      'CHECKPOINT_METADATA_MISSING',
      `${files.path(METADATA)} is missing while the checkpoint has logs (last planned batch ${index.latest('offsets') ?? 'none'}). ` +
        `It should hold ${FILE_KINDS.metadata.holds}; restore it from a copy. A new id is not invented: the tables know this pipeline by the old one`,
      { context: { location: files.location, path: files.path(METADATA) } },
    );
  }
  if (options.readOnly === true) return null;
  const id = options.randomUuid();
  if (await files.createNew(METADATA, formatMetadata(id))) return id;
  // Another process was first, or our own call was applied twice: the id that stands there counts.
  const standing = await read();
  if (standing === null) throw files.missing(METADATA, FILE_KINDS.metadata, 'it was there a moment ago');
  return standing;
}

/** The pipeline's name that is kept beside the id; null where it is not kept. A different one is warned of. */
export async function openPipelineName(
  files: CheckpointFiles,
  id: string,
  options: CheckpointOptions,
): Promise<string | null> {
  const read = () =>
    files.read(
      PIPELINE,
      FILE_KINDS.pipeline,
      (bytes) => parseEnvelope('pipeline', bytes, (o) => o.string('pipelineName')).record,
    );
  const found = await read();
  if (found === null) {
    if (options.readOnly === true) return null;
    const record = { pipelineName: options.pipelineName, pipelineId: id };
    if (await files.createNew(PIPELINE, formatEnvelope('pipeline', options.owner, options.now(), record)))
      return options.pipelineName;
  }
  const name = found ?? (await read());
  if (name !== null && name !== options.pipelineName) {
    options.warn(
      `checkpoint ${files.location} was made for pipeline ${name} and is now used by ${options.pipelineName}: is it the right one?`,
      {
        location: files.location,
        stored: name,
        pipelineName: options.pipelineName,
      },
    );
  }
  return name;
}
