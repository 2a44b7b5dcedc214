import { messageOf } from '../../errors.ts';
import { memoryFault, RecordFault } from '../record-fault.ts';

type Inflate = (input: Uint8Array, options: { chunkSize: number; maxOutputLength: number }) => Uint8Array;

/** Most bytes taken at once for output of which the size is only guessed. */
const MAX_CHUNK_BYTES = 4 * 1024 * 1024;

/**
 * Runs a synchronous function of node:zlib on the whole input, bounded to `maxBytes` of output. `sizeHint` is what the
 * format says or allows; with it the output is one piece that is not copied. Throws RecordFault.
 */
export function runZlib(
  name: string,
  inflate: Inflate,
  input: Uint8Array,
  sizeHint: number,
  maxBytes: number,
): Uint8Array {
  // One byte more than needed: zlib takes a second piece when the first is filled to the brim. 64 is its least. A hint
  // that lies must not make a great many small pieces.
  const chunkSize = Math.max(64, Math.min(Math.max(sizeHint, input.length), MAX_CHUNK_BYTES) + 1);
  try {
    return inflate(input, { chunkSize, maxOutputLength: Math.max(maxBytes, 1) });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw memoryFault(maxBytes);
    throw new RecordFault(`${name}: ${messageOf(error)}`);
  }
}
