import { addSums, stretchSum } from '../../core/gap-sum.ts';
import { topicPartitionKey } from '../../core/topic-partition.ts';
import { addOffset, type OffsetStretch } from './gaps.ts';

/** What became of the records of one range. */
export class RangeTally {
  quarantined = 0;
  dropped = 0;
  /** As ascending stretches. */
  readonly droppedOffsets: OffsetStretch[] = [];
  /** Their checksum, also of those that are no longer listed. */
  droppedSum = 0;
  maxTimestampMs = Number.NEGATIVE_INFINITY;
  /** By data table, where there are several destinations; what is set aside without one is under `''`. */
  readonly byTable = new Map<string, { rows: number; quarantined: number }>();

  drop(offset: bigint): void {
    this.dropped++;
    addOffset(this.droppedOffsets, offset);
    this.droppedSum = addSums(this.droppedSum, stretchSum(Number(offset), Number(offset) + 1));
  }

  add(table: string, rows: number, quarantined: number): void {
    const counts = this.byTable.get(table) ?? { rows: 0, quarantined: 0 };
    counts.rows += rows;
    counts.quarantined += quarantined;
    this.byTable.set(table, counts);
  }
}

/** The tallies of a task's ranges: two of one partition may be read by one task. */
export class RangeTallies {
  private readonly tallies = new Map<string, RangeTally>();

  of(at: { topic: string; partition: number; until: bigint }): RangeTally {
    const key = `${topicPartitionKey(at.topic, at.partition)}:${at.until}`;
    let tally = this.tallies.get(key);
    if (tally === undefined) {
      tally = new RangeTally();
      this.tallies.set(key, tally);
    }
    return tally;
  }
}
