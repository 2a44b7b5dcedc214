import { asBigInt, parseJson64 } from '../../core/json64.ts';
import { type OffsetMap, setOffset } from '../../core/offset-range.ts';
import { SluiceError } from '../../errors.ts';

/** What is reset: one topic or one partition of it, or, on another cluster, everything. */
export type ResetScope =
  | { kind: 'topic'; topic: string; partition: number | null }
  /** The brokers belong to another cluster than the checkpoint, and that is meant so. */
  | { kind: 'cluster' };

export type ResetTarget =
  | { kind: 'earliest' }
  | { kind: 'latest' }
  /** Where the records that were not read begin: nothing comes twice, and only what is gone is passed over. */
  | { kind: 'unread' }
  | { kind: 'offset'; offset: bigint }
  /** -2 earliest, -1 latest; partitions that are not named stay where they are. */
  | { kind: 'map'; offsets: OffsetMap };

export interface ResetRequest {
  scope: ResetScope;
  target: ResetTarget;
  /** The target as it was given. */
  to: string;
  reason: string;
  /** Who asks: `user@host`. */
  by: string;
  allowDuplicates: boolean;
  giveUpBatch: boolean;
}

const MAX_OFFSET = 2n ** 63n - 1n;

/**
 * `earliest`, `latest`, `unread`, an offset, `{"0":5,"1":-2}`, or with the scope of a cluster `{"topic":{"0":5}}`. Throws
 * USAGE.
 */
export function parseResetTarget(text: string, scope: ResetScope): ResetTarget {
  if (text === 'earliest' || text === 'latest' || text === 'unread') return { kind: text };
  if (/^\d{1,19}$/.test(text) && BigInt(text) <= MAX_OFFSET) {
    if (scope.kind === 'cluster') throw usage(text, 'an offset is of one topic; give {"topic":{"0":5}}');
    return { kind: 'offset', offset: BigInt(text) };
  }
  let json: unknown;
  try {
    json = parseJson64(text);
  } catch {
    throw usage(text, 'it is none of them');
  }
  const offsets: OffsetMap = new Map();
  if (scope.kind === 'topic') {
    if (scope.partition !== null) throw usage(text, 'with --partition it is one offset, not a map');
    readPartitions(text, scope.topic, json, offsets);
  } else {
    for (const [topic, partitions] of objectEntries(text, json))
      readPartitions(text, topic, partitions, offsets);
  }
  return { kind: 'map', offsets };
}

function readPartitions(text: string, topic: string, json: unknown, into: OffsetMap): void {
  for (const [key, value] of objectEntries(text, json)) {
    const offset = asBigInt(value);
    if (!/^(?:0|[1-9]\d{0,9})$/.test(key) || Number(key) > 2 ** 31 - 1)
      throw usage(text, `"${key}" is no partition`);
    if (offset === undefined || offset < -2n || offset > MAX_OFFSET)
      throw usage(text, `partition ${key} has no offset of 0 or more, -2 (earliest) or -1 (latest)`);
    setOffset(into, topic, Number(key), offset);
  }
}

function objectEntries(text: string, json: unknown): [string, unknown][] {
  if (typeof json !== 'object' || json === null || Array.isArray(json) || Object.keys(json).length === 0)
    throw usage(text, 'it is none of them');
  return Object.entries(json);
}

function usage(text: string, why: string): SluiceError {
  return new SluiceError(
    'USAGE',
    `--to ${text}: expected earliest, latest, unread, an offset, or offsets by partition as {"0":5,"1":-2}; ${why}`,
  );
}

/** The command line that asks for this, without `--execute`, for a POSIX shell. */
export function resetCommand(request: ResetRequest): string {
  const { scope } = request;
  const words = ['sluice', 'checkpoint', 'reset'];
  if (scope.kind === 'cluster') words.push('--cluster');
  else words.push('--topic', scope.topic);
  if (scope.kind === 'topic' && scope.partition !== null) words.push('--partition', String(scope.partition));
  words.push('--to', request.to);
  if (request.allowDuplicates) words.push('--allow-duplicates');
  if (request.giveUpBatch) words.push('--give-up-batch');
  return words.map(shellWord).join(' ');
}

/** A word as a POSIX shell takes it. */
export function shellWord(word: string): string {
  return /^[\w.,:@/=+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
