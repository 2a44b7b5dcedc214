import { SluiceError } from '../errors.ts';
import type { FileIO } from './file-io.ts';
import { LocalFileIO } from './local-file-io.ts';
import { schemeOf } from './local-path.ts';
import { MemoryFileIO } from './memory-file-io.ts';

/** Schemes that are known by name and not served by this version, with what to use instead. */
const NOT_YET: Record<string, string> = {
  s3: 'Amazon S3',
  s3a: 'Amazon S3',
  s3n: 'Amazon S3',
  gs: 'Google Cloud Storage',
  abfs: 'Azure Data Lake Storage',
  abfss: 'Azure Data Lake Storage',
  wasb: 'Azure Blob Storage',
  wasbs: 'Azure Blob Storage',
  hdfs: 'HDFS',
};

/**
 * The FileIO that serves a location, chosen by its scheme: plain paths and `file:` are local, `memory:` is a fresh
 * store of its own. Throws UNSUPPORTED for every other scheme, naming it.
 */
export function resolveFileIO(location: string): FileIO {
  const scheme = schemeOf(location);
  if (scheme === undefined || scheme === 'file') return new LocalFileIO();
  if (scheme === 'memory') return new MemoryFileIO();
  const name = NOT_YET[scheme];
  const what =
    name === undefined
      ? `the scheme ${scheme}: is not known`
      : `${name} (${scheme}:) is not served by this version`;
  throw new SluiceError('UNSUPPORTED', `${location}: ${what}; use a local path or file:///absolute/path`, {
    context: { location, scheme },
  });
}
