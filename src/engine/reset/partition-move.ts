import type { LostRange } from '../../checkpoint/records.ts';
import { getOffset } from '../../core/offset-range.ts';
import { type TopicPartition, topicPartitionKey } from '../../core/topic-partition.ts';
import { SluiceError } from '../../errors.ts';
import type { SourceState } from '../source-state.ts';
import { countOffsets, offsetsInTables, type Stretch } from './ledger-rows.ts';
import type { ResetBase } from './reset-base.ts';

/** What the brokers say of the log now. */
export interface ObservedLog {
  state: SourceState;
  /**
   * Partitions whose log no longer is the one that was read, by the leader epochs: from which offset on it is another
   * one, or null where the leader does not know the epoch.
   */
  parted: ReadonlyMap<string, bigint | null>;
}

/** How a reset moves one partition. */
export interface PartitionMove extends TopicPartition {
  fromTopicId: string | null;
  toTopicId: string | null;
  /** The topic is another one than the checkpoint's; its offsets name other records. */
  replaced: boolean;
  /** Null where the checkpoint does not hold the partition. */
  from: bigint | null;
  /** Null where the partition is no more: it leaves the checkpoint. */
  to: bigint | null;
  /** Where the records begin that were not read: a move to it brings nothing twice, and passes over nothing that is there. */
  unread: bigint;
  /** Offsets that will never be read: gone from the broker, or passed over because somebody says so. */
  lost: (Stretch & { topicId: string | null; gone: boolean })[];
  /** Offsets that may stand in the tables and would come again. */
  again: Stretch[];
  /** Is anything of it another than before? */
  changed: boolean;
}

/** Where a partition is to go: -2 earliest, -1 latest, -3 where its unread records begin, or an offset. */
export type Aim = bigint;
export const EARLIEST: Aim = -2n;
export const LATEST: Aim = -1n;
export const UNREAD: Aim = -3n;

/** Throws USAGE for an offset that is not in the log. */
export function movePartition(
  base: ResetBase,
  log: ObservedLog,
  at: TopicPartition,
  aim: Aim,
): PartitionMove {
  const { topic, partition } = at;
  const { state, parted } = log;
  const key = topicPartitionKey(topic, partition);
  const from = getOffset(base.positions, topic, partition) ?? null;
  const fromTopicId = base.topics.find((t) => t.topic === topic)?.topicId ?? null;
  const toTopicId = state.topicIds.get(topic) ?? null;
  const replaced = isReplaced(base, state, topic);
  const logStart = getOffset(state.earliest, topic, partition);
  const planned = base.pending?.ranges.find((r) => r.topic === topic && r.partition === partition);
  const shared = { topic, partition, fromTopicId, toTopicId, replaced, from };
  const plannedGone = planned === undefined ? [] : [{ ...planned, topicId: fromTopicId }];
  if (logStart === undefined) {
    const lost = plannedGone.map(({ topicId, from: a, until }) => ({ from: a, until, topicId, gone: true }));
    return { ...shared, to: null, unread: 0n, lost: notEmpty(lost), again: [], changed: true };
  }
  const end = getOffset(state.highWatermark, topic, partition)!;
  const readUntil = replaced || from === null ? logStart : least(from, parted.get(key) ?? from, end);
  const unread = readUntil > logStart ? readUntil : logStart;
  const to = aimed(aim, { logStart, latest: getOffset(state.latest, topic, partition)!, unread });
  if (to < logStart || to > end) {
    throw new SluiceError(
      'USAGE',
      `${key}: offset ${to} is not in the log, which is [${logStart}, ${end}); give an offset in it, or earliest, latest, unread`,
      { context: { topic, partition, logStart, highWatermark: end } },
    );
  }
  const lost: PartitionMove['lost'] = [];
  // Of a batch that was planned and not read: its records are gone with the old log, or with the end of this one.
  for (const range of plannedGone) {
    const a = replaced || range.from > end ? range.from : end;
    lost.push({ from: a, until: range.until, topicId: fromTopicId, gone: true });
  }
  const skipped = { from: readUntil, until: to };
  const gone = { from: readUntil, until: least(to, logStart) };
  lost.push({ ...gone, topicId: toTopicId, gone: true });
  lost.push({ ...skipped, from: greatest(readUntil, logStart), topicId: toTopicId, gone: false });
  const again =
    to >= readUntil || replaced || from === null
      ? []
      : offsetsInTables(
          base.ledger,
          { topic, partition, topicId: toTopicId, initial: initialOf(base, at) },
          { from: to, until: readUntil },
        );
  const changed = to !== from || replaced || parted.has(key);
  return { ...shared, to, unread, lost: notEmpty(lost).sort(byOffset), again, changed };
}

/** Is the topic another one than that of the checkpoint? Where ids are not known, another cluster has other topics. */
export function isReplaced(base: ResetBase, state: SourceState, topic: string): boolean {
  const known = base.topics.find((t) => t.topic === topic)?.topicId ?? null;
  const found = state.topicIds.get(topic) ?? null;
  return known !== null && found !== null ? known !== found : isOtherCluster(base, state);
}

export function isOtherCluster(base: ResetBase, state: SourceState): boolean {
  return base.clusterId !== null && state.clusterId !== null && base.clusterId !== state.clusterId;
}

/** The lost ranges of a move as the checkpoint records them. */
export function lostRanges(move: PartitionMove, reason: string, by: string): LostRange[] {
  const { topic, partition } = move;
  return move.lost.map(({ from, until, topicId, gone }) => ({
    topic,
    partition,
    from,
    until,
    topicId,
    reason: gone ? 'the records were gone before they were read' : `passed over by a reset: ${reason}`,
    acceptedBy: by,
  }));
}

export function countLost(moves: readonly PartitionMove[], which: 'all' | 'gone' = 'all'): bigint {
  return countOffsets(moves.flatMap((m) => m.lost.filter((l) => which === 'all' || l.gone)));
}

function aimed(aim: Aim, log: { logStart: bigint; latest: bigint; unread: bigint }): bigint {
  if (aim === EARLIEST) return log.logStart;
  // Above the last stable offset nothing can be read yet, and nothing below it may be passed over for that.
  if (aim === LATEST) return log.latest;
  return aim === UNREAD ? log.unread : aim;
}

function initialOf(base: ResetBase, { topic, partition }: TopicPartition): bigint | null {
  return base.initial === null ? null : (getOffset(base.initial, topic, partition) ?? null);
}

function notEmpty<T extends Stretch>(stretches: T[]): T[] {
  return stretches.filter((s) => s.until > s.from);
}

function byOffset(
  a: { topicId: string | null; from: bigint },
  b: { topicId: string | null; from: bigint },
): number {
  return a.topicId === b.topicId ? (a.from < b.from ? -1 : 1) : 0;
}

function least(...values: bigint[]): bigint {
  return values.reduce((min, v) => (v < min ? v : min));
}

function greatest(...values: bigint[]): bigint {
  return values.reduce((max, v) => (v > max ? v : max));
}
