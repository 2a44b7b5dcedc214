import type { StartingOffsets } from '../config/option-types.ts';
import { parseOption } from '../config/option-types.ts';
import { parseTimestampMs } from '../core/timestamp.ts';
import type { RunEnd } from '../core/trigger.ts';
import { SluiceError } from '../errors.ts';

/** What `run --until` takes. Throws USAGE. */
export function parseRunEnd(text: string): RunEnd {
  if (text === 'latest') return { kind: 'latest' };
  const timestampMs = parseTimestampMs(text);
  if (timestampMs !== undefined) return { kind: 'timestamp', timestampMs };
  const offsets = parseOption({ kind: 'startingOffsets' }, text) as StartingOffsets | undefined;
  if (
    offsets?.kind === 'map' &&
    [...offsets.offsets.values()].every((p) => [...p.values()].every((o) => o >= -1n))
  )
    return offsets;
  throw new SluiceError(
    'USAGE',
    `--until ${JSON.stringify(text.length > 80 ? `${text.slice(0, 77)}...` : text)}: expected latest, a time (milliseconds since 1970, or with its zone such as 2026-11-01T00:00:00Z), or offsets that are not read any more, {"topic":{"0":500,"1":-1}} (-1: the newest)`,
  );
}
