import type { OffsetRange } from '../core/offset-range.ts';
import { topicPartitionKey } from '../core/topic-partition.ts';
import { openCursor, type PartitionCursor } from './partition-cursor.ts';

/** A range to read, bound to the topic it came from. */
export interface RangeToRead extends OffsetRange {
  /** base64url; null where it is not known: then the id that the cluster names first is kept to. */
  readonly topicId: string | null;
  /** Leader epoch of the last record batch before `from`, where it is known: proves that the log was not truncated. */
  readonly leaderEpoch?: number;
  /** The offset after that batch. It may lie below `from`: what follows it may be compacted away, in later epochs. */
  readonly leaderEpochEnd?: bigint;
}

/** Why a partition had to leave its connection. */
export type Trouble =
  /** The connection broke, the leader moved, or the broker answered a retriable error. */
  | {
      readonly kind: 'retry';
      /** Null where the leader named another replica to read from. */
      readonly error: unknown;
      /** Since when nothing came, where that was before now; on the client's clock. */
      readonly sinceMs?: number;
    }
  /** The broker does not have our position. */
  | { readonly kind: 'outOfRange'; readonly error: unknown }
  /** The broker served nothing at our position, twice, though it could have. */
  | { readonly kind: 'nothingServed'; readonly error: unknown };

/** One range on its way: the cursor, where its leader is, and how often it went wrong since it last went on. */
export class RangeState {
  readonly range: RangeToRead;
  readonly cursor: PartitionCursor;
  readonly name: string;
  topicId: string | null;
  /** Broker that is asked: the leader, or the replica that the leader prefers for our rack. */
  broker = -1;
  fromLeader = true;
  /** Until when the leader itself is read, since a replica that it had named did not serve us; on the client's clock. */
  leaderOnlyUntilMs = Number.NEGATIVE_INFINITY;
  leader = -1;
  leaderEpoch = -1;
  /** The leader epoch under which the position was last proved not to be truncated. */
  provedEpoch = -1;
  /** Size of the largest record batch seen, where it was above what the request allowed. */
  neededBytes = 0;

  /** Consecutive answers, each the first to be filled, that held nothing for us. */
  emptyAnswers = 0;
  /** Tries at the same damaged batch. */
  damagedTries = 0;
  outOfRangeTries = 0;
  missingTries = 0;
  failures = 0;
  /** When the present trouble began; null while all is well. */
  troubleSince: number | null = null;

  constructor(range: RangeToRead) {
    this.range = range;
    this.cursor = openCursor(range);
    this.topicId = range.topicId;
    this.name = topicPartitionKey(range.topic, range.partition);
  }

  get finished(): boolean {
    return this.cursor.position >= this.cursor.until;
  }

  /** The leader epoch of the last batch that is known to lie before the position; -1 where none is. */
  get lastEpoch(): number {
    return this.cursor.leaderEpoch >= 0 ? this.cursor.leaderEpoch : (this.range.leaderEpoch ?? -1);
  }

  /** The offset after that batch. */
  get lastEpochEnd(): bigint {
    return this.cursor.leaderEpoch >= 0 ? this.cursor.leaderEpochEnd : (this.range.leaderEpochEnd ?? 0n);
  }

  /** The position moved: whatever was wrong is over. */
  progressed(): void {
    this.emptyAnswers = 0;
    this.damagedTries = 0;
    this.outOfRangeTries = 0;
    this.missingTries = 0;
    this.failures = 0;
    this.troubleSince = null;
  }
}
